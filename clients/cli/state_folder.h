// The folder in which the daemon keeps its learning (daemon/learning), for the verbs that look there.
#pragma once

#include <string>

#include "runtime/base/result.h"
#include "runtime/store/versions.h"

namespace CLI {
class App;
}

namespace trident::cli {

/// `given`, else as the user's daemon has it: $XDG_STATE_HOME/trident, else ~/.local/state/trident. NotFound without a
/// home.
Result<std::string> state_folder(const std::string& given);
std::string journal_path(const std::string& state);
Result<store::Versions> weight_versions(const std::string& state);
/// Opens the folder for reading: makes none. A missing folder is reported on standard error, and has no versions.
store::Versions weight_versions_there(const std::string& state);

void add_state_option(CLI::App& verb, std::string& state);

}  // namespace trident::cli
