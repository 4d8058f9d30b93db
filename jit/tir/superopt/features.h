// What a network sees of a state: one feature at most in each of a fixed number of places, over the op table of TASM,
// and some numbers beside them.
//
//   place            feature
//   st0 .. st15      what the value there is good for: the end, tasks that are ready, tasks that wait, nothing; whether
//                    there are too few or too many of it
//   each open task   its op, and where on the stack lies what it takes; or how much of that is not there yet
//   the end's stack  how far from its place a value is that is not where it is to be left
//   the path         the last instruction; the last two ops
//   the whole        how many elements too many the stack has, how many tasks are open
//
// A move changes few places, so that an accumulator follows by the rows of those. What a place shows depends on the
// state alone, never on how it was reached but for the last two instructions.
#pragma once

#include <array>
#include <cstdint>

#include "jit/tir/superopt/search.h"
#include "jit/tir/superopt/state.h"
#include "runtime/nn/accumulator/weights.h"

namespace trident::tir::superopt {

using Feature = std::uint16_t;
inline constexpr Feature kNoFeature = 0xFFFF;
inline constexpr std::size_t kPlaces = tasm::kRegisters + kTasksMax + kStackMax + 4;
static_assert(kPlaces <= simd::kRowsMax);
using Places = std::array<Feature, kPlaces>;
using Scalars = std::array<std::int16_t, simd::kScalars>;

/// How many features there are, and a number that changes with what they mean and with the op table.
nn::FeatureSpace feature_space();

/// Cost of a move on the stack: what a network's answers are in multiples of.
inline double move_cost(const Weights& w) {
  return 2 * w.word + w.cycle;
}

struct Seen {
  Places places;
  alignas(32) Scalars scalars;
};

/// Looks at states of one search.
class Onlooker {
 public:
  /// The specification must outlive it.
  Onlooker(const Specification& specification, const Weights& weights);
  void look(const State& state, Seen& out);

 private:
  void count(const State& state);
  [[nodiscard]] Feature of_task(std::size_t task) const;
  [[nodiscard]] std::uint32_t bucket_of(Id id) const;

  const Specification& spec_;
  Weights weights_;
  std::array<double, kTasksMax> task_cost_{};
  std::uint64_t all_done_ = 0;
  std::uint64_t ready_ = 0;                            ///< open tasks that only need the stack in order
  std::array<std::int8_t, kValuesMax + 1> balance_{};  ///< there or to come, less those that are needed
  std::array<std::uint8_t, kValuesMax + 1> depth_{};   ///< of the copy nearest to the top
  std::array<std::uint8_t, kValuesMax + 1> for_ready_{}, for_waiting_{};  ///< whether such tasks take it
  std::array<std::uint8_t, kValuesMax + 1> at_end_{};                     ///< whether it is left on the stack
};

}  // namespace trident::tir::superopt
