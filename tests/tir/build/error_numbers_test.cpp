// Oracle: the machine on the given program. Random programs full of assertions are built for an input on which they
// end; on other inputs the result must fail with the number that the given program fails with. TRIDENT_TIR_NUMBERED:
// how many.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "jit/tir/build/build.h"
#include "runtime/base/split_mix.h"
#include "tests/tir/build/ending.h"

namespace trident::tir::build {
namespace {

constexpr std::size_t kWords = 5;

/// Writes a program while it follows what the program does on one input, so that every assertion holds there.
class NumberedProgram {
 public:
  explicit NumberedProgram(std::uint64_t seed) : random_(seed) {
    for (std::size_t i = 0; i < kWords; ++i) input_.push_back(random_.below(4));
    stack_ = input_;
    put("read_io 5");
    for (std::uint64_t i = 0, n = 3 + random_.below(4); i < n; ++i) random_.one_in(4) ? subroutine() : piece();
    put("halt");
    for (const std::string& body : bodies_) text_ += body;
  }

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::vector<Element> input() const {
    std::vector<Element> out;
    for (const std::uint64_t word : input_) out.emplace_back(word);
    return out;
  }
  /// The input with some words changed, or one less.
  std::vector<Element> other_input() {
    std::vector<Element> out = input();
    for (std::uint64_t i = 0, n = 1 + random_.below(3); i < n; ++i)
      out[random_.below(out.size())] = random_.one_in(5) ? Element(random_.next()) : Element(random_.below(5));
    if (random_.one_in(12)) out.pop_back();
    return out;
  }

 private:
  void put(const std::string& item) { text_ += item + "\n"; }
  [[nodiscard]] std::uint64_t& st(std::size_t i) { return stack_[stack_.size() - 1 - i]; }
  std::size_t place() { return random_.below(std::min<std::size_t>(stack_.size(), 6)); }
  std::string number() { return random_.one_in(6) ? "" : " error_id " + std::to_string(++numbers_); }

  void piece() {
    for (std::uint64_t i = 0, n = 3 + random_.below(8); i < n; ++i) random_.one_in(2) ? assertion() : step();
  }
  /// Emits an assertion. Its value may be asserted elsewhere too, with another stack afterwards.
  void assertion() {
    const std::size_t at = place(), other = place();
    const std::string copy = "dup " + std::to_string(at);
    switch (random_.below(6)) {
      case 0: return put(copy + " push " + std::to_string(st(at)) + " eq assert" + number());
      case 1:
        if (st(at) != st(other)) return;
        return put(copy + " dup " + std::to_string(other + 1) + " eq assert" + number());
      case 2:
        if (st(at) == 1) put(copy + " assert" + number());
        return;
      case 3:
        if (st(at) >= 100) return;
        return put("push 100 dup " + std::to_string(at + 1) + " lt assert" + number());
      case 4: return put(copy + " push " + std::to_string(st(at) + 1) + " eq push 0 eq assert" + number());
      default:
        if (st(0) != 1 || stack_.size() < 3) return;
        stack_.pop_back();
        return put("assert" + number());
    }
  }
  void step() {
    const std::size_t at = place();
    switch (random_.below(7)) {
      case 0: st(0) += 2; return put("addi 2");
      case 1: std::swap(st(0), st(at)); return put("swap " + std::to_string(at));
      case 2: stack_.push_back(st(at)); return put("dup " + std::to_string(at));
      case 3: stack_.push_back(random_.below(4)); return put("push " + std::to_string(st(0)));
      case 4: return put("dup " + std::to_string(at) + " pop_count pop 1");  // fails above u32
      case 5:
        if (st(at) != 0) put("dup " + std::to_string(at) + " invert pop 1");
        return;
      default:
        if (stack_.size() < 3) return;
        st(1) += st(0);
        stack_.pop_back();
        return put("add");
    }
  }
  void subroutine() {
    const std::string name = "f" + std::to_string(bodies_.size()), before = std::exchange(text_, "");
    const std::size_t at = bodies_.size();
    bodies_.emplace_back();
    put(name + ":");
    piece();
    put("return");
    bodies_[at] = std::exchange(text_, before);
    put("call " + name);
  }

  SplitMix64 random_;
  std::vector<std::uint64_t> input_, stack_;  ///< bottom first, without the zeros below
  std::vector<std::string> bodies_;
  std::string text_;
  unsigned numbers_ = 0;
};

std::size_t count_of(std::string_view word, std::string_view text) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(word, at)) != text.npos; ++at) ++found;
  return found;
}

TEST(ErrorNumbers, StayWithTheirConditions) {
  const char* asked = std::getenv("TRIDENT_TIR_NUMBERED");
  const std::uint64_t programs = asked == nullptr ? 150 : std::strtoull(asked, nullptr, 10);
  std::size_t numbered = 0, other = 0, lost = 0, cheaper = 0;
  for (std::uint64_t seed = 0; seed < programs; ++seed) {
    NumberedProgram random(seed);
    Request request{.text = random.text()};
    request.runs[0].public_input = random.input();
    request.milliseconds = 60;
    request.left_out = 1 << static_cast<unsigned>(Stage::network);
    const auto built = build(request);
    ASSERT_TRUE(built) << seed << ": " << built.error().message << "\n" << request.text;
    cheaper += built->cheaper() ? 1 : 0;
    const tasm::Program given = assembled(request.text), result = assembled(built->tasm);
    // An assertion that stands for several has no number where theirs differ.
    const auto fewer = [&](std::string_view word) { return count_of(word, built->tasm) < count_of(word, request.text); };
    const bool shares = fewer("error_id") && fewer("assert");
    for (int i = 0; i < 60; ++i) {
      const std::vector<Element> input = random.other_input();
      const Ending a = ending_of(given, {input, {}, {}, {}, {}}), b = ending_of(result, {input, {}, {}, {}, {}});
      ++(a.number.empty() ? other : numbered);
      if (shares && a.number != b.number && b.number.empty()) {
        ++lost;
        continue;
      }
      ASSERT_EQ(a.number, b.number) << seed << "\n" << request.text << "\n" << built->tasm;
      ASSERT_EQ(a, b) << seed << "\n" << request.text << "\n" << built->tasm;
    }
  }
  std::printf("%zu runs failed with a number, %zu otherwise or not; %zu numbers lost; %zu programs cheaper\n", numbered,
              other, lost, cheaper);
  EXPECT_GT(numbered, 10 * programs);
  EXPECT_LT(lost, numbered / 50);
  EXPECT_GT(cheaper, programs / 2);
}

}  // namespace
}  // namespace trident::tir::build
