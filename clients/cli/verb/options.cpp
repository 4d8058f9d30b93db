#include "clients/cli/verb/options.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <utility>

namespace trident::cli {

Check::Check(const CLI::Validator& validator) : validator_(std::make_shared<const CLI::Validator>(validator)) {}

template <class Number>
Check range(Number least, Number most) {
  return Check(CLI::Range(least, most));
}
/// CLI11 asks whether a number lies outside, which NaN does not.
template <>
Check range(double least, double most) {
  const CLI::Validator numbers = CLI::Range(least, most);
  CLI::Validator validator = numbers;
  validator.operation([numbers](std::string& text) {
    const bool is_nan = std::isnan(std::strtod(text.c_str(), nullptr));
    return is_nan ? "Value " + text + " is not a number" : numbers(text);
  });
  return Check(validator);
}
template Check range(int, int);
template Check range(unsigned, unsigned);
template Check range(std::uint64_t, std::uint64_t);

Check one_of(std::vector<std::string> words) {
  return Check(CLI::IsMember(std::move(words)));
}

Check existing_file() {
  return Check(CLI::ExistingFile);
}

Option Option::check(const Check& check) const {
  return Option(option_->check(check.validator()));
}
Option Option::check(const Fault& fault) const {
  return Option(option_->check(fault, "", ""));
}
Option Option::required() const {
  return Option(option_->required());
}
Option Option::capture_default_str() const {
  return Option(option_->capture_default_str());
}
Option Option::default_str(const std::string& text) const {
  return Option(option_->default_str(text));
}
Option Option::default_val(std::uint64_t value) const {
  return Option(option_->default_val(value));
}
Option Option::take_all() const {
  return Option(option_->take_all());
}
Option Option::expected(int values) const {
  return Option(option_->expected(values));
}
Option Option::allow_extra_args(bool take) const {
  return Option(option_->allow_extra_args(take));
}
Option Option::delimiter(char between) const {
  return Option(option_->delimiter(between));
}
Option Option::needs(Option other) const {
  return Option(option_->needs(other.option_));
}
Option Option::excludes(Option other) const {
  return Option(option_->excludes(other.option_));
}
Option Option::excludes(std::initializer_list<const char*> names) const {
  for (const char* name : names) option_->excludes(std::string(name));
  return *this;
}

Verb Verb::add_subcommand(const std::string& name, const std::string& meaning) const {
  return Verb(*app_->add_subcommand(name, meaning));
}
void Verb::require_subcommand() const {
  app_->require_subcommand(1);
}
void Verb::callback(std::function<void()> run) const {
  app_->callback(std::move(run));
}

template <class Value>
Option Verb::add_option(const std::string& names, Value& value, const std::string& meaning) const {
  return Option(app_->add_option(names, value, meaning));
}
template Option Verb::add_option(const std::string&, std::string&, const std::string&) const;
template Option Verb::add_option(const std::string&, std::vector<std::string>&, const std::string&) const;
template Option Verb::add_option(const std::string&, unsigned&, const std::string&) const;
template Option Verb::add_option(const std::string&, std::uint64_t&, const std::string&) const;
template Option Verb::add_option(const std::string&, double&, const std::string&) const;
template Option Verb::add_option(const std::string&, std::optional<unsigned>&, const std::string&) const;

Option Verb::add_option_function(const std::string& names, std::function<void(const std::string&)> take,
                                 const std::string& meaning) const {
  return Option(app_->add_option_function<std::string>(names, std::move(take), meaning));
}
Option Verb::add_flag(const std::string& names, bool& value, const std::string& meaning) const {
  return Option(app_->add_flag(names, value, meaning));
}

Option Verb::option(const std::string& name) const {
  return Option(app_->get_option(name));
}
std::size_t Verb::count(const std::string& name) const {
  return app_->count(name);
}
std::vector<std::string> Verb::given() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : std::as_const(*app_).get_options())
    if (option->count() > 0 && !option->get_positional()) names.push_back(option->get_name());
  return names;
}

}  // namespace trident::cli
