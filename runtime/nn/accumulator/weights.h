// The weights of an efficiently updatable network with an accumulator, as one block of bytes that is mapped read-only
// and used where it lies:
//
//   header | bias (int32) | two heads | bias rows of the heads (int32) | keys of the second head's (u64) |
//   places (u32 per feature) | rows (int8) | what the first head's score is added to (version 4)
//
// Rows are stored in the order in which they are hit, the most often first: of 401,408 features some 8,000 take 99 % of
// the hits, and so lie in one or two contiguous megabytes. A feature's place says which row it has; all features that
// were never hit may share the one row of zeros behind those that are stored.
//
// A block is used only when version, size, counts, feature hash and checksum are as they must be: a network that
// understands features otherwise than its caller gives plausible nonsense.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/os/memfd.h"
#include "runtime/simd/kernels.h"

namespace trident::nn {

using simd::kHidden;
using simd::kLanes;
using simd::kScalars;

/// Two heads look at one accumulator.
enum class HeadKind : std::uint8_t { judge, guide };
inline constexpr std::size_t kHeads = 2;

/// The features of the caller: their number, and a hash of their meaning.
struct FeatureSpace {
  std::uint32_t features = 0;
  std::uint64_t hash = 0;
};

/// A linear function of the judge's scalars, to which its score is added. It is learnt with the head, so the network
/// learns only what no linear function can express.
struct LinearGuess {
  std::array<float, kScalars> per_scalar{};
  float constant = 0;
  /// Least gain, in the judge's unit, for which its choice replaces another one.
  float margin = 0;
  friend bool operator==(const LinearGuess&, const LinearGuess&) = default;
};

/// Weights before they are packed.
struct PlainWeights {
  FeatureSpace space;
  std::vector<std::uint32_t> order;  ///< features, the most often hit first; those left out have a row of zeros
  std::vector<std::int8_t> rows;     ///< of feature order[r] from r * kLanes on; at least -127 each
  std::array<std::int32_t, kLanes> bias{};
  std::uint32_t pool_factor = 1 << 16;  ///< pooled = accumulator * pool_factor / nodes / 2^16
  struct Head {
    std::vector<std::int8_t> w1 = std::vector<std::int8_t>(kHidden * kLanes);    ///< by output, then lane
    std::vector<std::int8_t> ws = std::vector<std::int8_t>(kHidden * kScalars);  ///< by output, then scalar
    std::array<std::int8_t, kHidden> w2{};
    std::int32_t b2 = 0;
    std::uint32_t shift = 6;
    std::int32_t most = 127;
    std::vector<std::array<std::int32_t, kHidden>> bias{{}};  ///< rows of it: one, or one per rule
    std::vector<std::uint64_t> keys{};                        ///< of the guide's rows: what each is for; empty: zeros
  };
  std::array<Head, kHeads> heads;
  float judge_unit = 0;  ///< what one of the judge's integers stands for; 0: it was not trained
  std::optional<LinearGuess> linear_guess{};
};

/// Features in the order of their hits, those without any left out; of equal hits the lower number first.
std::vector<std::uint32_t> hot_first(std::span<const std::uint64_t> hits);

class AccumulatorWeights {
 public:
  /// The bytes of a block. Errors: InvalidArgument for sizes that do not fit each other and values out of the bounds of
  /// runtime/simd/kernels.h.
  static Result<std::vector<std::byte>> pack(const PlainWeights& weights);
  /// Takes a block that is aligned to 64 bytes and outlives the returned object. Errors: RejectedRecord, with the
  /// fault. Bytes behind the block are not looked at: see behind().
  static Result<AccumulatorWeights> view(std::span<const std::byte> block, const FeatureSpace& space);
  /// Maps a file. Errors: OsError, NotFound, and those of view().
  static Result<AccumulatorWeights> map(const std::string& path, const FeatureSpace& space);
  /// view() of a copy, wherever the block lies.
  static Result<AccumulatorWeights> copy(std::span<const std::byte> block, const FeatureSpace& space);
  /// pack() and copy().
  static Result<AccumulatorWeights> make(const PlainWeights& weights);

  [[nodiscard]] const std::int8_t* rows() const { return rows_; }
  /// Number of the row of a feature: row r begins at rows() + r * kLanes.
  [[nodiscard]] std::uint32_t row(std::uint32_t feature) const { return places_[feature]; }
  /// Says that a row will be needed soon.
  void prefetch(std::uint32_t row) const {
    constexpr std::size_t kLine = 64;
    for (std::size_t at = 0; at < kLanes; at += kLine) __builtin_prefetch(rows_ + row * kLanes + at);
  }
  [[nodiscard]] const simd::Accumulator& bias() const { return *bias_; }
  [[nodiscard]] const simd::Head& head(HeadKind kind) const { return heads_[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] std::uint32_t bias_rows(HeadKind kind) const { return bias_rows_[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] const std::int32_t* bias_row(HeadKind kind, std::uint32_t row) const {
    return head_bias_[static_cast<std::size_t>(kind)] + row * kHidden;
  }
  /// Value of one unit of the judge head's integer answers; 0: the judge says nothing.
  [[nodiscard]] float judge_unit() const { return judge_unit_; }
  /// The linear function to which its score is added; null in weights of version 3, whose caller adds one itself.
  [[nodiscard]] const LinearGuess* linear_guess() const { return linear_guess_; }
  /// Keys of the guide's rows: see PlainWeights::Head::keys.
  [[nodiscard]] std::span<const std::uint64_t> keys() const { return keys_; }
  /// The bytes that view() or map() found behind the block, without the zeros that fill up a multiple of 64. Empty
  /// when there are only zeros. They may be another block: a caller that expects none refuses them.
  [[nodiscard]] std::span<const std::byte> behind() const { return behind_; }
  [[nodiscard]] std::uint32_t features() const { return features_; }
  /// Number of rows without the row of zeros.
  [[nodiscard]] std::uint32_t stored_rows() const { return stored_rows_; }
  /// The mean over `nodes` nodes.
  [[nodiscard]] simd::Pool pool(std::uint32_t nodes) const {
    return nodes < pools_.size() ? pools_[nodes] : pool_of(nodes);
  }

 private:
  [[nodiscard]] simd::Pool pool_of(std::uint32_t nodes) const;

  const std::int8_t* rows_ = nullptr;
  const std::uint32_t* places_ = nullptr;
  const simd::Accumulator* bias_ = nullptr;
  const simd::Head* heads_ = nullptr;
  std::array<const std::int32_t*, kHeads> head_bias_{};
  std::array<std::uint32_t, kHeads> bias_rows_{};
  std::span<const std::uint64_t> keys_;
  std::span<const std::byte> behind_;
  std::uint32_t features_ = 0, stored_rows_ = 0, pool_factor_ = 0;
  float judge_unit_ = 0;
  const LinearGuess* linear_guess_ = nullptr;
  std::vector<simd::Pool> pools_;  ///< by number of nodes, of those that are met often
  std::shared_ptr<const os::Mapping> mapping_;
  std::shared_ptr<const std::vector<simd::NodeVector>> own_;  ///< memory that is aligned
};

}  // namespace trident::nn
