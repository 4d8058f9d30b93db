#include "runtime/train/trainer.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "runtime/nn/safetensors.h"
#include "runtime/os/atomic_file.h"
#include "runtime/os/clock.h"
#include "runtime/os/file_lock.h"

namespace trident::train {
namespace {

constexpr const char* kCsvHead = "epoch,step,loss,metric,best,rate,seconds\n";

Result<void> write_text(const std::string& path, const std::string& text) {
  TRY(os::AtomicFile file, os::AtomicFile::create(path));
  TRY_VOID(file.append(std::as_bytes(std::span(text))));
  return file.commit();
}

/// The two logs, written whole after each epoch: one line an epoch, so that they stay small and are never half written.
Result<void> write_logs(const std::string& folder, const std::vector<EpochFigures>& history) {
  std::string csv = kCsvHead, json;
  for (std::size_t i = 0; i < history.size(); ++i) {
    const EpochFigures& e = history[i];
    const auto step = static_cast<unsigned long long>(e.step);
    char line[400];
    std::snprintf(line, sizeof line, "%zu,%llu,%.9g,%.9g,%d,%.6g,%.3f\n", i + 1, step, e.loss, e.metric, e.best ? 1 : 0,
                  e.rate, e.seconds);
    csv += line;
    std::snprintf(line, sizeof line,
                  "{\"epoch\": %zu, \"step\": %llu, \"loss\": %.9g, \"metric\": %.9g, \"best\": %s, \"rate\": %.6g, "
                  "\"seconds\": %.3f}\n",
                  i + 1, step, e.loss, e.metric, e.best ? "true" : "false", e.rate, e.seconds);
    json += line;
  }
  TRY_VOID(write_text(folder + "/log.csv", csv));
  return write_text(folder + "/log.jsonl", json);
}

std::string numbers(std::initializer_list<double> all) {
  std::string text;
  char one[32];
  for (const double number : all) {
    std::snprintf(one, sizeof one, "%.9g", number);
    text += (text.empty() ? "" : "/") + std::string(one);
  }
  return text;
}

/// All that the bits of a run follow from.
RunTerms terms_of(const Model& model, std::span<const std::uint32_t> samples, const TrainerOptions& options) {
  RunTerms terms = {{"seed", std::to_string(options.seed)}, {"epochs", std::to_string(options.epochs)}};
  terms.insert(terms.end(), options.terms.begin(), options.terms.end());
  for (auto& [name, value] : terms)  // may be a user's words; the file takes text alone
    for (char& c : value) c = c < ' ' || c > '~' ? '?' : c;
  const Schedule& s = options.schedule;
  const OptimiserOptions& o = options.optimiser;
  const RowOptions& r = options.rows;
  terms.emplace_back("samples in all", std::to_string(samples.size()));
  terms.emplace_back("batch", std::to_string(model.shards.size()) + "x" + std::to_string(options.samples_per_shard));
  terms.emplace_back("rate",
                     numbers({s.peak, s.last, static_cast<double>(s.warmup_steps), static_cast<double>(s.steps)}));
  terms.emplace_back("optimiser", numbers({static_cast<double>(o.algorithm), o.momentum, o.beta1, o.beta2, o.epsilon,
                                           o.decay, o.clip_norm, o.statistic_rate}));
  terms.emplace_back("optimiser of rows", numbers({static_cast<double>(r.algorithm), r.beta1, r.beta2, r.epsilon}));
  return terms;
}

/// One training at a time writes to a folder: two would take each other's best weights for their own. Drafts that are
/// there are what a killed one has left.
Result<os::FileLock> alone_in(const std::string& folder) {
  TRY(auto lock, os::FileLock::hold_now(folder + "/lock"));
  if (!lock)
    return make_error(ErrorCode::kOsError,
                      "%s: another training run uses this folder; wait for it, or use another folder", folder.c_str());
  std::error_code failed;
  for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
    if (at->path().extension() == ".part") std::filesystem::remove(at->path(), failed);
  return std::move(*lock);
}

}  // namespace

Result<TrainingResult> train(const Model& model, std::span<const std::uint32_t> samples, const TrainerOptions& options,
                             const std::function<bool(const Report&)>& progress) {
  const std::size_t shard_size = options.samples_per_shard, batch = shard_size * model.shards.size();
  if (batch == 0 || samples.size() < batch) {
    return make_error(ErrorCode::kInvalidArgument, "%zu samples do not fill one batch of %zu: train on more samples",
                      samples.size(), batch);
  }
  TRY(const os::FileLock lock, alone_in(options.folder));
  const std::string last = options.folder + "/last.safetensors", best = options.folder + "/best.safetensors";
  Team team(options.threads);
  ShardedStep step(*model.store, model.shards, options.optimiser, options.rows, team);
  Progress at;
  at.seed = options.seed;
  at.terms = terms_of(model, samples, options);
  if (options.resume && std::filesystem::exists(last)) {
    TRY(at, load_checkpoint(last, *model.store, step.optimiser(), model.architecture, at.terms));
  }
  const std::uint64_t positions = samples.size() / batch;
  const double seconds_before = at.seconds;
  const std::uint64_t first_step = at.step, start_ns = os::monotonic_ns();
  const auto seconds = [&] { return static_cast<double>(os::monotonic_ns() - start_ns) * 1e-9; };
  const auto save = [&] {
    at.seconds = seconds_before + seconds();
    return save_checkpoint(last, *model.store, step.optimiser(), at, model.architecture);
  };
  const auto stops = [&] {
    return !at.history.empty() &&
           (at.history.size() - 1 - at.best_epoch >= options.patience || at.history.back().metric <= options.enough);
  };
  const auto report_of = [&](double metric, double beside, bool epoch_done, bool is_best) {
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
        beside,
        epoch_done,
        is_best,
        options.schedule.rate(at.step),
        seconds_before + spent,
        each * static_cast<double>(options.epochs * positions - std::min(options.epochs * positions, at.step))};
  };

