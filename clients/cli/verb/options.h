// Verbs and their options: the one door to CLI11, whose header takes seconds to compile. A verb and an option are
// handles of what the application owns, with CLI11's names for what they do.
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace trident::cli {

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

class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option check(const Check& check) const;
  Option check(const Fault& fault) const;
  Option required() const;
  /// The default in the help is the value that the variable has now.
  Option capture_default_str() const;
  Option default_str(const std::string& text) const;
  Option default_val(std::uint64_t value) const;
  /// All values count where it is repeated, not the last alone.
  Option take_all() const;
  Option expected(int values) const;
  Option allow_extra_args(bool take) const;
  Option delimiter(char between) const;
  Option needs(Option other) const;
  Option excludes(Option other) const;
  Option excludes(std::initializer_list<const char*> names) const;

 private:
  CLI::Option* option_;
};

class Verb {
 public:
  explicit Verb(CLI::App& app) : app_(&app) {}

  [[nodiscard]] Verb add_subcommand(const std::string& name, const std::string& meaning) const;
  /// One of its subcommands must follow.
  void require_subcommand() const;
  void callback(std::function<void()> run) const;

  /// `names`: "-n,--n", or "FILE" for what stands without a name. `value`, which must live as long as the application,
  /// holds the default: a bool, a number, a text, or a list of texts.
  template <class Value>
  Option add_option(const std::string& names, Value& value, const std::string& meaning) const;
  Option add_option_function(const std::string& names, std::function<void(const std::string&)> take,
                             const std::string& meaning) const;
  Option add_flag(const std::string& names, bool& value, const std::string& meaning) const;

  [[nodiscard]] Option option(const std::string& name) const;
  /// How often it was given.
  [[nodiscard]] std::size_t count(const std::string& name) const;
  /// Names of the options that were given; positional arguments are left out.
  [[nodiscard]] std::vector<std::string> given() const;

 private:
  CLI::App* app_;
};

}  // namespace trident::cli
