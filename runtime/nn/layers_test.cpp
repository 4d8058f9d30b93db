// Oracle: central differences; another tape over the same store; the definition of the hash.
#include "runtime/nn/layers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "runtime/autodiff/gradient_check.h"
#include "runtime/nn/architecture.h"

namespace trident::nn {
namespace {

using autodiff::Mode;
using tensor::ParameterStore;

/// A model with every layer.
template <class Real>
Value<Real> everything(Tape<Real>& tape, std::size_t batch) {
  const Bags bags = tape.bags("words", batch * 4, batch * 4);
  for (std::size_t i = 0; i < batch * 4; ++i) {
    bags.ids.data[i] = static_cast<std::int32_t>(i * 7 % 10);
    bags.offsets.data[i + 1] = static_cast<std::int32_t>(i + 1);
  }
  auto h = sparse_bag(tape, "words", bags, 10, 6, 1, 1, Activation::none);
  h = reshape(tape, h, {batch, 4, 6});
  h = activate(tape, batch_norm(tape, "norm", conv1d(tape, "conv", h, 3, 6, Activation::none)), Activation::gelu);
  h = add(tape, h, attention(tape, "attention", layer_norm(tape, "before", h), h, {}, 2));
  const auto pooled = max_pool_time(tape, h, {});
  return dueling_head(tape, "q", mlp(tape, "mlp", pooled, {8, 5}), 3);
}

TEST(Layers, GradientsOfAModelWithEveryLayer) {
  ParameterStore<double> store(4);
  Tape<double> tape(store, Mode::train);
  const auto y = everything(tape, 5);
  const auto target = tape.input("target", {5, 3});
  autodiff::fill_random(target.values(), 1);
  const auto loss = mse(tape, y, target);
  tape.finish(loss);
  for (const auto& slice : store.slices()) {
    // A shift before batch_norm is taken out again by it: its gradient is zero, as is that of the keys' bias, which
    // adds the same to every score of a query.
    if (slice.kind == tensor::SliceKind::statistic || slice.name == "conv.bias" || slice.name == "attention.key.bias")
      continue;
    autodiff::expect_gradient(tape, loss, store.values(slice),
                              std::span<const double>(tape.gradient()).subspan(slice.offset, slice.shape.count()),
                              slice.name);
  }
}

TEST(Layers, AnotherTapeFindsTheSameParameters) {
  ParameterStore<float> store(4);
  Tape<float> train(store, Mode::train), infer(store, Mode::infer);
  (void)everything(train, 5);
  const std::size_t size = store.flat().size();
  (void)everything(infer, 2);
  EXPECT_EQ(store.flat().size(), size);
  EXPECT_EQ(store.tables().size(), 1u);
}

TEST(Layers, FoldedBatchNormGivesTheSameInference) {
  ParameterStore<double> store(4);
  const auto build = [](Tape<double>& tape) {
    const auto x = tape.input("x", {2, 5, 3});
    autodiff::fill_random(x.values(), 1);
    return batch_norm(tape, "norm", conv1d(tape, "conv", x, 3, 4, Activation::none));
  };
  Tape<double> tape(store, Mode::infer);
  const auto y = build(tape);
  tape.finish();
  for (const auto& slice : store.slices()) {
    autodiff::fill_random(store.values(slice), slice.offset + 2);
    if (slice.name == "norm.running_variance") {
      for (double& v : store.values(slice)) v = v * v + 0.1;
    }
  }
  tape.forward();
  const std::vector<double> before(y.values().begin(), y.values().end());
  const double weight = store.values(*store.find("conv.weight"))[0];
  fold_batch_norm(store, "conv", "norm");
  EXPECT_NE(store.values(*store.find("conv.weight"))[0], weight);
  tape.forward();
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(y.data[i], before[i], 1e-12);
  EXPECT_NEAR(store.values(*store.find("norm.gain"))[0], 1, 1e-4);
}

TEST(Architecture, ForgetsBatchAndLossesAndNothingElse) {
  const auto hash = [](auto build, std::size_t batch, Mode mode, std::uint64_t seed = 1) {
    ParameterStore<float> store(seed);
    Tape<float> tape(store, mode);
    const auto y = build(tape, batch);
    if (mode == Mode::train) {
      const auto target = tape.input("target", y.shape);
      tape.finish(mse(tape, y, target));
    }
    return architecture_hash(tape, y);
  };
  const auto model = [](Tape<float>& tape, std::size_t batch) { return everything(tape, batch); };
  const std::string reference = hash(model, 5, Mode::train);
  EXPECT_EQ(reference.size(), 64u);
  EXPECT_EQ(hash(model, 2, Mode::infer, 9), reference);
  const auto net = [](std::size_t width, Activation activation, const char* name, bool twice) {
    return [=](Tape<float>& tape, std::size_t batch) {
      auto y = linear(tape, name, tape.input("x", {batch, 4}), width, activation);
      return twice ? linear(tape, "again", y, width, activation) : y;
    };
  };
  const std::vector<std::string> others = {reference,
                                           hash(net(4, Activation::relu, "a", false), 3, Mode::infer),
                                           hash(net(5, Activation::relu, "a", false), 3, Mode::infer),
                                           hash(net(4, Activation::gelu, "a", false), 3, Mode::infer),
                                           hash(net(4, Activation::relu, "b", false), 3, Mode::infer),
                                           hash(net(4, Activation::relu, "a", true), 3, Mode::infer)};
  EXPECT_EQ(std::set<std::string>(others.begin(), others.end()).size(), others.size());
}

TEST(Architecture, TextReadsAsWritten) {
  ParameterStore<float> store(1);
  Tape<float> tape(store, Mode::infer);
  const auto y = dueling_head(tape, "q", tape.input("x", {8, 4}), 3);
  EXPECT_EQ(architecture_text(tape, y),
            "%0 = linear activation=0 x[.., 4] q.value.weight[4, 1] q.value.bias[1]\n"
            "%1 = linear activation=0 x[.., 4] q.advantage.weight[4, 3] q.advantage.bias[3]\n"
            "%2 = dueling %0 %1\n");
}

}  // namespace
}  // namespace trident::nn
