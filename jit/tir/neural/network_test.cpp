// Oracles: a second network on elements of the field, with the centred lift and 128-bit sums of fixed_point.h, its
// tables by the library's erf and exp; the other levels; blocks that differ in one node.
#include "jit/tir/neural/network.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "jit/tir/neural/arithmetic_tables.h"
#include "jit/tir/neural/sample_blocks.h"
#include "jit/tir/tasm/program.h"

namespace trident::tir::neural {
namespace {

using Vector = std::vector<Element>;

/// Changes initial weights as training would: biases and gains too.
Weights some_weights(std::uint64_t seed, std::int32_t spread = 6000) {
  Weights weights = initial_weights(seed);
  tensor::Generator random(seed, 5);
  for (std::int32_t& w : weights)
    w += static_cast<std::int32_t>(random.below(2 * static_cast<std::uint64_t>(spread) + 1)) - spread;
  return weights;
}

std::vector<Original> some_originals(std::uint64_t seed, std::size_t count) {
  tensor::Generator random(seed);
  std::vector<Original> originals;
  for (std::size_t i = 0; i < count; ++i)
    originals.push_back(*Original::of(sample_block(random, i == 0 ? 0 : 1 + random.below(kNodesMax))));
  return originals;
}

/// Makes a draft of the first tokens of its own block.
Draft some_draft(const Original& original, std::size_t tokens) {
  Draft draft(original);
  for (const Token t : tokens_of(original.block(), original.pool()))
    if (draft.tokens().size() < tokens && draft.legal(t)) draft.take(t);
  return draft;
}

/// A second network, computed element by element.
class Reference {
 public:
  explicit Reference(const Weights& weights) : weights_(weights) {}

  std::vector<Vector> encode(const Original& original) {
    std::vector<Vector> x;
    for (std::size_t k = 0; k < original.nodes(); ++k) {
      FeatureRows rows;
      original.append_context_rows(rows);
      original.append_node_rows(k, rows);
      x.push_back(sum(rows));
    }
    const auto seen = original.encoding().ancestors();
    for (const std::string layer : {"layer0", "layer1"}) {
      const auto q = linear(x, layer + ".query"), k = linear(x, layer + ".key"), v = linear(x, layer + ".value");
      std::vector<Vector> attended(x.size());
      for (std::size_t i = 0; i < x.size(); ++i)
        for (std::size_t h = 0; h < kHeads; ++h) {
          const std::size_t from = h * kHeadWidth, to = from + kHeadWidth;
          const Vector shares = softmax(part(q[i], from, to), parts(k, from, to), seen[i], kHeadScale);
          for (const Element e : weighed(shares, parts(v, from, to))) attended[i].push_back(e);
        }
      x = norm(x, linear(attended, layer + ".output"), layer + ".norm1");
      auto inner = linear(x, layer + ".in.weight", layer + ".in.bias");
      gelu(inner);
      x = norm(x, linear(inner, layer + ".out.weight", layer + ".out.bias"), layer + ".norm2");
    }
    return x;
  }

  Vector score(const std::vector<Vector>& nodes, const Draft& draft) {
    FeatureRows rows;
    const std::uint32_t looked_at = draft.append_rows(rows);
    const Vector p = sum(rows);
    Vector input(kWidth);
    if (!nodes.empty()) input = weighed(softmax(p, nodes, looked_at, kDecoderScale), nodes);
    input.insert(input.end(), p.begin(), p.end());
    auto inner = linear({input}, "decoder.hidden.weight", "decoder.hidden.bias");
    gelu(inner);
    const Vector out = linear(inner, "decoder.out.weight", "decoder.out.bias")[0];
    Vector scores;
    for (std::size_t t = 0; t < kTokenCount; ++t)
      scores.push_back(bounded(dot(out, row("features", t), weight("tokens.bias", 0, t), overflows)));
    return scores;
  }

  Overflows overflows;

