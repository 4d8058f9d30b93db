#include "runtime/nn/accumulator/weights.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "runtime/os/mapped_file.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace trident::nn {
namespace {

static_assert(std::endian::native == std::endian::little, "the block is little-endian");

constexpr std::array<char, 8> kMagic = {'T', 'R', 'I', 'D', 'N', 'N', 'U', 'E'};
// Version 3 has no linear guess. It is still written for weights without one.
constexpr std::uint32_t kVersion = 4, kVersionWithoutBase = 3;
constexpr float kCoefficientMax = 1 << 10;
constexpr std::uint32_t kFeaturesMax = 1u << 24, kBiasRowsMax = 1u << 16, kPoolFactorMax = 1u << 24;
constexpr std::int32_t kHeadBiasMax = 1 << 24;
constexpr std::uint32_t kShiftMax = 24;
constexpr std::int32_t kMostMax = 1 << 16;
constexpr std::uint32_t kPoolsKept = 1024;
constexpr std::size_t kAlignment = 64;

struct Header {
  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kVersionWithoutBase;
  std::uint32_t lanes = kLanes, hidden = kHidden, scalars = kScalars;
  std::uint32_t features = 0, stored_rows = 0;
  std::uint64_t feature_hash = 0;
  std::uint64_t bytes = 0;     ///< of the whole block
  std::uint64_t checksum = 0;  ///< XXH3-64 of all that follows, seeded with that of all that goes before
  std::array<std::uint32_t, kHeads> bias_rows{};
  std::uint32_t pool_factor = 0;
  float judge_unit = 0;
};
constexpr std::size_t kHeaderBytes = 128;
static_assert(sizeof(Header) <= kHeaderBytes && sizeof(simd::Head) % kAlignment == 0);

/// Offsets of the parts of a block.
struct Layout {
  std::size_t bias, heads, keys, places, rows, base, end;
  std::array<std::size_t, kHeads> head_bias;
};

constexpr std::size_t aligned(std::size_t n) {
  return (n + kAlignment - 1) / kAlignment * kAlignment;
}

Layout layout_of(const Header& h) {
  Layout l{};
  l.bias = kHeaderBytes;
  l.heads = l.bias + sizeof(simd::Accumulator);
  l.head_bias[0] = l.heads + kHeads * sizeof(simd::Head);
  l.head_bias[1] = l.head_bias[0] + std::size_t{h.bias_rows[0]} * kHidden * sizeof(std::int32_t);
  l.keys = l.head_bias[1] + std::size_t{h.bias_rows[1]} * kHidden * sizeof(std::int32_t);
  l.places = l.keys + std::size_t{h.bias_rows[1]} * sizeof(std::uint64_t);
  l.rows = aligned(l.places + std::size_t{h.features} * sizeof(std::uint32_t));
  l.base = l.rows + (std::size_t{h.stored_rows} + 1) * kLanes;
  l.end = l.base + (h.version == kVersion ? sizeof(LinearGuess) : 0);
  return l;
}

std::uint64_t checksum_of(std::span<const std::byte> block) {
  constexpr std::size_t kAt = offsetof(Header, checksum), kBehind = kAt + sizeof(Header::checksum);
  return XXH3_64bits_withSeed(block.data() + kBehind, block.size() - kBehind, XXH3_64bits(block.data(), kAt));
}

/// `rest` of a file behind a block of `bytes`, from the next multiple of the alignment on; all of it where something
/// lies before that, and nothing where it is zeros.
std::span<const std::byte> without_filling(std::span<const std::byte> rest, std::size_t bytes) {
  const auto zeros = [](std::span<const std::byte> part) {
    return std::all_of(part.begin(), part.end(), [](std::byte b) { return b == std::byte{0}; });
  };
  if (zeros(rest)) return {};
  const std::size_t filling = aligned(bytes) - bytes;
  return filling < rest.size() && zeros(rest.first(filling)) ? rest.subspan(filling) : rest;
}

Error wrong(const char* what, std::uint64_t is, std::uint64_t should) {
  return make_error(ErrorCode::kRejectedRecord, "the network's weights: %s is %llu, expected %llu", what,
                    static_cast<unsigned long long>(is), static_cast<unsigned long long>(should));
}

/// Checks the bounds within which the kernels are exact.
Result<void> check_head(const simd::Head& head, std::span<const std::int32_t> bias) {
  if (head.shift > kShiftMax) return wrong("a head's shift", head.shift, kShiftMax);
  if (head.most < 1 || head.most > kMostMax)
    return make_error(ErrorCode::kRejectedRecord, "the network's weights: a head's bound is not in [1, 2^16]");
  for (const auto& group : head.ws)
    for (const auto& unit : group)
      for (const std::int16_t w : unit)
        if (w < -128 || w > 127)
          return make_error(ErrorCode::kRejectedRecord,
                            "the network's weights: a head's scalar weight is outside [-128, 127]");
  for (const std::int32_t b : bias)
    if (b < -kHeadBiasMax || b > kHeadBiasMax)
      return make_error(ErrorCode::kRejectedRecord, "the network's weights: a head's bias is outside [-2^24, 2^24]");
  return {};
}

bool is_bounded(const LinearGuess& base) {
  const auto small = [](float c) { return std::fabs(c) <= kCoefficientMax; };  // and a number
  return std::all_of(base.per_scalar.begin(), base.per_scalar.end(), small) && small(base.constant) &&
         small(base.margin) && base.margin >= 0;
}

simd::Head pack_head(const PlainWeights::Head& plain) {
  simd::Head head{};
  for (std::size_t j = 0; j < kHidden; ++j) {
    for (std::size_t l = 0; l < kLanes; ++l) head.w1[l / 4][j][l % 4] = plain.w1[j * kLanes + l];
    for (std::size_t k = 0; k < kScalars; ++k) head.ws[k / 2][j][k % 2] = plain.ws[j * kScalars + k];
    head.w2[j] = plain.w2[j];
  }
  head.b2 = plain.b2;
  head.shift = plain.shift;
  head.most = plain.most;
  return head;
}

Error unfit(const char* what) {
  return make_error(ErrorCode::kInvalidArgument, "weights of a network: %s", what);
}

}  // namespace

