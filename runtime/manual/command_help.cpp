#include "runtime/manual/command_help.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <vector>

#include "runtime/manual/roff.h"
#include "runtime/manual/usage_error.h"

namespace trident::manual {
namespace {

constexpr std::size_t kNameColumns = 30, kColumns = 110;

/// Breaks `text` at blanks, so that no line is longer than the column of descriptions.
std::string wrapped(const std::string& text) {
  std::string out, line;
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = std::min(text.find(' ', start), text.size());
    const std::string word = text.substr(start, end - start);
    if (!line.empty() && line.size() + 1 + word.size() > kColumns - kNameColumns) {
      out += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    start = end + 1;
  }
  return out + line;
}

/// Returns "-n,--n"; a flag that turns something off has "{false}" behind it in CLI11.
std::string names_of(const CLI::Option& option) {
  std::string names = option.get_name(option.get_positional(), true);
  for (std::size_t brace; (brace = names.find('{')) != std::string::npos;)
    names.erase(brace, names.find('}', brace) - brace + 1);
  return names;
}

/// Returns " N=4096"; CLI11 would add the bounds, which stand in the message when they are missed.
std::string value_of(const CLI::Option& option) {
  if (option.get_positional() || option.get_expected_max() == 0) return "";
  const std::string type = option.get_type_name();
  const bool whole = type.starts_with("UINT") || type.starts_with("INT") || type == "N";
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
  std::string make_option_desc(const CLI::Option* option) const override { return wrapped(option->get_description()); }
};

std::vector<const CLI::App*> parts_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::string footer_of(const Title& title, const Page& page) {
  std::string out(page.text_of("SUMMARY"));
  if (const std::string_view example = page.text_of("EXAMPLE"); !example.empty())
    out += "\n\nExample:\n" + std::string(example);
  return out + "\n\n`man " + page_name(title.command) + "` says more.";
}

std::string section(const std::string& name, const std::string& body) {
  return body.empty() ? "" : ".SH " + name + "\n" + body;
}

/// Returns "trident run [OPTIONS] EXPR" from CLI11's line "Usage: ...".
std::string synopsis(const CLI::App& app, const Title& title) {
  std::string usage = Formatter().make_usage(&app, title.command);
  usage.erase(0, usage.find(title.command));
  return roff_line(usage.substr(0, usage.find('\n'))) + "\n";
}

std::string options(const CLI::App& app, bool positional) {
  std::string out;
  for (const CLI::Option* option : app.get_options())
    if (option->get_positional() == positional && !option->get_group().empty())
      out += roff_definition(names_of(*option) + value_of(*option), option->get_description());
  return out;
}

std::string parts(const CLI::App& app, const Title& title) {
  std::string out;
  for (const CLI::App* part : parts_of(app))
    out += roff_definition(title.command + " " + part->get_name(), part->get_description());
  return out;
}

std::string see_also(const CLI::App& app, const Title& title, const Page& page) {
  std::string names;
  const auto add = [&](const std::string& command) {
    names += (names.empty() ? "" : ", ") + ("`" + page_name(command) + "`(1)");
  };
  if (const std::size_t last = title.command.rfind(' '); last != std::string::npos) add(title.command.substr(0, last));
  for (const CLI::App* part : parts_of(app)) add(title.command + " " + part->get_name());
  const std::string text(page.text_of("SEE ALSO"));
  return roff_section(names + (names.empty() || text.empty() ? "" : "\n\n") + text);
}

/// Sections that stand where the page has them; the others have a place of their own.
std::string other_sections(const Page& page) {
  std::string out;
  for (const Section& one : page.sections)
    if (one.title != "SUMMARY" && one.title != "DETAILS" && one.title != "EXAMPLE" && one.title != "EXAMPLES" &&
        one.title != "SEE ALSO")
      out += section(one.title, roff_section(one.text));
  return out;
}

}  // namespace

std::string page_name(const std::string& command) {
  std::string name = command;
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

void add_help(CLI::App& app, const Title& title, const Page& page) {
  app.formatter(std::make_shared<Formatter>());
  app.footer(footer_of(title, page));
  const std::string program = title.command.substr(0, title.command.find(' '));
  app.failure_message(
      [program](const CLI::App* of, const CLI::Error& error) { return usage_error(program, *of, error); });
}

std::string man_page(const CLI::App& app, const Title& title, const Page& page) {
  const std::string name = roff_line(page_name(title.command));
  const auto text = [&](const char* of) { return roff_section(page.text_of(of)); };
  return ".TH " + name + " " + std::to_string(title.chapter) + " \"\" \"" + roff_line(title.source) +
         "\" Trident\n.nh\n.ad l\n" + section("NAME", name + " \\- " + roff_prose(app.get_description()) + "\n") +
         section("SYNOPSIS", synopsis(app, title)) + section("DESCRIPTION", text("SUMMARY") + text("DETAILS")) +
         section("COMMANDS", parts(app, title)) + section("ARGUMENTS", options(app, true)) +
         section("OPTIONS", options(app, false)) + section("EXAMPLES", text("EXAMPLE") + text("EXAMPLES")) +
         other_sections(page) + section("SEE ALSO", see_also(app, title, page));
}

}  // namespace trident::manual