 private:
  [[nodiscard]] Element weight(const std::string& slice, std::size_t r, std::size_t c) const {
    return lower(values_of(weights_, slice)[r * kSlices[slice_named(slice)].columns + c]);
  }
  [[nodiscard]] Vector row(const std::string& slice, std::size_t r) const {
    Vector out;
    for (std::size_t c = 0; c < kSlices[slice_named(slice)].columns; ++c) out.push_back(weight(slice, r, c));
    return out;
  }
  static Element bounded(Element x) { return lower(std::clamp(lift(x), -kActivationMax, kActivationMax)); }
  [[nodiscard]] Vector sum(const FeatureRows& rows) const {
    Vector out(kWidth);
    for (const std::int32_t r : rows)
      for (std::size_t c = 0; c < kWidth; ++c) out[c] += weight("features", static_cast<std::size_t>(r), c);
    for (Element& e : out) e = bounded(e);
    return out;
  }
  std::vector<Vector> linear(const std::vector<Vector>& x, const std::string& slice, const std::string& bias = {}) {
    const SliceRow& shape = kSlices[slice_named(slice)];
    std::vector<Vector> y(x.size());
    for (std::size_t c = 0; c < shape.columns; ++c) {
      Vector column;
      for (std::size_t r = 0; r < shape.rows; ++r) column.push_back(weight(slice, r, c));
      const Element b = bias.empty() ? Element() : weight(bias, 0, c);
      for (std::size_t i = 0; i < x.size(); ++i) y[i].push_back(bounded(dot(x[i], column, b, overflows)));
    }
    return y;
  }
  static Vector part(const Vector& x, std::size_t from, std::size_t to) {
    return {x.begin() + static_cast<std::ptrdiff_t>(from), x.begin() + static_cast<std::ptrdiff_t>(to)};
  }
  static std::vector<Vector> parts(const std::vector<Vector>& x, std::size_t from, std::size_t to) {
    std::vector<Vector> out;
    for (const Vector& v : x) out.push_back(part(v, from, to));
    return out;
  }
  static std::int64_t exp_minus_of(std::int64_t distance) {
    if (distance >= 16 * kScale) return 0;
    const auto at = [](std::int64_t i) { return std::llround(0x1p24 * std::exp(-static_cast<double>(i) / 64)); };
    const std::int64_t i = distance / 1024, first = at(i);
    return first + (((at(i + 1) - first) * (distance % 1024) + 512) >> 10);
  }
  Vector softmax(const Vector& query, const std::vector<Vector>& keys, std::uint32_t mask, std::int64_t scale) {
    std::vector<std::int64_t> scores;
    std::int64_t largest = INT64_MIN, sum = 0;
    for (std::size_t j = 0; j < keys.size(); ++j) {
      const Element raw = dot(query, keys[j], {}, overflows);
      scores.push_back(lift(multiply(raw, lower(scale), overflows)));
      if (mask >> j & 1) largest = std::max(largest, scores[j]);
    }
    for (std::size_t j = 0; j < keys.size(); ++j) {
      scores[j] = mask >> j & 1 ? exp_minus_of(largest - scores[j]) : 0;
      sum += scores[j];
    }
    Vector shares;
    for (const std::int64_t e : scores) shares.push_back(lower((e * 2 * kScale + sum) / (2 * sum)));
    return shares;
  }
  Vector weighed(const Vector& shares, const std::vector<Vector>& x) {
    Vector out;
    for (std::size_t c = 0; c < x[0].size(); ++c) {
      Vector column;
      for (const Vector& v : x) column.push_back(v[c]);
      out.push_back(bounded(dot(shares, column, {}, overflows)));
    }
    return out;
  }
  static void gelu(std::vector<Vector>& x) {
    const auto at = [](std::int64_t i) {
      const double z = static_cast<double>(i) / 64 - 8;
      return std::llround(65536 * z * 0.5 * (1 + std::erf(z / std::sqrt(2.0))));
    };
    for (Vector& row : x)
      for (Element& e : row) {
        const std::int64_t v = lift(e), from_start = std::max(v, -8 * kScale) + 8 * kScale;
        const std::int64_t i = std::min<std::int64_t>(from_start / 1024, 1023);
        const std::int64_t between = at(i) + (((at(i + 1) - at(i)) * (from_start - i * 1024) + 512) >> 10);
        e = lower(v > 8 * kScale ? v : between);
      }
  }
  std::vector<Vector> norm(const std::vector<Vector>& x, const std::vector<Vector>& y, const std::string& slice) {
    std::vector<Vector> out(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      __int128 sum = 0, squares = 0;
      for (std::size_t c = 0; c < kWidth; ++c) sum += lift(x[i][c] + y[i][c]);
      const auto mean = static_cast<std::int64_t>((2 * sum + 64 + 128 * (__int128{1} << 60)) / 128 - (1ll << 60));
      for (std::size_t c = 0; c < kWidth; ++c) {
        const __int128 d = lift(x[i][c] + y[i][c]) - mean;
        squares += d * d;
      }
      const auto variance = static_cast<std::int64_t>(squares / 64) + kNormEpsilon;
      std::int64_t r = 0;  // the largest with r^2 variance <= 2^72, bit by bit
      for (std::int64_t bit = std::int64_t{1} << 36; bit > 0; bit /= 2)
        if (__int128{r + bit} * (r + bit) <= (__int128{1} << 72) / variance) r += bit;
      for (std::size_t c = 0; c < kWidth; ++c) {
        const std::int64_t d = lift(x[i][c] + y[i][c]) - mean, normal = (d * r + (1 << 19)) >> 20;
        const Vector gain{weight(slice + ".gain", 0, c)}, value{lower(normal)};
        out[i].push_back(bounded(dot(value, gain, weight(slice + ".bias", 0, c), overflows)));
      }
    }
    return out;
  }