std::vector<std::uint32_t> hot_first(std::span<const std::uint64_t> hits) {
  std::vector<std::uint32_t> order(hits.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return hits[a] > hits[b]; });
  while (!order.empty() && hits[order.back()] == 0) order.pop_back();
  return order;
}

Result<std::vector<std::byte>> AccumulatorWeights::pack(const PlainWeights& weights) {
  const std::uint32_t features = weights.space.features;
  if (features == 0 || features > kFeaturesMax) return unfit("no features, or more than 2^24");
  const std::vector<std::uint32_t>& order = weights.order;
  if (weights.rows.size() != order.size() * kLanes) return unfit("there must be one row per feature of the order");
  if (std::find(weights.rows.begin(), weights.rows.end(), -128) != weights.rows.end())
    return unfit("a row holds -128; its weights must be in [-127, 127]");
  if (weights.pool_factor == 0 || weights.pool_factor > kPoolFactorMax)
    return unfit("the pool factor must be in [1, 2^24]");
  std::vector<std::uint32_t> places(features, static_cast<std::uint32_t>(order.size()));
  for (std::uint32_t r = 0; r < order.size(); ++r) {
    if (order[r] >= features || places[order[r]] != order.size())
      return unfit("the order repeats a feature or names an unknown one");
    places[order[r]] = r;
  }
  Header header;
  header.features = features;
  header.stored_rows = static_cast<std::uint32_t>(order.size());
  header.feature_hash = weights.space.hash;
  header.pool_factor = weights.pool_factor;
  if (!(weights.judge_unit >= 0) || weights.judge_unit > 1) return unfit("the judge's unit must be in [0, 1]");
  header.judge_unit = weights.judge_unit;
  if (weights.linear_guess) {
    if (!is_bounded(*weights.linear_guess))
      return unfit("the judge's linear guess has a coefficient outside [-2^10, 2^10]");
    header.version = kVersion;
  }
  for (std::size_t h = 0; h < kHeads; ++h) {
    const PlainWeights::Head& head = weights.heads[h];
    if (head.bias.empty() || head.bias.size() > kBiasRowsMax) return unfit("a head has no bias rows or too many");
    if (head.w1.size() != kHidden * kLanes || head.ws.size() != kHidden * kScalars)
      return unfit("a head's matrices have the wrong size");
    header.bias_rows[h] = static_cast<std::uint32_t>(head.bias.size());
  }
  const Layout layout = layout_of(header);
  header.bytes = layout.end;

  std::vector<std::byte> block(layout.end);
  const auto put = [&](std::size_t at, const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(block.data() + at, from, bytes);
  };
  put(layout.bias, weights.bias.data(), sizeof weights.bias);
  for (std::size_t h = 0; h < kHeads; ++h) {
    const simd::Head head = pack_head(weights.heads[h]);
    const auto& bias = weights.heads[h].bias;
    TRY_VOID(check_head(head, {bias[0].data(), bias.size() * kHidden}));
    put(layout.heads + h * sizeof head, &head, sizeof head);
    put(layout.head_bias[h], bias.data(), bias.size() * sizeof bias[0]);
  }
  const PlainWeights::Head& guide = weights.heads[static_cast<std::size_t>(HeadKind::guide)];
  if (!guide.keys.empty() && guide.keys.size() != guide.bias.size())
    return unfit("the guide must have one key per bias row");
  put(layout.keys, guide.keys.data(), guide.keys.size() * sizeof(std::uint64_t));
  put(layout.places, places.data(), places.size() * sizeof places[0]);
  put(layout.rows, weights.rows.data(), weights.rows.size());
  if (weights.linear_guess) put(layout.base, &*weights.linear_guess, sizeof(LinearGuess));
  put(0, &header, sizeof header);
  header.checksum = checksum_of(block);
  put(0, &header, sizeof header);
  return block;
}

