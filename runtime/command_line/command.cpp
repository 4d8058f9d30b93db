#include "runtime/command_line/command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "runtime/command_line/page.h"
#include "runtime/os/process.h"

namespace trident::command_line {
namespace {

constexpr std::size_t kNameColumns = 30, kColumnsMax = 100, kColumnsMin = 60;
constexpr std::string_view kExampleHeading = "Example:";

/// Columns of the help: the terminal's, within bounds.
std::size_t help_columns() {
  const std::size_t columns = os::terminal_size(STDOUT_FILENO).columns;
  return columns == 0 ? kColumnsMax : std::clamp(columns, kColumnsMin, kColumnsMax);
}

/// Breaks `text` at blanks, so that no line is longer than `columns`.
std::string wrapped(const std::string& text, std::size_t columns) {
  std::string out, line;
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = std::min(text.find(' ', start), text.size());
    const std::string word = text.substr(start, end - start);
    if (!line.empty() && line.size() + 1 + word.size() > columns) {
      out += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    start = end + 1;
  }
  return out + line;
}

/// Breaks each paragraph anew. Headings, and lines that begin with a blank, stand as they are.
std::string reflowed(const std::string& text, std::size_t columns) {
  std::string out, paragraph;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) out += wrapped(paragraph, columns) + "\n";
    paragraph.clear();
  };
  for_each_line(text, [&](std::string_view line) {
    const bool stands = line.empty() || line.front() == ' ' || line == kExampleHeading;
    if (stands) end_paragraph();
    if (stands)
      out.append(line).append("\n");
    else
      paragraph.append(paragraph.empty() ? "" : " ").append(line);
  });
  end_paragraph();
  out.pop_back();
  return out;
}

/// A flag that turns something off has "{false}" behind its name in CLI11.
std::string names_of(const CLI::Option& option) {
  std::string names = option.get_name(option.get_positional(), true);
  for (std::size_t brace; (brace = names.find('{')) != std::string::npos;)
    names.erase(brace, names.find('}', brace) - brace + 1);
  return names;
}

/// CLI11 would add the bounds, which stand in the message when they are missed.
std::string value_of(const CLI::Option& option) {
  if (option.get_positional() || option.get_expected_max() == 0) return "";
  const std::string type = option.get_type_name();
  const bool whole = type.starts_with("UINT") || type.starts_with("INT");
  const std::string standard = option.get_default_str();
  return (whole ? " N" : type.starts_with("FLOAT") ? " X" : " TEXT") + (standard.empty() ? "" : "=" + standard);
}

