// Features of a state for a network: at most one in each of a fixed number of places, over the op table of TASM,
// and some numbers.
//
//   place            feature
//   st0 .. st15      use of the value there: the end, tasks that are ready, tasks that wait, none; whether
//                    there are too few or too many of it
//   each open task   its op, and the place of its operands on the stack; or how many of them are missing
//   the end's stack  distance of a value from its final place
//   the path         the last instruction; the last two ops
//   the whole        number of surplus elements on the stack, number of open tasks
//
// A move changes few places, so an accumulator is updated by their rows only. A place depends on the
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

/// Returns the number of features, and a number that changes with their meaning and with the op table.
nn::FeatureSpace feature_space();

/// Returns the cost of a move on the stack, the unit of a network's answers.
inline double move_cost(const Weights& w) {
  return 2 * w.word + w.cycle;
}

struct Seen {
  Places places;
  alignas(32) Scalars scalars;
};

/// Reads the features of one search's states.
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
  std::array<std::int8_t, kValuesMax + 1> balance_{};  ///< available copies, now or later, minus needed ones
  std::array<std::uint8_t, kValuesMax + 1> depth_{};   ///< depth of the copy nearest to the top
  std::array<std::uint8_t, kValuesMax + 1> for_ready_{}, for_waiting_{};  ///< such tasks take the value
  std::array<std::uint8_t, kValuesMax + 1> at_end_{};                     ///< the value is left on the stack
};

}  // namespace trident::tir::superopt