Result<AccumulatorWeights> AccumulatorWeights::view(std::span<const std::byte> block, const FeatureSpace& space) {
  Header header;
  if (block.size() < kHeaderBytes) return wrong("the size", block.size(), kHeaderBytes);
  std::memcpy(&header, block.data(), sizeof header);
  if (header.magic != kMagic)
    return make_error(ErrorCode::kRejectedRecord, "not a network's weights: the first bytes are not TRIDNNUE");
  if (header.version != kVersion && header.version != kVersionWithoutBase)
    return wrong("the version", header.version, kVersion);
  if (header.lanes != kLanes || header.hidden != kHidden || header.scalars != kScalars)
    return wrong("the shape (lanes)", header.lanes, kLanes);
  if (header.features != space.features) return wrong("the number of features", header.features, space.features);
  if (header.feature_hash != space.hash)
    return make_error(ErrorCode::kRejectedRecord,
                      "the network's weights were made for other features (hash %016llx, expected %016llx) because ops "
                      "or kinds have changed since; train or convert them again",
                      static_cast<unsigned long long>(header.feature_hash),
                      static_cast<unsigned long long>(space.hash));
  if (header.features > kFeaturesMax || header.stored_rows > header.features)
    return wrong("the number of rows", header.stored_rows, header.features);
  for (const std::uint32_t rows : header.bias_rows)
    if (rows == 0 || rows > kBiasRowsMax) return wrong("the number of bias rows", rows, 1);
  if (header.pool_factor == 0 || header.pool_factor > kPoolFactorMax)
    return wrong("the pool factor", header.pool_factor, kPoolFactorMax);
  if (!(header.judge_unit >= 0) || header.judge_unit > 1)
    return make_error(ErrorCode::kRejectedRecord, "the network's weights: the judge's unit is not in [0, 1]");
  const Layout layout = layout_of(header);
  if (header.bytes != layout.end || block.size() < layout.end) return wrong("the size", block.size(), layout.end);
  const std::span<const std::byte> behind = without_filling(block.subspan(layout.end), layout.end);
  block = block.first(layout.end);
  if (const std::uint64_t sum = checksum_of(block); sum != header.checksum)
    return wrong("the checksum", sum, header.checksum);
  if (reinterpret_cast<std::uintptr_t>(block.data()) % kAlignment != 0)
    return make_error(ErrorCode::kInvalidArgument, "the network's weights must be aligned to 64 bytes");

  const auto at = [&]<class T>(std::size_t offset, const T*) {
    return reinterpret_cast<const T*>(block.data() + offset);
  };
  AccumulatorWeights w;
  w.behind_ = behind;
  w.features_ = header.features, w.stored_rows_ = header.stored_rows, w.pool_factor_ = header.pool_factor;
  w.judge_unit_ = header.judge_unit;
  w.rows_ = at(layout.rows, w.rows_);
  w.places_ = at(layout.places, w.places_);
  w.bias_ = at(layout.bias, w.bias_);
  w.heads_ = at(layout.heads, w.heads_);
  w.bias_rows_ = header.bias_rows;
  for (std::size_t h = 0; h < kHeads; ++h) {
    w.head_bias_[h] = at(layout.head_bias[h], w.head_bias_[h]);
    TRY_VOID(check_head(w.heads_[h], {w.head_bias_[h], std::size_t{header.bias_rows[h]} * kHidden}));
  }
  if (header.version == kVersion) {
    w.linear_guess_ = at(layout.base, w.linear_guess_);
    if (!is_bounded(*w.linear_guess_))
      return make_error(ErrorCode::kRejectedRecord,
                        "the network's weights: the judge's linear guess has a coefficient outside [-2^10, 2^10]");
  }
  w.keys_ = {at(layout.keys, w.keys_.data()), header.bias_rows[static_cast<std::size_t>(HeadKind::guide)]};
  for (std::uint32_t f = 0; f < header.features; ++f)
    if (w.places_[f] > header.stored_rows)
      return wrong("the row number of a feature", w.places_[f], header.stored_rows);
  for (std::uint32_t nodes = 0; nodes < kPoolsKept; ++nodes) w.pools_.push_back(w.pool_of(nodes));
  return w;
}

