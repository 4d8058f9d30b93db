#include "jit/expr/rewrite/guides.h"

#include "jit/expr/rewrite/kinds.h"
#include "jit/nnue/shipped_weights.h"

namespace trident::expr::rewrite {

Result<nn::AccumulatorWeights> guide_weights(std::span<const std::byte> block) {
  return nn::AccumulatorWeights::view(block, nnue::feature_space(node_kinds().hash, nnue::kDefaultDepth));
}

Result<nn::AccumulatorWeights> guide_weights(const std::string& path) {
  auto weights = path.empty()
                     ? guide_weights(nnue::shipped_weights())
                     : nn::AccumulatorWeights::map(path, nnue::feature_space(node_kinds().hash, nnue::kDefaultDepth));
  if (weights.ok()) return weights;
  const std::string name = path.empty() ? "the weights that come with the program" : path;
  const std::string& what = weights.error().message;
  if (what.starts_with(name)) return weights.error();
  return make_error(weights.error().code, "%s: %s", name.c_str(), what.c_str());
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
