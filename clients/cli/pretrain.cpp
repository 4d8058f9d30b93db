#include "clients/cli/pretrain.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace trident::cli {
namespace {

// Share of the learning rate of searches. At that rate itself the hidden units end where they are cut off: later
// learning is worse, and more rewrites score alike.
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

std::string pretraining_text(const learn::Pretrained& pretrained) {
  if (pretrained.lengths.empty()) return "";
  std::string text = "pretrained on backward walks; how often the way back is ranked first, on walks not trained on\n";
  for (const auto& of : pretrained.lengths) {
    text += fmt::format(
        "  {} rewrite{}: {} walks, {} epochs; of all states {:.1f} % (chance {:.1f} %, change of static ", of.steps,
        of.steps == 1 ? "" : "s", of.walks, of.epochs, 100 * of.network.first, 100 * of.network.chance);
    text +=
        fmt::format("cost {:.1f} %), of the last ones {:.1f} %, before training {:.1f} %{}\n", 100 * of.by_cost.first,
                    100 * of.ends, 100 * of.ends_before, of.enough ? "" : ": not enough, longer walks were not begun");
  }
  return text + fmt::format("  depth that was reached: {}\n", pretrained.reached);
}

nlohmann::ordered_json pretraining_json(const learn::Pretrained& pretrained) {
  nlohmann::ordered_json depths = nlohmann::ordered_json::array();
  for (const auto& of : pretrained.lengths)
    depths.push_back({{"depth", of.steps},
                      {"walks", of.walks},
                      {"samples", of.samples},
                      {"epochs", of.epochs},
                      {"walks_tested", of.walks_tested},
                      {"states_tested", of.network.states},
                      {"first", of.network.first},
                      {"first_chance", of.network.chance},
                      {"first_static", of.by_cost.first},
                      {"ends_first", of.ends},
                      {"ends_first_before", of.ends_before},
                      {"enough", of.enough}});
  return {{"depth_reached", pretrained.reached}, {"depths", depths}};
}

}  // namespace trident::cli
