#include "runtime/train/trainer.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "runtime/nn/safetensors.h"
#include "runtime/os/atomic_file.h"
#include "runtime/os/clock.h"

namespace trident::train {
namespace {

constexpr std::size_t kLogBytesMax = std::size_t{64} << 20;
constexpr const char* kCsvHead = "epoch,step,loss,metric,best,rate,seconds\n";

/// Lines of a log as they were before epoch `epoch`: a resumed run writes those from there again.
std::string kept_lines(const std::string& path, std::uint64_t epoch, bool json) {
  const auto bytes = os::read_file(path, kLogBytesMax);
  if (!bytes.ok()) return json ? "" : kCsvHead;
  const std::string text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  std::string kept;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos) break;  // half a line
    const std::string line = text.substr(at, end - at + 1);
    at = end + 1;
    if (!json && line == kCsvHead) {
      kept += line;
      continue;
    }
    const char* number = line.c_str() + (json ? std::string("{\"epoch\": ").size() : 0);
    if (std::strtoull(number, nullptr, 10) < epoch + 1) kept += line;  // the logs count epochs from 1
  }
  return kept;
}

Result<void> write_text(const std::string& path, const std::string& text) {
  TRY(os::AtomicFile file, os::AtomicFile::create(path));
  TRY_VOID(file.append(std::as_bytes(std::span(text))));
  return file.commit();
}

/// The two logs, rewritten whole after each epoch: one line an epoch, so that they stay small and are never half
/// written.
class Log {
 public:
  Log(const std::string& folder, std::uint64_t first_epoch)
      : csv_path_(folder + "/log.csv"), json_path_(folder + "/log.jsonl") {
    csv_ = first_epoch == 0 ? kCsvHead : kept_lines(csv_path_, first_epoch, false);
    json_ = first_epoch == 0 ? "" : kept_lines(json_path_, first_epoch, true);
  }
  Result<void> add(const Report& r) {
    char line[400];
    std::snprintf(line, sizeof line, "%llu,%llu,%.9g,%.9g,%d,%.6g,%.3f\n", static_cast<unsigned long long>(r.epoch + 1),
                  static_cast<unsigned long long>(r.step), r.loss, r.metric, r.best ? 1 : 0, r.rate, r.seconds);
    csv_ += line;
    std::snprintf(line, sizeof line,
                  "{\"epoch\": %llu, \"step\": %llu, \"loss\": %.9g, \"metric\": %.9g, \"best\": %s, \"rate\": %.6g, "
                  "\"seconds\": %.3f}\n",
                  static_cast<unsigned long long>(r.epoch + 1), static_cast<unsigned long long>(r.step), r.loss,
                  r.metric, r.best ? "true" : "false", r.rate, r.seconds);
    json_ += line;
    TRY_VOID(write_text(csv_path_, csv_));
    return write_text(json_path_, json_);
  }

 private:
  std::string csv_path_, json_path_, csv_, json_;
};

}  // namespace

