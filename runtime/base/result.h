// Errors are values. A function that can fail returns Result<T>: a T or an Error.
// Bugs are CHECK (check.h); untrusted bytes never reach a CHECK.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "runtime/base/check.h"

namespace trident {

enum class ErrorCode : std::uint8_t {
#define X(name, sentence) k##name,
#include "runtime/base/errors.def"
#undef X
};

/// The sentence of errors.def for `code`.
std::string_view describe(ErrorCode code);
/// The name of errors.def for `code`, such as "SyntaxError".
std::string_view name_of(ErrorCode code);

/// An error: a code for programs and a text for people (file, place and mend where known).
struct Error {
  ErrorCode code;
  std::string message;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & {
    CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    CHECK(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  const Error& error() const {
    CHECK(!ok());
    return *std::get_if<1>(&state_);
  }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), ok_(false) {}
  [[nodiscard]] bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }
  const Error& error() const {
    CHECK(!ok_);
    return error_;
  }

 private:
  Error error_{};
  bool ok_ = true;
};

/// printf-style construction of an Error.
[[gnu::format(printf, 2, 3)]] Error make_error(ErrorCode code, const char* format, ...);

#define TRIDENT_CONCAT_(a, b) a##b
#define TRIDENT_CONCAT(a, b) TRIDENT_CONCAT_(a, b)
/// TRY(auto x, f()): x is the value of f(), or the enclosing function returns f()'s error.
#define TRY(declaration, expression)                                                                     \
  auto TRIDENT_CONCAT(try_result_, __LINE__) = (expression);                                             \
  if (!TRIDENT_CONCAT(try_result_, __LINE__).ok()) return TRIDENT_CONCAT(try_result_, __LINE__).error(); \
  declaration = std::move(TRIDENT_CONCAT(try_result_, __LINE__)).value()
/// TRY_VOID(f()): the enclosing function returns f()'s error, if any.
#define TRY_VOID(expression)                                                            \
  do {                                                                                  \
    if (auto try_result_ = (expression); !try_result_.ok()) return try_result_.error(); \
  } while (false)

}  // namespace trident
