#include "clients/c/last_error.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace trident::client {
namespace {

/// Bytes of an error text; longer ones are cut.
constexpr std::size_t kTextBytes = 2048;
thread_local char text_of_this_thread[kTextBytes];

trident_status status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kSyntaxError: return TRIDENT_E_SYNTAX;
    case ErrorCode::kTypeError: return TRIDENT_E_TYPE;
    case ErrorCode::kLimitExceeded: return TRIDENT_E_LIMIT;
    case ErrorCode::kOutOfMemory: return TRIDENT_E_MEMORY;
    case ErrorCode::kTimeout: return TRIDENT_E_TIMEOUT;
    case ErrorCode::kCancelled: return TRIDENT_E_CANCELLED;
    case ErrorCode::kDisconnected:
    case ErrorCode::kOsError:
    case ErrorCode::kBusy: return TRIDENT_E_DAEMON;
    case ErrorCode::kUnsupported:
    case ErrorCode::kExecDenied: return TRIDENT_E_UNSUPPORTED;
    case ErrorCode::kInternal:
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kNotFound:
    case ErrorCode::kRejectedMessage:
    case ErrorCode::kRejectedImage:
    case ErrorCode::kRejectedRecord:
    case ErrorCode::kNotEquivalent: return TRIDENT_E_INVALID;
  }
  return TRIDENT_E_INVALID;
}

void keep(std::string_view text) {
  const std::size_t size = std::min(text.size(), kTextBytes - 1);
  std::memcpy(text_of_this_thread, text.data(), size);
  text_of_this_thread[size] = '\0';
}

}  // namespace

trident_status report(const Error& error) {
  keep(error.message.empty() ? describe(error.code) : std::string_view(error.message));
  return status_of(error.code);
}

trident_status report(trident_status status, const char* text) {
  keep(text);
  return status;
}

const char* last_error() {
  return text_of_this_thread;
}

}  // namespace trident::client
