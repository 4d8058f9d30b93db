// Oracle: central differences in f64; sums by hand for what a tape does with shared and unused values.
#include <gtest/gtest.h>

#include "runtime/autodiff/gradient_check.h"
#include "runtime/autodiff/ops.h"

namespace trident::autodiff {
namespace {

using tensor::Initialiser;
using tensor::ParameterStore;
using tensor::SliceKind;

class LinearGradient : public testing::TestWithParam<Activation> {};

TEST_P(LinearGradient, TwoLayers) {
  ParameterStore<double> store(3);
  store.declare("w1", {7, 19}, SliceKind::weight, Initialiser::he_uniform, 7);
  store.declare("b1", {19}, SliceKind::bias, Initialiser::zeros);
  store.declare("w2", {19, 3}, SliceKind::weight, Initialiser::xavier_uniform, 19, 3);
  fill_random(store.values(*store.find("b1")), 5, 0.3);
  Tape<double> tape(store, Mode::train);
  const auto x = tape.input("x", {2, 5, 7}, true);
  const auto target = tape.input("target", {2, 5, 3});
  const auto h = linear(tape, x, tape.parameter("w1"), tape.parameter("b1"), GetParam());
  const auto y = linear(tape, h, tape.parameter("w2"), {}, Activation::none);
  const auto loss = mse(tape, y, target);
  tape.finish(loss);
  fill_random(x.values(), 1);
  fill_random(target.values(), 2);
  expect_parameter_gradients(tape, loss);
  expect_gradient(tape, loss, x.values(), x.gradients(), "x");
}

INSTANTIATE_TEST_SUITE_P(Activations, LinearGradient,
                         testing::Values(Activation::none, Activation::relu, Activation::clipped_relu,
                                         Activation::gelu));

TEST(Huber, GradientsOnBothSidesOfDelta) {
  for (const bool squared : {false, true}) {
    ParameterStore<double> store(3);
    Tape<double> tape(store, Mode::train);
    const auto x = tape.input("x", {40}, true), target = tape.input("target", {40}, true);
    const auto weights = tape.input("weights", {40});
    const auto loss = squared ? mse(tape, x, target, weights) : huber(tape, x, target, weights, 0.3);
    tape.finish(loss);
    fill_random(x.values(), 1);
    fill_random(target.values(), 2);
    fill_random(weights.values(), 3);
    expect_gradient(tape, loss, x.values(), x.gradients(), "x");
    expect_gradient(tape, loss, target.values(), target.gradients(), "target");
  }
}

TEST(Tape, ASharedParameterGetsTheSumAndAnUnusedOneZero) {
  ParameterStore<double> store(3);
  store.declare("w", {4, 4}, SliceKind::weight, Initialiser::xavier_uniform, 4, 4);
  store.declare("unused", {4}, SliceKind::bias, Initialiser::ones);
  Tape<double> tape(store, Mode::train);
  const auto x = tape.input("x", {6, 4}, true), target = tape.input("target", {6, 4});
  const auto w = tape.parameter("w");
  const auto h = linear(tape, x, w, {}, Activation::none);
  const auto y = linear(tape, h, w, {}, Activation::none);
  (void)linear(tape, y, w, {}, Activation::none);  // leads to no loss: must add nothing
  const auto loss = mse(tape, y, target);
  tape.finish(loss);
  fill_random(x.values(), 1);
  fill_random(target.values(), 2);
  expect_gradient(tape, loss, w.values(), w.gradients(), "w");
  const auto& unused = *store.find("unused");
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(tape.gradient()[unused.offset + i], 0);
}

TEST(Tape, TapesOfOneStoreSeeItsWeightsAndKeepTheirGradientsApart) {
  ParameterStore<double> store(3);
  store.declare("w", {4, 2}, SliceKind::weight, Initialiser::xavier_uniform, 4, 2);
  Tape<double> one(store, Mode::train), two(store, Mode::train), infer(store, Mode::infer);
  const auto build = [&](Tape<double>& tape) {
    const auto x = tape.input("x", {3, 4});
    x.data[0] = 1;
    return linear(tape, x, tape.parameter("w"), {}, Activation::none);
  };
  const auto y1 = build(one), y2 = build(two), y3 = build(infer);
  for (auto* tape : {&one, &two}) {
    const auto& y = tape == &one ? y1 : y2;
    const auto target = tape->input("target", {3, 2});
    target.data[0] = tape == &one ? 1 : 2;
    tape->finish(mse(*tape, y, target));
  }
  infer.finish();
  for (auto* tape : {&one, &two}) tape->forward(), tape->backward();
  infer.forward();
  EXPECT_EQ(y3.data[0], store.flat()[0]);
  EXPECT_EQ(y3.gradient, nullptr);
  EXPECT_TRUE(infer.gradient().empty());
  EXPECT_NEAR(one.gradient()[0] - two.gradient()[0], 2.0 / 6, 1e-12);  // d/dw mean (w - t)^2 = 2 (w - t) / 6
}

}  // namespace
}  // namespace trident::autodiff
