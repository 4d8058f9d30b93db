#pragma once

#include <cerrno>
#include <cstring>
#include <string>

#include "runtime/base/result.h"

namespace trident::os {

/// Returns the error of a failed system call: its name, and what the system says about `code`.
inline Error os_error(const char* what, int code = errno) {
  return make_error(ErrorCode::kOsError, "%s: %s", what, std::strerror(code));
}

/// Returns the error of a failed system call on a path.
inline Error os_error(const char* what, const std::string& path) {
  const int code = errno;
  return make_error(ErrorCode::kOsError, "%s %s: %s", what, path.c_str(), std::strerror(code));
}

}  // namespace trident::os
