#include "jit/tir/neural/fitness.h"

#include <algorithm>
#include <cmath>

namespace trident::tir::neural {

std::int64_t nearness(const Draft& draft) {
  const Original& original = draft.original();
  const AbstractState &now = draft.state(), &end = original.end();
  std::int64_t cells = 0;
  for (std::size_t d = 0; d < kCellsSeen; ++d) cells += now.at(d).value == end.at(d).value ? 1 : 0;
  const std::int64_t apart = std::min(std::abs(now.height() - end.height()), 16);
  const auto done = static_cast<std::int64_t>(draft.works_done());
  const std::int64_t works = done + static_cast<std::int64_t>(draft.works_undone());
  // An eighth each for height and effects, a quarter for the work, half for the cells; never the full sum.
  const std::int64_t sum = (kRight / 8) * (16 - apart) / 16 + (now.same_effects(end) ? kRight / 8 : 0) +
                           (works == 0 ? kRight / 4 : kRight / 4 * done / works) +
                           kRight / 2 * cells / static_cast<std::int64_t>(kCellsSeen);
  return std::min(sum, kRight - 1);
}

std::int64_t fitness(std::span<const std::int32_t> weights, std::span<const Original> originals, const Judge& judge,
                     const DecodeOptions& options) {
  Network network(weights);
  const std::vector<Draft> drafts = decode_greedily(network, originals, options);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    const std::optional<double> gain = drafts[i].ended() ? judge(i, drafts[i].instructions()) : std::nullopt;
    if (gain)
      sum += static_cast<std::int64_t>(static_cast<double>(kRight) * std::clamp(1 + *gain, 0.5, 2.0));
    else
      sum += nearness(drafts[i]) / (drafts[i].ended() ? 2 : 3);
  }
  return sum;
}

}  // namespace trident::tir::neural
