// Oracle: the bits of an undisturbed run with one thread, against runs with two threads, runs killed with SIGKILL at
// many places and resumed, and runs stopped by the callback; counts of allocations.
#include "runtime/train/trainer.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "runtime/nn/architecture.h"
#include "runtime/nn/layers.h"
#include "runtime/nn/safetensors.h"
#include "runtime/os/file_lock.h"
#include "runtime/tensor/generator.h"
#include "runtime/train/allocation_count.h"

namespace trident::train {
namespace {

using autodiff::Activation;
using autodiff::Bags;
using autodiff::Integers;
using autodiff::Mode;
using autodiff::Tape;
using autodiff::Value;
using tensor::ParameterStore;

constexpr std::size_t kSamples = 500, kShards = 4, kShardSize = 8, kRegressionIds = 5, kRegressionRows = 200;

/// A regression over bags of ids and a few numbers, with every kind of state: rows, weights, biases, statistics.
class Regression {
 public:
  Regression() : store_(17) {
    tensor::Generator generator(5);
    std::vector<double> worth(kRegressionRows);
    for (double& w : worth) w = 2 * generator.uniform() - 1;
    for (std::size_t s = 0; s < kSamples; ++s) {
      double sum = 0;
      for (std::size_t i = 0; i < kRegressionIds; ++i) {
        const std::uint64_t id = generator.below(kRegressionRows);
        ids_.push_back(static_cast<std::int32_t>(id));
        sum += worth[id];
      }
      targets_.push_back(static_cast<float>(std::tanh(sum)));
    }
    for (std::size_t s = 0; s < kShards; ++s) add_tape();
    add_tape();  // for held-out samples
    model.store = &store_;
    for (std::size_t s = 0; s < kShards; ++s) model.shards.push_back({tapes_[s].get(), losses_[s]});
    model.architecture = nn::architecture_hash(*tapes_[0], outputs_[0]);
    model.load = [this](std::size_t shard, std::span<const std::uint32_t> samples) { fill(shard, samples); };
    model.validate = [this] {
      double sum = 0;
      for (std::uint32_t from = 400; from + kShardSize <= kSamples; from += kShardSize) {
        std::uint32_t samples[kShardSize];
        for (std::uint32_t i = 0; i < kShardSize; ++i) samples[i] = from + i;
        fill(kShards, samples);
        tapes_[kShards]->forward();
        sum += static_cast<double>(losses_[kShards].data[0]);
      }
      return sum;
    };
    for (std::uint32_t i = 0; i < 400; ++i) training.push_back(i);
  }
  void fill(std::size_t tape, std::span<const std::uint32_t> samples) {
    for (std::size_t i = 0; i < samples.size(); ++i) {
      std::copy_n(ids_.begin() + static_cast<std::ptrdiff_t>(samples[i] * kRegressionIds), kRegressionIds,
                  bags_[tape].ids.data + i * kRegressionIds);
      bags_[tape].offsets.data[i + 1] = static_cast<std::int32_t>((i + 1) * kRegressionIds);
      target_[tape].data[i] = targets_[samples[i]];
    }
  }
  std::vector<float> weights() const {
    std::vector<float> all(store_.flat().begin(), store_.flat().end());
    const auto& table = *store_.tables()[0];
    for (std::size_t r = 0; r < table.rows(); ++r) all.insert(all.end(), table.row(r), table.row(r) + table.width());
    return all;
  }
  Model model;
  std::vector<std::uint32_t> training;