Result<TrainingResult> train(const Model& model, std::span<const std::uint32_t> samples, const TrainerOptions& options,
                             const std::function<bool(const Report&)>& progress) {
  const std::size_t shard_size = options.samples_per_shard, batch = shard_size * model.shards.size();
  if (batch == 0 || samples.size() < batch) {
    return make_error(ErrorCode::kInvalidArgument, "%zu samples do not fill one batch of %zu: take a smaller batch",
                      samples.size(), batch);
  }
  const std::string last = options.folder + "/last.safetensors", best = options.folder + "/best.safetensors";
  Team team(options.threads);
  ShardedStep step(*model.store, model.shards, options.optimiser, options.rows, team);
  Progress at;
  at.seed = options.seed;
  if (options.resume && std::filesystem::exists(last)) {
    TRY(const Progress found, load_checkpoint(last, *model.store, step.optimiser(), model.architecture));
    at = found;
    if (at.seed != options.seed) {
      return make_error(ErrorCode::kInvalidArgument,
                        "%s: the run there has seed %llu, this one %llu: give the same seed", last.c_str(),
                        static_cast<unsigned long long>(at.seed), static_cast<unsigned long long>(options.seed));
    }
  }
  const std::uint64_t positions = samples.size() / batch;
  if (at.position > positions) {
    return make_error(ErrorCode::kInvalidArgument, "%s: the run there had more samples: give the same ones",
                      last.c_str());
  }
  Log log(options.folder, at.epoch);
  const double seconds_before = at.seconds;
  const std::uint64_t first_step = at.step, start_ns = os::monotonic_ns();
  const auto seconds = [&] { return static_cast<double>(os::monotonic_ns() - start_ns) * 1e-9; };
  const auto save = [&] {
    at.seconds = seconds_before + seconds();
    return save_checkpoint(last, *model.store, step.optimiser(), at, model.architecture);
  };
  const auto report_of = [&](double metric, bool epoch_done, bool is_best) {
    const double spent = seconds(),
                 each = spent / static_cast<double>(std::max<std::uint64_t>(at.step - first_step, 1));
    return Report{
        at.epoch,
        options.epochs,
        at.position,
        positions,
        at.step,
        at.loss_sum / static_cast<double>(std::max<std::uint64_t>(at.position, 1)),
        metric,
        at.best_metric,
        epoch_done,
        is_best,
        options.schedule.rate(at.step),
        seconds_before + spent,
        each * static_cast<double>(options.epochs * positions - std::min(options.epochs * positions, at.step))};
  };

  std::vector<std::uint32_t> order(samples.size()), chosen(batch);
  TrainingResult result{};
  for (; at.epoch < options.epochs && !result.stopped_early; ++at.epoch, at.position = 0, at.loss_sum = 0) {
    shuffle(order, options.seed, at.epoch);
    while (at.position < positions) {
      for (std::size_t i = 0; i < batch; ++i) chosen[i] = samples[order[at.position * batch + i]];
      const double loss = step.run(options.schedule.rate(at.step), [&](std::size_t shard) {
        model.load(shard, std::span<const std::uint32_t>(chosen).subspan(shard * shard_size, shard_size));
      });
      if (!std::isfinite(loss)) {
        return make_error(ErrorCode::kInvalidArgument,
                          "the loss is %g in epoch %llu, batch %llu: take a lower rate, or clip gradients", loss,
                          static_cast<unsigned long long>(at.epoch + 1),
                          static_cast<unsigned long long>(at.position + 1));
      }
      at.loss_sum += loss;
      ++at.position;
      ++at.step;
      if (options.checkpoint_steps > 0 && at.step % options.checkpoint_steps == 0) TRY_VOID(save());
      if (progress && !progress(report_of(0, false, false))) {
        TRY_VOID(save());
        result.interrupted = true;
        result.epochs = at.epoch;
        result.best_epoch = at.best_epoch;
        result.best_metric = at.best_metric;
        result.steps = at.step;
        return result;
      }
    }
    const double metric = model.validate();
    const bool is_best = at.best_epoch == Progress::kNone || metric < at.best_metric;
    if (is_best) {
      at.best_metric = metric;
      at.best_epoch = at.epoch;
      TRY_VOID(nn::save_weights(best, *model.store, model.architecture, {{"step", std::to_string(at.step)}}));
    }
    const Report report = report_of(metric, true, is_best);
    TRY_VOID(log.add(report));
    if (progress) (void)progress(report);
    result.stopped_early = at.epoch - at.best_epoch >= options.patience || metric <= options.enough;
    Progress next = at;
    next.epoch = result.stopped_early ? options.epochs : at.epoch + 1;  // a stopped run has nothing to go on with
    next.position = 0;
    next.loss_sum = 0;
    std::swap(at, next);
    const Result<void> saved = save();
    std::swap(at, next);
    TRY_VOID(saved);
  }
  if (at.best_epoch != Progress::kNone) {
    const auto loaded = nn::load_weights(best, *model.store, model.architecture);
    if (!loaded.ok()) return loaded.error();
  }
  result.epochs = at.epoch;
  result.best_epoch = at.best_epoch;
  result.best_metric = at.best_metric;
  result.steps = at.step;
  return result;
}

}  // namespace trident::train
