// Log lines of programs that run unattended. One logger per process, to standard error.
//
// Three forms: text for a terminal, the journal's ("<6>message", priorities as in syslog; time and unit are the
// journal's own), JSON lines for collectors. Control bytes are escaped in all of them, so a line is a line whatever
// a message quotes from outside.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace trident::log {

enum class Level : std::uint8_t { debug, info, warning, error };
/// "debug", "info", "warning", "error".
std::string_view name_of(Level level);

enum class Form : std::uint8_t { text, journal, json };

struct Options {
  Level level = Level::info;  ///< lines below it are dropped
  Form form = Form::text;
  std::string tag;  ///< names the process in each line, such as "tridentd"
};
/// Replaces the options. Not to be called while another thread logs.
void configure(const Options& options);
/// journal when standard error is the journal, else text.
Form detect_form();

[[nodiscard]] bool enabled(Level level);
void write(Level level, std::string_view message);

template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::debug)) write(Level::debug, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::info)) write(Level::info, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void warning(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::warning)) write(Level::warning, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::error)) write(Level::error, fmt::format(format, std::forward<Args>(args)...));
}

/// One line as it is written, newline included. `unix_ms` is the time since 1970.
std::string format_line(Form form, std::string_view tag, Level level, std::int64_t unix_ms, std::string_view message);

}  // namespace trident::log
