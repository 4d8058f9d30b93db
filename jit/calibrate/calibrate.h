// `trident calibrate --ops`: measures the costs of kir's ops on this processor, as a table of jit/cost.
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
#include <string_view>
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

/// Returns true when `date`, written as by today(), is today or at most `days` earlier; false for text that is no date.
bool is_recent(const std::string& date, std::uint32_t days);

/// Returns true when `table` is for this processor and `isa`, and was measured by this build in the last `days`.
bool is_current(const cost::Table& table, std::string_view isa, std::uint32_t days);

/// Nanoseconds per call, one for each round: two lengths of the op's chains and two of the fma's.
struct StepRounds {
  std::vector<double> op_short, op_long, fma_short, fma_long;
};
/// Cost of one op step, in fmas: the time of `op_steps` more op steps, per step, over that of `fma_steps` more fmas,
/// per fma. Returns the median over the rounds, at least 0. Rounds in which the longer fma chain was no slower than the
/// shorter one were disturbed and do not count. Error Timeout when fewer than half count, or there are no rounds.
Result<double> steps_in_fmas(const StepRounds& rounds, double op_steps, double fma_steps);

/// Figures of all rows from the times of their steps (in the order of cost::rows()): the other ops of a step are
/// subtracted, never below 0. Rounded to three digits after the point. Rows of Convert and Bitcast take the figure of
/// their pair that was measured, the one whose operand type comes first.
std::vector<cost::Figures> figures_of(std::span<const cost::Figures> steps);
/// Returns true when a row is measured itself, and not taken from the row of the opposite conversion.
bool is_measured(const cost::Row& row);

/// Takes some seconds. Errors: Cancelled when interrupted; Timeout when the machine leaves no undisturbed round;
/// Internal for a kernel that crashes or computes something else; OsError, Unsupported.
Result<cost::Table> calibrate(const CalibrateOptions& options);

}  // namespace trident::calibrate
