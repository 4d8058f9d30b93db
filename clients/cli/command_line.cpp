#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "clients/cli/bench/commands.h"
#include "clients/cli/commands.h"
#include "clients/cli/demo/commands.h"
#include "clients/cli/library/commands.h"
#include "clients/cli/loop/commands.h"
#include "clients/cli/manual.h"
#include "clients/cli/search/commands.h"
#include "clients/cli/train/commands.h"
#include "clients/cli/triton/commands.h"
#include "clients/cli/verb/run_verbs.h"
#include "clients/cli/verb/verb.h"
#include "runtime/base/nearest.h"
#include "runtime/os/inherited.h"
#include "runtime/os/self.h"

namespace trident::cli {
namespace {

constexpr const char* kDescription =
    "Compile math expressions to SIMD kernels that are measured and checked on this machine";

/// A first word that is no verb deserves better than "a subcommand is required", as does the second of a verb that has
/// verbs of its own. `place`: where the word stands.
bool unknown_verb(const CLI::App& app, int place, int argc, char** argv) {
  const auto verbs = app.get_subcommands([](const CLI::App*) { return true; });
  if (verbs.empty() || argc <= place || argv[place][0] == '-') return false;
  std::vector<std::string> names;
  for (const CLI::App* verb : verbs) {
    if (verb->get_name() == argv[place]) return unknown_verb(*verb, place + 1, argc, argv);
    names.push_back(verb->get_name());
  }
  constexpr std::size_t kTyposMax = 2;
  const std::string meant = nearest(names, argv[place], kTyposMax);
  const std::string command = place == 1 ? "trident" : "trident " + app.get_name();
  std::fprintf(stderr, "trident: there is no verb '%s'%s\n`%s --help` lists all.\n", printable(argv[place]).c_str(),
               meant.empty() ? "" : (": did you mean '" + meant + "'?").c_str(), command.c_str());
  return true;
}

bool is_option_of(const CLI::App& verb, const std::string& word) {
  if (word.starts_with("--")) return true;
  for (const CLI::Option* option : verb.get_options())
    for (const std::string& letter : option->get_snames())
      if (word[1] == letter[0]) return true;
  return false;
}

/// Hides expressions such as -x^2 from CLI11, which takes each word that begins with a dash for options. They are
/// expressions unless the verb has an option -x, and always after "--". A blank in front hides them; their place is
/// before options that take any number of values. take_blanks_off() removes the blanks.
std::vector<std::string> hide_expressions(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> words(argv, argv + argc);
  // Verbs may have verbs of their own (train guide).
  const CLI::App* verb = &app;
  for (std::size_t w = 1; w < words.size(); ++w) {
    const auto named = verb->get_subcommands([&](const CLI::App* v) { return v->get_name() == words[w]; });
    if (named.empty()) break;
    verb = named[0];
  }
  if (verb == &app) return words;
  const auto hide = [](std::string& word) {
    if (word.starts_with('-') && word.size() > 1) word.insert(0, 1, ' ');
  };
  const auto end = std::find(words.begin() + 2, words.end(), "--");
  for (auto word = words.begin() + 2; word != end; ++word)
    if (word->starts_with('-') && word->size() > 1 && !is_option_of(*verb, *word)) hide(*word);
  if (end == words.end()) return words;
  std::for_each(end + 1, words.end(), hide);
  const auto positionals = words.erase(end);
  std::rotate(words.begin() + 2, positionals, words.end());
  return words;
}

void take_blanks_off(CLI::App& app) {
  for (CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    for (CLI::Option* option : verb->get_options([](const CLI::Option* o) { return o->get_items_expected_max() > 0; }))
      option->transform([](std::string word) { return word.starts_with(" -") ? word.substr(1) : word; });
    take_blanks_off(*verb);
  }
}

}  // namespace

int run_command_line(int argc, char** argv) {
  os::occupy_standard_streams();
  os::ignore_file_size_signal();
  CLI::App app(kDescription, "trident");
  app.set_version_flag("-V,--version", "trident " TRIDENT_VERSION);
  app.require_subcommand(1);
  const Verb verbs(app);
  int status = 0;
  add_run_command(verbs, status);
  add_bench_command(verbs, status);
  add_explain_command(verbs, status);
  add_disasm_command(verbs, status);
  add_doctor_command(verbs, status);
  add_demo_command(verbs, status);
  add_rewrite_command(verbs, status);
  add_rules_command(verbs, status);
  add_profile_command(verbs, status);
  add_build_command(verbs, status);
  add_lower_command(verbs, status);
  add_loop_command(verbs, status);
  add_library_command(verbs, status);
  add_oracle_command(verbs, status);
  add_fuzz_equiv_command(verbs, status);
  add_calibrate_command(verbs, status);
  add_train_command(verbs, status);
  add_weights_command(verbs, status);
  add_stats_command(verbs, status);
  add_text_commands(verbs, status);
  add_completion_command(app, status);
  add_manual_command(app, status);
  add_manual(app);
  take_blanks_off(app);
  if (unknown_verb(app, 1, argc, argv)) return kExitUsage;
  return run_verbs(app, hide_expressions(app, argc, argv), status);
}

}  // namespace trident::cli
