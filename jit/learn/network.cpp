#include "jit/learn/network.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "jit/expr/rewrite/time_model.h"
#include "jit/nnue/candidates.h"
#include "runtime/autodiff/ops.h"
#include "runtime/base/check.h"
#include "runtime/nn/architecture.h"
#include "runtime/nn/layers.h"
#include "runtime/train/row_optimiser.h"

namespace trident::learn {
namespace {

using autodiff::Activation;
using autodiff::Mode;
using autodiff::Tape;
using autodiff::Value;
using nn::HeadKind;
using nn::kHidden;
using nn::kLanes;
using nn::kScalars;

constexpr std::size_t kElementsMax = 1 << 20;  // limit of the flat vector, without tables
constexpr std::size_t kRowsPerFeatureMax = 4;  // A, B, C, R
constexpr std::size_t kActiveRows = 32;        // rows that a node's mean sums, about: the scale of initial weights
constexpr float kRuleBound = 0.05f;
constexpr float kScalarUnit = 1.0f / 127;  // so that scalars have the scale of pooled lanes as integers
constexpr double kOne = 127;               // the integer that represents 1
constexpr std::uint32_t kShiftMax = 12, kFinerMax = 6;
constexpr const char* kEmbeddingBias = "embedding.bias";
constexpr const char *kOwnRows = "own_rows", *kWidth = "width", *kDepth = "depth", *kRules = "rules",
                     *kLinearGuess = "linear_guess";

const std::string& name_of(HeadKind head) {
  static const std::string names[] = {"judge", "guide"};
  return names[static_cast<std::size_t>(head)];
}

/// Hashes the scalars' names and meanings: changes whenever the meaning of any scalar does.
constexpr std::uint64_t scalars_hash() {
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325u;  // FNV-1a
  const auto add = [&](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100'0000'01B3u;
  };
#define X(name, meaning) add(#name), add(meaning);
  TRIDENT_TIME_SCALARS(X)
  TRIDENT_NNUE_SCALARS(X)
#undef X
  return hash;
}

std::string text_of(std::span<const std::uint32_t> numbers) {
  std::string text;
  for (const std::uint32_t n : numbers) {
    if (!text.empty()) text += ' ';
    text += std::to_string(n);
  }
  return text;
}

constexpr std::size_t kBaseNumbers = sizeof(nn::LinearGuess) / sizeof(float);

/// Returns the bits of its floats, which text keeps exactly.
std::vector<std::uint32_t> bits_of(const nn::LinearGuess& base) {
  std::vector<std::uint32_t> bits(kBaseNumbers);
  std::memcpy(bits.data(), &base, sizeof base);
  return bits;
}
nn::LinearGuess base_of_bits(std::span<const std::uint32_t> bits) {
  nn::LinearGuess base;
  std::memcpy(static_cast<void*>(&base), bits.data(), sizeof base);
  return base;
}

Result<std::vector<std::uint32_t>> numbers_of(const std::string& path, const nn::Metadata& metadata, const char* key) {
  std::vector<std::uint32_t> numbers;
  const auto found = metadata.find(key);
  if (found == metadata.end())
    return make_error(ErrorCode::kRejectedRecord, "%s: its metadata has no %s, so it does not hold a judge and guide",
                      path.c_str(), key);
  const char *at = found->second.data(), *const end = at + found->second.size();
  while (at != end) {
    std::uint32_t n = 0;
    const auto [next, error] = std::from_chars(at, end, n);
    if (error != std::errc{} || (next != end && *next != ' '))
      return make_error(ErrorCode::kRejectedRecord, "%s: its %s are not numbers", path.c_str(), key);
    numbers.push_back(n);
    at = next == end ? end : next + 1;
  }
  return numbers;
}

Result<std::uint32_t> number_of(const std::string& path, const nn::Metadata& metadata, const char* key,
                                std::uint32_t least, std::uint32_t most) {
  TRY(const std::vector<std::uint32_t> numbers, numbers_of(path, metadata, key));
  if (numbers.size() != 1 || numbers[0] < least || numbers[0] > most)
    return make_error(ErrorCode::kRejectedRecord, "%s: its %s is not a number in [%u, %u]", path.c_str(), key, least,
                      most);
  return numbers[0];
}

std::int8_t to_int8(double value) {
  return static_cast<std::int8_t>(std::lround(std::clamp(value, -kOne, kOne)));
}

float largest(std::span<const float> values) {
  float most = 0;
  for (const float v : values) most = std::max(most, std::fabs(v));
  return most;
}

/// Returns how many integers are 1 of the embedding: the largest element fits or, if few are large, is cut, so that the
/// squared error over all hits is least.
double scale_of(std::span<const float> rows, std::span<const std::uint64_t> weight) {
  const double fits = kOne / std::max(1e-3, static_cast<double>(largest(rows)));
  double best_scale = fits, best_error = 0;
  for (const double factor : {1.0, 1.5, 2.0, 3.0, 4.0}) {
    const double scale = fits * factor;
    double error = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double off = rows[i] - to_int8(rows[i] * scale) / scale;
      error += off * off * static_cast<double>(weight[i / kLanes]);
    }
    if (factor == 1.0 || error < best_error) best_error = error, best_scale = scale;
  }
  return best_scale;
}

}  // namespace

