// Where the daemon keeps what it learns (daemon/learning), for the programs that look there.
#pragma once

#include <string>

#include "runtime/base/result.h"
#include "runtime/store/versions.h"

namespace trident::store {

/// `given`, else as the user's daemon has it: $XDG_STATE_HOME/trident, else ~/.local/state/trident. NotFound without a
/// home.
Result<std::string> state_folder(const std::string& given);
std::string journal_path(const std::string& state);
/// The folder of what is learnt of programs of Triton VM.
std::string programs_folder(const std::string& state);
Result<Versions> weight_versions(const std::string& state);

}  // namespace trident::store
