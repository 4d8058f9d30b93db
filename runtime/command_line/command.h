// Commands, their options, and the parsing of command lines: the one door to CLI11, whose header takes seconds to
// compile. A command and an option are handles of what the application owns, with CLI11's names for what they do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace trident::command_line {

/// Returns the fault of a value; empty when there is none.
using Fault = std::function<std::string(const std::string&)>;

/// The values that an option takes.
class Check {
 public:
  explicit Check(const CLI::Validator& validator);
  [[nodiscard]] const CLI::Validator& validator() const { return *validator_; }

 private:
  std::shared_ptr<const CLI::Validator> validator_;
};

/// Numbers from `least` to `most`: int, unsigned, std::uint64_t or double.
template <class Number>
Check range(Number least, Number most);
Check one_of(std::vector<std::string> words);
Check existing_file();

/// An option or, without dashes, a positional argument.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option check(const Check& check) const;
  Option check(const Fault& fault) const;
  /// Changes each value before it is checked.
  Option transform(std::function<std::string(std::string)> change) const;
  Option required() const;
  /// The default in the help is the value that the variable has now.
  Option capture_default_str() const;
  Option default_str(const std::string& text) const;
  Option default_val(std::uint64_t value) const;
  /// All values count where it is repeated, not the last alone.
  Option take_all() const;
  Option take_last() const;
  Option expected(int values) const;
  Option allow_extra_args(bool take) const;
  Option delimiter(char between) const;
  Option needs(Option other) const;
  Option excludes(Option other) const;
  /// Lists it in the help under a heading of its own, "TITLE:".
  Option group(const std::string& title) const;
  Option excludes(std::initializer_list<const char*> names) const;

  [[nodiscard]] std::string description() const;
  /// As the help lists it: "-n,--n", or "FILE" for a positional argument.
  [[nodiscard]] std::string names() const;
  /// Each name with its dashes, the long ones first; none of a positional argument.
  [[nodiscard]] std::vector<std::string> dashed_names() const;
  /// Returns the value as the help shows it behind the names: " N=4096".
  [[nodiscard]] std::string value_hint() const;
  [[nodiscard]] bool takes_value() const;
  [[nodiscard]] bool is_positional() const;
  /// Whether the help lists it.
  [[nodiscard]] bool is_listed() const;

 private:
  CLI::Option* option_;
};

/// A program or, below it, one of its verbs.
class Command {
 public:
  explicit Command(CLI::App& app) : app_(&app) {}

  [[nodiscard]] Command add_subcommand(const std::string& name, const std::string& meaning) const;
  /// One of its subcommands must follow.
  void require_subcommand() const;
  void callback(std::function<void()> run) const;
  /// Lays out `--help`, with `footer` at its end, in lines of at most 100 columns or the terminal's width.
  void lay_out_help(const std::string& footer) const;

  /// `names`: "-n,--n", or "FILE" for what stands without a name. `value`, which must live as long as the application,
  /// holds the default: a number, a text, a list of texts, or an optional number or text.
  template <class Value>
  Option add_option(const std::string& names, Value& value, const std::string& meaning) const;
  Option add_option_function(const std::string& names, std::function<void(const std::string&)> take,
                             const std::string& meaning) const;
  /// `take` gets all values, however often the option was given.
  Option add_list_function(const std::string& names, std::function<void(const std::vector<std::string>&)> take,
                           const std::string& meaning) const;
  Option add_flag(const std::string& names, bool& value, const std::string& meaning) const;
  Option add_flag_callback(const std::string& names, std::function<void()> take, const std::string& meaning) const;

  [[nodiscard]] Option option(const std::string& name) const;
  [[nodiscard]] std::optional<Option> find_option(const std::string& name) const;
  [[nodiscard]] std::vector<Option> options() const;
  /// How often it was given.
  [[nodiscard]] std::size_t count(const std::string& name) const;
  /// Names of the options that were given; positional arguments are left out.
  [[nodiscard]] std::vector<std::string> given() const;

  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::string description() const;
  /// The line "Usage: NAME [OPTIONS] FILE" of the help.
  [[nodiscard]] std::string usage(const std::string& name) const;
  [[nodiscard]] std::vector<Command> subcommands() const;
  /// The subcommand that the parsed words name.
  [[nodiscard]] std::optional<Command> chosen() const;
  /// The parsed words that nothing takes.
  [[nodiscard]] std::vector<std::string> remaining() const;

 private:
  CLI::App* app_;
};

/// The outcome of a command line.
struct Parsed {
  enum class Outcome { ran, answered, refused };
  Outcome outcome = Outcome::ran;
  std::string text;  ///< answered: the help or version that was asked for; refused: CLI11's sentence (usage_error.h)
};

/// A program's command line. It owns the commands and options.
class Application {
 public:
  Application(const std::string& description, const std::string& name);
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;
  ~Application();

  /// The text of -V, --version.
  void version(const std::string& text);
  [[nodiscard]] Command command() const { return Command(*app_); }
  /// Parses the words behind the program's name and runs the callbacks of what they name.
  [[nodiscard]] Parsed parse(std::vector<std::string> words);
  [[nodiscard]] Parsed parse(int argc, const char* const* argv);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace trident::command_line
