// Settings from defaults, a configuration file, and flags, in rising order of precedence. One table: settings.def.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/log/log.h"

namespace trident::config {

using text = std::string;
using number = std::uint64_t;
using flag = bool;
using list = std::vector<std::string>;

struct Settings {
#define X(name, type, standard, min, max, meaning) type name = standard;
#include "daemon/config/settings.def"
#undef X
};

/// --check-config: the settings shall be tried, and nothing served.
struct CheckOnly {
  Settings settings;
};

/// The program has said what it was asked (--help, --version) and shall end.
struct Answered {
  int exit_status = 0;
};

/// Reads flags, and a file: the one that --config names (none: no file), else $CONFIGURATION_DIRECTORY/tridentd.toml
/// where that is set, else the first that exists of $XDG_CONFIG_HOME/trident/tridentd.toml,
/// ~/.config/trident/tridentd.toml and /etc/trident/tridentd.toml. A file that exists and cannot be read is an error:
/// nobody would miss its settings. Prints only for --help, --version and wrong flags. Errors: InvalidArgument,
/// SyntaxError with file and line; those of os::read_file(), with their mend.
Result<std::variant<Settings, Answered, CheckOnly>> load(int argc, const char* const* argv);

/// Names of the settings in which `wanted` differs and that take effect at the next start only.
std::vector<std::string> waiting_for_restart(const Settings& running, const Settings& wanted);

/// Settings from the text of a configuration file on top of `base`; `file` is named in errors.
Result<Settings> apply_file(const Settings& base, std::string_view text, const std::string& file);

/// A file's text, of 1 MiB at most. Errors: those of os::read_file().
Result<std::string> read_file(const std::string& path);

/// Numbers in range, words known.
Result<void> check(const Settings& settings);

Result<log::Level> log_level_of(const std::string& name);
/// The path to listen at when no socket was passed in.
std::string socket_path(const Settings& settings);
/// The cache file; empty for none.
std::string cache_path(const Settings& settings);
/// Returns the cure for a file that cannot be read: the right to read it, the file itself, or another one with `flag`.
std::string cure_of_reading(const std::string& path, const std::string& flag);
/// Descriptors that the front and a few clients need, and those that each worker adds.
constexpr std::uint64_t kOpenFilesOfFront = 34, kOpenFilesOfWorker = 2;
/// Returns the number of optimise workers. They run at low priority, so that they take the time of idle processors.
/// Where the settings leave it open, there are no more than a daemon with `open_files` descriptors can serve, and one.
std::uint32_t optimise_workers(const Settings& settings, std::uint64_t open_files);
/// The state folder, where learning is kept; empty for none.
std::string state_path(const Settings& settings);

/// Says what a daemon without a home does not do: one sentence for each path that is empty although no setting says
/// "none".
std::vector<std::string> missing_places(const Settings& settings);

}  // namespace trident::config
