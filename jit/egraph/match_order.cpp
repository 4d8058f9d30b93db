#include "jit/egraph/match_order.h"

#include <numeric>

namespace trident::egraph {
namespace {

// Keys that order matches: a rule's gain beyond the range counts as one at its end.
constexpr std::uint16_t kKeys = 4096;
constexpr double kKeyRange = 200;

}  // namespace

MatchOrder::MatchOrder(const SearchSpace& space) {
  gains_.reserve(space.matcher->rules().size());
  for (const Rule& rule : space.matcher->rules()) gains_.push_back(static_gain(rule, space.costs));
}

bool MatchOrder::order(const Matches& matches, Strategy way, double noise, SplitMix64& random, Watch& watch) {
  const std::size_t count = matches.list.size();
  order_.resize(count);
  if (way == Strategy::saturate || way == Strategy::pulse) {
    std::iota(order_.begin(), order_.end(), 0u);
    return true;
  }
  keys_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (watch.spend()) return false;
    keys_[i] = key_of(matches.list[i], way, noise, random);
  }
  // A counting sort, which is stable.
  place_.assign(kKeys + 1, 0);
  for (const std::uint16_t key : keys_) ++place_[key + 1u];
  std::partial_sum(place_.begin(), place_.end(), place_.begin());
  for (std::uint32_t i = 0; i < count; ++i) order_[place_[keys_[i]]++] = i;
  return true;
}

std::uint16_t MatchOrder::key_of(const Match& m, Strategy way, double noise, SplitMix64& random) const {
  const double gain = gains_[m.rule];
  double key = 0;
  switch (way) {
    case Strategy::guided:  // where the term is too large for the guide
    case Strategy::best_first: key = -gain + noise * 20 * random.unit(); break;
    case Strategy::hostile: key = gain; break;
    case Strategy::random: key = kKeyRange * (2 * random.unit() - 1); break;
    case Strategy::saturate:
    case Strategy::pulse: break;
  }
  const double share = std::clamp(key / kKeyRange, -1.0, 1.0) * 0.5 + 0.5;
  return static_cast<std::uint16_t>(share * (kKeys - 1));
}

}  // namespace trident::egraph
