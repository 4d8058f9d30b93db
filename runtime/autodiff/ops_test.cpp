// Oracle: central differences in f64 for every op and every operand, each value used twice so that adding to a gradient
// is tried as well as overwriting it; small cases by hand for meanings that a gradient cannot show.
#include "runtime/autodiff/ops.h"

#include <gtest/gtest.h>

#include <numeric>

#include "runtime/autodiff/gradient_check.h"

namespace trident::autodiff {
namespace {

using tensor::Initialiser;
using tensor::ParameterStore;
using tensor::SliceKind;

/// A store, a tape and the values that a test declares; `loss` weighs every output by a fixed random number.
class Bench {
 public:
  explicit Bench(Mode mode = Mode::train) : tape(store, mode) {}
  Value<double> input(Shape shape, double scale = 1) {
    auto value = tape.input("input" + std::to_string(inputs_.size()), shape, true);
    fill_random(value.values(), ++stream_, scale);
    inputs_.push_back(value);
    return value;
  }
  Value<double> parameter(Shape shape, SliceKind kind = SliceKind::weight) {
    const auto index = store.declare("p" + std::to_string(stream_), shape, kind, Initialiser::zeros);
    auto value = tape.parameter(index);
    fill_random(value.values(), ++stream_);
    return value;
  }
  Integers integers(Shape shape, std::uint64_t bound) {
    auto value = tape.integers("integers", shape);
    tensor::Generator generator(3, ++stream_);
    for (auto& v : value.values()) v = static_cast<std::int32_t>(generator.below(bound));
    return value;
  }
  void check(std::initializer_list<Value<double>> outputs) {
    std::vector<Value<double>> flat;
    std::size_t width = 0;
    for (const auto& y : outputs) {
      flat.push_back(reshape(tape, y, {1, y.shape.count()}));
      width += y.shape.count();
    }
    const auto all = concat<double>(tape, flat);
    const auto weights = tape.input("weights", {1, width});
    fill_random(weights.values(), 99);
    check_loss(huber(tape, all, weights, {}, 1e3));
  }
  void check_loss(const Value<double>& loss) {
    tape.finish(loss);
    for (const auto& value : inputs_) expect_gradient(tape, loss, value.values(), value.gradients(), "input");
    expect_parameter_gradients(tape, loss);
  }
  ParameterStore<double> store{1};
  Tape<double> tape;

