#include "runtime/base/result.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace trident {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "CHECK failed: %s at %s:%d\n", condition, file, line);
  std::abort();
}

std::string_view describe(ErrorCode code) {
  switch (code) {
#define X(name, sentence)  \
  case ErrorCode::k##name: \
    return sentence;
#include "runtime/base/errors.def"
#undef X
  }
  CHECK(false);
}

std::string_view name_of(ErrorCode code) {
  switch (code) {
#define X(name, sentence)  \
  case ErrorCode::k##name: \
    return #name;
#include "runtime/base/errors.def"
#undef X
  }
  CHECK(false);
}

Error make_error(ErrorCode code, const char* format, ...) {
  va_list args;
  va_start(args, format);
  va_list copy;
  va_copy(copy, args);
  const int length = std::vsnprintf(nullptr, 0, format, args);
  va_end(args);
  std::string text(length > 0 ? static_cast<std::size_t>(length) : 0, '\0');
  std::vsnprintf(text.data(), text.size() + 1, format, copy);
  va_end(copy);
  return Error{code, std::move(text)};
}

}  // namespace trident
