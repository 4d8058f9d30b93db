#include "runtime/train/row_optimiser.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/check.h"

namespace trident::train {
namespace {
constexpr std::size_t kPieces = 16;  // of the rows of one step, shared out among threads
constexpr std::size_t kPrefetchRuns = 2;
constexpr std::size_t kPowersKept = 4096;  // beyond, 1 - beta1^t is 1 in f32 and beta2's is computed
}  // namespace

template <class Real>
RowOptimiser<Real>::RowOptimiser(tensor::RowTable<Real>& table, const RowOptions& options,
                                 std::vector<autodiff::RowGradient<Real>> gradients,
                                 std::span<const std::size_t> ids_max)
    : table_(table), options_(options), gradients_(std::move(gradients)) {
  CHECK(table.planes() == planes_of(options.algorithm) && ids_max.size() == gradients_.size());
  std::size_t pairs = 0;
  for (std::size_t i = 0; i < gradients_.size(); ++i) {
    CHECK(gradients_[i].table == &table);
    pairs += ids_max[i];
    for (std::size_t b = 0; b < gradients_[i].bags; ++b) {
      sample_gradients_.push_back(gradients_[i].gradient + b * table.width());
    }
  }
  pairs_.resize(pairs);
  sorted_.resize(pairs);
  samples_.resize(pairs);
  starts_.resize(pairs + 1);
  for (std::size_t t = 0; t < kPowersKept; ++t) {
    powers1_.push_back(std::pow(options.beta1, static_cast<double>(t)));
    powers2_.push_back(std::pow(options.beta2, static_cast<double>(t)));
  }
}

template <class Real>
std::size_t RowOptimiser<Real>::digits() const {
  std::size_t digits = 0;
  while (digits < kDigits && ((table_.rows() - 1) >> (digits * kDigitBits)) != 0) ++digits;
  return digits;
}

template <class Real>
void RowOptimiser<Real>::gather() {
  count_ = 0;
  const std::size_t digits = this->digits();
  for (std::size_t d = 0; d < digits; ++d) counts_[d].fill(0);
  std::uint32_t first_sample = 0;
  for (const auto& gradient : gradients_) {
    for (std::size_t b = 0; b < gradient.bags; ++b) {
      for (std::int32_t i = gradient.offsets[b]; i < gradient.offsets[b + 1]; ++i) {
        const auto row = static_cast<std::uint32_t>(gradient.ids[i]);
        pairs_[count_++] = {row, first_sample + static_cast<std::uint32_t>(b)};
        for (std::size_t d = 0; d < digits; ++d) ++counts_[d][(row >> (d * kDigitBits)) % kBuckets];
      }
    }
    first_sample += static_cast<std::uint32_t>(gradient.bags);
  }
}

template <class Real>
void RowOptimiser<Real>::sort() {
  for (std::size_t d = 0; d < digits() && count_ > 0; ++d) {
    auto& at = counts_[d];
    const std::size_t shift = d * kDigitBits;
    if (at[(pairs_[0].row >> shift) % kBuckets] == count_) continue;  // hot rows are the first ones: one high digit
    std::uint32_t sum = 0;
    for (std::uint32_t& bucket : at) sum += std::exchange(bucket, sum);
    for (std::size_t i = 0; i < count_; ++i) sorted_[at[(pairs_[i].row >> shift) % kBuckets]++] = pairs_[i];
    pairs_.swap(sorted_);
  }
  runs_ = 0;
  std::uint32_t previous = UINT32_MAX;  // no row: ids are positive as std::int32_t
  for (std::size_t i = 0; i < count_; ++i) {
    samples_[i] = pairs_[i].sample;
    starts_[runs_] = static_cast<std::uint32_t>(i);  // stays where a run starts: no branch to guess
    runs_ += pairs_[i].row != previous;
    previous = pairs_[i].row;
  }
  starts_[runs_] = static_cast<std::uint32_t>(count_);
}

template <class Real>
void RowOptimiser<Real>::apply(std::size_t from, std::size_t to, double rate, double gradient_scale) {
  const auto& kernels = tensor::kernels<Real>();
  const std::size_t width = table_.width(), plane = table_.plane_stride();
  const tensor::AdagradStep<Real> adagrad{static_cast<Real>(rate), static_cast<Real>(options_.epsilon),
                                          static_cast<Real>(gradient_scale)};
  tensor::AdamStep<Real> adam{static_cast<Real>(rate),
                              static_cast<Real>(options_.beta1),
                              static_cast<Real>(options_.beta2),
                              static_cast<Real>(options_.epsilon),
                              0,
                              1,
                              1,
                              static_cast<Real>(gradient_scale)};
  const auto updates = table_.updates();
  for (std::size_t r = from; r < to; ++r) {
    const std::uint32_t row = pairs_[starts_[r]].row;
    const Real* ahead = table_.row(pairs_[starts_[std::min(r + kPrefetchRuns, to - 1)]].row);
    const std::uint32_t* samples = samples_.data() + starts_[r];
    const std::size_t count = starts_[r + 1] - starts_[r];
    const std::uint32_t t = ++updates[row];
    if (options_.algorithm == RowAlgorithm::adam) {
      const bool kept = t < kPowersKept;
      adam.correction1 = static_cast<Real>(1 / (1 - (kept ? powers1_[t] : std::pow(options_.beta1, t))));
      adam.correction2 = static_cast<Real>(1 / (1 - (kept ? powers2_[t] : std::pow(options_.beta2, t))));
      kernels.row_adam(width, plane, adam, sample_gradients_.data(), samples, count, table_.row(row), ahead);
    } else {
      kernels.row_adagrad(width, plane, adagrad, sample_gradients_.data(), samples, count, table_.row(row), ahead);
    }
  }
}

template <class Real>
void RowOptimiser<Real>::step(Team& team, double rate, double gradient_scale) {
  gather();
  sort();
  team.run(kPieces, [&](std::size_t piece) {
    apply(runs_ * piece / kPieces, runs_ * (piece + 1) / kPieces, rate, gradient_scale);
  });
}

template class RowOptimiser<float>;
template class RowOptimiser<double>;

}  // namespace trident::train
