#include "daemon/config/config.h"

#include <toml++/toml.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <vector>

#include "daemon/config/manual_page_text.h"
#include "runtime/base/nearest.h"
#include "runtime/command_line/command_help.h"
#include "runtime/command_line/usage_error.h"
#include "runtime/os/atomic_file.h"
#include "runtime/os/cpu.h"
#include "runtime/os/self.h"

namespace trident::config {
namespace {

constexpr const char* kSystemSocket = "/run/trident/tridentd.sock";
constexpr std::size_t kFileBytesMax = 1 << 20;

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string flag_of(std::string name) {
  for (char& c : name)
    if (c == '_') c = '-';
  return "--" + name;
}

std::vector<std::string> standard_files() {
  std::vector<std::string> files;
  const auto add = [&](const std::string& base, const char* rest) {
    if (!base.empty()) files.push_back(base + rest);
  };
  add(from_environment("CONFIGURATION_DIRECTORY"), "/tridentd.toml");
  if (!files.empty()) return files;  // a service that sets it wants no other file
  add(from_environment("XDG_CONFIG_HOME"), "/trident/tridentd.toml");
  add(from_environment("HOME"), "/.config/trident/tridentd.toml");
  files.emplace_back("/etc/trident/tridentd.toml");
  return files;
}

/// Says what a value of the setting must be; one overload per type of settings.def.
const char* wanted(const text&) {
  return "a text such as \"a\", with no zero byte in it";
}
const char* wanted(number) {
  return "a whole number, not negative";
}
const char* wanted(flag) {
  return "true or false";
}
const char* wanted(const list&) {
  return "a text, or an array of texts such as [\"a\", \"b\"]";
}

/// Names the setting that was probably meant, or where all are listed.
std::string unknown_setting(const std::string& name) {
  const std::vector<std::string> names = {
#define X(name, type, standard, min, max, meaning) #name,
#include "daemon/config/settings.def"
#undef X
  };
  const std::string meant = nearest(names, name, std::max<std::size_t>(2, name.size() / 2));
  return "unknown setting '" + name + "'" +
         (meant.empty() ? ": tridentd --help lists all settings" : ": did you mean " + meant + "?");
}

/// One overload per type of settings.def.
bool assign(const toml::node& node, text& to) {
  const auto value = node.value_exact<std::string>();
  if (!value || value->find('\0') != std::string::npos) return false;  // the system would read a part of it
  to = *value;
  return true;
}
bool assign(const toml::node& node, number& to) {
  const auto value = node.value_exact<std::int64_t>();
  if (!value || *value < 0) return false;
  to = static_cast<number>(*value);
  return true;
}
bool assign(const toml::node& node, flag& to) {
  const auto value = node.value_exact<bool>();
  if (value) to = *value;
  return value.has_value();
}

bool assign(const toml::node& node, list& to) {
  list texts;
  if (text one; assign(node, one)) {
    texts.push_back(one);
  } else {
    const toml::array* array = node.as_array();
    if (array == nullptr) return false;
    for (const toml::node& element : *array)
      if (!assign(element, texts.emplace_back())) return false;
  }
  to = std::move(texts);
  return true;
}

bool in_range(const text&, number, number) {
  return true;
}
bool in_range(const list&, number, number) {
  return true;
}
bool in_range(flag, number, number) {
  return true;
}
bool in_range(number value, number min, number max) {
  return value >= min && value <= max;
}

Error outside(const std::string& name, number min, number max) {
  return make_error(ErrorCode::kInvalidArgument, "%s is outside %llu..%llu", name.c_str(),
                    static_cast<unsigned long long>(min), static_cast<unsigned long long>(max));
}

struct Flags {
#define X(name, type, standard, min, max, meaning) std::optional<type> name;
#include "daemon/config/settings.def"
#undef X
  std::string config;
  bool check_config = false, manual = false;
};

using command_line::Command;

void add_option(const Command& app, const std::string& name, std::optional<text>& to, const std::string& meaning,
                const text& standard) {
  app.add_option(name, to, meaning).default_str(standard).take_last();
}
void add_option(const Command& app, const std::string& name, std::optional<number>& to, const std::string& meaning,
                number standard) {
  app.add_option(name, to, meaning).default_str(std::to_string(standard)).take_last();
}
void add_option(const Command& app, const std::string& name, std::optional<flag>& to, const std::string& meaning,
                flag) {
  app.add_flag_callback(
      name, [&to] { to = true; }, meaning);
}

void add_option(const Command& app, const std::string& name, std::optional<list>& to, const std::string& meaning,
                const list&) {
  app.add_list_function(
         name, [&to](const list& given) { to = given; }, meaning)
      .allow_extra_args(false);
}

/// Returns the exit status of what was printed: 1 where it was not written.
int written() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
  std::fputs("tridentd: standard output cannot be written\n", stderr);
  return 1;
}

std::optional<Answered> parse_flags(int argc, const char* const* argv, Flags& flags) {
  command_line::Application program("Compile math expressions for clients on this machine", "tridentd");
  program.version("tridentd " TRIDENT_VERSION " (build " + os::build_id() + ")");
  const Command app = program.command();
  app.add_option("--config", flags.config, "Configuration file in TOML, or none; keys are these names with underscores")
      .take_last();
  app.add_flag("--check-config", flags.check_config, "Try the settings and the files that they name, then exit");
  app.add_flag("--manual", flags.manual, "Print the man page in roff, then exit");
  const Settings standard;
#define X(name, type, unused, min, max, meaning) add_option(app, flag_of(#name), flags.name, meaning, standard.name);
#include "daemon/config/settings.def"
#undef X
  const command_line::Title title{"tridentd", 8, "tridentd " TRIDENT_VERSION};
  const command_line::Page page = command_line::parse_page(kManualPageText[0].text);
  command_line::add_help(app, title, page);
  const std::optional<int> status = command_line::exit_status(program, program.parse(argc, argv));
  if (status) return Answered{*status == 0 ? written() : *status};
  if (!flags.manual) return std::nullopt;
  std::fputs(command_line::man_page(app, title, page).c_str(), stdout);
  return Answered{written()};
}

Result<void> check_log_level(const Settings& settings) {
  TRY([[maybe_unused]] const log::Level level, log_level_of(settings.log_level));
  return {};
}

/// Reads the file that is named, else the first standard one that exists. Without any, returns the defaults.
Result<Settings> settings_of_files(const std::string& named) {
  if (named == "none") return Settings();
  for (const std::string& file : named.empty() ? standard_files() : std::vector{named}) {
    const auto text = read_file(file);
    if (text.ok()) return apply_file({}, *text, file);
    std::error_code code;
    const bool leads_nowhere = std::filesystem::is_symlink(std::filesystem::symlink_status(file, code));
    if (named.empty() && text.error().code == ErrorCode::kNotFound && !leads_nowhere) continue;
    return make_error(text.error().code, "%s: %s", text.error().message.c_str(),
                      cure_of_reading(file, "--config (none: without a file)").c_str());
  }
  return Settings();
}

}  // namespace

