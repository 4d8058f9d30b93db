#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <span>
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
bool unknown_verb(const Verb& app, int place, int argc, char** argv) {
  const std::vector<Verb> verbs = app.subcommands();
  if (verbs.empty() || argc <= place || argv[place][0] == '-') return false;
  std::vector<std::string> names;
  for (const Verb& verb : verbs) {
    if (verb.name() == argv[place]) return unknown_verb(verb, place + 1, argc, argv);
    names.push_back(verb.name());
  }
  constexpr std::size_t kTyposMax = 2;
  const std::string meant = nearest(names, argv[place], kTyposMax);
  const std::string command = place == 1 ? "trident" : "trident " + app.name();
  std::fprintf(stderr, "trident: there is no verb '%s'%s\n`%s --help` lists all.\n", printable(argv[place]).c_str(),
               meant.empty() ? "" : (": did you mean '" + meant + "'?").c_str(), command.c_str());
  return true;
}

bool is_option_of(const Verb& verb, const std::string& word) {
  if (word.starts_with("--")) return true;
  for (const Option& option : verb.options())
    for (const std::string& name : option.dashed_names())
      if (name == word.substr(0, 2)) return true;
  return false;
}

/// Returns the verb that the first words name, or the part of it (train guide); `app` where they name none.
Verb named_by(const Verb& app, std::span<const std::string> words) {
  if (words.empty()) return app;
  for (const Verb& verb : app.subcommands())
    if (verb.name() == words.front()) return named_by(verb, words.subspan(1));
  return app;
}

/// Hides expressions such as -x^2 from the parser, which takes each word that begins with a dash for options. They are
/// expressions unless the verb has an option -x, and always after "--". A blank in front hides them; their place is
/// before options that take any number of values. take_blanks_off() removes the blanks.
std::vector<std::string> hide_expressions(const Verb& app, int argc, char** argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  const auto verbs = app.subcommands();
  if (words.empty() || std::none_of(verbs.begin(), verbs.end(), [&](const Verb& v) { return v.name() == words[0]; }))
    return words;
  const Verb verb = named_by(app, words);
  const auto hide = [](std::string& word) {
    if (word.starts_with('-') && word.size() > 1) word.insert(0, 1, ' ');
  };
  const auto end = std::find(words.begin() + 1, words.end(), "--");
  for (auto word = words.begin() + 1; word != end; ++word)
    if (word->starts_with('-') && word->size() > 1 && !is_option_of(verb, *word)) hide(*word);
  if (end == words.end()) return words;
  std::for_each(end + 1, words.end(), hide);
  const auto positionals = words.erase(end);
  std::rotate(words.begin() + 1, positionals, words.end());
  return words;
}

void take_blanks_off(const Verb& app) {
  for (const Verb& verb : app.subcommands()) {
    for (const Option& option : verb.options())
      if (option.takes_value())
        option.transform([](std::string word) { return word.starts_with(" -") ? word.substr(1) : word; });
    take_blanks_off(verb);
  }
}

}  // namespace

int run_command_line(int argc, char** argv) {
  os::occupy_standard_streams();
  os::ignore_file_size_signal();
  command_line::Application app(kDescription, "trident");
  app.version("trident " TRIDENT_VERSION);
  const Verb verbs = app.command();
  verbs.require_subcommand();
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
  add_stdlib_command(verbs, status);
  add_test_command(verbs, status);
  add_oracle_command(verbs, status);
  add_fuzz_equiv_command(verbs, status);
  add_calibrate_command(verbs, status);
  add_train_command(verbs, status);
  add_weights_command(verbs, status);
  add_stats_command(verbs, status);
  add_top_command(verbs, status);
  add_text_commands(verbs, status);
  add_completion_command(verbs, status);
  add_manual_command(verbs, status);
  add_manual(verbs);
  take_blanks_off(verbs);
  if (unknown_verb(verbs, 1, argc, argv)) return kExitUsage;
  return run_verbs(app, hide_expressions(verbs, argc, argv), status);
}

}  // namespace trident::cli