std::vector<std::uint32_t> features_met(std::span<const std::uint64_t> hits, std::uint64_t hits_min) {
  std::vector<std::uint32_t> met;
  for (std::uint32_t f = 0; f < hits.size(); ++f)
    if (hits[f] >= hits_min) met.push_back(f);
  return met;
}

Network::Network(NetworkShape shape, std::uint64_t kinds_hash, std::uint64_t seed)
    : shape_(std::move(shape)),
      kinds_hash_(kinds_hash),
      store_(std::make_unique<tensor::ParameterStore<float>>(seed, kElementsMax)),
      own_row_(nnue::kFeatures, -1) {
  CHECK(shape_.width > 0 && shape_.width <= kLanes);
  CHECK(shape_.depth >= 1 && shape_.depth <= nnue::kDepthMax);
  CHECK(shape_.rules > 0);
  std::int32_t next = kFactors;
  for (const std::uint32_t f : shape_.own_rows) {
    CHECK(f < nnue::kFeatures && own_row_[f] < 0);
    own_row_[f] = next++;
  }
  // Declares every slice here: the architecture is derived from the declared slices. The tape never runs.
  Tape<float> tape(*store_, Mode::infer, tensor::GemmSource::compiled);
  const Value<float> scores[] = {record(tape, HeadKind::judge, 1, 1).score, record(tape, HeadKind::guide, 1, 1).score};
  const Value<float> both = autodiff::concat(tape, std::span<const Value<float>>(scores));
  tape.finish();
  architecture_ = nn::architecture_hash(tape, both) + "/" + std::to_string(kinds_hash_) + "/" +
                  std::to_string(scalars_hash()) + "/" + std::to_string(shape_.depth);
  tensor::RowTable<float>& table = *store_->tables()[0];
  for (std::size_t r = kFactors; r < table.rows(); ++r) std::fill_n(table.row(r), table.width(), 0.0f);
}

Result<std::unique_ptr<Network>> Network::load(const std::string& path, std::uint64_t kinds_hash) {
  TRY(const nn::SafetensorsFile file, nn::read_safetensors(path));
  NetworkShape shape;
  TRY(shape.width, number_of(path, file.metadata, kWidth, 1, kLanes));
  TRY(shape.depth, number_of(path, file.metadata, kDepth, 1, nnue::kDepthMax));
  TRY(shape.rules, number_of(path, file.metadata, kRules, 1, 1u << 16));
  TRY(shape.own_rows, numbers_of(path, file.metadata, kOwnRows));
  for (std::size_t i = 0; i < shape.own_rows.size(); ++i)
    if (shape.own_rows[i] >= nnue::kFeatures || (i > 0 && shape.own_rows[i] <= shape.own_rows[i - 1]))
      return make_error(ErrorCode::kRejectedRecord, "%s: its %s are not in ascending order", path.c_str(), kOwnRows);
  auto network = std::make_unique<Network>(std::move(shape), kinds_hash, 0);
  TRY_VOID(nn::load_weights(path, file, network->store(), network->architecture()));
  if (file.metadata.contains(kLinearGuess)) {
    TRY(const std::vector<std::uint32_t> bits, numbers_of(path, file.metadata, kLinearGuess));
    if (bits.size() != kBaseNumbers)
      return make_error(ErrorCode::kRejectedRecord, "%s: its %s has %zu numbers, not %zu", path.c_str(), kLinearGuess,
                        bits.size(), kBaseNumbers);
    network->linear_guess_ = base_of_bits(bits);
  }
  return network;
}

Result<void> Network::save(const std::string& path, nn::Metadata metadata) const {
  metadata[kWidth] = std::to_string(shape_.width);
  metadata[kDepth] = std::to_string(shape_.depth);
  metadata[kRules] = std::to_string(shape_.rules);
  metadata[kOwnRows] = text_of(shape_.own_rows);
  if (linear_guess_) metadata[kLinearGuess] = text_of(bits_of(*linear_guess_));
  return nn::save_weights(path, *store_, architecture_, std::move(metadata));
}

