// The command line of `trident train` (train_guide.h, train_judge.h and train_daemon.h do the work).
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>

#include "clients/cli/train/commands.h"
#include "clients/cli/train/state_option.h"
#include "clients/cli/train/training_reports.h"
#include "clients/cli/verb/output_file.h"
#include "clients/cli/verb/verb.h"
#include "jit/training/score_guide.h"
#include "jit/training/train_daemon.h"
#include "jit/training/train_daemon_judge.h"
#include "jit/training/train_guide.h"
#include "jit/training/train_judge.h"
#include "jit/training/train_judge_folds.h"
#include "runtime/base/counted.h"
#include "runtime/os/atomic_file.h"
#include "runtime/os/interrupt.h"
#include "runtime/os/priority.h"
#include "runtime/report/progress_bar.h"
#include "runtime/store/state_folder.h"

namespace trident::cli {
namespace {

#define X(Name, name, meaning) {name, learn::Gain::Name},
const std::map<std::string, learn::Gain> kGains = {TRIDENT_GAINS(X)};
#undef X
#define X(name, meaning) {#name, learn::Teacher::name},
const std::map<std::string, learn::Teacher> kTeachers = {TRIDENT_TEACHERS(X)};
#undef X

struct GuideVerb {
  training::TrainGuideOptions options;
  std::string output, plot, folder, score;
  bool json = false;
};

struct JudgeVerb {
  training::TrainJudgeOptions options;
  std::string output, plot, folder;
  bool json = false;
};

/// An option whose value is one of the names; CLI11's own transformer shows numbers in its error, and no names.
template <class Kind>
Option add_choice(Verb verb, const char* option, Kind& chosen, const std::map<std::string, Kind>& kinds,
                  const char* meaning) {
  const auto fault = [&kinds](const std::string& name) -> std::string {
    if (kinds.contains(name)) return "";
    std::string names;
    for (const auto& [known, kind] : kinds) names += (names.empty() ? "" : ", ") + known;
    return "expected one of " + names + ", found " + name;
  };
  return verb
      .add_option_function(
          option, [&chosen, &kinds](const std::string& name) { chosen = kinds.at(name); }, meaning)
      .check(fault);
}

/// How what was trained is reported.
template <class Trained>
struct Report {
  std::string (*text)(const Trained&);
  std::string (*json)(const Trained&);
  std::string (*plot)(const Trained&);
};

/// Says on standard error how it goes: a bar on a terminal, and a line for each epoch; elsewhere a line for each stage
/// that takes long too.
class TrainingProgress {
 public:
  /// Must outlive what is done with the options.
  template <class Options>
  explicit TrainingProgress(Options& options) {
    os::note_interrupts();
    options.progress = [this](const std::string& what, std::size_t done, std::size_t total) {
      bar_.update(done, total, what);
      if (bar_.shown() || what == "training" || what == "trying") return;
      std::string stage = fmt::format("trident: {}, {} in all", what, total);
      if (stage == stage_) return;
      bar_.line(stage);
      stage_ = std::move(stage);
    };
    options.epoch_line = [this](const std::string& line) { bar_.line("trident: " + line); };
    options.stopped = [] { return !os::check_interrupted().ok(); };
  }

