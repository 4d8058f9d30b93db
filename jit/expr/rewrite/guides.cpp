#include "jit/expr/rewrite/guides.h"

#include "jit/expr/rewrite/kinds.h"
#include "jit/nnue/shipped_weights.h"

namespace trident::expr::rewrite {

Result<nn::AccumulatorWeights> guide_weights(const std::string& path) {
  const nn::FeatureSpace space = nnue::feature_space(node_kinds().hash, nnue::kDefaultDepth);
  auto weights = path.empty() ? nn::AccumulatorWeights::view(nnue::shipped_weights(), space)
                              : nn::AccumulatorWeights::map(path, space);
  if (weights.ok()) return weights;
  const std::string name = path.empty() ? "the weights that come with the program" : path;
  return make_error(weights.error().code, "%s: %s", name.c_str(), weights.error().message.c_str());
}

Result<AnyGuide> AnyGuide::make(GuideKind kind, const std::string& weights) {
  AnyGuide any;
  switch (kind) {
    case GuideKind::network: {
      TRY(nn::AccumulatorWeights found, guide_weights(weights));
      any.weights_ = std::make_unique<nn::AccumulatorWeights>(std::move(found));
      any.guide_ = std::make_unique<nnue::NetworkGuide>(*any.weights_, node_kinds());
      break;
    }
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