Result<void> Network::take_embedding(const Network& other) {
  if (other.shape_.width != shape_.width || other.shape_.depth != shape_.depth)
    return make_error(ErrorCode::kInvalidArgument,
                      "the embedding has width %u and depth %u, but this network needs %u and %u", other.shape_.width,
                      other.shape_.depth, shape_.width, shape_.depth);
  const std::span<const float> from = other.values(kEmbeddingBias);
  std::copy(from.begin(), from.end(), store_->values(*store_->find(kEmbeddingBias)).begin());
  tensor::RowTable<float>& table = *store_->tables()[0];
  const tensor::RowTable<float>& theirs = *other.store_->tables()[0];
  for (std::size_t r = 0; r < kFactors; ++r) std::copy_n(theirs.row(r), shape_.width, table.row(r));
  for (const std::uint32_t f : shape_.own_rows)
    if (other.own_row_[f] >= 0)
      std::copy_n(theirs.row(static_cast<std::size_t>(other.own_row_[f])), shape_.width,
                  table.row(static_cast<std::size_t>(own_row_[f])));
  return {};
}

void Network::scale_score(HeadKind head, float factor) {
  for (const char* of : {".out.weight", ".out.bias"}) {
    const tensor::Slice* slice = store_->find(name_of(head) + of);
    CHECK(slice);
    for (float& w : store_->values(*slice)) w *= factor;
  }
}

Result<void> Network::take(const Network& other) {
  if (other.shape_.rules != shape_.rules)
    return make_error(ErrorCode::kInvalidArgument, "the network is for %u rules, but this one has %u",
                      other.shape_.rules, shape_.rules);
  TRY_VOID(take_embedding(other));
  linear_guess_ = other.linear_guess_;
  for (const tensor::Slice& slice : other.store_->slices()) {
    const std::span<const float> from = other.values(slice.name);
    std::copy(from.begin(), from.end(), store_->values(*store_->find(slice.name)).begin());
  }
  tensor::RowTable<float>& rules = *store_->tables()[1];
  const tensor::RowTable<float>& theirs = *other.store_->tables()[1];
  for (std::size_t r = 0; r < rules.rows(); ++r) std::copy_n(theirs.row(r), rules.width(), rules.row(r));
  return {};
}

RecordedBatch Network::record(Tape<float>& tape, HeadKind head, std::size_t samples, std::size_t features_max,
                              bool frozen) {
  const std::string& name = name_of(head);
  RecordedBatch batch;
  batch.head = head, batch.samples = samples, batch.frozen = frozen;
  const autodiff::Shape embedded{samples, shape_.width};
  Value<float> x;
  if (frozen) {
    x = batch.embedded = tape.input(name + ".embedded", embedded);
  } else {
    batch.rows = tape.bags(name + ".features", samples, kRowsPerFeatureMax * features_max);
    batch.per_node = tape.input(name + ".per_node", embedded);
    const Value<float> sum =
        nn::sparse_bag(tape, "embedding", batch.rows, kFactors + shape_.own_rows.size(), shape_.width,
                       train::planes_of(train::RowAlgorithm::adam), kActiveRows, Activation::none);
    x = autodiff::activate(tape, autodiff::multiply(tape, sum, batch.per_node), Activation::clipped_relu);
  }
  batch.scalars = tape.input(name + ".scalars", {samples, kScalars});
  const Value<float> seen[] = {x, batch.scalars};
  Value<float> z = nn::linear(tape, name + ".hidden", autodiff::concat(tape, std::span<const Value<float>>(seen)),
                              kHidden, Activation::none);
  if (head == HeadKind::guide) {
    batch.rules = tape.bags(name + ".rule", samples, samples);
    auto& table = store_->declare_rows(name + ".rules", shape_.rules, kHidden,
                                       train::planes_of(train::RowAlgorithm::adam), kRuleBound);
    z = autodiff::add(tape, z, autodiff::sparse_bag(tape, table, batch.rules, Value<float>{}, Activation::none));
  }
  z = autodiff::activate(tape, z, Activation::clipped_relu);
  batch.score = nn::linear(tape, name + ".out", z, 1, Activation::none);
  return batch;
}

