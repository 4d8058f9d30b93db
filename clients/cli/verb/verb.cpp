#include "clients/cli/verb/verb.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "jit/ir/text.h"
#include "runtime/os/regular_file.h"

namespace trident::cli {

namespace {

bool is_control(unsigned char byte) {
  return (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F;
}

/// Returns the bytes of the control character that well-formed text begins with: 1, 2 (U+0080 to U+009F), 0 for none.
std::size_t control_bytes(std::string_view text) {
  if (is_control(static_cast<unsigned char>(text[0]))) return 1;
  return text[0] == '\xC2' && static_cast<unsigned char>(text[1]) < 0xA0 ? 2 : 0;
}

void append_escaped(std::string& to, std::string_view bytes) {
  for (const char byte : bytes) {
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
    to += escaped;
  }
}

void append_well_formed(std::string& to, std::string_view text) {
  while (!text.empty()) {
    const std::size_t control = control_bytes(text);
    if (control == 0) to += text[0];
    append_escaped(to, text.substr(0, control));
    text.remove_prefix(std::max<std::size_t>(control, 1));
  }
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t good = ir::utf8_bytes(text);
    append_well_formed(shown, text.substr(0, good));
    text.remove_prefix(good);
    append_escaped(shown, text.substr(0, 1));
    text.remove_prefix(std::min<std::size_t>(text.size(), 1));
  }
  return shown;
}

int report(const Error& error) {
  std::fprintf(stderr, "trident: %s\n", printable(error.message).c_str());
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kSyntaxError:
    case ErrorCode::kTypeError:
    case ErrorCode::kUnsupported:
    case ErrorCode::kLimitExceeded: return kExitUsage;
    case ErrorCode::kCancelled: return kExitInterrupted;
    case ErrorCode::kInternal:
    case ErrorCode::kOutOfMemory:
    case ErrorCode::kOsError:
    case ErrorCode::kNotFound:
    case ErrorCode::kTimeout:
    case ErrorCode::kDisconnected:
    case ErrorCode::kRejectedMessage:
    case ErrorCode::kRejectedImage:
    case ErrorCode::kRejectedRecord:
    case ErrorCode::kExecDenied:
    case ErrorCode::kNotEquivalent:
    case ErrorCode::kBusy: return kExitWrong;
  }
  CHECK(false);
}

std::string file_name_fault(const std::string& name) {
  return name.empty() ? "expected the name of a file, found an empty text" : "";
}

std::string negative_fault(const std::string& number) {
  const std::size_t first = number.find_first_not_of(' ');
  if (first == std::string::npos) return "";
  if (number[first] == '-') return "expected 0 or more, found " + number.substr(first);
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(number.data() + first, number.data() + number.size(), value);
  if (code == std::errc::result_out_of_range)
    return "expected at most " + std::to_string(UINT64_MAX) + ", found " + number.substr(first);
  return "";
}

Result<void> write_text(const std::string& path, const std::string& text) {
  if (path == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return {};
  }
  errno = 0;
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out && errno == EISDIR) return os::folder_error(path);
  if (!out)
    return make_error(ErrorCode::kOsError, "%s: cannot be written: %s", path.c_str(),
                      std::strerror(errno != 0 ? errno : EIO));
  return {};
}

}  // namespace trident::cli