 private:
  void add_tape() {
    auto& tape = *tapes_.emplace_back(std::make_unique<Tape<float>>(store_, Mode::train));
    bags_.push_back(tape.bags("ids", kShardSize, kShardSize * kRegressionIds));
    auto h = nn::sparse_bag(tape, "bag", bags_.back(), kRegressionRows, 24, planes_of(RowAlgorithm::adam),
                            kRegressionIds, Activation::relu);
    h = nn::batch_norm(tape, "norm", nn::linear(tape, "hidden", h, 12, Activation::gelu));
    outputs_.push_back(nn::linear(tape, "out", nn::layer_norm(tape, "layer", h), 1, Activation::none));
    target_.push_back(tape.input("target", {kShardSize, 1}));
    losses_.push_back(huber(tape, outputs_.back(), target_.back()));
    tape.finish(losses_.back());
  }
  ParameterStore<float> store_;
  std::vector<std::int32_t> ids_;
  std::vector<float> targets_;
  std::vector<std::unique_ptr<Tape<float>>> tapes_;
  std::vector<Bags> bags_;
  std::vector<Value<float>> target_, losses_, outputs_;
};

class Trainer : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "trainer_test_" + std::to_string(::getpid());
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  TrainerOptions options(const std::string& name, unsigned threads = 1, bool resume = false) {
    TrainerOptions o;
    o.folder = folder_ + "/" + name;
    std::filesystem::create_directories(o.folder);
    o.seed = 3;
    o.epochs = 6;
    o.samples_per_shard = kShardSize;
    o.checkpoint_steps = 5;
    o.schedule = {.peak = 0.01, .last = 1e-4, .warmup_steps = 10, .steps = 72};
    o.optimiser = {.decay = 0.01, .clip_norm = 1};
    o.threads = threads;
    o.resume = resume;
    return o;
  }
  struct Outcome {
    std::vector<float> weights;
    TrainingResult result{};
  };
  Outcome run(const TrainerOptions& o, const std::function<bool(const Report&)>& progress = {}) {
    Regression regression;
    const auto result = train(regression.model, regression.training, o, progress);
    EXPECT_TRUE(result.ok()) << result.error().message;
    return {regression.weights(), result.ok() ? *result : TrainingResult{}};
  }
  static bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
  }
  static std::string text(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// The log without its last column, seconds.
  static std::string log_without_seconds(const std::string& path) {
    std::istringstream in(text(path));
    std::string out, line;
    while (std::getline(in, line)) out += line.substr(0, line.rfind(',')) + "\n";
    return out;
  }
  /// Figures of the epochs, without the seconds.
  static std::vector<std::array<double, 6>> figures(const TrainingResult& result) {
    std::vector<std::array<double, 6>> all;
    for (const EpochFigures& e : result.history)
      all.push_back({static_cast<double>(e.step), e.loss, e.metric, e.beside, e.rate, e.best ? 1.0 : 0.0});
    return all;
  }
  std::string folder_;
};

TEST_F(Trainer, SameBitsForOneTwoAndThreeThreads) {
  const Outcome one = run(options("one"));
  EXPECT_EQ(one.result.steps, 72u);
  EXPECT_TRUE(same_bits(one.weights, run(options("again")).weights));
  EXPECT_TRUE(same_bits(one.weights, run(options("two", 2)).weights));
  EXPECT_TRUE(same_bits(one.weights, run(options("three", 3)).weights));
  auto other = options("seed");
  other.seed = 4;
  EXPECT_FALSE(same_bits(one.weights, run(other).weights)) << "the seed has no effect: nothing was compared";
}

TEST_F(Trainer, KilledAnywhereAndResumedGivesTheSameBits) {
  const auto reference_options = options("reference");
  const Outcome reference = run(reference_options);
  for (const std::uint64_t deadly : {1u, 4u, 5u, 6u, 12u, 13u, 37u, 71u, 72u}) {
    const auto o = options("killed" + std::to_string(deadly), 1, true);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Regression regression;
      (void)train(regression.model, regression.training, o, [&](const Report& r) {
        if (r.step == deadly && (deadly != 72 || r.epoch_done)) ::raise(SIGKILL);
        return true;
      });
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "was not killed at step " << deadly;
    std::uint64_t first_step = 0;
    const Outcome resumed = run(o, [&](const Report& r) {
      first_step = first_step == 0 ? r.step : first_step;
      return true;
    });
    EXPECT_TRUE(same_bits(resumed.weights, reference.weights)) << "killed at step " << deadly;
    if (deadly >= 5) {
      EXPECT_GT(first_step, 1u) << "it began anew rather than go on";
    }
    EXPECT_EQ(log_without_seconds(o.folder + "/log.csv"), log_without_seconds(reference_options.folder + "/log.csv"));
    EXPECT_EQ(resumed.result.history.size(), 6u);
    EXPECT_EQ(figures(resumed.result), figures(reference.result)) << "killed at step " << deadly;
  }
}

// Oracle: what the callback was told.
TEST_F(Trainer, HistoryIsOfAllEpochsAlsoOfARunThatHadEnded) {
  auto o = options("history");
  Regression regression;
  double beside = 0;
  regression.model.beside = [&] { return beside += 0.1; };
  std::vector<std::array<double, 6>> told;
  const auto first = train(regression.model, regression.training, o, [&](const Report& r) {
    if (r.epoch_done)
      told.push_back({static_cast<double>(r.step), r.loss, r.metric, r.beside, r.rate, r.best ? 1.0 : 0.0});
    return true;
  });
  ASSERT_TRUE(first.ok());
  ASSERT_EQ(told.size(), 6u);
  EXPECT_EQ(told[1][3], 0.1 + 0.1);
  EXPECT_EQ(figures(*first), told);
  o.resume = true;
  EXPECT_EQ(figures(run(o).result), told);
}

TEST_F(Trainer, KilledByTheClockAndResumedGivesTheSameBits) {
  const Outcome reference = run(options("reference"));
  auto o = options("clock", 1, true);
  o.checkpoint_steps = 1;  // so that many of the kills fall into the writing of a checkpoint
  tensor::Generator generator(1);
  for (int round = 0; round < 25; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Regression regression;
      (void)train(regression.model, regression.training, o);
      ::_exit(0);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(5000 + generator.below(20000)));
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  }
  EXPECT_TRUE(same_bits(run(o).weights, reference.weights));
}