std::size_t Network::rows_of(std::uint32_t feature, std::array<std::int32_t, 4>& rows) const {
  DCHECK(feature < nnue::kFeatures);
  const std::uint32_t code = feature % nnue::kCodes, kinds = feature / nnue::kCodes;
  const std::uint32_t below = kinds % nnue::kKinds, above = kinds / nnue::kKinds;
  constexpr std::uint32_t kB = nnue::kKinds * nnue::kKinds, kC = kB + nnue::kKinds * nnue::kCodes;
  rows[0] = static_cast<std::int32_t>(kinds);
  rows[1] = static_cast<std::int32_t>(kB + above * nnue::kCodes + code);
  rows[2] = static_cast<std::int32_t>(kC + below * nnue::kCodes + code);
  rows[3] = own_row_[feature];
  return rows[3] < 0 ? 3 : 4;
}

void Network::fill(const RecordedBatch& batch, std::span<const Example> examples) const {
  CHECK(!examples.empty() && examples.size() <= batch.samples);
  std::int32_t used = 0;
  if (!batch.frozen) batch.rows.offsets.data[0] = 0;
  for (std::size_t s = 0; s < batch.samples; ++s) {
    const Example& example = examples[std::min(s, examples.size() - 1)];
    if (batch.frozen) {
      embed(example, {batch.embedded.data + s * shape_.width, shape_.width});
    } else {
      CHECK(static_cast<std::size_t>(used) + kRowsPerFeatureMax * example.features.size() <=
            batch.rows.ids.shape.count());
      for (const std::uint32_t feature : example.features) {
        std::array<std::int32_t, 4> rows;
        const std::size_t count = rows_of(feature, rows);
        for (std::size_t r = 0; r < count; ++r) batch.rows.ids.data[used++] = rows[r];
      }
      batch.rows.offsets.data[s + 1] = used;
      std::fill_n(batch.per_node.data + s * shape_.width, shape_.width, 1.0f / static_cast<float>(example.nodes));
    }
    for (std::size_t i = 0; i < kScalars; ++i)
      batch.scalars.data[s * kScalars + i] = static_cast<float>(example.scalars[i]) * kScalarUnit;
    if (batch.head == HeadKind::guide) {
      CHECK(example.rule < shape_.rules);
      batch.rules.ids.data[s] = static_cast<std::int32_t>(example.rule);
      batch.rules.offsets.data[s] = static_cast<std::int32_t>(s);
      batch.rules.offsets.data[s + 1] = static_cast<std::int32_t>(s + 1);
    }
  }
}

std::span<const float> Network::values(std::string_view name) const {
  const tensor::Slice* slice = store_->find(name);
  CHECK(slice);
  return store_->values(*slice);
}

void Network::row(std::uint32_t feature, std::span<float> out) const {
  const tensor::RowTable<float>& table = *store_->tables()[0];
  std::array<std::int32_t, 4> rows;
  const std::size_t count = rows_of(feature, rows);
  std::fill(out.begin(), out.end(), 0.0f);
  for (std::size_t r = 0; r < count; ++r) {
    const float* from = table.row(static_cast<std::size_t>(rows[r]));
    for (std::size_t l = 0; l < shape_.width; ++l) out[l] += from[l];
  }
}

void Network::embed(const Example& example, std::span<float> out) const {
  const tensor::RowTable<float>& table = *store_->tables()[0];
  const std::span<const float> bias = values(kEmbeddingBias);
  std::copy(bias.begin(), bias.end(), out.begin());
  for (const std::uint32_t feature : example.features) {
    std::array<std::int32_t, 4> rows;
    const std::size_t count = rows_of(feature, rows);
    for (std::size_t r = 0; r < count; ++r) {
      const float* from = table.row(static_cast<std::size_t>(rows[r]));
      for (std::size_t l = 0; l < shape_.width; ++l) out[l] += from[l];
    }
  }
  for (float& x : out) x = std::clamp(x / static_cast<float>(example.nodes), 0.0f, 1.0f);
}

double Network::score(HeadKind head, const Example& example) const {
  std::array<float, kLanes> x{};
  embed(example, std::span(x).first(shape_.width));
  const std::span<const float> w1 = values(name_of(head) + ".hidden.weight");
  const std::span<const float> b1 = values(name_of(head) + ".hidden.bias");
  const std::span<const float> w2 = values(name_of(head) + ".out.weight");
  double score = values(name_of(head) + ".out.bias")[0];
  for (std::size_t j = 0; j < kHidden; ++j) {
    double z = b1[j];
    for (std::size_t l = 0; l < shape_.width; ++l) z += double{x[l]} * w1[l * kHidden + j];
    for (std::size_t k = 0; k < kScalars; ++k)
      z += double{kScalarUnit} * example.scalars[k] * w1[(shape_.width + k) * kHidden + j];
    if (head == HeadKind::guide) z += store_->tables()[1]->row(example.rule)[j];
    score += w2[j] * std::clamp(z, 0.0, 1.0);
  }
  return score;
}

