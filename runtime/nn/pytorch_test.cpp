// Oracle: PyTorch 1.13.1, whose results for the same inputs and parameters stand in reference/pytorch.safetensors
// (written by reference/make_pytorch.py): results, losses, gradients, optimiser steps.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "runtime/nn/layers.h"
#include "runtime/nn/safetensors.h"

namespace trident::nn {
namespace {

using autodiff::Mode;
using tensor::ParameterStore;

constexpr float kTolerance = 1e-5f;

class PyTorch : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto file = read_safetensors("runtime/nn/reference/pytorch.safetensors");
    ASSERT_TRUE(file.ok()) << file.error().message;
    file_ = new SafetensorsFile(std::move(file).value());
  }
  static void TearDownTestSuite() { delete file_; }

  static std::vector<float> values(const std::string& name) {
    const auto found = file_->tensors.find(name);
    EXPECT_NE(found, file_->tensors.end()) << name;
    if (found == file_->tensors.end()) return {};
    std::vector<float> out(found->second.data.size() / sizeof(float));
    std::memcpy(out.data(), found->second.data.data(), found->second.data.size());
    return out;
  }
  Value<float> input(const std::string& name, tensor::Shape shape) {
    const auto from = values(case_ + "/" + name);
    auto value = tape_.input(name, shape);
    EXPECT_EQ(from.size(), shape.count()) << name;
    std::copy(from.begin(), from.end(), value.data);
    return value;
  }
  Integers integers(const std::string& name, tensor::Shape shape) {
    const auto from = values(case_ + "/" + name);
    auto value = tape_.integers(name, shape);
    EXPECT_EQ(from.size(), shape.count()) << name;
    for (std::size_t i = 0; i < from.size(); ++i) value.data[i] = static_cast<std::int32_t>(from[i]);
    return value;
  }
  static void expect_near(std::span<const float> got, const std::vector<float>& want, const std::string& what) {
    ASSERT_EQ(got.size(), want.size()) << what;
    ASSERT_FALSE(want.empty());
    for (std::size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], kTolerance) << what << ", element " << i;
  }
  void load_parameters() {
    for (const auto& slice : store_.slices()) {
      if (slice.kind == tensor::SliceKind::statistic) continue;
      const auto from = values(case_ + "/p/" + slice.name);
      ASSERT_EQ(from.size(), slice.shape.count()) << slice.name;
      std::copy(from.begin(), from.end(), store_.values(slice).begin());
    }
  }
  void check(const Value<float>& y, const Value<float>& loss) {
    tape_.finish(loss);
    load_parameters();
    for (int repeat = 0; repeat < 2; ++repeat) {  // nothing may be left over from the step before
      tape_.forward();
      tape_.backward();
    }
    expect_near(y.values(), values(case_ + "/y"), "y");
    expect_near(loss.values(), values(case_ + "/loss"), "loss");
    for (const auto& slice : store_.slices()) {
      if (slice.kind == tensor::SliceKind::statistic) continue;
      expect_near(tape_.gradient().subspan(slice.offset, slice.shape.count()), values(case_ + "/g/" + slice.name),
                  slice.name);
    }
  }

  static SafetensorsFile* file_;
  std::string case_;
  ParameterStore<float> store_{1};
  Tape<float> tape_{store_, Mode::train};
};
SafetensorsFile* PyTorch::file_ = nullptr;

class PyTorchMlp : public PyTorch, public testing::WithParamInterface<std::pair<const char*, Activation>> {};

TEST_P(PyTorchMlp, WeightedSquares) {
  case_ = "mlp_" + std::string(GetParam().first);
  const auto x = input("x", {6, 9});
  const auto y = mlp(tape_, "m", x, {21, 3}, GetParam().second);
  check(y, mse(tape_, y, input("target", {6, 3}), input("weights", {6, 3})));
}

INSTANTIATE_TEST_SUITE_P(Activations, PyTorchMlp,
                         testing::Values(std::pair("relu", Activation::relu), std::pair("gelu", Activation::gelu),
                                         std::pair("clipped", Activation::clipped_relu)));

TEST_F(PyTorch, DuelingHuberOfChosenActions) {
  case_ = "dueling";
  const auto y = dueling_head(tape_, "q", input("x", {7, 5}), 4);
  const auto chosen = gather_action(tape_, y, integers("actions", {7}));
  check(y, huber(tape_, chosen, input("target", {7, 1}), input("weights", {7, 1}), 0.7f));
}

TEST_F(PyTorch, ConvolutionNormPoolCrossEntropy) {
  case_ = "conv";
  auto h = conv1d(tape_, "one", input("x", {4, 8, 3}), 3, 6, Activation::none);
  h = activate(tape_, batch_norm(tape_, "norm", h), Activation::relu);
  h = max_pool_time(tape_, conv1d(tape_, "two", h, 5, 7, Activation::relu), {});
  const auto y = linear(tape_, "head", h, 5, Activation::none);
  check(y, softmax_cross_entropy(tape_, y, integers("labels", {4}), input("class_weights", {5})));
  for (const char* statistic : {"mean", "variance"}) {  // moved by one tenth of the slope
    const auto& slice = *store_.find("norm.running_" + std::string(statistic));
    std::vector<float> moved;
    for (std::size_t i = 0; i < 6; ++i) {
      moved.push_back(store_.values(slice)[i] - 0.1f * tape_.gradient()[slice.offset + i]);
    }
    expect_near(moved, values(case_ + "/moved_" + statistic), statistic);
  }
}

TEST_F(PyTorch, MaskedAttentionWithResidual) {
  case_ = "attention";
  const auto queries = input("queries", {2, 3, 8});
  const auto h = layer_norm(tape_, "norm", queries);
  const auto mixed = attention(tape_, "a", h, input("context", {2, 5, 8}), integers("mask", {2, 3, 5}), 2);
  const auto y = add(tape_, queries, mixed);
  check(y, mse(tape_, y, input("target", {2, 3, 8})));
}

TEST_F(PyTorch, ProductOfPartsInAnotherShape) {
  case_ = "movement";
  const auto x = input("x", {6, 5});
  const Value<float> both[] = {linear(tape_, "left", x, 8, Activation::none),
                               linear(tape_, "gate", x, 4, Activation::none)};
  const auto part = slice(tape_, concat(tape_, std::span<const Value<float>>(both)), 3, 11);
  const auto product = multiply(tape_, part, linear(tape_, "right", x, 8, Activation::none));
  const auto y = linear(tape_, "head", reshape(tape_, product, {12, 4}), 3, Activation::none);
  check(y, mse(tape_, y, input("target", {12, 3})));
}

TEST_F(PyTorch, BagsAndPairs) {
  case_ = "bag_adam";
  const Bags bags = {integers("ids", {10}), integers("offsets", {5 + 1})};
  const auto h = sparse_bag(tape_, "b", bags, 9, 6, 1, 1, Activation::clipped_relu);
  const auto y = linear(tape_, "head", h, 1, Activation::none);
  const auto rows = values(case_ + "/p/b.rows");
  for (std::size_t r = 0; r < 9; ++r)
    std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(6 * r), 6, store_.tables()[0]->row(r));
  check(y, pairwise_rank(tape_, y, input("target", {5}), integers("groups", {5})));
}

}  // namespace
}  // namespace trident::nn