TEST_F(Trainer, StoppedByTheCallbackGoesOnWithTheSameBits) {
  const Outcome reference = run(options("reference"));
  const auto o = options("stopped", 2, true);
  const Outcome stopped = run(o, [](const Report& r) { return r.step < 20; });
  EXPECT_TRUE(stopped.result.interrupted);
  EXPECT_FALSE(same_bits(stopped.weights, reference.weights));
  EXPECT_TRUE(same_bits(run(o).weights, reference.weights));
}

TEST_F(Trainer, StopsEarlyAndEndsWithTheBestWeights) {
  auto o = options("early");
  o.epochs = 50;
  o.patience = 2;
  Regression regression;
  std::uint64_t epoch = 0;
  std::vector<float> third;
  regression.model.validate = [&] {
    if (++epoch == 3) third = regression.weights();
    return epoch == 3 ? 1.0 : 2.0;
  };
  const auto result = train(regression.model, regression.training, o);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->stopped_early);
  EXPECT_EQ(epoch, 5u);
  EXPECT_EQ(result->best_epoch, 2u);
  EXPECT_EQ(result->best_metric, 1.0);
  EXPECT_TRUE(same_bits(regression.weights(), third));
  const std::string csv = text(o.folder + "/log.csv"), json = text(o.folder + "/log.jsonl");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 6);
  EXPECT_EQ(std::count(json.begin(), json.end(), '\n'), 5);
  EXPECT_NE(csv.find("\n3,36,"), std::string::npos) << csv;
  EXPECT_NE(json.find("\"epoch\": 3, \"step\": 36,"), std::string::npos);
}

