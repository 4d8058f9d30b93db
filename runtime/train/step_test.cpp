// Oracle: the count of allocations; Adam and SGD written down again in f64 over the gradients of the tape; a problem
// whose answer is known; compiled products for those whose code was made.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "runtime/autodiff/ops.h"
#include "runtime/nn/layers.h"
#include "runtime/tensor/generator.h"
#include "runtime/train/allocation_count.h"
#include "runtime/train/optimiser.h"

namespace trident::train {
namespace {

using autodiff::Activation;
using autodiff::Mode;
using autodiff::Tape;
using autodiff::Value;
using tensor::Initialiser;
using tensor::ParameterStore;
using tensor::SliceKind;

template <class Real>
Value<Real> mlp(Tape<Real>& tape, Value<Real> x, std::initializer_list<std::size_t> widths) {
  std::size_t layer = 0;
  for (const std::size_t width : widths) {
    const std::string name = "layer" + std::to_string(layer++);
    const std::size_t in = x.shape[-1];
    const std::size_t w =
        tape.store().declare(name + ".weight", {in, width}, SliceKind::weight, Initialiser::he_uniform, in, width);
    const std::size_t b = tape.store().declare(name + ".bias", {width}, SliceKind::bias, Initialiser::zeros);
    x = linear(tape, x, tape.parameter(w), tape.parameter(b),
               layer == widths.size() ? Activation::none : Activation::relu);
  }
  return x;
}

template <class Real>
void fill(std::span<Real> values, std::uint64_t stream) {
  tensor::Generator generator(1, stream);
  for (Real& value : values) value = static_cast<Real>(2 * generator.uniform() - 1);
}

TEST(Step, AllocatesNothing) {
  if (allocations() == UINT64_MAX) GTEST_SKIP() << "a sanitizer owns the heap";
  for (const Algorithm algorithm : {Algorithm::adamw, Algorithm::sgd}) {
    ParameterStore<float> store(1);
    Tape<float> tape(store, Mode::train);
    const auto x = tape.input("x", {64, 144}), target = tape.input("target", {64, 6});
    const auto loss = mse(tape, mlp(tape, x, {128, 64, 6}), target);
    tape.finish(loss);
    Optimiser<float> optimiser(store, {.algorithm = algorithm, .decay = 0.01, .clip_norm = 1});
    fill(x.values(), 1);
    fill(target.values(), 2);
    const std::uint64_t before = allocations();
    for (int step = 0; step < 10; ++step) {  // the first step too
      tape.forward();
      tape.backward();
      optimiser.step(tape.gradient(), 1e-3);
    }
    EXPECT_EQ(allocations() - before, 0u);
  }
}

TEST(Optimiser, FollowsThePublishedFormulas) {
  for (const Algorithm algorithm : {Algorithm::adamw, Algorithm::sgd}) {
    ParameterStore<double> store(1);
    Tape<double> tape(store, Mode::train);
    const auto x = tape.input("x", {8, 5}), target = tape.input("target", {8, 3});
    const auto loss = mse(tape, mlp(tape, x, {7, 3}), target);
    tape.finish(loss);
    fill(x.values(), 1);
    fill(target.values(), 2);
    const OptimiserOptions options{.algorithm = algorithm, .decay = 0.1, .clip_norm = 0.05};
    Optimiser<double> optimiser(store, options);
    const std::size_t n = store.flat().size();
    std::vector<double> w(store.flat().begin(), store.flat().end()), m(n), v(n);
    std::vector<bool> decays(n);
    for (const auto& slice : store.slices()) {
      for (std::size_t i = 0; i < slice.shape.count(); ++i) decays[slice.offset + i] = slice.kind == SliceKind::weight;
    }
    for (int t = 1; t <= 20; ++t) {
      tape.forward();
      tape.backward();
      double squares = 0;
      for (const double g : tape.gradient()) squares += g * g / 4;
      const double norm = optimiser.step(tape.gradient(), 0.01, 0.5);
      ASSERT_NEAR(norm, std::sqrt(squares), 1e-12);
      ASSERT_GT(norm, options.clip_norm) << "nothing was clipped";
      for (std::size_t i = 0; i < n; ++i) {
        const double g = tape.gradient()[i] * 0.5 * options.clip_norm / std::sqrt(squares);
        if (algorithm == Algorithm::adamw) {
          m[i] = 0.9 * m[i] + 0.1 * g;
          v[i] = 0.999 * v[i] + 0.001 * g * g;
          if (decays[i]) w[i] -= 0.01 * 0.1 * w[i];
          w[i] -= 0.01 * (m[i] / (1 - std::pow(0.9, t))) / (std::sqrt(v[i] / (1 - std::pow(0.999, t))) + 1e-8);
        } else {
          m[i] = 0.9 * m[i] + g + (decays[i] ? 0.1 * w[i] : 0);
          w[i] -= 0.01 * m[i];
        }
        ASSERT_NEAR(store.flat()[i], w[i], 1e-10) << "step " << t << " element " << i;
      }
    }
  }
}

/// The weights after ten steps of a model with every op that multiplies matrices.
template <class Real>
std::vector<Real> trained(tensor::GemmSource source, std::size_t& code_bytes) {
  ParameterStore<Real> store(1);
  Tape<Real> tape(store, Mode::train, source);
  const auto x = tape.input("x", {5, 6, 8}), target = tape.input("target", {5, 3});
  auto h = nn::conv1d(tape, "conv", x, 3, 12, Activation::relu);
  h = add(tape, h, nn::attention(tape, "attention", h, h, {}, 2));
  h = nn::linear(tape, "narrow", h, 10, Activation::clipped_relu);
  h = nn::linear(tape, "wide", max_pool_time(tape, h, {}), 40, Activation::gelu);
  const auto loss = mse(tape, nn::dueling_head(tape, "q", h, 3), target);
  tape.finish(loss);
  fill(x.values(), 1);
  fill(target.values(), 2);
  Optimiser<Real> optimiser(store, {});
  for (int step = 0; step < 10; ++step) {
    tape.forward();
    tape.backward();
    optimiser.step(tape.gradient(), 1e-2);
  }
  code_bytes = tape.code_bytes();
  return {store.flat().begin(), store.flat().end()};
}

template <class Real>
bool same_bits(const std::vector<Real>& a, const std::vector<Real>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(Real)) == 0;
}

template <class Real>
void expect_same_training() {
  std::size_t emitted_bytes = 0, compiled_bytes = 1;
  const auto emitted = trained<Real>(tensor::GemmSource::emitted, emitted_bytes);
  EXPECT_TRUE(same_bits(emitted, trained<Real>(tensor::GemmSource::compiled, compiled_bytes)));
  EXPECT_EQ(emitted_bytes > 0, tensor::best_level() != os::SimdLevel::portable);
  EXPECT_EQ(compiled_bytes, 0u);
}

TEST(Step, GivesTheSameBitsWithAndWithoutCodeGeneration) {
  expect_same_training<float>();
  expect_same_training<double>();
}

[[noreturn]] void train_where_no_code_can_be_made() {
  std::size_t before_bytes = 0, after_bytes = 0;
  const auto before = trained<float>(tensor::GemmSource::emitted, before_bytes);
  const rlimit no_more_files{};  // and so no memory for code
  if (::setrlimit(RLIMIT_NOFILE, &no_more_files) != 0) std::_Exit(2);
  const auto after = trained<float>(tensor::GemmSource::emitted, after_bytes);
  std::_Exit(same_bits(before, after) && after_bytes == 0 ? 0 : 1);
}

TEST(Step, GivesTheSameBitsWhereNoCodeCanBeMade) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(train_where_no_code_can_be_made(), testing::ExitedWithCode(0), "");
}

TEST(Step, LearnsALinearMapExactly) {
  ParameterStore<float> store(2);
  Tape<float> tape(store, Mode::train);
  const auto x = tape.input("x", {64, 8}), target = tape.input("target", {64, 2});
  const auto loss = mse(tape, mlp(tape, x, {2}), target);
  tape.finish(loss);
  fill(x.values(), 1);
  for (std::size_t b = 0; b < 64; ++b) {
    target.data[2 * b] = 3 * x.data[8 * b] - x.data[8 * b + 5] + 0.5f;
    target.data[2 * b + 1] = x.data[8 * b + 7];
  }
  Optimiser<float> optimiser(store, {});
  for (int step = 0; step < 3000; ++step) {
    tape.forward();
    tape.backward();
    optimiser.step(tape.gradient(), step < 2000 ? 1e-2 : 1e-3);
  }
  const auto w = store.values(*store.find("layer0.weight"));
  EXPECT_NEAR(w[0], 3, 1e-3);
  EXPECT_NEAR(w[10], -1, 1e-3);
  EXPECT_NEAR(w[15], 1, 1e-3);
  EXPECT_NEAR(store.values(*store.find("layer0.bias"))[0], 0.5, 1e-3);
}

}  // namespace
}  // namespace trident::train
