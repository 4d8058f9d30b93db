// For tests and measurements: random weights for a few kinds, random terms, and the features of a term by
// their definition, with maps and recursion.
#pragma once

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "jit/nnue/incumbent.h"

namespace trident::nnue::naive {

using Random = std::independent_bits_engine<std::mt19937, 32, std::uint32_t>;

/// Kinds that random terms use: some leaves, some ops of one, two and three operands.
inline constexpr std::uint8_t kKindsUsed = 12;
constexpr std::uint8_t arity_of(std::uint8_t kind) {
  return kind < 3 ? 0 : kind < 6 ? 1 : kind < 10 ? 2 : 3;
}
inline constexpr std::uint64_t kHash = 77;

inline nn::PlainWeights random_weights(std::uint32_t seed, unsigned depth, std::uint32_t rules = 1) {
  Random random(seed);
  nn::PlainWeights w;
  w.space = feature_space(kHash, depth);
  for (std::uint32_t p = 0; p < kKindsUsed; ++p)
    for (std::uint32_t d = 0; d < kKindsUsed; ++d)
      for (std::uint32_t code = 0; code < kCodes; ++code) w.order.push_back(feature(p, d, code));
  w.rows.resize(w.order.size() * nn::kLanes);
  const auto weight = [&] { return static_cast<std::int8_t>(static_cast<int>(random() % 255) - 127); };
  for (auto& lane : w.rows) lane = weight();
  w.pool_factor = 8192;  // few lanes are clipped
  for (auto& lane : w.bias) lane = static_cast<std::int32_t>(random() % 2001) - 1000;
  for (auto& head : w.heads) {
    for (auto& lane : head.w1) lane = weight();
    for (auto& lane : head.ws) lane = weight();
    for (auto& lane : head.w2) lane = weight();
    head.shift = 9, head.most = 1 << (6 + random() % 8);
  }
  auto& bias = w.heads[static_cast<std::size_t>(nn::HeadKind::guide)].bias;
  bias.resize(rules);
  for (auto& row : bias)
    for (auto& b : row) b = static_cast<std::int32_t>(random() % 4001) - 2000;
  return w;
}

/// A graph of choices, each under its name; some names refer to others, except for exempt nodes.
struct Term {
  static constexpr std::uint32_t kItself = 0xFFFF'FFFFu;
  struct Node {
    Choice choice;
    std::uint32_t means = kItself;  ///< references to the name go there instead ...
    bool exempt = false;            ///< ... except those of an exempt node
  };
  std::vector<Node> nodes;
  std::vector<std::uint32_t> roots;