TEST_F(Trainer, StopsWhereTheFigureIsEnoughAndHasNothingToGoOnWith) {
  auto o = options("enough");
  o.epochs = 50;
  o.enough = 0.25;
  Regression regression;
  std::uint64_t epoch = 0;
  std::vector<float> fourth;
  regression.model.validate = [&] {
    if (++epoch == 4) fourth = regression.weights();
    return 1.0 / static_cast<double>(epoch);
  };
  const auto result = train(regression.model, regression.training, o);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->stopped_early);
  EXPECT_EQ(epoch, 4u);
  EXPECT_EQ(result->best_metric, 0.25);
  o.resume = true;
  const auto again = train(regression.model, regression.training, o);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(epoch, 4u) << "trained on";
  EXPECT_EQ(again->best_epoch, 3u);
  EXPECT_EQ(again->best_metric, 0.25);
  EXPECT_TRUE(same_bits(regression.weights(), fourth));
}

TEST_F(Trainer, LearnsAndReports) {
  std::vector<double> metrics;
  auto o = options("learn", 2);
  o.epochs = 30;
  o.schedule.steps = 360;
  double left = -1;
  run(o, [&](const Report& r) {
    if (r.epoch_done) metrics.push_back(r.metric);
    left = r.seconds_left;
    EXPECT_EQ(r.positions, 12u);
    return true;
  });
  ASSERT_EQ(metrics.size(), 30u);
  EXPECT_LT(*std::min_element(metrics.begin(), metrics.end()), metrics[0] * 0.9);
  EXPECT_EQ(left, 0);
}

