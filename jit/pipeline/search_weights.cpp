#include "jit/pipeline/search_weights.h"

#include <algorithm>

#include "jit/expr/rewrite/guides.h"
#include "runtime/os/regular_file.h"
#include "runtime/store/versions.h"

namespace trident::pipeline {

Result<SearchWeights> SearchWeights::map(const std::string& path, std::string_view digest) {
  TRY(const os::Fd file, os::open_regular_file(path));
  return map(file, path, digest);
}

Result<SearchWeights> SearchWeights::map(const os::Fd& file, const std::string& name, std::string_view digest) {
  SearchWeights found;
  TRY(os::Mapping mapping, store::map_verified(file, name, digest));
  found.mapping_ = std::make_shared<const os::Mapping>(std::move(mapping));
  auto weights = expr::rewrite::guide_weights(found.mapping_->bytes());
  if (!weights.ok()) return make_error(weights.error().code, "%s: %s", name.c_str(), weights.error().message.c_str());
  found.weights_ = std::make_unique<const nn::AccumulatorWeights>(std::move(weights).value());
  if (const auto behind = found.weights_->behind(); !behind.empty()) {
    TRY(nn::AccumulatorWeights judge, expr::rewrite::judge_weights(behind));  // guide_weights() has checked these bytes
    found.judge_weights_ = std::make_unique<const nn::AccumulatorWeights>(std::move(judge));
    found.judge_ = std::make_unique<const expr::rewrite::TimeModel>(*found.judge_weights_);
  }
  const store::Digest bytes = store::sha256_of(found.mapping_->bytes());
  std::copy(bytes.begin(), bytes.end(), found.digest_.begin());
  return found;
}

}  // namespace trident::pipeline
