// One contestant of `make bench NAME=train`: steps of training on the shapes of PyTorch's twin in train_pytorch.py. The two
// talk through files and a pipe: for each command on standard input it does one turn and prints one line.
//
//   bench_train FOLDER     FOLDER holds <work>.safetensors with the weights and inputs that PyTorch started from
//   "check WORK"           one step from there; writes FOLDER/WORK.ours.safetensors for train_pytorch.py to compare
//   "time WORK STEPS"      prints nanoseconds of processor time per step
//   WORK: mlp, dqn, rows_hot, rows_uniform
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/nn/layers.h"
#include "runtime/nn/safetensors.h"
#include "runtime/os/clock.h"
#include "runtime/train/sharded_step.h"

namespace trident::bench {
namespace {

using autodiff::Activation;
using autodiff::Bags;
using autodiff::Integers;
using autodiff::Mode;
using autodiff::Tape;
using autodiff::Value;
using tensor::ParameterStore;

constexpr double kRate = 1e-3;
// PyTorch's SparseAdam adds its epsilon to the root before the correction of the bias, ours after it: equal at step 1.
constexpr double kEpsilon = 1e-6, kRowEpsilon = 3.16227766e-5;

/// One kind of work: a step, and the part of its state that is compared with PyTorch's.
class Work {
 public:
  virtual ~Work() = default;
  virtual void step() = 0;
  virtual std::vector<nn::TensorSource> state() = 0;
};

class Inputs {
 public:
  explicit Inputs(const std::string& path) {
    auto file = nn::read_safetensors(path);
    if (!file.ok()) {
      std::fprintf(stderr, "%s\n", file.error().message.c_str());
      std::exit(1);
    }
    file_ = std::move(file).value();
  }
  template <class To>
  void copy(const std::string& name, std::span<To> to) const {
    const auto& data = file_.tensors.at(name).data;
    if (data.size() != to.size() * sizeof(float)) std::exit(1);
    for (std::size_t i = 0; i < to.size(); ++i) {
      float value;
      std::memcpy(&value, data.data() + i * sizeof value, sizeof value);
      to[i] = static_cast<To>(value);
    }
  }
  void copy_parameters(const ParameterStore<float>& store) const {
    for (const auto& slice : store.slices()) copy(slice.name, store.values(slice));
  }

 private:
  nn::SafetensorsFile file_;
};

/// 144-128-64-6, batch 64, mean squares, Adam.
class MlpWork : public Work {
 public:
  explicit MlpWork(const Inputs& inputs) {
    const auto x = tape_.input("x", {64, 144}), target = tape_.input("target", {64, 6});
    const auto loss = mse(tape_, nn::mlp(tape_, "m", x, {128, 64, 6}), target);
    tape_.finish(loss);
    inputs.copy_parameters(store_);
    inputs.copy("x", x.values());
    inputs.copy("target", target.values());
    step_ =
        std::make_unique<train::ShardedStep>(store_, std::vector<train::Shard>{{&tape_, loss}},
                                             train::OptimiserOptions{.epsilon = kEpsilon}, train::RowOptions{}, team_);
  }
  void step() override {
    step_->run(kRate, [](std::size_t) {});
  }
  std::vector<nn::TensorSource> state() override { return nn::weight_sources(store_); }

 private:
  train::Team team_{1};
  ParameterStore<float> store_{1};
  Tape<float> tape_{store_, Mode::train};
  std::unique_ptr<train::ShardedStep> step_;
};

/// The dueling network 144-128-64-(1 + 6), batch 64: online and target on s', online on s, Huber, Adam, Polyak.
class DqnWork : public Work {
 public:
  explicit DqnWork(const Inputs& inputs) {
    const auto network = [](Tape<float>& tape, Value<float> s) {
      auto h = nn::linear(tape, "m.0", s, 128, Activation::relu);
      return nn::dueling_head(tape, "q", nn::linear(tape, "m.1", h, 64, Activation::relu), 6);
    };
    const auto s = online_.input("s", {64, 144});
    actions_ = online_.integers("actions", {64});
    targets_ = online_.input("targets", {64, 1});
    const auto loss = huber(online_, gather_action(online_, network(online_, s), actions_), targets_);
    online_.finish(loss);
    const auto next = next_.input("s", {64, 144}), next_target = next_target_.input("s", {64, 144});
    next_q_ = network(next_, next);
    target_q_ = network(next_target_, next_target);
    next_.finish(), next_target_.finish();
    inputs.copy_parameters(store_);
    inputs.copy_parameters(target_store_);
    inputs.copy("s", s.values());
    inputs.copy("next", next.values());
    inputs.copy("next", next_target.values());
    inputs.copy("actions", actions_.values());
    inputs.copy("rewards", std::span<float>(rewards_));
    inputs.copy("going", std::span<float>(going_));
    step_ =
        std::make_unique<train::ShardedStep>(store_, std::vector<train::Shard>{{&online_, loss}},
                                             train::OptimiserOptions{.epsilon = kEpsilon}, train::RowOptions{}, team_);
  }
  void step() override {
    next_.forward();
    next_target_.forward();
    for (std::size_t b = 0; b < 64; ++b) {
      const float* q = next_q_.data + b * 6;
      const auto best = static_cast<std::size_t>(std::max_element(q, q + 6) - q);
      targets_.data[b] = rewards_[b] + 0.99f * going_[b] * target_q_.data[b * 6 + best];
    }
    step_->run(kRate, [](std::size_t) {});
    tensor::kernels<float>().lerp(store_.flat().size(), 0.01f, store_.flat().data(), target_store_.flat().data());
  }
  std::vector<nn::TensorSource> state() override {
    auto all = nn::weight_sources(store_);
    for (auto& source : nn::weight_sources(target_store_)) {
      source.name = "target." + source.name;
      all.push_back(source);
    }
    return all;
  }