Result<Settings> apply_file(const Settings& base, std::string_view text, const std::string& file) {
  Settings settings = base;
  try {
    const toml::table table = toml::parse(text, file);
    for (const auto& [key, node] : table) {
      const char* must_be = nullptr;
      bool fits = false;
      Result<void> value = Result<void>();
#define X(name, type, standard, min, max, meaning)                            \
  if (key == #name) {                                                         \
    must_be = wanted(settings.name);                                          \
    fits = assign(node, settings.name);                                       \
    if (!in_range(settings.name, min, max)) value = outside(#name, min, max); \
  }
#include "daemon/config/settings.def"
#undef X
      const std::string name(key.str());
      const auto line = static_cast<unsigned>(node.source().begin.line);
      if (must_be == nullptr)
        return make_error(ErrorCode::kInvalidArgument, "%s:%u: %s", file.c_str(), line, unknown_setting(name).c_str());
      if (!fits)
        return make_error(ErrorCode::kInvalidArgument, "%s:%u: setting '%s' must be %s", file.c_str(), line,
                          name.c_str(), must_be);
      if (name == "log_level") value = check_log_level(settings);
      if (!value.ok())
        return make_error(value.error().code, "%s:%u: %s", file.c_str(), line, value.error().message.c_str());
    }
  } catch (const toml::parse_error& error) {
    return make_error(ErrorCode::kSyntaxError, "%s:%u: %s", file.c_str(),
                      static_cast<unsigned>(error.source().begin.line), std::string(error.description()).c_str());
  }
  return settings;
}

Result<std::string> read_file(const std::string& path) {
  TRY(const std::vector<std::byte> bytes, os::read_file(path, kFileBytesMax));
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::string cure_of_reading(const std::string& path, const std::string& flag) {
  std::error_code code;
  const std::filesystem::file_status status = std::filesystem::status(path, code);
  const bool hidden = code == std::errc::permission_denied;
  std::string cure;
  if (hidden ||
      (std::filesystem::is_regular_file(status) && ::faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) != 0))
    cure = "let user " + std::to_string(os::effective_uid()) + " read it, or ";
  if (status.type() == std::filesystem::file_type::not_found) cure = "write it, or ";
  return cure + "name another file with " + flag;
}

Result<void> check(const Settings& settings) {
#define X(name, type, standard, min, max, meaning) \
  if (!in_range(settings.name, min, max)) return outside(#name, min, max);
#include "daemon/config/settings.def"
#undef X
  return check_log_level(settings);
}

Result<std::variant<Settings, Answered, CheckOnly>> load(int argc, const char* const* argv) {
  using Loaded = std::variant<Settings, Answered, CheckOnly>;
  Flags flags;
  if (const auto answered = parse_flags(argc, argv, flags)) return Loaded(*answered);
  TRY(Settings settings, settings_of_files(flags.config));
#define X(name, type, standard, min, max, meaning) \
  if (flags.name) settings.name = *flags.name;
#include "daemon/config/settings.def"
#undef X
  TRY_VOID(check(settings));
  return flags.check_config ? Loaded(CheckOnly{settings}) : Loaded(settings);
}

std::vector<std::string> waiting_for_restart(const Settings& running, const Settings& wanted) {
  std::vector<std::string> names;
#define X(name, type, standard, min, max, meaning) \
  if (running.name != wanted.name && !std::string_view(meaning).ends_with("(reload)")) names.emplace_back(#name);
#include "daemon/config/settings.def"
#undef X
  return names;
}

Result<log::Level> log_level_of(const std::string& name) {
  for (const auto level : {log::Level::debug, log::Level::info, log::Level::warning, log::Level::error})
    if (log::name_of(level) == name) return level;
  return make_error(ErrorCode::kInvalidArgument, "log_level '%s' is unknown: expected debug, info, warning or error",
                    name.c_str());
}

std::string socket_path(const Settings& settings) {
  if (!settings.socket.empty()) return settings.socket;
  const std::string runtime = from_environment("XDG_RUNTIME_DIR");
  return runtime.empty() ? kSystemSocket : runtime + "/trident/tridentd.sock";
}

std::string cache_path(const Settings& settings) {
  if (settings.cache == "none") return {};
  if (!settings.cache.empty()) return settings.cache;
  constexpr const char* kFile = "/kernels.db";
  if (const std::string directory = from_environment("CACHE_DIRECTORY"); !directory.empty()) return directory + kFile;
  if (const std::string base = from_environment("XDG_CACHE_HOME"); !base.empty()) return base + "/trident" + kFile;
  if (const std::string home = from_environment("HOME"); !home.empty()) return home + "/.cache/trident" + kFile;
  return {};
}

std::uint32_t optimise_workers(const Settings& settings, std::uint64_t open_files) {
  if (settings.workers != 0) return static_cast<std::uint32_t>(settings.workers);
  constexpr std::uint64_t kByItselfMax = 4;  // each may take some hundred megabytes
  const std::uint64_t others = kOpenFilesOfFront + kOpenFilesOfWorker * settings.baseline_workers;
  const std::uint64_t spare = open_files > others ? (open_files - others) / kOpenFilesOfWorker : 0;
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(spare, 1, std::min<std::uint64_t>(os::usable_cpus(), kByItselfMax)));
}

std::string state_path(const Settings& settings) {
  if (settings.state == "none") return {};
  if (!settings.state.empty()) return settings.state;
  // Several directories are separated by colons; the first one is meant.
  if (const std::string given = from_environment("STATE_DIRECTORY"); !given.empty())
    return given.substr(0, given.find(':'));
  if (const std::string base = from_environment("XDG_STATE_HOME"); !base.empty()) return base + "/trident";
  if (const std::string home = from_environment("HOME"); !home.empty()) return home + "/.local/state/trident";
  return {};
}

std::vector<std::string> missing_places(const Settings& settings) {
  std::vector<std::string> missing;
  if (settings.cache.empty() && cache_path(settings).empty())
    missing.emplace_back(
        "there is no file for the cache, because HOME, XDG_CACHE_HOME and CACHE_DIRECTORY are unset: kernels are "
        "cached in memory only; name a file (or none) with --cache");
  if (settings.state.empty() && state_path(settings).empty())
    missing.emplace_back(
        "there is no state folder, because HOME, XDG_STATE_HOME and STATE_DIRECTORY are unset: submitted expressions "
        "are not recorded, and nothing is learnt; name a folder (or none) with --state");
  return missing;
}

}  // namespace trident::config
