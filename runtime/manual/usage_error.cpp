#include "runtime/manual/usage_error.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <regex>
#include <sstream>
#include <vector>

#include "runtime/base/nearest.h"

namespace trident::manual {
namespace {

/// Follows the verbs of the command line to the last, and writes them behind the program's name.
const CLI::App& verb_of(const CLI::App& app, std::string& command) {
  const auto verbs = app.get_subcommands();
  if (verbs.empty()) return app;
  command += " " + verbs.front()->get_name();
  return verb_of(*verbs.front(), command);
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

/// Tells what nobody takes: a misspelt option with the nearest name, or a word too many.
std::string unknown(const CLI::App& verb, const std::string& command, const std::string& words) {
  std::istringstream stream(words);
  const std::vector<std::string> all(std::istream_iterator<std::string>(stream), {});
  const auto option = std::find_if(all.begin(), all.end(), [](const std::string& w) { return w.starts_with('-'); });
  if (option == all.end())
    return "'" + (all.empty() ? words : all.front()) + "' is one argument too many for `" + command + "`";
  constexpr std::size_t kTyposMax = 2;
  const std::string meant = option->size() > 2 + kTyposMax ? nearest(option_names(verb), *option, kTyposMax) : "";
  return "`" + command + "` has no option " + *option + (meant.empty() ? "" : ": did you mean " + meant + "?");
}

/// Says CLI11's sentence as this project says it; its own where the pattern is not known.
std::string cause(const CLI::App& verb, const std::string& command, const std::string& said) {
  struct Form {
    const char* pattern;
    const char* text;
  };
  static const Form kForms[] = {
      {R"(^(.*): At Most 1 required but received (\d+)$)", "$1 is given $2 times"},
      {R"(^(.*): Value\s+([-+]?[.\d]+) not in range (\d+)(?:\.0+)? to (\d+)(?:\.0+)?$)",
       "$1: $2 is not between $3 and $4"},
      {R"(^(.*): Value\s+(.*) not in range (-?\d+)(?:\.0+)? to (\d+)(?:\.0+)?$)",
       "$1: '$2' is no number from $3 to $4"},
      {R"(^Could not convert: (.*) = ([-+]?[.\d]+)$)", "$1: $2 is no whole number"},
      {R"(^Could not convert: (.*) = (.*)$)", "$1: '$2' is no number"},
      {R"(^(.*): \d+ required (\S*).* missing$)", "$1 needs a value"},
  };
  if (said.ends_with("is required"))  // a misspelt option counts more than what is missing
    for (const std::string& word : verb.remaining())
      if (word.starts_with('-')) return unknown(verb, command, word);
  std::smatch found;
  static const std::regex extra(R"(^The following arguments? (?:was|were) not expected: (.*)$)");
  if (std::regex_match(said, found, extra)) return unknown(verb, command, found[1]);
  for (const Form& form : kForms)
    if (const std::regex pattern(form.pattern); std::regex_match(said, pattern))
      return std::regex_replace(said, pattern, form.text);
  return said;
}

}  // namespace

std::string usage_error(const std::string& program, const CLI::App& app, const CLI::Error& error) {
  std::string command = program;
  const CLI::App& verb = verb_of(app, command);
  return program + ": " + cause(verb, command, error.what()) + "\n`" + command + " --help` lists what it takes.\n";
}

}  // namespace trident::manual