  std::vector<std::uint32_t> order(samples.size()), chosen(batch);
  TrainingResult result{};
  result.stopped_early = stops();
  for (; at.epoch < options.epochs && !result.stopped_early; ++at.epoch, at.position = 0, at.loss_sum = 0) {
    shuffle(order, options.seed, at.epoch);
    while (at.position < positions) {
      for (std::size_t i = 0; i < batch; ++i) chosen[i] = samples[order[at.position * batch + i]];
      const double loss = step.run(options.schedule.rate(at.step), [&](std::size_t shard) {
        model.load(shard, std::span<const std::uint32_t>(chosen).subspan(shard * shard_size, shard_size));
      });
      if (!std::isfinite(loss)) {
        return make_error(ErrorCode::kInvalidArgument,
                          "the loss is %g in epoch %llu, batch %llu: lower the learning rate or clip the gradient",
                          loss, static_cast<unsigned long long>(at.epoch + 1),
                          static_cast<unsigned long long>(at.position + 1));
      }
      at.loss_sum += loss;
      ++at.position;
      ++at.step;
      if (options.checkpoint_steps > 0 && at.step % options.checkpoint_steps == 0) TRY_VOID(save());
      if (progress && !progress(report_of(0, 0, false, false))) {
        TRY_VOID(save());
        result.interrupted = true;
        result.epochs = at.epoch;
        result.best_epoch = at.best_epoch;
        result.best_metric = at.best_metric;
        result.steps = at.step;
        result.history = std::move(at.history);
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
    const Report report = report_of(metric, model.beside ? model.beside() : 0, true, is_best);
    at.history.push_back({at.step, report.loss, metric, report.beside, report.rate, report.seconds, is_best});
    TRY_VOID(write_logs(options.folder, at.history));
    if (progress) (void)progress(report);
    result.stopped_early = stops();
    Progress next = at;
    next.epoch = at.epoch + 1;
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
  result.history = std::move(at.history);
  return result;
}

}  // namespace trident::train