  std::uint32_t add(const Choice& choice) {
    nodes.push_back({choice});
    return static_cast<std::uint32_t>(nodes.size() - 1);
  }
  [[nodiscard]] std::uint32_t meant(std::uint32_t name) const {
    while (nodes[name].means != kItself) name = nodes[name].means;
    return name;
  }
  [[nodiscard]] std::uint32_t child(std::uint32_t user, std::size_t slot) const {
    const std::uint32_t name = nodes[user].choice.child[slot];
    return nodes[user].exempt ? name : meant(name);
  }
  /// Counts references per name; 0 if it is not reachable from the roots.
  [[nodiscard]] std::vector<std::uint32_t> references() const {
    std::vector<std::uint32_t> counts(nodes.size()), work;
    const auto reach = [&](std::uint32_t name) {
      if (counts[name]++ == 0) work.push_back(name);
    };
    for (const std::uint32_t root : roots) reach(meant(root));
    while (!work.empty()) {
      const std::uint32_t user = work.back();
      work.pop_back();
      for (std::size_t s = 0; s < nodes[user].choice.arity; ++s) reach(child(user, s));
    }
    return counts;
  }
  /// True if `below` is `above` or lies below it.
  [[nodiscard]] bool reaches(std::uint32_t above, std::uint32_t below) const {
    std::vector<bool> seen(nodes.size());
    std::vector<std::uint32_t> work{above};
    while (!work.empty()) {
      const std::uint32_t user = work.back();
      work.pop_back();
      if (user == below) return true;
      if (seen[user]) continue;
      seen[user] = true;
      for (std::size_t s = 0; s < nodes[user].choice.arity; ++s) work.push_back(child(user, s));
    }
    return false;
  }
};

/// Calls visit(feature) for each of the features of the term, as often as it has it.
template <class Visit>
void each_feature(const Term& term, unsigned depth, const Visit& visit) {
  const std::vector<std::uint32_t> references = term.references();
  for (std::uint32_t v = 0; v < references.size(); ++v) {
    if (references[v] == 0) continue;
    const std::uint32_t above = term.nodes[v].choice.kind;
    const auto down = [&](const auto& self, std::uint32_t at, std::vector<std::uint32_t>& path) -> void {
      std::uint32_t shorter = 0, value = 0, paths = 1;
      for (const std::uint32_t slot : path) {
        shorter += paths, paths *= 3;
        value = value * 3 + slot;
      }
      visit((above * 56u + term.nodes[at].choice.kind) * 128u + shorter + value);
      if (path.size() == depth) return;
      for (std::uint32_t s = 0; s < term.nodes[at].choice.arity; ++s) {
        path.push_back(s);
        self(self, term.child(at, s), path);
        path.pop_back();
      }
    };
    std::vector<std::uint32_t> path;
    down(down, v, path);
    const std::uint32_t shared = references[v] == 2 ? 121 : references[v] == 3 ? 122 : references[v] > 3 ? 123 : 0;
    if (shared != 0) visit((above * 56u + above) * 128u + shared);
  }
}

using Features = std::map<std::uint32_t, std::int64_t>;
inline Features features_of(const Term& term, unsigned depth) {
  Features all;
  each_feature(term, depth, [&](std::uint32_t f) { ++all[f]; });
  return all;
}

/// Returns a row of plain weights with the order of random_weights().
inline const std::int8_t* row_of(const nn::PlainWeights& weights, std::uint32_t f) {
  const std::uint32_t code = f % 128, below = f / 128 % 56, above = f / 128 / 56;
  return weights.rows.data() + std::size_t{(above * kKindsUsed + below) * 128 + code} * nn::kLanes;
}

/// Sums the rows of a term's features, without the bias.
inline std::vector<std::int32_t> sum_of(const nn::PlainWeights& weights, const Term& term, unsigned depth) {
  std::vector<std::int32_t> sum(nn::kLanes);
  each_feature(term, depth, [&](std::uint32_t f) {
    const std::int8_t* row = row_of(weights, f);
    for (std::size_t l = 0; l < nn::kLanes; ++l) sum[l] += row[l];
  });
  return sum;
}

/// Grows a term from leaves; `shared` is the share of operands that are taken from anywhere, not from nodes that are
/// unused yet. Names are 0, 1, ...
inline Term random_term(Random& random, std::uint32_t nodes, double shared = 0.1) {
  Term term;
  std::vector<std::uint32_t> unused;
  const auto pick = [&]() -> std::uint32_t {
    if (unused.empty() || random() % 1000 < shared * 1000)
      return random() % static_cast<std::uint32_t>(term.nodes.size());
    const std::size_t at = unused.size() - 1 - random() % std::min<std::size_t>(unused.size(), 8);
    const std::uint32_t name = unused[at];
    unused.erase(unused.begin() + static_cast<std::ptrdiff_t>(at));
    return name;
  };
  for (std::uint32_t n = 0; n < nodes; ++n) {
    Choice c;
    // The fewer unused ends there are, the more leaves are made.
    c.kind =
        static_cast<std::uint8_t>(unused.size() < 2 + random() % 6 ? random() % 3 : 3 + random() % (kKindsUsed - 3));
    if (term.nodes.empty()) c.kind = 0;
    c.arity = arity_of(c.kind);
    for (std::uint8_t s = 0; s < c.arity; ++s) c.child[s] = pick();
    unused.push_back(term.add(c));
  }
  term.roots = unused;
  return term;
}

inline void begin(Incumbent& incumbent, const Term& term) {
  for (std::uint32_t name = 0; name < term.nodes.size(); ++name) incumbent.choose(name, term.nodes[name].choice);
  for (const std::uint32_t root : term.roots) incumbent.add_root(root);
}

}  // namespace trident::nnue::naive
