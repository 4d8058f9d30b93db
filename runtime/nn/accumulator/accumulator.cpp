#include "runtime/nn/accumulator/accumulator.h"

#include <algorithm>
#include <numeric>

namespace trident::nn {

std::int64_t Movement::rows_gained() const {
  const auto total = [](const std::vector<std::uint32_t>& sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  };
  return static_cast<std::int64_t>(plus_.size()) - static_cast<std::int64_t>(minus_.size()) + total(plus_sizes_) -
         total(minus_sizes_);
}

simd::Terms Movement::terms() const {
  return {weights_->rows(),     plus_.data(),          minus_.data(),        plus_.size(),         minus_.size(),
          plus_vectors_.data(), minus_vectors_.data(), plus_vectors_.size(), minus_vectors_.size()};
}

void Movement::apply(Accumulator& accumulator) const {
  if (rows() <= simd::kRowsMax)
    simd::kernels().update(accumulator, terms());
  else
    apply_in_parts(accumulator);
}

void Movement::apply_in_parts(Accumulator& accumulator) const {
  const simd::Kernels& kernels = simd::kernels();
  for (std::size_t i = 0; i < plus_.size(); i += simd::kRowsMax) {
    simd::Terms part{.rows = weights_->rows(), .plus = plus_.data() + i};
    part.plus_count = std::min(simd::kRowsMax, plus_.size() - i);
    kernels.update(accumulator, part);
  }
  for (std::size_t i = 0; i < minus_.size(); i += simd::kRowsMax) {
    simd::Terms part{.rows = weights_->rows(), .minus = minus_.data() + i};
    part.minus_count = std::min(simd::kRowsMax, minus_.size() - i);
    kernels.update(accumulator, part);
  }
  for (const NodeVector* const& vector : plus_vectors_) {
    simd::Terms part{.plus_vectors = &vector};
    part.plus_vectors_count = 1;
    kernels.update(accumulator, part);
  }
  for (const NodeVector* const& vector : minus_vectors_) {
    simd::Terms part{.minus_vectors = &vector};
    part.minus_vectors_count = 1;
    kernels.update(accumulator, part);
  }
}

bool Movement::sum(NodeVector& out) const {
  if (rows() <= simd::kRowsMax) {
    simd::kernels().sum(out, terms());
    return true;
  }
  Accumulator wide{};
  apply_in_parts(wide);
  for (std::size_t l = 0; l < kLanes; ++l) {
    out.lane[l] = static_cast<std::int16_t>(wide.lane[l]);
    if (out.lane[l] != wide.lane[l]) return false;
  }
  return true;
}

}  // namespace trident::nn
