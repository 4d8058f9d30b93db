#include "jit/tir/shape/hostile_program.h"

#include <utility>

namespace trident::tir::shape {

using field::Element;

std::string HostileProgram::fresh(const char* stem) {
  labels_.push_back(stem + std::to_string(++names_));
  return labels_.back();
}

std::string HostileProgram::constant() {
  constexpr const char* kConstants[] = {"0", "1", "2", "3", "7", "13", "-1", "4294967295", "4294967296"};
  return kConstants[below(std::size(kConstants))];
}

void HostileProgram::label(const char* stem) {
  put(fresh(stem) + ":");
  if (chance(6)) put(fresh("also") + ":");
}

/// Adds straight instructions. Like the functions below it keeps the stack's height, unless they say otherwise.
void HostileProgram::piece() {
  while (pieces_.size() < 3) {
    std::vector<std::string> made;
    for (std::uint64_t i = 0, n = 2 + below(5); i < n; ++i) {
      switch (below(5)) {
        case 0: made.push_back("addi " + constant()); break;
        case 1: made.insert(made.end(), {"push " + constant(), "mul"}); break;
        case 2: made.insert(made.end(), {"dup 1", "add"}); break;
        case 3: made.push_back("swap " + std::to_string(1 + below(4))); break;
        default: made.insert(made.end(), {"dup 0", "write_io 1"}); break;
      }
    }
    if (chance(2)) made.insert(made.end(), {"dup 0", "dup 0", "eq", "assert", "error_id " + std::to_string(below(3))});
    pieces_.push_back(std::move(made));
  }
  const auto& piece = pieces_[below(pieces_.size())];
  out_.insert(out_.end(), piece.begin(), piece.end());
}

void HostileProgram::small() {
  switch (below(8)) {
    case 0: return put({"nop"});
    case 1: return put("addi " + constant());
    case 2: return put({"swap 1"});
    case 3: return put({"push 9", "write_io 1"});
    case 4: return put({"dup 1", "write_io 1"});
    case 5: return put({"push 3", "push 5", "write_mem 1", "pop 1", "push 5", "read_mem 1", "pop 1", "add"});
    case 6: return put({"break"});
    default: return put({"push 2", "mul"});
  }
}

/// Pushes a word to branch by.
void HostileProgram::condition() {
  switch (below(5)) {
    case 0: return put("push " + constant());
    case 1: return put({"dup 0", "push 2", "eq"});
    default: return put({"read_io 1"});
  }
}

/// Adds one instruction behind `skiz`, which can have a label.
void HostileProgram::skipped() {
  if (chance(3)) label("mid");
  switch (below(12)) {
    case 0: return put({"return"});
    case 1: return put({"halt"});
    case 2: return put({"recurse"});
    case 3: return put({"recurse_or_return"});
    case 4: return put({"nop"});
    case 5: return put({"addi 5"});
    case 6: return put({"swap 2"});
    case 7: return put({"push 3", "skiz"});  // skips the push: then the word below is tested
    default: return call();
  }
}

template <class F>
void HostileProgram::later(F f) {
  std::vector<std::string> kept = std::exchange(out_, {});
  f();
  if (chance(5) && !out_.empty()) {  // repeats it under another name
    std::vector<std::string> copy;
    for (const std::string& item : out_)
      if (!item.ends_with(":")) copy.push_back(item);
    copy.insert(copy.begin(), fresh("twin") + ":");
    subroutines_.push_back(std::move(copy));
  }
  subroutines_.insert(subroutines_.begin() + static_cast<std::ptrdiff_t>(below(subroutines_.size() + 1)),
                      std::exchange(out_, std::move(kept)));
}

/// Adds a branch as lowering writes it, with one side or both empty.
void HostileProgram::branch(int depth) {
  const std::string first = fresh("then"), second = fresh("else");
  const auto side = [&] {
    if (!chance(2)) body(depth - 1);
  };
  later([&] {
    put(first + ":");
    put({"pop 1"});
    side();
    put({"push 0", "return"});
  });
  later([&] {
    put(second + ":");
    side();
    put({"return"});
  });
  condition();
  if (chance(6)) put({"dup 0", "skiz"});  // the first instruction of the pattern is skipped
  if (chance(6)) label("mid");
  put({"push 1", "swap 1", "skiz"});
  put("call " + first);
  put({"skiz"});
  put("call " + second);
}

void HostileProgram::loop(int depth) {
  const std::string name = fresh("loop");
  later([&] {
    put(name + ":");
    put({"dup 0", "push 0", "eq", "skiz", "return", "addi -1"});
    for (std::uint64_t i = 0, n = below(3); i < n; ++i) chance(4) ? item(depth - 1) : small();
    put({"recurse"});
  });
  if (chance(5)) {
    condition();
    put({"skiz"});
  }
  if (chance(4)) label("mid");
  put(chance(3) ? "read_io 1" : "push " + std::to_string(below(4)));
  if (chance(6)) {
    condition();
    put({"skiz"});
    label("mid");
  }
  put("call " + name);
  put({"pop 1"});
}

void HostileProgram::until_equal() {
  const std::string name = fresh("until");
  later([&] {
    put(name + ":");
    put({"pick 5", "addi 1", "place 5"});
    small();
    put({"recurse_or_return"});
  });
  put({"push 3", "push 0", "push 9", "push 9", "push 9", "push 9", "push 9"});
  put("call " + name);
  put({"pop 5", "pop 2"});
}

/// Adds a jump; code behind it is dead, but for its labels.
void HostileProgram::jump() {
  constexpr const char* kJumps[] = {"return", "halt", "recurse"};
  put(kJumps[below(std::size(kJumps))]);
}

void HostileProgram::item(int depth) {
  switch (below(depth > 0 ? 16 : 9)) {
    case 0:
    case 1: return piece();
    case 2:
    case 3: return small();
    case 4:
    case 5:
      condition();
      put({"skiz"});
      return skipped();
    case 6: return label();
    case 7: return chance(8) ? jump() : call();
    case 8: return put({"hint here = stack[0]"});
    case 9:
    case 10: return branch(depth);
    case 11:
    case 12: return loop(depth);
    case 13: return until_equal();
    default: return subroutine(depth - 1);
  }
}

void HostileProgram::body(int depth) {
  for (std::uint64_t i = 0, n = 1 + below(4); i < n; ++i) item(depth);
}

/// Ends a subroutine, or leads into the next one.
void HostileProgram::end() {
  switch (below(12)) {
    case 0: return;
    case 1:
      condition();
      put({"skiz"});
      if (chance(2)) label("mid");
      return put({"return"});
    case 2: return put({"recurse"});
    case 3: return put({"halt"});
    case 4: condition(); return put({"skiz"});
    default: return put({"return"});
  }
}

/// Adds a call and its subroutine, which is now and then a single line or empty.
void HostileProgram::subroutine(int depth) {
  const std::string name = fresh("f");
  later([&] {
    put(name + ":");
    if (chance(3)) {
      if (!chance(3)) small();
      if (chance(3)) label("in");
      return put({"return"});
    }
    body(depth);
    end();
  });
  if (chance(3)) {
    condition();
    put({"skiz"});
    if (chance(3)) label("mid");
  }
  put("call " + name);
}

/// Adds a subroutine that only calls itself: dead, unless the code before it leads into it.
void HostileProgram::dead() {
  const std::string name = "dead" + std::to_string(++names_);
  put(name + ":");
  body(0);
  put({"read_io 1", "skiz"});
  put("call " + name);
  end();
}

std::string HostileProgram::text() {
  for (std::uint64_t i = 0, n = 1 + below(8); i < n; ++i) put("push " + constant());
  for (std::uint64_t i = 0, n = 2 + below(4); i < n; ++i) {
    item(2);
    if (chance(3)) subroutine(2);
  }
  put({"halt"});
  // Subroutines that are written now can add more to the list.
  while (!subroutines_.empty()) {
    const std::vector<std::string> next = std::move(subroutines_.back());
    subroutines_.pop_back();
    out_.insert(out_.end(), next.begin(), next.end());
    if (chance(6)) dead();
  }
  if (labels_.empty() || chance(8)) label("end");
  std::string out;
  for (const std::string& item : out_)
    out += (item == "call ?" ? "call " + labels_[below(labels_.size())] : item) + "\n";
  return out;
}

std::vector<Element> HostileProgram::input(std::size_t count) {
  std::vector<Element> out;
  const std::uint64_t zeros = 1 + below(4);
  for (std::size_t i = 0; i < count; ++i) out.emplace_back(below(zeros + 1) < zeros ? 0 : 1 + below(3));
  return out;
}

}  // namespace trident::tir::shape