class Formatter : public CLI::Formatter {
 public:
  Formatter() {
    column_width(kNameColumns);
    label("TEXT", "TEXT");
  }
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    return is_positional ? CLI::Formatter::make_option_name(option, true) : names_of(*option);
  }
  std::string make_option_opts(const CLI::Option* option) const override { return value_of(*option); }
  std::string make_option_desc(const CLI::Option* option) const override {
    return wrapped(option->get_description(), help_columns() - kNameColumns);
  }
};

}  // namespace

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
Option Option::transform(std::function<std::string(std::string)> change) const {
  return Option(option_->transform(std::move(change)));
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
Option Option::take_last() const {
  return Option(option_->take_last());
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
Option Option::group(const std::string& title) const {
  return Option(option_->group(title));
}
Option Option::excludes(Option other) const {
  return Option(option_->excludes(other.option_));
}
Option Option::excludes(std::initializer_list<const char*> names) const {
  for (const char* name : names) option_->excludes(std::string(name));
  return *this;
}

std::string Option::description() const {
  return option_->get_description();
}
std::string Option::names() const {
  return names_of(*option_);
}
std::vector<std::string> Option::dashed_names() const {
  std::vector<std::string> names;
  for (const std::string& name : option_->get_lnames()) names.push_back("--" + name);
  for (const std::string& name : option_->get_snames()) names.push_back("-" + name);
  return names;
}
std::string Option::value_hint() const {
  return value_of(*option_);
}
bool Option::takes_value() const {
  return option_->get_items_expected_max() > 0;
}
bool Option::is_positional() const {
  return option_->get_positional();
}
bool Option::is_listed() const {
  return !option_->get_group().empty();
}

Command Command::add_subcommand(const std::string& name, const std::string& meaning) const {
  return Command(*app_->add_subcommand(name, meaning));
}
void Command::require_subcommand() const {
  app_->require_subcommand(1);
}
void Command::callback(std::function<void()> run) const {
  app_->callback(std::move(run));
}

void Command::lay_out_help(const std::string& footer) const {
  app_->formatter(std::make_shared<Formatter>());
  app_->footer(reflowed(footer, help_columns()));
}

template <class Value>
Option Command::add_option(const std::string& names, Value& value, const std::string& meaning) const {
  return Option(app_->add_option(names, value, meaning));
}
template Option Command::add_option(const std::string&, std::string&, const std::string&) const;
template Option Command::add_option(const std::string&, std::vector<std::string>&, const std::string&) const;
template Option Command::add_option(const std::string&, unsigned&, const std::string&) const;
template Option Command::add_option(const std::string&, std::uint64_t&, const std::string&) const;
template Option Command::add_option(const std::string&, double&, const std::string&) const;
template Option Command::add_option(const std::string&, std::optional<unsigned>&, const std::string&) const;
template Option Command::add_option(const std::string&, std::optional<std::uint64_t>&, const std::string&) const;
template Option Command::add_option(const std::string&, std::optional<std::string>&, const std::string&) const;

Option Command::add_option_function(const std::string& names, std::function<void(const std::string&)> take,
                                    const std::string& meaning) const {
  return Option(app_->add_option_function<std::string>(names, std::move(take), meaning));
}
Option Command::add_list_function(const std::string& names, std::function<void(const std::vector<std::string>&)> take,
                                  const std::string& meaning) const {
  return Option(app_->add_option_function<std::vector<std::string>>(names, std::move(take), meaning));
}
Option Command::add_flag(const std::string& names, bool& value, const std::string& meaning) const {
  return Option(app_->add_flag(names, value, meaning));
}

Option Command::add_flag_callback(const std::string& names, std::function<void()> take,
                                  const std::string& meaning) const {
  return Option(app_->add_flag_callback(names, std::move(take), meaning));
}

Option Command::option(const std::string& name) const {
  return Option(app_->get_option(name));
}
std::optional<Option> Command::find_option(const std::string& name) const {
  CLI::Option* const found = app_->get_option_no_throw(name);
  return found == nullptr ? std::nullopt : std::optional(Option(found));
}
std::vector<Option> Command::options() const {
  std::vector<Option> all;
  for (CLI::Option* option : app_->get_options([](CLI::Option*) { return true; })) all.emplace_back(option);
  return all;
}
std::size_t Command::count(const std::string& name) const {
  return app_->count(name);
}
std::vector<std::string> Command::given() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : std::as_const(*app_).get_options())
    if (option->count() > 0 && !option->get_positional()) names.push_back(option->get_name());
  return names;
}

std::string Command::name() const {
  return app_->get_name();
}
std::string Command::description() const {
  return app_->get_description();
}
std::string Command::usage(const std::string& name) const {
  return Formatter().make_usage(app_, name);
}
std::vector<Command> Command::subcommands() const {
  std::vector<Command> all;
  for (CLI::App* part : app_->get_subcommands([](CLI::App*) { return true; })) all.emplace_back(*part);
  return all;
}
std::optional<Command> Command::chosen() const {
  const auto named = app_->get_subcommands();
  return named.empty() ? std::nullopt : std::optional(Command(*named.front()));
}
std::vector<std::string> Command::remaining() const {
  return app_->remaining();
}

Application::Application(const std::string& description, const std::string& name)
    : app_(std::make_unique<CLI::App>(description, name)) {}
Application::~Application() = default;

void Application::version(const std::string& text) {
  app_->set_version_flag("-V,--version", text);
}

/// CLI11 speaks through exceptions; they end here.
Parsed Application::parse(std::vector<std::string> words) {
  std::reverse(words.begin(), words.end());  // as CLI11 takes them
  try {
    app_->parse(std::move(words));
    return {};
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return {Parsed::Outcome::refused, error.what()};
    std::ostringstream answer;
    app_->exit(error, answer, answer);
    return {Parsed::Outcome::answered, answer.str()};
  }
}
Parsed Application::parse(int argc, const char* const* argv) {
  return parse(std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
}

}  // namespace trident::command_line
