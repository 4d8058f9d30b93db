// Adam and Adagrad for tables of which a step touches few rows. The (row, sample) pairs of all lists are sorted by
// radix, each row's gradient is summed in registers and applied in the same pass, and a row's weight and state lie side
// by side: one visit to memory a row and step. Adam corrects its bias by how often that row was updated, not by the
// steps of the run, so that a row seen for the first time late is treated as one seen at once.
//
// The sort is stable and shards come in their order, so each row's sum has one order whatever the number of threads.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/autodiff/tape.h"
#include "runtime/train/team.h"

namespace trident::train {

enum class RowAlgorithm : std::uint8_t { adam, adagrad };

struct RowOptions {
  RowAlgorithm algorithm = RowAlgorithm::adam;
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;  ///< outside the root
};

/// How many planes a table needs.
constexpr std::size_t planes_of(RowAlgorithm algorithm) {
  return algorithm == RowAlgorithm::adam ? 3 : 2;
}

template <class Real>
class RowOptimiser {
 public:
  /// Optimises one table; `gradients` are the shards' gradients of it, in the order of the shards, and must outlive
  /// this.
  RowOptimiser(tensor::RowTable<Real>& table, const RowOptions& options,
               std::vector<autodiff::RowGradient<Real>> gradients, std::span<const std::size_t> ids_max);

  /// One step with the gradients that the last backward() left, times `gradient_scale`. Allocates nothing.
  void step(Team& team, double rate, double gradient_scale = 1);
  /// Rows that the last step touched.
  [[nodiscard]] std::size_t rows_touched() const { return runs_; }

 private:
  struct Pair {
    std::uint32_t row, sample;
  };
  // Digits of a row's number, the lowest first, by which the pairs are sorted.
  static constexpr std::size_t kDigitBits = 10, kBuckets = std::size_t{1} << kDigitBits, kDigits = 4;
  using Counts = std::array<std::array<std::uint32_t, kBuckets>, kDigits>;
  [[nodiscard]] std::size_t digits() const;
  void gather();
  void sort();
  void apply(std::size_t from, std::size_t to, double rate, double gradient_scale);

  tensor::RowTable<Real>& table_;
  RowOptions options_;
  std::vector<autodiff::RowGradient<Real>> gradients_;
  std::vector<const Real*> sample_gradients_;
  std::vector<Pair> pairs_, sorted_;
  std::vector<std::uint32_t> samples_;  // of the sorted pairs
  std::vector<std::uint32_t> starts_;   // of runs of one row, within the sorted pairs
  Counts counts_;                       // of the pairs, by digit
  std::vector<double> powers1_, powers2_;
  std::size_t count_ = 0, runs_ = 0;
};

extern template class RowOptimiser<float>;
extern template class RowOptimiser<double>;

}  // namespace trident::train
