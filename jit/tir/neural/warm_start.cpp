#include "jit/tir/neural/warm_start.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "runtime/train/schedule.h"
#include "runtime/train/sharded_step.h"

namespace trident::tir::neural {
namespace {

constexpr std::uint64_t kProgressSteps = 100;
constexpr double kClipNorm = 1;

/// Pairs that fit, each once an epoch, shuffled per epoch.
class Course {
 public:
  Course(std::span<const Pair> pairs, const WarmStartOptions& options) : pairs_(pairs), seed_(options.seed) {
    const TwinShape shape{0, options.nodes_max, options.tokens_max};
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const auto lesson = lesson_of(pairs[i]);
      if (!lesson.ok() || !shape.fits(*lesson)) continue;
      order_.push_back(static_cast<std::uint32_t>(i));
      nodes_ = std::max(nodes_, lesson->nodes.size()), tokens_ = std::max(tokens_, lesson->answer.size());
    }
    sorted_ = order_;
  }
  [[nodiscard]] std::size_t count() const { return order_.size(); }
  /// Returns a shape in which the largest pair fits.
  [[nodiscard]] TwinShape shape(std::size_t lessons) const { return {lessons, nodes_, tokens_}; }
  /// Returns the pair at `position` of the whole course.
  const Pair& at(std::uint64_t position) {
    const std::uint64_t epoch = position / count();
    if (epoch != epoch_) {
      std::vector<std::uint32_t> places(count());
      train::shuffle(places, seed_, epoch);
      for (std::size_t i = 0; i < count(); ++i) order_[i] = sorted_[places[i]];
      epoch_ = epoch;
    }
    return pairs_[order_[position % count()]];
  }

 private:
  std::span<const Pair> pairs_;
  std::uint64_t seed_, epoch_ = UINT64_MAX;
  std::size_t nodes_ = 1, tokens_ = 1;
  std::vector<std::uint32_t> sorted_, order_;
};

}  // namespace

Result<WarmStart> warm_start(std::span<const Pair> pairs, std::span<const std::int32_t> from,
                             const WarmStartOptions& options,
                             const std::function<bool(std::uint64_t, double)>& progress) {
  CHECK(options.lessons_per_step % kWarmStartShards == 0 && options.steps > 0);
  Course course(pairs, options);
  if (course.count() == 0) return make_error(ErrorCode::kInvalidArgument, "there are no pairs to train on");
  const TwinShape shape = course.shape(options.lessons_per_step / kWarmStartShards);
  tensor::ParameterStore<float> store(options.seed, 1u << 18);
  put_weights(from, store);
  std::vector<std::unique_ptr<TrainingTwin<float>>> twins;
  std::vector<train::Shard> shards;
  for (std::size_t s = 0; s < kWarmStartShards; ++s) {
    twins.push_back(std::make_unique<TrainingTwin<float>>(store, shape));
    shards.push_back({&twins.back()->tape(), twins.back()->loss()});
  }
  train::Team team(options.threads);
  train::ShardedStep step(store, shards, {.clip_norm = kClipNorm}, {}, team);
  const train::Schedule schedule{options.rate, options.rate / 20, options.steps / 20, options.steps};
  WarmStart out{{}, course.count(), pairs.size() - course.count(), 0};
  const std::uint64_t last = std::max<std::uint64_t>(1, options.steps / 10);
  double since_told = 0, at_the_end = 0;
  std::uint64_t told = 0, counted = 0;
  std::vector<const Pair*> batch(options.lessons_per_step);
  for (std::uint64_t i = 0; i < options.steps; ++i) {
    for (std::size_t b = 0; b < batch.size(); ++b) batch[b] = &course.at(i * batch.size() + b);
    const double loss = step.run(schedule.rate(i), [&](std::size_t s) {
      for (std::size_t p = 0; p < shape.lessons; ++p) twins[s]->load(p, *lesson_of(*batch[s * shape.lessons + p]));
      twins[s]->begin(shape.lessons);
    });
    if (!std::isfinite(loss))
      return make_error(ErrorCode::kInvalidArgument, "the loss is no longer finite: lower the learning rate");
    since_told += loss;
    if (i + last >= options.steps) at_the_end += loss, ++counted;
    if ((i + 1) % kProgressSteps != 0 || !progress) continue;
    if (!progress(i + 1, since_told / static_cast<double>(i + 1 - told))) break;
    since_told = 0, told = i + 1;
  }
  out.loss = counted > 0 ? at_the_end / static_cast<double>(counted) : 0;
  out.weights = rounded_weights(store);
  return out;
}

}  // namespace trident::tir::neural
