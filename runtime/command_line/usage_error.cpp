#include "runtime/command_line/usage_error.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <regex>
#include <sstream>
#include <vector>

#include "runtime/base/nearest.h"

namespace trident::command_line {
namespace {

/// Follows the verbs of the command line to the last, and writes them behind the program's name.
Command verb_of(const Command& command, std::string& name) {
  const auto verb = command.chosen();
  if (!verb) return command;
  name += " " + verb->name();
  return verb_of(*verb, name);
}

std::vector<std::string> option_names(const Command& verb) {
  std::vector<std::string> names;
  for (const Option& option : verb.options())
    for (const std::string& name : option.dashed_names())
      if (name.starts_with("--")) names.push_back(name);
  return names;
}

/// Tells what nobody takes: a misspelt option with the nearest name, or a word too many.
std::string unknown(const Command& verb, const std::string& command, const std::string& words) {
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
std::string cause(const Command& verb, const std::string& command, const std::string& said) {
  struct Form {
    const char* pattern;
    const char* text;
  };
  static const Form kForms[] = {
      {"^A subcommand is required$", "a verb is missing"},
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

std::string usage_error(const std::string& program, const Command& command, const std::string& said) {
  std::string name = program;
  const Command verb = verb_of(command, name);
  return program + ": " + cause(verb, name, said) + "\n`" + name + " --help` lists what it takes.\n";
}

std::optional<int> exit_status(const Application& program, const Parsed& parsed) {
  constexpr int kExitUsage = 2;  // CLI11 has a number for each kind of mistake
  if (parsed.outcome == Parsed::Outcome::ran) return std::nullopt;
  const bool is_answered = parsed.outcome == Parsed::Outcome::answered;
  const Command command = program.command();
  if (is_answered)
    std::fputs(parsed.text.c_str(), stdout);
  else
    std::fputs(usage_error(command.name(), command, parsed.text).c_str(), stderr);
  return is_answered ? 0 : kExitUsage;
}

}  // namespace trident::command_line
