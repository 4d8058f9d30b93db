#include "runtime/store/state_folder.h"

#include <cstdlib>

namespace trident::store {

Result<std::string> state_folder(const std::string& given) {
  if (!given.empty()) return given;
  const char* xdg = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  if (xdg != nullptr && xdg[0] == '/') return std::string(xdg) + "/trident";
  if (home != nullptr && home[0] == '/') return std::string(home) + "/.local/state/trident";
  return make_error(ErrorCode::kNotFound,
                    "no state folder: neither XDG_STATE_HOME nor HOME is an absolute path; use --state FOLDER");
}

std::string journal_path(const std::string& state) {
  return state + "/journal";
}

std::string programs_folder(const std::string& state) {
  return state + "/programs";
}

Result<Versions> weight_versions(const std::string& state) {
  return Versions::open(state + "/weights");
}

}  // namespace trident::store
