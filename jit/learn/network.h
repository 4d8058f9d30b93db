// The network of jit/nnue in floats, for training: one embedding of features, a mean over nodes, two heads.
//
//   row(p, d, q) = A[p, d] + B[p, q] + C[d, q] + R[p, d, q]
//
// p and d are the kinds above and below, q the path between (jit/nnue/features.h). 401,408 separate rows could not
// be learnt from some 100,000 kernels, as most features are in none; 17,472 can, and a feature's own rest R is
// learnt only if the feature was met often enough. (Feature factorisation, after Stockfish.)
//
//   x = clip((bias + sum of rows) / nodes, 0, 1)
//   score = w2 clip(w1 x + ws scalars / 127 + b1 + B[rule], 0, 1) + b2
//
// Everything lies in one ParameterStore; record() records batches on tapes for every trainer. quantise() computes
// the integers of runtime/nn/accumulator from it, with the rows added up.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jit/nnue/features.h"
#include "runtime/autodiff/tape.h"
#include "runtime/base/result.h"
#include "runtime/nn/accumulator/weights.h"
#include "runtime/nn/safetensors.h"

namespace trident::learn {

inline constexpr std::uint32_t kFactors =
    nnue::kKinds * nnue::kKinds + nnue::kKinds * nnue::kCodes + nnue::kKinds * nnue::kCodes;
static_assert(kFactors == 17'472);

struct NetworkShape {
  std::uint32_t width = nn::kLanes;  ///< width of the embedding: at most nn::kLanes
  unsigned depth = nnue::kDefaultDepth;
  std::uint32_t rules = 1;              ///< rows of biases of the guide's head
  std::vector<std::uint32_t> own_rows{};  ///< features that have an R, ascending
};

/// Returns the features met at least `hits_min` times, for NetworkShape::own_rows.
std::vector<std::uint32_t> features_met(std::span<const std::uint64_t> hits, std::uint64_t hits_min = 50);

/// A term, or a term after a rewrite, as a head sees it.
struct Example {
  std::span<const std::uint32_t> features;  ///< each as often as the term has it
  std::uint32_t nodes = 1;
  std::array<std::int16_t, nn::kScalars> scalars{};
  std::uint32_t rule = 0;  ///< number of a rule, for the guide
};

/// A forward pass on a tape, with the places of its inputs.
struct RecordedBatch {
  nn::HeadKind head{};
  std::size_t samples = 0;
  bool frozen = false;
  autodiff::Bags rows;              ///< absent when frozen
  autodiff::Value<float> embedded;  ///< when frozen: [samples, width]
  autodiff::Value<float> per_node;  ///< else: 1 / nodes, [samples, width]
  autodiff::Value<float> scalars;   ///< [samples, kScalars]
  autodiff::Bags rules;             ///< for the guide
  autodiff::Value<float> score;     ///< [samples, 1]
};

struct Quantised {
  nn::PlainWeights weights;
  std::array<double, nn::kHeads> unit{};  ///< a head's integer times this is the score in floats
};

class Network {
 public:
  /// `kinds_hash`: KindTable::hash. `seed`: for the initial weights.
  Network(NetworkShape shape, std::uint64_t kinds_hash, std::uint64_t seed);

  /// Loads a file. Errors: those of nn::read_safetensors; RejectedRecord for another shape, kinds, ops or scalars.
  static Result<std::unique_ptr<Network>> load(const std::string& path, std::uint64_t kinds_hash);
  Result<void> save(const std::string& path, nn::Metadata metadata = {}) const;

  /// Records head(`samples` examples with at most `features_max` features together). Frozen: no gradient reaches the
  /// embedding, which another head uses.
  RecordedBatch record(autodiff::Tape<float>& tape, nn::HeadKind head, std::size_t samples, std::size_t features_max,
                       bool frozen = false);
  /// Fills a batch's inputs. Fewer examples than it has samples: the last one repeats.
  void fill(const RecordedBatch& batch, std::span<const Example> examples) const;

  /// Computes the score of one example by the formula.
  [[nodiscard]] double score(nn::HeadKind head, const Example& example) const;
  /// Computes the clipped x of the formula; `out` has shape().width elements.
  void embed(const Example& example, std::span<float> out) const;
  /// Computes row(p, d, q); `out` as embed's.
  void row(std::uint32_t feature, std::span<float> out) const;

  /// `hits`: number of hits per feature, which orders the rows; features without hits are left out,
  /// and have rows of zeros, unless `all_rows`.
  [[nodiscard]] Quantised quantise(std::span<const std::uint64_t> hits, bool all_rows = false) const;

  /// Copies the embedding of another network; features without a row of their own there begin with zeros. Errors:
  /// InvalidArgument for another width or depth.
  Result<void> take_embedding(const Network& other);
  /// Copies the heads too. Errors: InvalidArgument also for another number of rules.
  Result<void> take(const Network& other);

  /// Returns the linear guess that the judge's score is added to; a new network has none (expr::rewrite::base_of).
  [[nodiscard]] const std::optional<nn::LinearGuess>& linear_guess() const { return linear_guess_; }
  void set_linear_guess(const nn::LinearGuess& base) { linear_guess_ = base; }
  /// Scales a head's score; with 0 it has no influence, and training may begin there.
  void scale_score(nn::HeadKind head, float factor);

  [[nodiscard]] const NetworkShape& shape() const { return shape_; }
  [[nodiscard]] tensor::ParameterStore<float>& store() { return *store_; }
  [[nodiscard]] const tensor::ParameterStore<float>& store() const { return *store_; }
  /// Describes the weights for checkpoints: shape, kinds, scalars.
  [[nodiscard]] const std::string& architecture() const { return architecture_; }

 private:
  [[nodiscard]] std::size_t rows_of(std::uint32_t feature, std::array<std::int32_t, 4>& rows) const;
  [[nodiscard]] std::span<const float> values(std::string_view name) const;

  NetworkShape shape_;
  std::uint64_t kinds_hash_;
  std::unique_ptr<tensor::ParameterStore<float>> store_;
  std::vector<std::int32_t> own_row_;  ///< per feature: its R in the table, or -1
  std::string architecture_;
  std::optional<nn::LinearGuess> linear_guess_{};
};

}  // namespace trident::learn
