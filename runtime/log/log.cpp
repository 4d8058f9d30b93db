#include "runtime/log/log.h"

#include <spdlog/formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <ctime>
#include <memory>

#include "runtime/base/check.h"
#include "runtime/os/service.h"

namespace trident::log {
namespace {

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::debug: return spdlog::level::debug;
    case Level::info: return spdlog::level::info;
    case Level::warning: return spdlog::level::warn;
    case Level::error: return spdlog::level::err;
  }
  CHECK(false);
}

Level from_spdlog(spdlog::level::level_enum level) {
  if (level <= spdlog::level::debug) return Level::debug;
  if (level == spdlog::level::info) return Level::info;
  return level == spdlog::level::warn ? Level::warning : Level::error;
}

/// syslog's numbers.
int priority_of(Level level) {
  switch (level) {
    case Level::debug: return 7;
    case Level::info: return 6;
    case Level::warning: return 4;
    case Level::error: return 3;
  }
  CHECK(false);
}

/// Control bytes become \n, \t or \u00XX; with `quotes`, JSON's two special characters are escaped as well.
std::string escaped(std::string_view text, bool quotes) {
  std::string out;
  out.reserve(text.size() + 2);
  for (const char c : text) {
    if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    else if (quotes && (c == '"' || c == '\\'))
      (out += '\\') += c;
    else
      out += c;
  }
  return out;
}

std::string utc(std::int64_t unix_ms) {
  const auto seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, unix_ms % 1000);
}

class LineFormatter : public spdlog::formatter {
 public:
  LineFormatter(Form form, std::string tag) : form_(form), tag_(std::move(tag)) {}
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(message.time.time_since_epoch()).count();
    const std::string line = format_line(form_, tag_, from_spdlog(message.level), ms,
                                         std::string_view(message.payload.data(), message.payload.size()));
    out.append(line.data(), line.data() + line.size());
  }
  [[nodiscard]] std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<LineFormatter>(form_, tag_);
  }

 private:
  Form form_;
  std::string tag_;
};

spdlog::logger& logger() {
  static spdlog::logger instance = [] {
    spdlog::logger made("trident", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made.set_formatter(std::make_unique<LineFormatter>(detect_form(), "trident"));
    return made;
  }();
  return instance;
}

}  // namespace

std::string_view name_of(Level level) {
  switch (level) {
    case Level::debug: return "debug";
    case Level::info: return "info";
    case Level::warning: return "warning";
    case Level::error: return "error";
  }
  CHECK(false);
}

void configure(const Options& options) {
  logger().set_level(to_spdlog(options.level));
  logger().set_formatter(std::make_unique<LineFormatter>(options.form, options.tag));
}

Form detect_form() {
  return os::stderr_is_journal() ? Form::journal : Form::text;
}

bool enabled(Level level) {
  return logger().should_log(to_spdlog(level));
}

void write(Level level, std::string_view message) {
  logger().log(to_spdlog(level), spdlog::string_view_t(message.data(), message.size()));
}

std::string format_line(Form form, std::string_view tag, Level level, std::int64_t unix_ms, std::string_view message) {
  switch (form) {
    case Form::text: return fmt::format("{} {} {}: {}\n", utc(unix_ms), tag, name_of(level), escaped(message, false));
    case Form::journal: return fmt::format("<{}>{}\n", priority_of(level), escaped(message, false));
    case Form::json:
      return fmt::format(R"({{"time":"{}","tag":"{}","level":"{}","message":"{}"}})"
                         "\n",
                         utc(unix_ms), escaped(tag, true), name_of(level), escaped(message, true));
  }
  CHECK(false);
}

}  // namespace trident::log
