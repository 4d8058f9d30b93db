// Help and man pages cannot name an option that a verb lacks: both are written from the application itself. The prose
// is a file for each verb, pages/VERB.txt, and pages/VERB-PART.txt where a part has more to say than its verb.
#include "clients/cli/manual.h"

#include <cstdio>
#include <filesystem>
#include <memory>

#include "clients/cli/manual_page_texts.h"
#include "clients/cli/verb/verb.h"
#include "jit/egraph/search.h"
#include "runtime/base/nearest.h"
#include "runtime/command_line/command_help.h"

namespace trident::cli {
namespace {

constexpr const char* kProgram = "trident";
constexpr std::string_view kPrefix = "trident-";

/// Calls `take` with the application and everything below it: take(app, "trident train guide").
template <class Take>
void for_each_command(const Verb& app, const std::string& command, const Take& take) {
  take(app, command);
  for (const Verb& part : app.subcommands()) for_each_command(part, command + " " + part.name(), take);
}

command_line::Title title_of(const std::string& command) {
  return {command, 1, "trident " TRIDENT_VERSION};
}

/// Returns the reasons for which a search stops, from its own table.
command_line::Section reasons_to_stop() {
  command_line::Section section{"REASONS TO STOP", ""};
#define X(name, meaning) section.text += #name " :: " meaning "\n";
  TRIDENT_SEARCH_STOPS(X)
#undef X
  return section;
}

std::string without_prefix(const std::string& name) {
  return name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
}

/// Returns the page of a command; the page of its verb where a part has none.
command_line::Page page_of(const std::string& command) {
  const std::string file = without_prefix(command_line::page_name(command)) + ".txt";
  for (const EmbeddedFile& text : kManualPageTexts) {
    if (text.name != file) continue;
    command_line::Page page = command_line::parse_page(text.text);
    if (file == "rewrite.txt") page.sections.push_back(reasons_to_stop());
    return page;
  }
  const std::size_t last = command.rfind(' ');
  return last == std::string::npos ? command_line::Page() : page_of(command.substr(0, last));
}

struct Written {
  std::string name, description, roff;
};

std::vector<Written> written_pages(const Verb& app) {
  std::vector<Written> pages;
  for_each_command(app, kProgram, [&](const Verb& of, const std::string& command) {
    pages.push_back({command_line::page_name(command), of.description(),
                     command_line::man_page(of, title_of(command), page_of(command))});
  });
  return pages;
}

int list_pages(const std::vector<Written>& pages) {
  for (const Written& page : pages) std::printf("%-24s  %s\n", page.name.c_str(), page.description.c_str());
  return 0;
}

int write_pages(const std::vector<Written>& pages, const std::string& folder) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);  // a failure shows when a page is written
  for (const Written& page : pages)
    if (const auto done = write_text((std::filesystem::path(folder) / (page.name + ".1")).string(), page.roff); !done)
      return report(done.error());
  return 0;
}

int print_page(const std::vector<Written>& pages, const std::string& wanted) {
  std::vector<std::string> names;
  for (const Written& page : pages) {
    if (without_prefix(page.name) == without_prefix(wanted)) {
      std::fputs(page.roff.c_str(), stdout);
      return 0;
    }
    names.push_back(without_prefix(page.name));
  }
  constexpr std::size_t kTyposMax = 2;
  const std::string meant = nearest(names, without_prefix(wanted), kTyposMax);
  return report(Error{ErrorCode::kInvalidArgument, "there is no page '" + wanted + "'" +
                                                       (meant.empty() ? "" : ": did you mean '" + meant + "'?") +
                                                       "\n`trident manual` lists all pages"});
}

std::string joined(const std::vector<std::string>& words) {
  std::string name;
  for (const std::string& word : words) name += (name.empty() ? "" : "-") + word;
  return name;
}

}  // namespace

void add_manual(Verb app) {
  for_each_command(app, kProgram, [](const Verb& of, const std::string& command) {
    command_line::add_help(of, title_of(command), page_of(command));
  });
}

void add_manual_command(Verb app, int& status) {
  struct ManualVerb {
    std::vector<std::string> page;
    std::string folder;
  };
  const Verb verb = app.add_subcommand("manual", "List, print or write man pages");
  auto state = std::make_shared<ManualVerb>();
  verb.add_option("PAGE", state->page, "A verb, or a verb and its part; without it all pages are listed");
  verb.add_option("--folder", state->folder, "Write all pages to this folder")
      .check(file_name_fault)
      .excludes({"PAGE"});
  verb.callback([app, &status, state] {
    const std::vector<Written> pages = written_pages(app);
    status = !state->folder.empty() ? write_pages(pages, state->folder)
             : state->page.empty()  ? list_pages(pages)
                                    : print_page(pages, joined(state->page));
  });
}

std::string manual_pages(Verb app) {
  std::string names;
  for_each_command(app, kProgram, [&](const Verb&, const std::string& command) {
    names += (names.empty() ? "" : " ") + without_prefix(command_line::page_name(command));
  });
  return names;
}

}  // namespace trident::cli
