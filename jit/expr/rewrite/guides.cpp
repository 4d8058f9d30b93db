#include "jit/expr/rewrite/guides.h"

#include <algorithm>

#include "jit/expr/rewrite/kinds.h"
#include "jit/nnue/shipped_weights.h"

namespace trident::expr::rewrite {

namespace {

nn::FeatureSpace feature_space() {
  return nnue::feature_space(node_kinds().hash, nnue::kDefaultDepth);
}

Error untrained(const char* wanted, const char* other, bool is_other) {
  if (!is_other)
    return make_error(ErrorCode::kRejectedRecord, "no %s: neither head of this network was ever trained", wanted);
  return make_error(ErrorCode::kRejectedRecord,
                    "no %s: these are the weights of a %s (trident train %s), whose other head was never trained",
                    wanted, other, other);
}

Result<nn::AccumulatorWeights> checked_judge(Result<nn::AccumulatorWeights> weights) {
  if (!weights.ok()) return weights;
  if (!is_judge(*weights)) return untrained("judge", "guide", is_guide(*weights));
  if (!weights->behind().empty())
    return make_error(ErrorCode::kRejectedRecord, "%zu unexpected bytes follow the judge's weights",
                      weights->behind().size());
  return weights;
}

Result<nn::AccumulatorWeights> checked_guide(Result<nn::AccumulatorWeights> weights) {
  if (!weights.ok()) return weights;
  if (!is_guide(*weights)) return untrained("guide", "judge", is_judge(*weights));
  if (weights->behind().empty()) return weights;
  if (const auto judge = judge_weights(weights->behind()); !judge.ok())
    return make_error(judge.error().code, "the bytes after the guide's weights must be a judge's weights: %s",
                      judge.error().message.c_str());
  return weights;
}

Result<nn::AccumulatorWeights> named(Result<nn::AccumulatorWeights> weights, const std::string& path) {
  if (weights.ok()) return weights;
  const std::string name = path.empty() ? "the shipped weights" : path;
  const std::string& what = weights.error().message;
  if (what.starts_with(name)) return weights.error();
  return make_error(weights.error().code, "%s: %s", name.c_str(), what.c_str());
}

}  // namespace

bool is_guide(const nn::AccumulatorWeights& weights) {
  return std::any_of(weights.keys().begin(), weights.keys().end(), [](std::uint64_t key) { return key != 0; });
}

bool is_judge(const nn::AccumulatorWeights& weights) {
  return weights.judge_unit() > 0;
}

Result<nn::AccumulatorWeights> guide_weights(std::span<const std::byte> block) {
  return checked_guide(nn::AccumulatorWeights::view(block, feature_space()));
}

Result<nn::AccumulatorWeights> judge_weights(std::span<const std::byte> block) {
  return checked_judge(nn::AccumulatorWeights::view(block, feature_space()));
}

Result<nn::AccumulatorWeights> guide_weights(const std::string& path) {
  if (path.empty()) return named(guide_weights(nnue::shipped_weights()), path);
  return named(checked_guide(nn::AccumulatorWeights::map(path, feature_space())), path);
}

Result<nn::AccumulatorWeights> any_weights(const std::string& path) {
  if (path.empty()) return guide_weights(path);
  auto weights = nn::AccumulatorWeights::map(path, feature_space());
  if (!weights.ok() || weights->behind().empty()) return named(std::move(weights), path);
  return named(is_judge(*weights) ? checked_judge(std::move(weights)) : checked_guide(std::move(weights)), path);
}

Result<AnyGuide> AnyGuide::make(GuideKind kind, const std::string& weights) {
  if (kind != GuideKind::network) return make(kind, nn::AccumulatorWeights());
  TRY(nn::AccumulatorWeights found, guide_weights(weights));
  auto owned = std::make_unique<nn::AccumulatorWeights>(std::move(found));
  AnyGuide any = make(kind, *owned);
  any.weights_ = std::move(owned);
  return any;
}

AnyGuide AnyGuide::make(GuideKind kind, const nn::AccumulatorWeights& borrowed) {
  AnyGuide any;
  switch (kind) {
    case GuideKind::network: any.guide_ = std::make_unique<nnue::NetworkGuide>(borrowed, node_kinds()); break;
    case GuideKind::cost:
      any.guide_ = std::make_unique<egraph::StaticGuide>(egraph::StaticGuide::Order::best_first);
      break;
    case GuideKind::constant: any.guide_ = std::make_unique<egraph::ConstantGuide>(); break;
    case GuideKind::random: any.guide_ = std::make_unique<egraph::RandomGuide>(); break;
    case GuideKind::hostile:
      any.guide_ = std::make_unique<egraph::StaticGuide>(egraph::StaticGuide::Order::worst_first);
      break;
  }
  return any;
}

}  // namespace trident::expr::rewrite
