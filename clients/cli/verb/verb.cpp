#include "clients/cli/verb/verb.h"

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace trident::cli {

int report(const Error& error) {
  std::fprintf(stderr, "trident: %s\n", error.message.c_str());
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
  if (!out)
    return make_error(ErrorCode::kOsError, "%s: cannot be written: %s", path.c_str(),
                      std::strerror(errno != 0 ? errno : EIO));
  return {};
}

}  // namespace trident::cli