Quantised Network::quantise(std::span<const std::uint64_t> hits, bool all_rows) const {
  CHECK(hits.size() == nnue::kFeatures);
  Quantised out;
  nn::PlainWeights& w = out.weights;
  w.space = nnue::feature_space(kinds_hash_, shape_.depth);
  w.linear_guess = linear_guess_;
  w.order = nn::hot_first(hits);
  if (all_rows)
    for (std::uint32_t f = 0; f < nnue::kFeatures; ++f)
      if (hits[f] == 0) w.order.push_back(f);

  // Lanes beyond the width stay zero.
  std::vector<float> rows(w.order.size() * kLanes);
  for (std::size_t r = 0; r < w.order.size(); ++r) row(w.order[r], std::span(rows).subspan(r * kLanes, shape_.width));
  std::vector<std::uint64_t> weight;
  for (std::size_t r = 0; r < w.order.size() && hits[w.order[r]] > 0; ++r) weight.push_back(hits[w.order[r]]);
  if (weight.empty()) weight.assign(w.order.size(), 1);
  const double scale = scale_of(std::span(rows).first(weight.size() * kLanes), weight);
  w.rows.resize(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) w.rows[i] = to_int8(rows[i] * scale);
  const std::span<const float> bias = values(kEmbeddingBias);
  for (std::size_t l = 0; l < shape_.width; ++l) w.bias[l] = static_cast<std::int32_t>(std::lround(bias[l] * scale));
  w.pool_factor = static_cast<std::uint32_t>(std::clamp(std::lround(kOne * 65536 / scale), 1l, 1l << 24));

  for (const HeadKind kind : {HeadKind::judge, HeadKind::guide}) {
    nn::PlainWeights::Head& head = w.heads[static_cast<std::size_t>(kind)];
    const std::span<const float> w1 = values(name_of(kind) + ".hidden.weight");
    const std::span<const float> b1 = values(name_of(kind) + ".hidden.bias");
    const std::span<const float> w2 = values(name_of(kind) + ".out.weight");
    head.shift = 0;
    while (head.shift < kShiftMax && largest(w1) * std::ldexp(1.0, static_cast<int>(head.shift) + 1) <= kOne)
      ++head.shift;
    const double scale1 = std::ldexp(1.0, static_cast<int>(head.shift));
    // Finer steps between 0 and 1 than the pooled lanes have: near candidates differ by little.
    const std::uint32_t finer = std::min(kFinerMax, head.shift);
    head.shift -= finer;
    head.most = 127 << finer;
    const double step = std::ldexp(1.0, static_cast<int>(finer)), half = std::ldexp(0.5, static_cast<int>(head.shift));
    const double scale2 = kOne / std::max(1e-3, static_cast<double>(largest(w2)));
    out.unit[static_cast<std::size_t>(kind)] = 1 / (kOne * step * scale2);
    if (kind == HeadKind::judge) w.judge_unit = static_cast<float>(1 / (kOne * step * scale2));
    const std::size_t bias_rows = kind == HeadKind::guide ? shape_.rules : 1;
    head.bias.assign(bias_rows, {});
    for (std::size_t j = 0; j < kHidden; ++j) {
      for (std::size_t l = 0; l < shape_.width; ++l) head.w1[j * kLanes + l] = to_int8(w1[l * kHidden + j] * scale1);
      for (std::size_t k = 0; k < kScalars; ++k)
        head.ws[j * kScalars + k] = to_int8(w1[(shape_.width + k) * kHidden + j] * scale1);
      head.w2[j] = to_int8(w2[j] * scale2);
      for (std::size_t r = 0; r < bias_rows; ++r) {
        const double b = b1[j] + (kind == HeadKind::guide ? double{store_->tables()[1]->row(r)[j]} : 0.0);
        // The shift rounds down: half a unit makes it round to nearest.
        const double bound = 1 << 24;
        head.bias[r][j] = static_cast<std::int32_t>(std::lround(std::clamp(b * kOne * scale1 + half, -bound, bound)));
      }
    }
    head.b2 = static_cast<std::int32_t>(std::lround(values(name_of(kind) + ".out.bias")[0] * kOne * step * scale2));
  }
  return out;
}

}  // namespace trident::learn