  const Weights& weights_;
};

void expect_equal(const std::vector<double>& got, const std::vector<Vector>& want) {
  ASSERT_EQ(got.size(), want.size() * kWidth);
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(static_cast<std::int64_t>(got[i]), lift(want[i / kWidth][i % kWidth])) << "element " << i;
}

TEST(Network, IsWhatItIsInTheField) {
  const Weights weights = some_weights(1);
  Network network(weights);
  Reference reference(weights);
  for (const Original& original : some_originals(21, 5)) {
    const Encoded encoded = network.encode(original);
    const auto nodes = reference.encode(original);
    expect_equal(encoded.nodes, nodes);
    const Draft draft = some_draft(original, original.nodes() / 2);
    std::vector<std::int32_t> scores;
    network.score(std::vector<Network::Query>{{&encoded, &draft}}, scores);
    const Vector want = reference.score(nodes, draft);
    for (std::size_t t = 0; t < kTokenCount; ++t) ASSERT_EQ(scores[t], lift(want[t])) << print(static_cast<Token>(t));
  }
  EXPECT_EQ(network.saturated(), 0u);
  EXPECT_EQ(reference.overflows.count, 0u);
}

TEST(Network, EveryLevelGivesTheSameBits) {
  int levels = 0;
  for (const std::int32_t spread : {6000, 400'000}) {  // also with weights that saturate activations
    Weights weights = some_weights(2, spread);
    for (std::int32_t& w : weights) w = std::clamp(w, 1 - kWeightBound, kWeightBound - 1);
    const std::vector<Original> originals = some_originals(22, 40);
    std::vector<std::vector<double>> first_nodes;
    std::vector<std::int32_t> first_scores, scores;
    std::uint64_t first_saturated = 0;
    for (const os::SimdLevel level : os::kSimdLevels) {
      if (arithmetic_of(level) == nullptr) continue;
      ++levels;
      Network network(weights, level);
      std::vector<Encoded> encoded;
      std::vector<Draft> drafts;
      for (const Original& o : originals) {
        encoded.push_back(network.encode(o));
        drafts.push_back(some_draft(o, o.nodes() / 2));
      }
      std::vector<Network::Query> queries;
      for (std::size_t i = 0; i < drafts.size(); ++i) queries.push_back({&encoded[i], &drafts[i]});
      network.score(queries, scores);
      if (level == os::SimdLevel::portable) {
        for (const Encoded& e : encoded) first_nodes.push_back(e.nodes);
        first_scores = scores, first_saturated = network.saturated();
        EXPECT_EQ(first_saturated > 0, spread > 6000);
      }
      for (std::size_t i = 0; i < encoded.size(); ++i) ASSERT_EQ(encoded[i].nodes, first_nodes[i]);
      ASSERT_EQ(scores, first_scores);
      EXPECT_EQ(network.saturated(), first_saturated);
      // Scores one by one as side by side.
      network.score({&queries[7], 1}, scores);
      for (std::size_t t = 0; t < kTokenCount; ++t) ASSERT_EQ(scores[t], first_scores[7 * kTokenCount + t]);
    }
  }
  EXPECT_GE(levels, 2);
}

TEST(Network, ANodeSeesOnlyWhatItIsMadeWith) {
  const auto original_of = [](const std::string& text) {
    return *Original::of(tasm::assemble(ir::SourceText(text))->instructions);
  };
  const Original before = original_of("add dup 1 mul read_io 2 mul swap 1 push 5 add eq");
  const Original after = original_of("add dup 1 mul read_io 2 add swap 1 push 5 add eq");
  constexpr std::size_t kChanged = 4;
  Network network(some_weights(3));
  const auto a = network.encode(before).nodes, b = network.encode(after).nodes;
  const auto ancestors = before.encoding().ancestors();
  int kept = 0;
  for (std::size_t k = 0; k < before.nodes(); ++k) {
    const bool same = std::equal(&a[k * kWidth], &a[(k + 1) * kWidth], &b[k * kWidth]);
    EXPECT_EQ(same, (ancestors[k] >> kChanged & 1) == 0) << k;
    kept += same ? 1 : 0;
  }
  EXPECT_EQ(kept, 6);  // the second add works on the first product, which the swap brings up
}

TEST(Network, TablesAreTheFunctions) {
  for (int i = 0; i < 1025; ++i) {
    const double x = i / 64.0 - 8;
    EXPECT_NEAR(kGeluTable.at[i], 65536 * x * 0.5 * (1 + std::erf(x / std::sqrt(2.0))), 0.6) << x;
    EXPECT_NEAR(kExpTable.at[i], 0x1p24 * std::exp(-i / 64.0), 0.6);
  }
  std::vector<double> x;
  for (int i = -9 * 65536; i <= 9 * 65536; i += 37) x.push_back(i);
  std::vector<double> y = x;
  arithmetic_of(tensor::best_level())->gelu(y.size(), y.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double z = x[i] / 65536;
    ASSERT_NEAR(y[i] / 65536, z * 0.5 * (1 + std::erf(z / std::sqrt(2.0))), 0x1p-14) << z;
  }
}

TEST(Network, CountsItsWork) {
  tensor::Generator random(4);
  const Original original = *Original::of(sample_block(random, 12));
  Network network(initial_weights(1));
  const Encoded encoded = network.encode(original);
  EXPECT_NEAR(static_cast<double>(network.multiply_adds()) / 12, 69000, 1500);
  const std::uint64_t before = network.multiply_adds();
  const Draft draft(original);
  std::vector<std::int32_t> scores;
  network.score(std::vector<Network::Query>{{&encoded, &draft}}, scores);
  EXPECT_NEAR(static_cast<double>(network.multiply_adds() - before), 38000, 1500);
}

}  // namespace
}  // namespace trident::tir::neural
