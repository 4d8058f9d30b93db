#include "runtime/command_line/command_help.h"

#include <algorithm>
#include <vector>

#include "runtime/command_line/roff.h"

namespace trident::command_line {
namespace {

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
std::string synopsis(const Command& of, const Title& title) {
  std::string usage = of.usage(title.command);
  usage.erase(0, usage.find(title.command));
  return roff_line(usage.substr(0, usage.find('\n'))) + "\n";
}

std::string options(const Command& of, bool positional) {
  std::string out;
  for (const Option& option : of.options())
    if (option.is_positional() == positional && option.is_listed())
      out += roff_definition(option.names() + option.value_hint(), option.description());
  return out;
}

std::string parts(const Command& of, const Title& title) {
  std::string out;
  for (const Command& part : of.subcommands())
    out += roff_definition(title.command + " " + part.name(), part.description());
  return out;
}

std::string see_also(const Command& of, const Title& title, const Page& page) {
  std::string names;
  const auto add = [&](const std::string& command) {
    names += (names.empty() ? "" : ", ") + ("`" + page_name(command) + "`(1)");
  };
  if (const std::size_t last = title.command.rfind(' '); last != std::string::npos) add(title.command.substr(0, last));
  for (const Command& part : of.subcommands()) add(title.command + " " + part.name());
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

void add_help(const Command& of, const Title& title, const Page& page) {
  of.lay_out_help(footer_of(title, page));
}

std::string man_page(const Command& of, const Title& title, const Page& page) {
  const std::string name = roff_line(page_name(title.command));
  const auto text = [&](const char* title_of) { return roff_section(page.text_of(title_of)); };
  return ".TH " + name + " " + std::to_string(title.chapter) + " \"\" \"" + roff_line(title.source) +
         "\" Trident\n.nh\n.ad l\n" + section("NAME", name + " \\- " + roff_prose(of.description()) + "\n") +
         section("SYNOPSIS", synopsis(of, title)) + section("DESCRIPTION", text("SUMMARY") + text("DETAILS")) +
         section("COMMANDS", parts(of, title)) + section("ARGUMENTS", options(of, true)) +
         section("OPTIONS", options(of, false)) + section("EXAMPLES", text("EXAMPLE") + text("EXAMPLES")) +
         other_sections(page) + section("SEE ALSO", see_also(of, title, page));
}

}  // namespace trident::command_line
