// The command line of `trident train` (train_guide.h does the work).
#include <CLI/CLI.hpp>
#include <cstdio>

#include "clients/cli/commands.h"
#include "clients/cli/interrupt.h"
#include "clients/cli/progress_bar.h"
#include "clients/cli/train_guide.h"
#include "runtime/os/atomic_file.h"

namespace trident::cli {
namespace {

struct GuideVerb {
  TrainGuideOptions options;
  std::string output, plot, folder;
  bool json = false;
};

Result<int> run(GuideVerb& verb) {
  verb.options.folder = verb.folder.empty() ? verb.output + ".training" : verb.folder;
  note_interrupts();
  Result<TrainedGuide> trained = [&] {
    ProgressBar bar("training", 1);
    verb.options.progress = [&bar](const std::string& what, std::size_t done, std::size_t total) {
      bar.update(done, total, what);
    };
    verb.options.stopped = [] { return !check_interrupted().ok(); };
    return train_guide(verb.options);
  }();
  if (!trained.ok()) return trained.error();
  if (trained->interrupted) {
    std::fprintf(stderr, "trident: interrupted; go on with --resume (the same options)\n");
    return kExitInterrupted;
  }
  TRY(os::AtomicFile file, os::AtomicFile::create(verb.output));
  TRY_VOID(file.append(trained->block));
  TRY_VOID(file.commit());
  if (!verb.plot.empty()) TRY_VOID(write_text(verb.plot, guide_plot(*trained)));
  std::fputs((verb.json ? guide_json(*trained) : guide_text(*trained)).c_str(), stdout);
  std::fprintf(stderr, "trident: written to %s; checkpoints and logs are in %s\n", verb.output.c_str(),
               verb.options.folder.c_str());
  return 0;
}

}  // namespace

void add_train_command(CLI::App& app, int& status) {
  CLI::App* verb = app.add_subcommand("train", "Train what guides searches");
  verb->require_subcommand(1);
  CLI::App* guide = verb->add_subcommand("guide", "Train the network that `rewrite --strategy guided` goes by");
  auto state = std::make_shared<GuideVerb>();
  TrainGuideOptions& o = state->options;
  guide->add_option("--episodes", o.episodes, "Searches to learn from; one in eight more is held out")
      ->check(CLI::Range(40, 10'000'000))
      ->capture_default_str();
  guide
      ->add_option("--rounds", o.rounds, "Train so often, the later rounds on searches that the earlier ones guide too")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  guide->add_option("--epochs", o.epochs, "Passes over the samples of each round")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  guide->add_option("--seed", o.seed, "Of everything random: the same seed gives the same weights")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 40))
      ->capture_default_str();
  guide->add_option("--threads", o.threads, "Which change nothing but the time")
      ->check(CLI::Range(1u, 256u))
      ->capture_default_str();
  guide->add_option("--width", o.width, "Of the embedding: at most 256")
      ->check(CLI::Range(8u, static_cast<unsigned>(nn::kLanes)))
      ->capture_default_str();
  guide->add_option("--without", o.without, "A domain of rules to leave out of training and to test on (repeatable)");
  guide->add_option("-o,--output", state->output, "Write the weights here, for --weights of other commands")
      ->required();
  guide->add_option("--folder", state->folder, "Checkpoints and logs (CSV, JSONL); default: beside the output");
  guide->add_flag("--resume", o.resume, "Go on from the checkpoint in the folder");
  guide->add_option("--plot", state->plot, "Write loss, area under the curve and calibration here, as SVG");
  guide->add_flag("--json", state->json, "Print a JSON object instead of text");
  guide->callback([state, &status] {
    const auto code = run(*state);
    status = code ? *code : report(code.error());
  });
}

}  // namespace trident::cli
