// Checks how functions and bodies change the stack's height. A function's change is found when it is first called; a
// function still under examination is recursive, and its change stays unknown.
#include <map>
#include <span>

#include "jit/tir/language/program.h"

namespace trident::tir::language {
namespace {

/// Change of the stack's height; none if unknown.
using Change = std::optional<int>;

class Checker {
 public:
  Checker(const Program& program, const ir::SourceText& source) : program_(program), source_(source) {}

  std::optional<Error> check() {
    const auto& all = program_.operations;
    std::size_t top_end = 0;
    bool top = true, seen_function = false;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].op == Op::kFnEnd) {
        top = true;
      } else if (all[i].op == Op::kFnStart) {
        if (!functions_.emplace(all[i].name, Function{i, State::fresh, {}}).second)
          return source_.error(all[i].offset, "the function '" + all[i].name + "' is defined twice");
        top = false, seen_function = true;
      } else if (top && all[i].op != Op::kComment) {
        if (seen_function) return source_.error(all[i].offset, "this comes after a function and never runs");
        top_end = i + 1;
      }
    }
    sequence(std::span(all).first(top_end), Level::top);
    if (!error_ && (top_end == 0 || !ends(all[top_end - 1])))
      fail(top_end == 0 ? 0 : all[top_end - 1].offset, "a program begins with operations that end in halt or entry");
    for (auto& [name, function] : functions_)
      if (!error_) change_of(function);
    return error_;
  }

 private:
  enum class State : std::uint8_t { fresh, open, done };
  enum class Level : std::uint8_t { top, function, body };
  struct Function {
    std::size_t start;
    State state;
    Change change;
  };

  void fail(std::uint32_t offset, const std::string& message) {
    if (!error_) error_ = source_.error(offset, message);
  }
  static bool ends(const Operation& operation) {
    return operation.op == Op::kHalt || operation.op == Op::kEntry || operation.op == Op::kReturn;
  }

  Change change_of(Function& function) {
    if (function.state == State::done) return function.change;
    if (function.state == State::open || depth_ > kCallsMax) return {};
    function.state = State::open;
    ++depth_;
    const auto& all = program_.operations;
    std::size_t end = function.start + 1, last = function.start;
    for (; all[end].op != Op::kFnEnd; ++end)
      if (all[end].op != Op::kComment) last = end;
    function.change = sequence(std::span(all).subspan(function.start + 1, end - function.start - 1), Level::function);
    if (last == function.start || !ends(all[last]))
      fail(all[end].offset, "the function '" + all[function.start].name + "' must end with return or halt");
    function.state = State::done;
    --depth_;
    return function.change;
  }

  Change sequence(std::span<const Operation> operations, Level level) {
    Change total = 0;
    bool ended = false;
    for (const Operation& operation : operations) {
      if (error_) return {};
      if (operation.op == Op::kComment) continue;
      if (ended) fail(operation.offset, "nothing after return, halt or entry runs");
      if (operation.op == Op::kReturn && level != Level::function)
        fail(operation.offset, level == Level::body ? "return cannot stand in a body, only in a function itself"
                                                    : "return stands outside of any function");
      if (operation.op == Op::kEntry && level != Level::top)
        fail(operation.offset, "entry can stand at the top level only");
      ended = ends(operation);
      const Change change = change_of(operation);
      total = total && change ? Change(*total + *change) : Change();
      if (operation.op == Op::kHalt) total.reset();  // whoever runs this does not go on
    }
    return total;
  }

  Change change_of(const Operation& operation) {
    const int own = operation.stack_change();
    if (operation.op == Op::kCall || operation.op == Op::kEntry) {
      const auto found = functions_.find(operation.name);
      if (found == functions_.end()) {
        fail(operation.offset, "there is no function '" + operation.name + "'");
        return {};
      }
      return change_of(found->second);
    }
    if (operation.op == Op::kIfElse) {
      const Change first = sequence(operation.body, Level::body), second = sequence(operation.otherwise, Level::body);
      if (first && second && *first != *second)
        fail(operation.offset, "the bodies of this operation change the stack's height by " + std::to_string(*first) +
                                   " and " + std::to_string(*second) + ", but must change it by the same number");
      const Change either = first ? first : second;
      return either ? Change(own + *either) : Change();
    }
    const Change body = sequence(operation.body, Level::body);
    if ((operation.op == Op::kIfOnly || operation.op == Op::kLoop) && body && *body != 0)
      fail(operation.offset,
           "the body of this operation must not change the stack's height, but changes it by " + std::to_string(*body));
    return operation.op == Op::kProofBlock && !body ? Change() : Change(own + body.value_or(0));
  }

  static constexpr unsigned kCallsMax = 1000;  ///< depth of nested calls that are followed: our own stack is bounded

  const Program& program_;
  const ir::SourceText& source_;
  std::map<std::string, Function, std::less<>> functions_;
  unsigned depth_ = 0;
  std::optional<Error> error_;
};

}  // namespace

std::optional<Error> check(const Program& program, const ir::SourceText& source) {
  return Checker(program, source).check();
}

}  // namespace trident::tir::language