 private:
  std::vector<Value<double>> inputs_;
  std::uint64_t stream_ = 0;
};

const Activation kActivations[] = {Activation::none, Activation::relu, Activation::clipped_relu, Activation::gelu};

TEST(Gradient, Linear) {
  for (const Activation activation : kActivations) {
    Bench b;
    const auto x = b.input({2, 3, 5}), w = b.parameter({5, 5}), bias = b.parameter({5});
    const auto y = linear(b.tape, x, w, bias, activation);
    b.check({y, linear(b.tape, y, w, bias, activation), linear(b.tape, x, w, {}, activation)});
  }
}

TEST(Gradient, SparseBag) {
  for (const Activation activation : kActivations) {
    Bench b;
    auto& table = b.store.declare_rows("table", 9, 5, 1, 1.0);
    const auto bias = b.parameter({5});
    const Bags bags = b.tape.bags("bags", 4, 20);
    const std::int32_t ids[] = {0, 3, 3, 8, 1, 0, 7, 7}, offsets[] = {0, 3, 3, 7, 8};  // one bag is empty, one repeats
    std::copy(std::begin(ids), std::end(ids), bags.ids.data);
    std::copy(std::begin(offsets), std::end(offsets), bags.offsets.data);
    const auto y = sparse_bag(b.tape, table, bags, bias, activation);
    const auto target = b.tape.input("target", {4, 5});
    fill_random(target.values(), 50);
    const auto loss = mse(b.tape, y, target);
    b.check_loss(loss);
    ASSERT_EQ(b.tape.row_gradients().size(), 1u);
    const auto rows = b.tape.row_gradients()[0];
    for (std::size_t r = 0; r < table.rows(); ++r) {
      std::vector<double> gradient(5);
      for (std::size_t bag = 0; bag < rows.bags; ++bag) {
        for (std::int32_t i = rows.offsets[bag]; i < rows.offsets[bag + 1]; ++i) {
          if (rows.ids[i] == static_cast<std::int32_t>(r)) {
            for (std::size_t c = 0; c < 5; ++c) gradient[c] += rows.gradient[bag * 5 + c];
          }
        }
      }
      for (std::size_t c = 0; c < 5; ++c) {
        double& w = table.row(r)[c];
        const double kept = w;
        w = kept + 1e-6, b.tape.forward();
        const double above = loss.data[0];
        w = kept - 1e-6, b.tape.forward();
        const double numeric = (above - loss.data[0]) / 2e-6;
        w = kept;
        ASSERT_NEAR(gradient[c], numeric, kGradientTolerance * std::fabs(numeric) + 2e-9) << "row " << r;
      }
    }
  }
}

TEST(Gradient, Conv1d) {
  for (const Activation activation : kActivations) {
    for (const std::size_t taps : {1u, 3u, 5u}) {
      Bench b;
      const auto x = b.input({3, 6, 4}), w = b.parameter({taps, 4, 4}), bias = b.parameter({4});
      const auto y = conv1d(b.tape, x, w, bias, activation);
      b.check({y, conv1d(b.tape, y, w, {}, Activation::none), x});
    }
  }
}

TEST(Gradient, Norms) {
  Bench b;
  const auto x = b.input({4, 3, 6}, 2), gain = b.parameter({6}), bias = b.parameter({6});
  const auto y = layer_norm(b.tape, x, gain, bias);
  b.check({y, layer_norm(b.tape, y, gain, bias), x});
  Bench c;
  const auto u = c.input({4, 3, 6}, 2), g = c.parameter({6}), h = c.parameter({6});
  const auto mean = c.parameter({6}, SliceKind::statistic), variance = c.parameter({6}, SliceKind::statistic);
  const auto v = batch_norm(c.tape, u, g, h, mean, variance);
  c.check({v, batch_norm(c.tape, v, g, h, mean, variance), u});
}

TEST(Gradient, Attention) {
  for (const bool masked : {false, true}) {
    Bench b;
    const auto q = b.input({2, 3, 8}), k = b.input({2, 5, 8}), v = b.input({2, 5, 8});
    const Integers mask = masked ? b.integers({2, 3, 5}, 2) : Integers{};
    if (masked) std::fill_n(mask.data, 5, 0);  // the first query sees nothing
    const auto y = attention(b.tape, q, k, v, mask, 2);
    b.check({y, attention(b.tape, q, q, q, {}, 4), attention(b.tape, v, k, k, {}, 1)});
  }
}

TEST(Gradient, Arithmetic) {
  for (const Activation activation : kActivations) {
    Bench b;
    const auto x = b.input({4, 5});
    b.check({activate(b.tape, x, activation), activate(b.tape, x, Activation::gelu)});
  }
  Bench b;
  const auto x = b.input({2, 3, 4}), y = b.input({2, 3, 4}), t = b.input({3, 4}), c = b.parameter({4});
  b.check({add(b.tape, x, y), add(b.tape, x, x), add(b.tape, x, t), add(b.tape, y, c), multiply(b.tape, x, y),
           multiply(b.tape, x, x), multiply(b.tape, y, t), multiply(b.tape, x, c)});
}

TEST(Gradient, Movement) {
  Bench b;
  const auto x = b.input({2, 3, 4}), y = b.input({2, 3, 2});
  const Value<double> parts[] = {x, y, x};
  const auto joined = concat<double>(b.tape, parts);
  const auto lengths = b.tape.integers("lengths", {2});
  lengths.data[0] = 2, lengths.data[1] = 3;
  const auto q = reshape(b.tape, x, {6, 4});
  b.check({joined, slice(b.tape, joined, 3, 7), slice(b.tape, x, 0, 2), max_pool_time(b.tape, x, lengths),
           max_pool_time(b.tape, x, {}), gather_action(b.tape, q, b.integers({6}, 4)),
           gather_action(b.tape, q, b.integers({6}, 4))});
}

TEST(Gradient, Dueling) {
  Bench b;
  const auto v = b.input({5, 1}), a = b.input({5, 3});
  b.check({dueling(b.tape, v, a), dueling(b.tape, v, a), v});
}

TEST(Gradient, CrossEntropyWithWeightsAndMask) {
  for (const bool weighted : {false, true}) {
    Bench b;
    const auto logits = b.input({7, 5}, 3);
    const auto labels = b.integers({7}, 5);
    labels.data[2] = -1;
    const std::vector<double> weights = {0.5, 1, 2, 0.1, 3};
    const auto loss =
        softmax_cross_entropy(b.tape, logits, labels, weighted ? b.tape.constant(weights, {5}) : Value<double>{});
    b.check_loss(loss);
    for (std::size_t c = 0; c < 5; ++c) EXPECT_EQ(logits.gradient[2 * 5 + c], 0) << "a masked row has no gradient";
  }
}

TEST(Gradient, CrossEntropyWithRowWeights) {
  Bench b;
  const auto logits = b.input({7, 5}, 3);
  const auto labels = b.integers({7}, 5);
  labels.data[2] = -1;
  const std::vector<double> classes = {0.5, 1, 2, 0.1, 3}, rows = {1, 2, 9, 0, 0.25, 1.5, 1};
  b.check_loss(
      softmax_cross_entropy(b.tape, logits, labels, b.tape.constant(classes, {5}), b.tape.constant(rows, {7})));
}

// A row that weighs three is that row three times, one that weighs nothing is not there.
TEST(Meaning, RowWeightsAreRowsRepeated) {
  Bench b;
  const std::vector<double> once = {0.3, -1, 2, 0.5, 0.1, 0.7}, repeated = {0.3, -1, 0.3, -1, 0.3, -1, 0.1, 0.7};
  const auto logits = b.tape.constant(once, {3, 2}), copies = b.tape.constant(repeated, {4, 2});
  const auto labels = b.integers({3}, 2), copied = b.integers({4}, 2);
  for (std::size_t i = 0; i < 3; ++i) labels.data[i] = i == 2;
  for (std::size_t i = 0; i < 4; ++i) copied.data[i] = i == 3;
  const std::vector<double> weights = {3, 0, 1};
  const auto weighted = softmax_cross_entropy(b.tape, logits, labels, {}, b.tape.constant(weights, {3}));
  const auto plain = softmax_cross_entropy(b.tape, copies, copied, {});
  b.tape.finish();
  b.tape.forward();
  EXPECT_NEAR(weighted.data[0], plain.data[0], 1e-14);
}

TEST(Gradient, PairwiseRank) {
  Bench b;
  const auto scores = b.input({12}, 2);
  const auto target = b.tape.input("target", {12});
  fill_random(target.values(), 30);
  target.data[3] = target.data[4];  // a tie is no pair
  b.check_loss(pairwise_rank(b.tape, scores, target, b.integers({12}, 3)));
}

TEST(Meaning, LossesWithNothingToCompareAreZero) {
  Bench b;
  const auto scores = b.input({3}), target = b.tape.input("target", {3});
  const auto loss = pairwise_rank(b.tape, scores, target, b.integers({3}, 1));
  b.tape.finish(loss);
  b.tape.forward(), b.tape.backward();
  EXPECT_EQ(loss.data[0], 0);
  for (const double g : scores.gradients()) EXPECT_EQ(g, 0);
  Bench c;
  const auto logits = c.input({2, 3});
  const auto labels = c.integers({2}, 1);
  labels.data[0] = labels.data[1] = -1;
  const auto entropy = softmax_cross_entropy(c.tape, logits, labels, {});
  c.tape.finish(entropy);
  c.tape.forward(), c.tape.backward();
  EXPECT_EQ(entropy.data[0], 0);
  for (const double g : logits.gradients()) EXPECT_EQ(g, 0);
}

TEST(Meaning, SmallCasesByHand) {
  Bench b;
  const auto v = b.input({1, 1}), a = b.input({1, 3});
  v.data[0] = 10, a.data[0] = 1, a.data[1] = 2, a.data[2] = 6;
  const auto q = dueling(b.tape, v, a);
  const auto x = b.input({1, 3, 2});
  for (int i = 0; i < 6; ++i) x.data[i] = i % 2 ? -i : i;  // (0, -1), (2, -3), (4, -5)
  const auto pooled = max_pool_time(b.tape, x, {});
  const auto w = b.parameter({3, 2, 1});
  for (int i = 0; i < 6; ++i) w.data[i] = i < 2 ? 1 : (i < 4 ? 10 : 100);  // taps before, at, after
  const auto y = conv1d(b.tape, x, w, {}, Activation::none);
  const auto mask = b.tape.integers("mask", {1, 3, 3});
  mask.data[1] = 1;  // query 0 sees key 1 alone, the others nothing
  const auto seen = attention(b.tape, x, x, x, mask, 1);
  b.tape.finish();
  b.tape.forward();
  EXPECT_EQ(q.data[0], 8);
  EXPECT_EQ(q.data[2], 13);
  EXPECT_EQ(pooled.data[0], 4);
  EXPECT_EQ(pooled.data[1], -1);
  EXPECT_EQ(y.data[0], 0 * 1 + -1 * 10 + -1 * 100);  // sums of positions: -1, -1, -1; zero beyond the ends
  EXPECT_EQ(y.data[1], -1 + -10 + -100);
  EXPECT_EQ(y.data[2], -1 + -10);
  EXPECT_EQ(seen.data[0], 2);
  EXPECT_EQ(seen.data[1], -3);
  for (int i = 2; i < 6; ++i) EXPECT_EQ(seen.data[i], 0);
}

TEST(Meaning, BatchNormMovesItsStatisticsAndUsesThemInInference) {
  ParameterStore<double> store(1);
  for (const char* name : {"gain", "variance"}) store.declare(name, {2}, SliceKind::statistic, Initialiser::ones);
  for (const char* name : {"bias", "mean"}) store.declare(name, {2}, SliceKind::statistic, Initialiser::zeros);
  Tape<double> train(store, Mode::train), infer(store, Mode::infer);
  const auto build = [](Tape<double>& tape) {
    const auto x = tape.input("x", {4, 2});
    for (int i = 0; i < 8; ++i) x.data[i] = i;  // columns 0 2 4 6 and 1 3 5 7: means 3, 4; variance 5, unbiased 20 / 3
    return batch_norm(tape, x, tape.parameter("gain"), tape.parameter("bias"), tape.parameter("mean"),
                      tape.parameter("variance"));
  };
  const auto y = build(train), z = build(infer);
  const auto target = train.input("target", {4, 2});
  train.finish(mse(train, y, target));
  infer.finish();
  train.forward(), train.backward(), infer.forward();
  EXPECT_NEAR(y.data[0], -3 / std::sqrt(5 + 1e-5), 1e-12);
  const auto slope = [&](const char* name) { return train.gradient()[store.find(name)->offset]; };
  EXPECT_NEAR(slope("mean"), 0 - 3, 1e-12);
  EXPECT_NEAR(slope("variance"), 1 - 20.0 / 3, 1e-12);
  EXPECT_NEAR(z.data[2], 2 / std::sqrt(1 + 1e-5), 1e-12);
}

TEST(SparseBag, AnIdOutsideTheTableEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const std::int32_t id : {-1, 9}) {
    ParameterStore<float> store(1);
    Tape<float> tape(store, Mode::infer);
    const Bags bags = tape.bags("bags", 1, 1);
    (void)sparse_bag(tape, store.declare_rows("table", 9, 4, 1, 1.0f), bags, {}, Activation::none);
    tape.finish();
    bags.ids.data[0] = id;
    bags.offsets.data[1] = 1;
    EXPECT_DEATH(tape.forward(), "largest < ");
  }
}

TEST(Infer, EqualsTrainingForward) {
  ParameterStore<float> store(1);
  store.declare("w", {6, 6}, SliceKind::weight, Initialiser::xavier_uniform, 6, 6);
  Tape<float> train(store, Mode::train), infer(store, Mode::infer);
  const auto build = [](Tape<float>& tape) {
    const auto x = tape.input("x", {2, 4, 6}), w = tape.parameter("w");
    for (std::size_t i = 0; i < 48; ++i) x.data[i] = static_cast<float>(i % 7) - 3;
    const auto h = linear(tape, x, w, {}, Activation::gelu);
    return std::pair(max_pool_time(tape, attention(tape, h, h, x, {}, 3), {}), x);
  };
  const auto [y, x] = build(train);
  const auto [z, u] = build(infer);
  train.finish(), infer.finish();
  train.forward(), infer.forward();
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(y.data[i], z.data[i]);
}

}  // namespace
}  // namespace trident::autodiff
