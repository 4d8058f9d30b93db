#include "clients/cli/demo/demo_answers.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>

namespace trident::cli {

void DemoAnswers::spoil(const Workload& workload) {
  for (std::size_t o = 0; o < workload.outputs().size(); ++o)
    std::memset(workload.outputs()[o], 0xA5, workload.output_bytes()[o]);
}

DemoAnswers::Digest DemoAnswers::digest_of(const Workload& workload) {
  Digest digest;
  for (std::size_t o = 0; o < workload.outputs().size(); ++o) {
    const XXH128_hash_t next =
        XXH3_128bits_withSeed(workload.outputs()[o], workload.output_bytes()[o], digest.low ^ digest.high);
    digest = {next.low64, next.high64};
  }
  return digest;
}

bool DemoAnswers::knows(const DemoCode& code) const {
  return right_.at(code.tier) && right_[code.tier]->code == code;
}

std::string DemoAnswers::judge(const Workload& workload, const DemoCode& before, const DemoCode& after) {
  const Digest digest = digest_of(workload);
  for (const DemoCode& code : {before, after})
    if (knows(code) && right_[code.tier]->digest == digest) return "";
  if (before == after && knows(after))
    return "an answer changed from one call to the next at tier " + std::to_string(after.tier);
  std::vector<std::vector<std::byte>> outputs;
  for (std::size_t o = 0; o < workload.outputs().size(); ++o) {
    const auto* bytes = static_cast<const std::byte*>(workload.outputs()[o]);
    outputs.emplace_back(bytes, bytes + workload.output_bytes()[o]);
  }
  const Answer answer = checker_.ours(outputs, policy_);
  bound_share_.at(after.tier) = std::max(bound_share_.at(after.tier).value_or(0), answer.bound_share);
  if (!answer.wrong.empty()) return "wrong answer at tier " + std::to_string(after.tier) + ": " + answer.wrong;
  if (before == after) right_[after.tier] = {after, digest};
  return "";
}

}  // namespace trident::cli