Result<AccumulatorWeights> AccumulatorWeights::map(const std::string& path, const FeatureSpace& space) {
  TRY(os::Mapping mapping, os::map_file(path));
  const auto kept = std::make_shared<const os::Mapping>(std::move(mapping));
  TRY(AccumulatorWeights weights, view(kept->bytes(), space));
  weights.mapping_ = kept;
  return weights;
}

Result<AccumulatorWeights> AccumulatorWeights::copy(std::span<const std::byte> block, const FeatureSpace& space) {
  const auto own = std::make_shared<std::vector<simd::NodeVector>>((block.size() + sizeof(simd::NodeVector) - 1) /
                                                                   sizeof(simd::NodeVector));
  if (!block.empty()) std::memcpy(static_cast<void*>(own->data()), block.data(), block.size());
  TRY(AccumulatorWeights weights, view(std::as_bytes(std::span(*own)), space));
  weights.own_ = own;
  return weights;
}

Result<AccumulatorWeights> AccumulatorWeights::make(const PlainWeights& plain) {
  TRY(const std::vector<std::byte> block, pack(plain));
  return copy(block, plain.space);
}

simd::Pool AccumulatorWeights::pool_of(std::uint32_t nodes) const {
  const std::uint32_t factor = std::max(pool_factor_ / std::max(nodes, 1u), 1u);
  return {static_cast<std::int32_t>(factor), static_cast<std::int32_t>(((127u << 16) + factor - 1) / factor)};
}

}  // namespace trident::nn
