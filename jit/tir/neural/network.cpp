#include "jit/tir/neural/network.h"

#include <algorithm>
#include <string>

#include "runtime/base/check.h"

namespace trident::tir::neural {
namespace {

/// Columns of the token scores: a multiple of every vector's width.
constexpr std::size_t kTokenStride = (kTokenCount + 15) / 16 * 16;
constexpr std::size_t kProjections = 3 * kWidth;
constexpr double kOne = static_cast<double>(kScale);

std::vector<double> matrix(std::span<const std::int32_t> weights, std::string_view name) {
  const auto values = values_of(weights, name);
  return {values.begin(), values.end()};
}
/// Scales weights to products' units: times 2^16.
std::vector<double> raised(std::span<const std::int32_t> weights, std::string_view name) {
  std::vector<double> values = matrix(weights, name);
  for (double& v : values) v *= kOne;
  return values;
}

}  // namespace

Network::Network(std::span<const std::int32_t> weights, os::SimdLevel level)
    : kernels_([level]() -> const tensor::Kernels<double>& {
        const auto* found = tensor::kernels_of<double>(level);
        CHECK(found != nullptr);
        return *found;
      }()),
      arithmetic_(*arithmetic_of(level)) {
  for (const std::int32_t w : weights) CHECK(w > -kWeightBound && w < kWeightBound);
  features_ = matrix(weights, "features");
  tokens_.resize(kWidth * kTokenStride);
  for (std::size_t t = 0; t < kTokenCount; ++t)
    for (std::size_t c = 0; c < kWidth; ++c) tokens_[c * kTokenStride + t] = features_[t * kWidth + c];
  token_bias_ = raised(weights, "tokens.bias");
  token_bias_.resize(kTokenStride);
  hidden_ = matrix(weights, "decoder.hidden.weight"), hidden_bias_ = raised(weights, "decoder.hidden.bias");
  out_ = matrix(weights, "decoder.out.weight"), out_bias_ = raised(weights, "decoder.out.bias");
  for (std::size_t l = 0; l < kLayers; ++l) {
    const std::string name = "layer" + std::to_string(l);
    Layer layer;
    layer.projections.resize(kWidth * kProjections);
    std::size_t part = 0;
    for (const char* projection : {".query", ".key", ".value"}) {
      const std::vector<double> one = matrix(weights, name + projection);
      for (std::size_t r = 0; r < kWidth; ++r)
        std::copy_n(&one[r * kWidth], kWidth, &layer.projections[r * kProjections + part * kWidth]);
      ++part;
    }
    layer.output = matrix(weights, name + ".output");
    layer.in = matrix(weights, name + ".in.weight"), layer.in_bias = raised(weights, name + ".in.bias");
    layer.out = matrix(weights, name + ".out.weight"), layer.out_bias = raised(weights, name + ".out.bias");
    layer.gain1 = matrix(weights, name + ".norm1.gain"), layer.bias1 = raised(weights, name + ".norm1.bias");
    layer.gain2 = matrix(weights, name + ".norm2.gain"), layer.bias2 = raised(weights, name + ".norm2.bias");
    layers_.push_back(std::move(layer));
  }
}

void Network::product(std::size_t m, std::size_t n, std::size_t k, const double* a, const double* b, double* c) {
  kernels_.gemm(false, false, m, n, k, 1, a, k, b, n, 0, c, n);
  multiply_adds_ += m * n * k;
}

void Network::sum_features(const FeatureRows& rows, double* out) {
  kernels_.sum_rows(kWidth, features_.data(), kWidth, rows.data(), rows.size(), out);
  constexpr double kLargest = static_cast<double>(kActivationMax);
  for (std::size_t c = 0; c < kWidth; ++c) {
    const double kept = std::clamp(out[c], -kLargest, kLargest);
    saturated_ += kept != out[c] ? 1 : 0;
    out[c] = kept;
  }
}

void Network::attend(const Layer& layer, std::size_t nodes, std::span<const std::uint32_t> seen) {
  shares_.resize(nodes * nodes);
  attended_.resize(nodes * kWidth);
  for (std::size_t head = 0; head < kHeads; ++head) {
    const double* q = projected_.data() + head * kHeadWidth;
    const double *k = q + kWidth, *v = k + kWidth;
    kernels_.gemm(false, true, nodes, nodes, kHeadWidth, 1, q, kProjections, k, kProjections, 0, shares_.data(), nodes);
    arithmetic_.softmax(nodes, nodes, seen.data(), kHeadScale, shares_.data());
    kernels_.gemm(false, false, nodes, kHeadWidth, nodes, 1, shares_.data(), nodes, v, kProjections, 0,
                  attended_.data() + head * kHeadWidth, kWidth);
    multiply_adds_ += 2 * nodes * nodes * kHeadWidth;
  }
  saturated_ += arithmetic_.finish(nodes, kWidth, nullptr, attended_.data());
  mixed_.resize(nodes * kWidth);
  product(nodes, kWidth, kWidth, attended_.data(), layer.output.data(), mixed_.data());
  saturated_ += arithmetic_.finish(nodes, kWidth, nullptr, mixed_.data());
}

void Network::feed_forward(const Layer& layer, std::size_t nodes, double* x) {
  inner_.resize(nodes * kInner);
  product(nodes, kInner, kWidth, x, layer.in.data(), inner_.data());
  saturated_ += arithmetic_.finish(nodes, kInner, layer.in_bias.data(), inner_.data());
  arithmetic_.gelu(nodes * kInner, inner_.data());
  product(nodes, kWidth, kInner, inner_.data(), layer.out.data(), mixed_.data());
  saturated_ += arithmetic_.finish(nodes, kWidth, layer.out_bias.data(), mixed_.data());
}

Encoded Network::encode(const Original& original) {
  const std::size_t nodes = original.nodes();
  Encoded encoded{&original, std::vector<double>(nodes * kWidth)};
  if (nodes == 0) return encoded;
  double* x = encoded.nodes.data();
  rows_.clear();
  original.append_context_rows(rows_);
  const std::size_t context_rows = rows_.size();
  for (std::size_t k = 0; k < nodes; ++k) {
    rows_.resize(context_rows);
    original.append_node_rows(k, rows_);
    sum_features(rows_, x + k * kWidth);
  }
  const auto seen = original.encoding().ancestors();
  for (const Layer& layer : layers_) {
    projected_.resize(nodes * kProjections);
    product(nodes, kProjections, kWidth, x, layer.projections.data(), projected_.data());
    saturated_ += arithmetic_.finish(nodes, kProjections, nullptr, projected_.data());
    attend(layer, nodes, seen);
    saturated_ += arithmetic_.add_norm(nodes, mixed_.data(), layer.gain1.data(), layer.bias1.data(), x);
    feed_forward(layer, nodes, x);
    saturated_ += arithmetic_.add_norm(nodes, mixed_.data(), layer.gain2.data(), layer.bias2.data(), x);
  }
  return encoded;
}

void Network::weigh_nodes(const Encoded& encoded, std::uint32_t looked_at, const double* p, double* context) {
  const std::size_t nodes = encoded.original->nodes();
  const double* x = encoded.nodes.data();
  if (nodes == 0) {
    std::fill_n(context, kWidth, 0.0);
    return;
  }
  shares_.resize(nodes);
  kernels_.gemm(false, true, 1, nodes, kWidth, 1, p, kWidth, x, kWidth, 0, shares_.data(), nodes);
  arithmetic_.softmax(1, nodes, &looked_at, kDecoderScale, shares_.data());
  product(1, kWidth, nodes, shares_.data(), x, context);
  saturated_ += arithmetic_.finish(1, kWidth, nullptr, context);
  multiply_adds_ += nodes * kWidth;
}

void Network::score(std::span<const Query> queries, std::vector<std::int32_t>& scores) {
  const std::size_t count = queries.size();
  input_.resize(count * kDecoderInner);
  for (std::size_t i = 0; i < count; ++i) {
    double *context = &input_[i * kDecoderInner], *p = context + kWidth;
    rows_.clear();
    const std::uint32_t looked_at = queries[i].draft->append_rows(rows_);
    sum_features(rows_, p);
    weigh_nodes(*queries[i].encoded, looked_at, p, context);
  }
  inner_.resize(count * kDecoderInner);
  product(count, kDecoderInner, kDecoderInner, input_.data(), hidden_.data(), inner_.data());
  saturated_ += arithmetic_.finish(count, kDecoderInner, hidden_bias_.data(), inner_.data());
  arithmetic_.gelu(count * kDecoderInner, inner_.data());
  mixed_.resize(count * kWidth);
  product(count, kWidth, kDecoderInner, inner_.data(), out_.data(), mixed_.data());
  saturated_ += arithmetic_.finish(count, kWidth, out_bias_.data(), mixed_.data());
  logits_.resize(count * kTokenStride);
  product(count, kTokenStride, kWidth, mixed_.data(), tokens_.data(), logits_.data());
  saturated_ += arithmetic_.finish(count, kTokenStride, token_bias_.data(), logits_.data());
  scores.resize(count * kTokenCount);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t t = 0; t < kTokenCount; ++t)
      scores[i * kTokenCount + t] = static_cast<std::int32_t>(logits_[i * kTokenStride + t]);
}

}  // namespace trident::tir::neural