 private:
  train::Team team_{1};
  ParameterStore<float> store_{1}, target_store_{1};
  Tape<float> online_{store_, Mode::train}, next_{store_, Mode::infer}, next_target_{target_store_, Mode::infer};
  Integers actions_;
  Value<float> targets_, next_q_, target_q_;
  float rewards_[64], going_[64];
  std::unique_ptr<train::ShardedStep> step_;
};

/// 401,408 rows x 256 -> 32 -> 1, batch 256, 60 ids each, row Adam. A new batch every step, from 16 of the same kind.
class RowsWork : public Work {
 public:
  RowsWork(const Inputs& inputs, std::size_t ids_bound) {
    bags_ = tape_.bags("features", kBatch, kBatch * kActive);
    auto h = nn::sparse_bag(tape_, "features", bags_, kRows, 256, 3, kActive, Activation::relu);
    h = nn::linear(tape_, "m.0", h, 32, Activation::relu);
    const auto target = tape_.input("target", {kBatch, 1});
    const auto loss = mse(tape_, nn::linear(tape_, "m.1", h, 1, Activation::none), target);
    tape_.finish(loss);
    inputs.copy_parameters(store_);
    inputs.copy("target", target.values());
    for (std::size_t b = 0; b <= kBatch; ++b) bags_.offsets.data[b] = static_cast<std::int32_t>(b * kActive);
    for (std::size_t i = 0; i < kBatches * kBatch * kActive; ++i) {
      ids_.push_back(static_cast<std::int32_t>(i * 7919 % ids_bound));
    }
    auto& table = *store_.tables()[0];
    for (std::size_t r = 0; r < kRows; ++r) {  // both sides start from the same formula: the table is 411 MB
      for (std::size_t c = 0; c < 256; ++c) {
        table.row(r)[c] = (static_cast<float>((r * 31 + c * 17) % 201) - 100) / 1000;
      }
    }
    step_ = std::make_unique<train::ShardedStep>(store_, std::vector<train::Shard>{{&tape_, loss}},
                                                 train::OptimiserOptions{.epsilon = kEpsilon},
                                                 train::RowOptions{.epsilon = kRowEpsilon}, team_);
  }
  void step() override {
    const std::size_t batch = turn_++ % kBatches;
    std::copy_n(ids_.data() + batch * kBatch * kActive, kBatch * kActive, bags_.ids.data);
    step_->run(kRate, [](std::size_t) {});
  }
  std::vector<nn::TensorSource> state() override {
    auto all = nn::weight_sources(store_);
    auto& rows = all.back();  // the first 4,000 rows tell enough
    rows.rows = 4000;
    rows.shape[0] = 4000;
    return all;
  }

 private:
  static constexpr std::size_t kRows = 401408, kBatch = 256, kActive = 60, kBatches = 16;
  std::size_t turn_ = 0;
  std::vector<std::int32_t> ids_;  // of all batches
  train::Team team_{1};
  ParameterStore<float> store_{1};
  Tape<float> tape_{store_, Mode::train};
  Bags bags_;
  std::unique_ptr<train::ShardedStep> step_;
};

std::unique_ptr<Work> make_work(const std::string& folder, const std::string& name) {
  const Inputs inputs(folder + "/" + (name.starts_with("rows") ? "rows" : name) + ".safetensors");
  if (name == "mlp") return std::make_unique<MlpWork>(inputs);
  if (name == "dqn") return std::make_unique<DqnWork>(inputs);
  if (name == "rows_hot") return std::make_unique<RowsWork>(inputs, 4000);
  if (name == "rows_uniform") return std::make_unique<RowsWork>(inputs, 401408);
  std::fprintf(stderr, "no such work: %s\n", name.c_str());
  std::exit(2);
}

int serve(const std::string& folder) {
  std::string line, current;
  std::unique_ptr<Work> work;
  while (std::getline(std::cin, line)) {
    std::istringstream in(line);
    std::string command, name;
    std::size_t steps = 1;
    in >> command >> name >> steps;
    if (command == "check" || name != current) {
      work.reset();
      work = make_work(folder, name);
      current = name;
    }
    if (command == "check") {
      work->step();
      const auto state = work->state();
      const auto written = nn::write_safetensors(folder + "/" + name + ".ours.safetensors", {}, state);
      std::printf("%s\n", written.ok() ? "ok" : written.error().message.c_str());
    } else {
      const std::uint64_t start = os::thread_cpu_ns();
      for (std::size_t i = 0; i < steps; ++i) work->step();
      std::printf("%.1f\n", static_cast<double>(os::thread_cpu_ns() - start) / static_cast<double>(steps));
    }
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace trident::bench

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: bench_train FOLDER (by `make bench NAME=train`, see train_pytorch.py)\n");
    return 2;
  }
  return trident::bench::serve(argv[1]);
}
