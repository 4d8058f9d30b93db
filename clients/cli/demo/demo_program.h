// The demo's program of Triton VM: one of tests/tir/corpus, lowered from TIR the classical way, then made cheaper to
// prove (jit/tir/build). Both programs are run on several inputs and compared with plain C++.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "clients/cli/triton/heights_text.h"
#include "jit/tir/vm/machine.h"
#include "runtime/base/result.h"

namespace trident::cli {

using Words = std::vector<tir::vm::Element>;

/// A problem for a program to solve.
struct ProgramProblem {
  std::string name;
  std::string meaning;         ///< a sentence without its full stop
  std::string text;            ///< TIR
  Words built_for;             ///< the public input that the heights are lowered for
  std::vector<Words> checked;  ///< public inputs on which both programs are compared with `answer`
  std::function<Words(const Words& input)> answer;
};

/// fibonacci_big.tir, which nothing was tuned on: F(n) in four words of 32 bits, built for n = 100.
ProgramProblem fibonacci_problem();

struct ProgramCheck {
  Words input, expected;
  bool right_before = false, right_after = false;
  std::uint64_t padded_before = 0, padded_after = 0;  ///< with this input
  [[nodiscard]] bool right() const { return right_before && right_after; }
};

struct DemoProgram {
  std::string name, meaning;
  ProgramSize before, after;
  std::vector<ProgramCheck> checks;
  double seconds = 0;  ///< to lower, search and prove
  [[nodiscard]] bool right() const;
  /// The padded height, which is the prover's time, is at most half of what it was.
  [[nodiscard]] bool halved() const { return 2 * after.heights.padded() <= before.heights.padded(); }
  [[nodiscard]] bool failed() const { return !right() || !halved(); }
};

/// An error if the text is not right, or the program fails on the input that it is built for.
Result<DemoProgram> run_demo_program(const ProgramProblem& problem);

/// The nine tables and the results of the checks, in lines.
std::string demo_program_text(const DemoProgram& program);
/// The tables and checks as a section of the report, with a chart.
std::string demo_program_html(const DemoProgram& program);

}  // namespace trident::cli
