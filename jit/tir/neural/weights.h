// The weights of the network: one flat vector of fixed-point numbers with named slices, and its file.
//
//   features             511 x 64   rows that are summed to the inputs of nodes and drafts; its first 187 rows,
//                                   one per token, are also multiplied with the output
//   layer 0, 1           query, key, value, output   64 x 64 each, without bias
//                        in 64 x 128 + 128, out 128 x 64 + 64; two norms, gain and bias of 64 each
//   decoder              hidden 128 x 128 + 128, out 128 x 64 + 64
//   tokens               a bias for each of the 187 tokens
//
// 124,091 in all. The plan of this network counts a layer as 33,024 (one of the two biases in the
// feed-forward part, one of the two norms) and the decoder as 24,768 and leaves out the tables of features and tokens:
// 90,816 by that count.
//
// The file: "TIRN", u32 layout (a hash of the slices), u32 number of weights, then each as i32, in units of
// 2^-16, all little endian. Its address is the Poseidon2 of runtime/field/poseidon.h over its bytes; the store also
// names versions by their SHA-256.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "jit/tir/neural/arithmetic.h"
#include "jit/tir/neural/draft.h"
#include "jit/tir/neural/fixed_point.h"
#include "runtime/base/result.h"
#include "runtime/field/poseidon.h"

namespace trident::tir::neural {

inline constexpr std::size_t kLayers = 2, kHeads = 2, kHeadWidth = kWidth / kHeads;
inline constexpr std::size_t kInner = 128;         ///< width inside the feed-forward part
inline constexpr std::size_t kDecoderInner = 128;  ///< input and hidden layer of the decoder

/// Bound of weights: strictly within +- this, 8.0; activations saturate at +- kActivationMax (arithmetic.h), 128.0. A
/// sum of their products is then an integer of at most 52 bits, which a double holds exactly.
inline constexpr std::int32_t kWeightBound = 1 << 19;
static_assert(kDecoderInner * std::int64_t{kWeightBound} * kActivationMax <= kExactSumMax);
static_assert(kWidth * kActivationMax * kActivationMax <= kExactSumMax);
static_assert(kExactSumMax < kProductSumMax);

struct SliceRow {
  std::string_view name;
  std::size_t rows, columns;  ///< a vector has one row
};
/// Slices, in the order of the flat vector.
#define TRIDENT_TIR_LAYER(l)                                                                          \
  {l ".query", kWidth, kWidth}, {l ".key", kWidth, kWidth}, {l ".value", kWidth, kWidth},             \
      {l ".output", kWidth, kWidth}, {l ".norm1.gain", 1, kWidth}, {l ".norm1.bias", 1, kWidth},      \
      {l ".in.weight", kWidth, kInner}, {l ".in.bias", 1, kInner}, {l ".out.weight", kInner, kWidth}, \
      {l ".out.bias", 1, kWidth}, {l ".norm2.gain", 1, kWidth}, {                                     \
    l ".norm2.bias", 1, kWidth                                                                        \
  }
inline constexpr SliceRow kSlices[] = {{"features", feature::kCount, kWidth},
                                       TRIDENT_TIR_LAYER("layer0"),
                                       TRIDENT_TIR_LAYER("layer1"),
                                       {"decoder.hidden.weight", kDecoderInner, kDecoderInner},
                                       {"decoder.hidden.bias", 1, kDecoderInner},
                                       {"decoder.out.weight", kDecoderInner, kWidth},
                                       {"decoder.out.bias", 1, kWidth},
                                       {"tokens.bias", 1, kTokenCount}};
#undef TRIDENT_TIR_LAYER

/// Counts the elements before slice `slice`, or all.
constexpr std::size_t offset_of(std::size_t slice) {
  std::size_t offset = 0;
  for (std::size_t s = 0; s < slice; ++s) offset += kSlices[s].rows * kSlices[s].columns;
  return offset;
}
inline constexpr std::size_t kParameterCount = offset_of(std::size(kSlices));
static_assert(kParameterCount == 124'091);

using Weights = std::vector<std::int32_t>;  ///< kParameterCount weights

/// Returns an index in kSlices; an unknown name is a bug.
std::size_t slice_named(std::string_view name);
std::span<const std::int32_t> values_of(std::span<const std::int32_t> weights, std::string_view slice);

/// Makes weights: gains 1, biases 0, the rest uniform in their slice's spread.
Weights initial_weights(std::uint64_t seed);
/// Returns the nearest weight within the bounds.
std::int32_t weight_of(double real);

std::vector<std::byte> file_of(std::span<const std::int32_t> weights);
/// Reads a file's bytes. Errors: RejectedRecord for bytes that are no such file.
Result<Weights> weights_in(std::span<const std::byte> file);
field::ContentAddress address_of(std::span<const std::int32_t> weights);

}  // namespace trident::tir::neural