TEST_F(Trainer, RefusesWhatCannotWork) {
  Regression regression;
  auto o = options("refused");
  const auto few = train(regression.model, std::span(regression.training).first(31), o);
  EXPECT_NE(few.error().message.find("31 samples do not fill one batch of 32"), std::string::npos);
  o.schedule.peak = 1e30;
  const auto wild = train(regression.model, regression.training, o);
  ASSERT_FALSE(wild.ok());
  EXPECT_NE(wild.error().message.find("the loss is"), std::string::npos);
  (void)run(options("seeded", 1, true));
  auto other = options("seeded", 1, true);
  other.seed = 9;
  EXPECT_NE(train(regression.model, regression.training, other).error().message.find("has seed 3, this one 9"),
            std::string::npos);
  other.seed = 3;
  EXPECT_TRUE(train(regression.model, regression.training, other).ok());
  regression.model.architecture = "another";
  EXPECT_NE(
      train(regression.model, regression.training, options("seeded", 1, true)).error().message.find("another model"),
      std::string::npos);
  // A file of weights is no checkpoint.
  const auto seeded = options("seeded", 1, true);
  std::filesystem::copy_file(seeded.folder + "/best.safetensors", seeded.folder + "/last.safetensors",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_NE(train(regression.model, regression.training, seeded).error().message.find("cannot be resumed"),
            std::string::npos);
}

// The rates of an epoch depend on how many there are: six epochs that begin with three of others are no six.
TEST_F(Trainer, IsAloneInItsFolder) {
  Regression regression;
  const auto o = options("alone");
  {
    const auto other = os::FileLock::hold(o.folder + "/lock");
    ASSERT_TRUE(other.ok());
    EXPECT_NE(train(regression.model, regression.training, o).error().message.find("another training"),
              std::string::npos);
  }
  const std::string draft = o.folder + "/last.safetensors.1.2.part";
  std::ofstream(draft) << "of a killed one";
  EXPECT_TRUE(train(regression.model, regression.training, o).ok());
  EXPECT_FALSE(std::filesystem::exists(draft));
}

TEST_F(Trainer, GoesOnByTheSameTermsOnly) {
  auto o = options("terms", 1, true);
  o.epochs = 3;
  o.terms = {{"kernels", "12"}};
  (void)run(o);
  const std::vector<float> weights = run(o).weights;
  const auto refusal = [&](const TrainerOptions& given) {
    Regression regression;
    const auto result = train(regression.model, regression.training, given);
    return result.ok() ? "none" : result.error().message;
  };
  const auto with = [&](const auto& change) {
    TrainerOptions changed = o;
    change(changed);
    return refusal(changed);
  };
  const std::string ending = ": use the same value, or start over in another folder";
  const std::string where = o.folder + "/last.safetensors: the run there has ";
  EXPECT_EQ(with([](auto& c) { c.epochs = 6; }), where + "epochs 3, this one 6" + ending);
  EXPECT_EQ(with([](auto& c) { c.terms[0].second = "13"; }), where + "kernels 12, this one 13" + ending);
  EXPECT_EQ(with([](auto& c) { c.terms.clear(); }), where + "kernels 12, this one none" + ending);
  EXPECT_EQ(with([](auto& c) { c.terms.emplace_back("more", "x"); }), where + "more none, this one x" + ending);
  EXPECT_NE(with([](auto& c) { c.schedule.peak = 0.02; }).find("has rate 0.01/0.0001/10/72, this one 0.02/"),
            std::string::npos);
  EXPECT_NE(with([](auto& c) { c.optimiser.decay = 0.02; }).find("has optimiser"), std::string::npos);
  EXPECT_NE(with([](auto& c) { c.rows.beta1 = 0.8; }).find("has optimiser of rows"), std::string::npos);
  EXPECT_NE(with([](auto& c) { c.samples_per_shard = 4; }).find("has batch 4x8, this one 4x4"), std::string::npos);
  EXPECT_EQ(with([](auto& c) { c.terms[0].second = "\xff\n"; }), where + "kernels 12, this one ??" + ending);
  // Options may change when they change no bits, or only those of epochs to come.
  auto free = o;
  free.threads = 2, free.patience = 9, free.checkpoint_steps = 7;
  EXPECT_TRUE(same_bits(run(free).weights, weights));
  // A checkpoint from before the terms were noted.
  const std::string last = o.folder + "/last.safetensors";
  std::string bytes = text(last);
  bytes.replace(bytes.find("progress.version"), 16, "progress.without");
  std::ofstream(last) << bytes;
  EXPECT_NE(refusal(o).find("another version of this program wrote"), std::string::npos) << refusal(o);
}

TEST_F(Trainer, AStoppedRunGoesOnWithMorePatience) {
  const auto figure = [](std::uint64_t epoch) { return epoch == 2 ? 1.0 : epoch == 6 ? 0.5 : 2.0; };
  const auto run_with = [&](const TrainerOptions& o, std::uint64_t begin, std::uint64_t& epoch) {
    Regression regression;
    epoch = begin;
    regression.model.validate = [&] { return figure(++epoch); };
    const auto result = train(regression.model, regression.training, o);
    EXPECT_TRUE(result.ok());
    return regression.weights();
  };
  auto patient = options("patient"), hasty = options("hasty", 1, true);
  patient.epochs = hasty.epochs = 8;
  patient.patience = 4, hasty.patience = 2;
  std::uint64_t epoch = 0;
  const std::vector<float> weights = run_with(patient, 0, epoch);
  EXPECT_EQ(epoch, 8u);
  const std::vector<float> stopped = run_with(hasty, 0, epoch);
  EXPECT_EQ(epoch, 4u);
  EXPECT_TRUE(same_bits(run_with(hasty, 4, epoch), stopped));
  EXPECT_EQ(epoch, 4u) << "trained on";
  hasty.patience = 4;
  EXPECT_TRUE(same_bits(run_with(hasty, 4, epoch), weights));
}

TEST(ShardedStep, AllocatesNothingWithThreadsAndRows) {
  if (allocations() == UINT64_MAX) GTEST_SKIP() << "a sanitizer owns the heap";
  Regression regression;
  Team team(2);
  ShardedStep step(*regression.model.store, regression.model.shards, {.clip_norm = 1}, {}, team);
  const auto load = [&](std::size_t shard) {
    regression.fill(shard, std::span<const std::uint32_t>(regression.training).subspan(shard * kShardSize, kShardSize));
  };
  const std::uint64_t before = allocations();
  for (int i = 0; i < 20; ++i) step.run(1e-3, load);
  EXPECT_EQ(allocations() - before, 0u);
}

}  // namespace
}  // namespace trident::train
