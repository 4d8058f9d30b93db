#include "jit/training/pretrain.h"

namespace trident::training {
namespace {

// A share of the learning rate of searches. At the full rate the hidden units saturate: later training ends worse, and
// more rewrites score alike.
constexpr double kRateShare = 0.25;

}  // namespace

Result<learn::Pretrained> pretrain(learn::Network& network, const TrainGuideOptions& options,
                                   const learn::ScrambleOptions& scrambles,
                                   const std::function<bool(const learn::GuideSample&)>& leaves_out) {
  learn::PretrainingOptions how;
  how.seed = options.seed, how.walks = options.pretrain;
  how.scrambles = scrambles, how.leaves_out = leaves_out;
  how.schedule = [](std::uint64_t epochs, std::size_t samples) {
    train::Schedule schedule = guide_schedule(epochs, samples);
    schedule.peak *= kRateShare, schedule.last *= kRateShare;
    return schedule;
  };
  how.progress = options.progress, how.stopped = options.stopped;
  how.training.frozen = options.frozen, how.training.sight = options.sight;
  how.training.trainer.folder = options.folder + "/pretraining";
  how.training.trainer.seed = options.seed;
  how.training.trainer.samples_per_shard = kSamplesPerShard;
  how.training.trainer.threads = options.threads;
  how.training.trainer.resume = options.resume;
  how.training.trainer.terms = guide_terms(options);
  return learn::pretrain(network, how);
}

}  // namespace trident::training
