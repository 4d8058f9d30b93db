// Oracle: dense Adam and Adagrad in f64 by the published formulas, each row with its own count of updates; PyTorch's
// SparseAdam and Adagrad after one step (runtime/nn/reference).
#include "runtime/train/row_optimiser.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>

#include "runtime/autodiff/ops.h"
#include "runtime/nn/safetensors.h"
#include "runtime/tensor/generator.h"

namespace trident::train {
namespace {

using autodiff::Activation;
using autodiff::Bags;
using autodiff::Mode;
using autodiff::RowGradient;
using autodiff::Tape;
using tensor::ParameterStore;

struct List {
  std::vector<std::int32_t> ids, offsets{0};
  std::vector<double> gradient;  // lists x width
};

List random_lists(std::size_t lists, std::size_t rows, std::size_t width, std::uint64_t stream) {
  tensor::Generator generator(3, stream);
  List list;
  for (std::size_t l = 0; l < lists; ++l) {
    for (std::uint64_t i = generator.below(9); i > 0; --i) {
      // A few rows often, the rest seldom; some lists repeat a row.
      list.ids.push_back(static_cast<std::int32_t>(generator.below(generator.below(2) ? 5 : rows)));
    }
    list.offsets.push_back(static_cast<std::int32_t>(list.ids.size()));
  }
  for (std::size_t i = 0; i < lists * width; ++i) list.gradient.push_back(2 * generator.uniform() - 1);
  return list;
}

TEST(RowOptimiser, EqualsTheDenseFormulasRowByRow) {
  for (const RowAlgorithm algorithm : {RowAlgorithm::adam, RowAlgorithm::adagrad}) {
    constexpr std::size_t kRows = 3000, kWidth = 21, kLists = 40;
    ParameterStore<double> store(1);
    auto& table = store.declare_rows("t", kRows, kWidth, planes_of(algorithm), 1.0);
    std::vector<double> w(kRows * kWidth), m(w.size()), v(w.size());
    std::vector<int> updates(kRows);
    for (std::size_t r = 0; r < kRows; ++r)
      std::copy_n(table.row(r), kWidth, w.begin() + static_cast<std::ptrdiff_t>(r * kWidth));
    Team team(2);
    const RowOptions options{.algorithm = algorithm};
    for (std::uint64_t step = 1; step <= 30; ++step) {
      const List a = random_lists(kLists, kRows, kWidth, 2 * step),
                 b = random_lists(kLists, kRows, kWidth, 2 * step + 1);
      std::vector<RowGradient<double>> gradients;
      std::vector<std::size_t> ids_max;
      std::map<std::int32_t, std::vector<double>> sums;
      for (const List* list : {&a, &b}) {
        gradients.push_back(
            {&table, list->ids.data(), list->offsets.data(), kLists, list->gradient.data(), list->ids.size()});
        ids_max.push_back(list->ids.size());
        for (std::size_t l = 0; l < kLists; ++l) {
          for (auto i = list->offsets[l]; i < list->offsets[l + 1]; ++i) {
            auto& sum = sums[list->ids[static_cast<std::size_t>(i)]];
            sum.resize(kWidth);
            for (std::size_t c = 0; c < kWidth; ++c) sum[c] += list->gradient[l * kWidth + c];
          }
        }
      }
      RowOptimiser<double> optimiser(table, options, gradients, ids_max);
      optimiser.step(team, 0.01, 0.5);
      EXPECT_EQ(optimiser.rows_touched(), sums.size());
      for (const auto& [row, sum] : sums) {
        const auto r = static_cast<std::size_t>(row);
        const int t = ++updates[r];
        for (std::size_t c = 0; c < kWidth; ++c) {
          const std::size_t i = r * kWidth + c;
          const double g = sum[c] * 0.5;
          if (algorithm == RowAlgorithm::adam) {
            m[i] = 0.9 * m[i] + 0.1 * g;
            v[i] = 0.999 * v[i] + 0.001 * g * g;
            w[i] -= 0.01 * (m[i] / (1 - std::pow(0.9, t))) / (std::sqrt(v[i] / (1 - std::pow(0.999, t))) + 1e-8);
          } else {
            v[i] += g * g;
            w[i] -= 0.01 * g / (std::sqrt(v[i]) + 1e-8);
          }
        }
      }
      for (std::size_t i = 0; i < w.size(); ++i)
        ASSERT_NEAR(table.row(i / kWidth)[i % kWidth], w[i], 1e-9) << "row " << i / kWidth;
    }
  }
}

TEST(RowOptimiser, OneStepAsPyTorch) {
  const auto file = nn::read_safetensors("runtime/nn/reference/pytorch.safetensors");
  ASSERT_TRUE(file.ok()) << file.error().message;
  const auto values = [&](const std::string& name) {
    const auto& bytes = file->tensors.at(name).data;
    std::vector<float> out(bytes.size() / 4);
    std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
  };
  for (const RowAlgorithm algorithm : {RowAlgorithm::adam, RowAlgorithm::adagrad}) {
    const std::string name = algorithm == RowAlgorithm::adam ? "bag_adam" : "bag_adagrad";
    ParameterStore<float> store(1);
    Tape<float> tape(store, Mode::train);
    auto& table = store.declare_rows("rows", 9, 6, planes_of(algorithm), 1.0f);
    const auto load = [&](const std::string& from, std::span<float> to) {
      const auto all = values(name + "/" + from);
      ASSERT_EQ(all.size(), to.size());
      std::copy(all.begin(), all.end(), to.begin());
    };
    const auto parameter = [&](const std::string& part, tensor::Shape shape) {
      const auto value =
          tape.parameter(store.declare(part, shape, tensor::SliceKind::bias, tensor::Initialiser::zeros));
      load("p/" + part, value.values());
      return value;
    };
    const Bags bags = tape.bags("bags", 5, 10);
    const auto ids = values(name + "/ids"), offsets = values(name + "/offsets"), groups = values(name + "/groups");
    std::transform(ids.begin(), ids.end(), bags.ids.data, [](float x) { return static_cast<std::int32_t>(x); });
    std::transform(offsets.begin(), offsets.end(), bags.offsets.data,
                   [](float x) { return static_cast<std::int32_t>(x); });
    const auto group = tape.integers("groups", {5});
    std::transform(groups.begin(), groups.end(), group.data, [](float x) { return static_cast<std::int32_t>(x); });
    const auto target = tape.input("target", {5});
    load("target", target.values());
    const auto rows = values(name + "/p/b.rows"), stepped = values(name + "/stepped");
    for (std::size_t r = 0; r < 9; ++r) std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(6 * r), 6, table.row(r));
    const auto h = sparse_bag(tape, table, bags, parameter("b.bias", {6}), Activation::clipped_relu);
    const auto y = linear(tape, h, parameter("head.weight", {6, 1}), parameter("head.bias", {1}), Activation::none);
    tape.finish(pairwise_rank(tape, y, target, group));
    tape.forward(), tape.backward();
    const std::size_t ids_max[] = {10};
    const double epsilon = algorithm == RowAlgorithm::adam ? 1e-8 : 1e-10;  // PyTorch's defaults
    RowOptimiser<float> optimiser(table, {.algorithm = algorithm, .epsilon = epsilon}, tape.row_gradients(), ids_max);
    Team team(1);
    optimiser.step(team, 0.01);
    for (std::size_t i = 0; i < 54; ++i) ASSERT_NEAR(table.row(i / 6)[i % 6], stepped[i], 1e-5) << name << " " << i;
  }
}

}  // namespace
}  // namespace trident::train
