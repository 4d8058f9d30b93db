// Turns the observations of a kernel's contestants into figures: whose answers are right, which compiler is the best,
// how many times longer or shorter ours takes, how far it is from what the machine could do; and a corpus's figures
// from its kernels'. Nothing is run or read here, so that a test can say what was observed.
#pragma once

#include <vector>

#include "clients/cli/bench/answers.h"
#include "clients/cli/bench/bench.h"
#include "clients/cli/bench/timing.h"
#include "jit/kir/interpreter.h"

namespace trident::cli {

/// A limit that a kernel goes beyond by no more than this was measured with that error: the kernel stands at it. What
/// it goes beyond by more is no limit of it: a copy that its compiler has made badly, an instruction that the processor
/// runs on more ports than the profile of the loop knows of.
inline constexpr double kLimitErrorMax = 1.05;

/// True when `expr` has a transcendental function by the convention of bench/corpus.
bool is_transcendental(const expr::Expr& expr);

/// Recognises derivatives by the names of bench/corpus, such as d02_sigmoid.
bool is_derivative(const std::string& kernel);

/// The interpreter takes part with the instructions that --isa leaves to all, not with the best of this machine.
os::SimdLevel interpreter_level(codegen::Isa isa);

/// The bytes that an element of `expr` stores over all outputs that are arrays.
unsigned stored_bytes(const expr::Expr& expr);

/// Holds every answer of `run`, which has k.entries' contestants in their order, to the reference, and gives the
/// entries that are right their times. A wrong or missing answer of ours fails the kernel, as a compiler's missing one
/// does; a compiler's wrong one only drops out.
void judge_answers(const TimingRun& run, const BenchOptions& options, AnswerChecker& checker, KernelResult& k);

/// Finds the best pinned compiler at each size and forms the ratios to it, and the gain over the fourth of our own
/// entries, if there is one. Fails the kernel when there is none.
void compare(KernelResult& k);

/// Shares of the nearer roof: the larger of port time and the copy's, which is the last contestant of `run`, over our
/// time; medians over rounds of neighbours in time. At most 1 (see kLimitErrorMax). `bytes`: stored_bytes().
void share_of_roof(const TimingRun& run, const BenchOptions& options, unsigned bytes, KernelResult& k);

/// Why the best compiler is ahead, as far as the two loops tell.
std::string reason_of_loss(const KernelResult& k, unsigned bytes);

Summary summarise(const std::vector<const KernelResult*>& kernels);
/// The three summaries of a result, over the kernels that did not fail.
void summarise_groups(BenchResult& result);

}  // namespace trident::cli