 private:
  report::ProgressBar bar_{"training", 1};
  std::string stage_;
};

int interrupted_status(bool goes_on) {
  std::fprintf(stderr, "trident: interrupted%s\n", goes_on ? "; go on with --resume (the same options)" : "");
  return kExitInterrupted;
}

Result<void> replace(const std::string& path, std::span<const std::byte> bytes) {
  TRY(os::AtomicFile file, os::AtomicFile::create(path));
  TRY_VOID(file.append(bytes));
  return file.commit();
}

/// Streams and links are written where they are; of a file the old one stays until the new one is whole.
Result<void> write_plot(const std::string& path, const std::string& svg) {
  if (path == "-" || !can_take_place(path).ok()) return write_text(path, svg);
  return replace(path, std::as_bytes(std::span(svg)));
}

/// Files that a training reads.
std::vector<std::string> inputs_of(const training::TrainGuideOptions& o) {
  std::vector<std::string> all = o.only;
  all.insert(all.end(), o.tests.begin(), o.tests.end());
  all.push_back(o.embedding);
  return all;
}
std::vector<std::string> inputs_of(const training::TrainJudgeOptions& o) {
  return {o.kernels};
}

template <class State, class Train, class Trained>
Result<int> run(State& verb, Train&& train, const Report<Trained>& report) {
  if (verb.output.empty())
    return make_error(ErrorCode::kInvalidArgument, "--output FILE is required: the weights are written there");
  TRY_VOID(can_take_place(verb.output));
  if (!verb.plot.empty()) TRY_VOID(can_be_drafted(verb.plot));
  std::vector<std::string> others = inputs_of(verb.options);
  TRY_VOID(is_none_of(verb.plot, others));
  others.push_back(verb.plot);
  TRY_VOID(is_none_of(verb.output, others));
  verb.options.folder = verb.folder.empty() ? verb.output + ".training" : verb.folder;
  Result<Trained> trained = [&] {
    TrainingProgress shown(verb.options);
    return train(verb.options);
  }();
  if (!trained.ok()) return trained.error();
  if (trained->interrupted) return interrupted_status(true);
  TRY_VOID(replace(verb.output, trained->block));
  if (!verb.plot.empty()) TRY_VOID(write_plot(verb.plot, report.plot(*trained)));
  std::fputs((verb.json ? report.json(*trained) : report.text(*trained)).c_str(), stdout);
  std::fprintf(stderr, "trident: written to %s; checkpoints and logs are in %s\n", verb.output.c_str(),
               verb.options.folder.c_str());
  return 0;
}

/// Figures of weights that are there; nothing is trained or written.
Result<int> score(GuideVerb& verb) {
  const Result<training::GuideScore> scored = [&] {
    TrainingProgress shown(verb.options);
    return training::score_guide(verb.score, verb.options);
  }();
  if (!scored.ok()) return scored.error();
  if (scored->interrupted) return interrupted_status(false);
  std::fputs((verb.json ? score_json(*scored) : score_text(*scored)).c_str(), stdout);
  return 0;
}

Result<int> cross_validate(JudgeVerb& verb) {
  if (verb.folder.empty())
    return make_error(ErrorCode::kInvalidArgument,
                      "--folds needs --folder, where every fold keeps its checkpoints and logs");
  verb.options.folder = verb.folder;
  const Result<training::JudgeFolds> folds = [&] {
    TrainingProgress shown(verb.options);
    return training::train_judge_folds(verb.options);
  }();
  if (!folds.ok()) return folds.error();
  if (folds->interrupted) return interrupted_status(true);
  std::fputs((verb.json ? folds_json(*folds) : folds_text(*folds)).c_str(), stdout);
  std::fprintf(stderr, "trident: no weights are written with --folds; checkpoints and logs are in %s\n",
               verb.folder.c_str());
  return 0;
}

void add_seed_option(Verb verb, std::uint64_t& seed) {
  verb.add_option("--seed", seed, "Seed of all random choices; the same seed gives the same weights")
      .check(range(std::uint64_t{0}, std::uint64_t{1} << 40))
      .capture_default_str();
}

void add_threads_option(Verb verb, unsigned& threads) {
  verb.add_option("--threads", threads, "Number of threads; results do not depend on it")
      .check(range(1u, 256u))
      .capture_default_str();
}

/// Options that all trainings have.
template <class State>
void add_shared_options(Verb verb, State& state) {
  auto& o = state.options;
  verb.add_option("--epochs", o.epochs, "Passes over the samples").check(range(1, 10'000)).capture_default_str();
  add_seed_option(verb, o.seed);
  add_threads_option(verb, o.threads);
  verb.add_option("--width", o.width, "Width of the embedding, at most 256")
      .check(range(8u, static_cast<unsigned>(nn::kLanes)))
      .capture_default_str();
  verb.add_option("--depth", o.depth, "Length of feature paths from a node down; searches take 3")
      .check(range(1u, nnue::kDepthMax))
      .capture_default_str();
  verb.add_option("--patience", o.patience, "Stop after N epochs without a better figure, and keep the best weights")
      .check(range(1, 10'000))
      .capture_default_str();
  verb.add_option("-o,--output", state.output, "Write the weights to this file; training needs it");
  verb.add_option("--folder", state.folder, "Folder of checkpoints and logs (CSV, JSONL); default: beside the output");
  verb.add_flag("--resume", o.resume, "Go on from the checkpoint in the folder");
  verb.add_option("--plot", state.plot, "Draw loss, ranking and calibration to this file, as SVG");
  verb.add_flag("--json", state.json, "Print a JSON object instead of text");
}

struct DaemonVerb {
  training::DaemonTraining training;
  std::string state;
  std::uint64_t rounds = 0;
  bool busy = false;
};

constexpr std::uint64_t kLogBytesMax = 4 << 20;
constexpr unsigned kPauseMinS = 10, kPauseMaxS = 3600;

/// Appends to STATE/training.jsonl, of which the older half makes room.
Result<void> log_round(const std::string& state, const std::string& line) {
  const std::string path = state + "/training.jsonl";
  std::error_code none;
  if (const auto bytes = std::filesystem::file_size(path, none); !none && bytes > kLogBytesMax / 2)
    std::filesystem::rename(path, path + ".before", none);
  std::ofstream file(path, std::ios::app);
  file << line << std::endl;
  if (!file) return make_error(ErrorCode::kOsError, "%s: cannot be written", path.c_str());
  return {};
}

/// Says that the journal has too few expressions, and how many.
std::string too_little(const training::DaemonTraining& training, const training::TrainedRound& round) {
  std::string text =
      fmt::format("{} has {}", store::journal_path(training.state), counted(round.submitted, "expression"));
  if (round.passed_over != 0) text += fmt::format(" (and {})", counted(round.passed_over, "invalid line"));
  return text + fmt::format("; a round needs {}. Programs that use a daemon with --state {} add expressions",
                            training.least, training.state);
}

/// The daemon makes it, perhaps later than this begins.
Result<void> check_state(const std::string& state, bool may_come) {
  std::error_code failed;
  const auto there = std::filesystem::status(state, failed);
  if (std::filesystem::is_directory(there)) return {};
  if (failed && there.type() != std::filesystem::file_type::not_found)
    return make_error(ErrorCode::kOsError, "%s: cannot be read: %s", state.c_str(), failed.message().c_str());
  if (std::filesystem::exists(there))
    return make_error(ErrorCode::kInvalidArgument,
                      "%s: is not a folder; --state FOLDER must be the daemon's state folder", state.c_str());
  const std::string what = state + ": there is no such folder; the daemon creates it (tridentd --state FOLDER)";
  if (!may_come) return make_error(ErrorCode::kNotFound, "%s", what.c_str());
  std::fprintf(stderr, "trident: %s; waiting for it\n", what.c_str());
  return {};
}

void pause(unsigned seconds) {
  for (unsigned s = 0; s < seconds && os::check_interrupted().ok(); ++s) ::sleep(1);
}

/// Trains the judge too, where there are kernels for it.
Result<void> judge_round(training::DaemonJudgeTrainer& trainer, const std::string& state) {
  const auto round = trainer.round();
  if (!round.ok() && !os::check_interrupted().ok()) return {};
  if (!round.ok()) return round.error();
  if (!round->enough || round->interrupted) return {};
  const std::string line = training::judge_round_json(*round);
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
  return log_round(state, line);
}

Result<int> run(DaemonVerb& verb) {
  TRY(verb.training.state, store::state_folder(verb.state));
  TRY_VOID(check_state(verb.training.state, verb.rounds == 0));
  if (!verb.busy)
    if (const auto idle = os::run_when_idle(); !idle.ok())
      std::fprintf(stderr, "trident: could not set idle priority in full: %s\n", idle.error().message.c_str());
  os::note_interrupts();
  verb.training.stopped = [] { return !os::check_interrupted().ok(); };
  training::DaemonTrainer trainer(verb.training);
  training::DaemonJudgeTrainer judge({.state = verb.training.state,
                                      .seed = verb.training.seed,
                                      .threads = verb.training.threads,
                                      .stopped = verb.training.stopped});
  unsigned pause_s = kPauseMinS;
  std::size_t submitted = 0;
  bool told = false;
  for (std::uint64_t done = 0; os::check_interrupted().ok() && (verb.rounds == 0 || done < verb.rounds);) {
    TRY_VOID(judge_round(judge, verb.training.state));
    auto round = trainer.round();
    if (!round.ok() && !os::check_interrupted().ok()) break;
    if (!round.ok()) return round.error();
    if (round->interrupted) break;
    if (round->enough) {
      ++done;
      const std::string line = training::round_json(*round);
      TRY_VOID(log_round(verb.training.state, line));
      std::printf("%s\n", line.c_str());
      std::fflush(stdout);
    } else if (verb.rounds != 0) {
      return make_error(ErrorCode::kNotFound, "%s", too_little(verb.training, *round).c_str());
    } else if (!std::exchange(told, true)) {
      std::fprintf(stderr, "trident: %s; waiting for more\n", too_little(verb.training, *round).c_str());
    }
    // Rounds become rare when nothing new is submitted and nothing better is found.
    pause_s = round->promoted || round->submitted != submitted ? kPauseMinS : std::min(2 * pause_s, kPauseMaxS);
    submitted = round->submitted;
    if (verb.rounds == 0) pause(pause_s);
  }
  return os::check_interrupted().ok() ? 0 : kExitInterrupted;
}

void add_daemon_verb(Verb train, int& status) {
  const Verb verb =
      train.add_subcommand("daemon", "Train the daemon's guide on submitted expressions at idle priority");
  auto state = std::make_shared<DaemonVerb>();
  training::DaemonTraining& o = state->training;
  add_state_option(verb, state->state);
  verb.add_option("--rounds", state->rounds, "Stop after N rounds; 0: never")
      .check(range(0, 1'000'000))
      .capture_default_str();
  verb.add_option("--episodes", o.episodes, "Searches of one round, 40 to 1,000,000")
      .check(range(40, 1'000'000))
      .capture_default_str();
  verb.add_option("--epochs", o.epochs, "Passes over the samples").check(range(1, 1000)).capture_default_str();
  verb.add_option("--least", o.least, "Expressions that a round needs to begin")
      .check(range(1, 1'000'000))
      .capture_default_str();
  add_seed_option(verb, o.seed);
  add_threads_option(verb, o.threads);
  verb.add_flag("--busy", state->busy, "Keep the priority that the command was started with");
  verb.callback([state, &status] {
    const auto code = run(*state);
    status = code ? *code : report(code.error());
  });
}

}  // namespace

void add_train_command(Verb app, int& status) {
  const Verb verb = app.add_subcommand("train", "Train the search guide and the cost model");
  verb.require_subcommand();
  add_daemon_verb(verb, status);

  const Verb guide = verb.add_subcommand("guide", "Train the search guide, the network of `rewrite --strategy guided`");
  auto of_guide = std::make_shared<GuideVerb>();
  training::TrainGuideOptions& o = of_guide->options;
  guide.add_option("--episodes", o.episodes, "Searches to learn from, 40 to 10,000,000; one in eight more is held out")
      .check(range(40, 10'000'000))
      .capture_default_str();
  guide.add_option("--rounds", o.rounds, "Rounds of training; later rounds add searches that earlier rounds guide")
      .check(range(1, 100))
      .capture_default_str();
  add_choice(guide, "--gain", o.gain, kGains,
             "Weight of needed rewrites by the gain of their search: none, static (cost) or judge (time)")
      .default_str("none");
  add_choice(guide, "--teacher", o.teacher, kTeachers,
             "Label of a rewrite: hindsight (the best term rests on it), q (its value) or both (the mean)")
      .default_str("hindsight");
  guide.add_option("--pretrain", o.pretrain, "Learn first to invert rewrites, on N backward walks from good forms")
      .check(range(0, 10'000'000))
      .capture_default_str();
  guide.add_option("--without", o.without, "Hold out this domain of rules for testing; repeatable");
  guide
      .add_option("--only", o.only,
                  "Learn from this corpus, as it is and made worse, not from composed expressions; repeatable")
      .check(existing_file());
  guide.add_option("--test", o.tests, "Report figures on this corpus too; repeatable").check(existing_file());
  guide.add_flag("!--no-delta", o.sight.delta, "For comparison: show the state before a rewrite, not after it");
  guide.add_flag("!--no-rule", o.sight.rule, "For comparison: hide the rule of a rewrite");
  guide.add_option("--embedding", o.embedding, "Begin with the embedding of this network (*.safetensors), as a judge's")
      .check(existing_file());
  guide.add_flag("--frozen", o.frozen, "Do not train the embedding");
  add_shared_options(guide, *of_guide);
  guide.add_option("--score", of_guide->score, "Only report on this weights file, over what these options hold out")
      .check(file_name_fault)
      .excludes({"--output", "--plot", "--folder", "--resume", "--pretrain", "--embedding", "--test"})
      .excludes({"--epochs", "--patience", "--width", "--depth", "--gain", "--teacher", "--frozen"});
  guide.callback([of_guide, &status] {
    const auto code =
        !of_guide->score.empty()
            ? score(*of_guide)
            : run(*of_guide, training::train_guide, Report<training::TrainedGuide>{guide_text, guide_json, guide_plot});
    status = code ? *code : report(code.error());
  });

  const Verb judge = verb.add_subcommand("judge", "Train the cost model, the network that predicts kernel times");
  auto of_judge = std::make_shared<JudgeVerb>();
  judge.add_option("--kernels", of_judge->options.kernels,
                   "Timed kernels (`trident calibrate --kernels`); default: those that come with the program");
  judge.add_option("--without", of_judge->options.without,
                   "Hold out this generator of families for testing; repeatable");
  add_shared_options(judge, *of_judge);
  judge
      .add_option("--folds", of_judge->options.folds,
                  "Train N judges, each without another part of the families; report means, write no weights")
      .check(range(2, 100))
      .excludes({"--output", "--plot"});
  judge.callback([of_judge, &status] {
    const auto code =
        of_judge->options.folds != 0
            ? cross_validate(*of_judge)
            : run(*of_judge, training::train_judge, Report<training::TrainedJudge>{judge_text, judge_json, judge_plot});
    status = code ? *code : report(code.error());
  });
}

}  // namespace trident::cli
