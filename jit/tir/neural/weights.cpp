#include "jit/tir/neural/weights.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "runtime/tensor/generator.h"

namespace trident::tir::neural {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr char kWeightsMagic[4] = {'T', 'I', 'R', 'N'};

struct WeightsHeader {
  char magic[4];
  std::uint32_t layout, count;
};

std::uint32_t layout() {
  std::uint64_t hash = kTokenCount;
  for (const SliceRow& slice : kSlices)
    hash = tensor::mix(hash ^ tensor::hash_of(slice.name) ^ tensor::mix(slice.rows << 32 | slice.columns));
  return static_cast<std::uint32_t>(hash);
}

/// Returns half the width of a slice's initial distribution (Xavier), 0 for vectors. A row of features is one of
/// about a dozen that are summed.
double spread_of(const SliceRow& slice) {
  if (slice.rows == 1) return 0;
  if (slice.name == "features") return 0.4;
  return std::sqrt(6.0 / static_cast<double>(slice.rows + slice.columns));
}

}  // namespace

std::size_t slice_named(std::string_view name) {
  for (std::size_t s = 0; s < std::size(kSlices); ++s)
    if (kSlices[s].name == name) return s;
  CHECK(false);
}

std::span<const std::int32_t> values_of(std::span<const std::int32_t> weights, std::string_view slice) {
  CHECK(weights.size() == kParameterCount);
  const std::size_t s = slice_named(slice);
  return weights.subspan(offset_of(s), kSlices[s].rows * kSlices[s].columns);
}

std::int32_t weight_of(double real) {
  constexpr double kLargest = static_cast<double>(kWeightBound - 1) / static_cast<double>(kScale);
  return static_cast<std::int32_t>(fixed_of(std::fmin(std::fmax(real, -kLargest), kLargest)));
}

Weights initial_weights(std::uint64_t seed) {
  Weights weights;
  weights.reserve(kParameterCount);
  for (const SliceRow& slice : kSlices) {
    tensor::Generator random(seed, tensor::hash_of(slice.name));
    const double spread = spread_of(slice), base = slice.name.ends_with(".gain") ? 1 : 0;
    for (std::size_t i = 0; i < slice.rows * slice.columns; ++i)
      weights.push_back(weight_of(base + spread * (2 * random.uniform() - 1)));
  }
  return weights;
}

std::vector<std::byte> file_of(std::span<const std::int32_t> weights) {
  CHECK(weights.size() == kParameterCount);
  WeightsHeader header{{}, layout(), kParameterCount};
  std::memcpy(header.magic, kWeightsMagic, sizeof kWeightsMagic);
  std::vector<std::byte> file(sizeof header + weights.size_bytes());
  std::memcpy(file.data(), &header, sizeof header);
  std::memcpy(file.data() + sizeof header, weights.data(), weights.size_bytes());
  return file;
}

Result<Weights> weights_in(std::span<const std::byte> file) {
  WeightsHeader header;
  if (file.size() != sizeof header + kParameterCount * sizeof(std::int32_t))
    return make_error(ErrorCode::kRejectedRecord, "not weights of this network: the file has %zu bytes", file.size());
  std::memcpy(&header, file.data(), sizeof header);
  if (std::memcmp(header.magic, kWeightsMagic, sizeof kWeightsMagic) != 0 || header.layout != layout() ||
      header.count != kParameterCount)
    return make_error(ErrorCode::kRejectedRecord, "not weights of this network: the layout differs");
  Weights weights(kParameterCount);
  std::memcpy(weights.data(), file.data() + sizeof header, file.size() - sizeof header);
  for (const std::int32_t w : weights)
    if (w <= -kWeightBound || w >= kWeightBound)
      return make_error(ErrorCode::kRejectedRecord, "a weight is outside (-8, 8): %d / 65536", w);
  return weights;
}

field::ContentAddress address_of(std::span<const std::int32_t> weights) {
  const std::vector<std::byte> file = file_of(weights);
  return field::poseidon_hash_bytes({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()});
}

}  // namespace trident::tir::neural
