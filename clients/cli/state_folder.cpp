#include "clients/cli/state_folder.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace trident::cli {

Result<std::string> state_folder(const std::string& given) {
  if (!given.empty()) return given;
  const char* xdg = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  if (xdg != nullptr && xdg[0] == '/') return std::string(xdg) + "/trident";
  if (home != nullptr && home[0] == '/') return std::string(home) + "/.local/state/trident";
  return make_error(ErrorCode::kNotFound,
                    "neither XDG_STATE_HOME nor HOME says where the daemon keeps what it learns; use --state FOLDER");
}

std::string journal_path(const std::string& state) {
  return state + "/journal";
}

Result<store::Versions> weight_versions(const std::string& state) {
  return store::Versions::open(state + "/weights");
}

store::Versions weight_versions_there(const std::string& state) {
  auto versions = store::Versions::at(state + "/weights");
  std::error_code ignored;
  const bool no_state = !std::filesystem::exists(state, ignored);
  const std::string& absent = no_state ? state : versions.folder();
  if (no_state || (std::filesystem::is_directory(state, ignored) && !std::filesystem::exists(absent, ignored)))
    std::fprintf(stderr,
                 "trident: %s: there is no such folder, so no weights were promoted or chosen; is --state that of the "
                 "daemon (tridentd --state)?\n",
                 absent.c_str());
  return versions;
}

void add_state_option(CLI::App& verb, std::string& state) {
  verb.add_option("--state", state,
                  "The daemon's folder of what is learnt (tridentd --state); the system's: /var/lib/tridentd. Default: "
                  "the user's (FILES, below)");
}

}  // namespace trident::cli
