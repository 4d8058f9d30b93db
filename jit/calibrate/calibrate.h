// `trident calibrate --ops`: what the ops of kir take on this processor, as a table of jit/cost.
//
// Every row's kernels (op_kernels.h) go through the code generator, answer as the interpreter does, and are timed in a
// sandboxed child (jit/judge/timing.h), taking turns round by round with chains of fma of the same lengths. A figure is
// the median over the rounds of
//
//   (long - short) of the op, per step  /  (long - short) of the fma, per step
//
// so that loops, loads and stores cancel, and so does the clock. Reductions have no chain inside an element: they are
// timed in long and short calls instead.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "jit/calibrate/op_kernels.h"
#include "jit/codegen/codegen.h"
#include "jit/cost/cost.h"
#include "runtime/base/result.h"

namespace trident::calibrate {

struct CalibrateOptions {
  codegen::Isa isa = codegen::Isa::avx2;  ///< avx2 or avx512, which the processor must have
  std::uint32_t rounds = 31;
  std::uint64_t batch_ns = 20'000;
  /// Told before each row: rows done, rows in all, the row's name.
  std::function<void(std::size_t done, std::size_t total, const std::string& what)> progress{};
};

/// YYYY-MM-DD, of the world's time.
std::string today();

/// Whether `date`, as today() writes it, is at most `days` before today and not after it. False for what is no date.
bool is_recent(const std::string& date, std::uint32_t days);

/// Nanoseconds per call, one for each round: two lengths of the op's chains and two of the fma's.
struct StepRounds {
  std::vector<double> op_short, op_long, fma_short, fma_long;
};
/// What `op_steps` more steps of the op take, per step, in what `fma_steps` more fmas take, per fma: the median over
/// the rounds, not below 0. Rounds in which the longer fma chain took no longer than the shorter one were disturbed and
/// say nothing. Error Timeout when that leaves fewer than half, or there are no rounds.
Result<double> steps_in_fmas(const StepRounds& rounds, double op_steps, double fma_steps);

/// Figures of all rows from what their steps took (in the order of cost::rows()): what is beside an op in its step is
/// taken off, never below 0. Rounded to three digits after the point. Rows of Convert and Bitcast take the figure of
/// their pair that was measured, the one whose operand type comes first.
std::vector<cost::Figures> figures_of(std::span<const cost::Figures> steps);
/// Whether a row is measured itself, and not as the way back of another one.
bool is_measured(const cost::Row& row);

/// Takes some seconds. Errors: Cancelled when interrupted; Timeout when the machine leaves no undisturbed round;
/// Internal for a kernel that crashes or computes something else; OsError, Unsupported.
Result<cost::Table> calibrate(const CalibrateOptions& options);

}  // namespace trident::calibrate
