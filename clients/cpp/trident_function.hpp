// Functions with loops for C++17 and later: typed calls and exceptions over trident_function.h.
//
//   trident::context ctx;
//   trident::function gcd(ctx, "fn gcd(a: i64, b: i64) -> i64 { while b != 0 { let r = a % b; a = b; b = r; } return a;
//   }"); std::int64_t six = gcd(48, 18); trident::library shipped(ctx);                      // or a folder of .fn
//   files: trident::library own(ctx, "folder"); std::vector<std::int64_t> list = ...;
//   shipped["quicksort"](trident::inout(list));
//
// Arrays are containers of std::int64_t, double, std::uint8_t or char, by what the function says. Those that it writes
// are marked by out() or inout(). Nothing is copied. A call that fails throws trident::failure with the line.
#pragma once

#include <string_view>

#include "trident.hpp"
#include "trident_function.h"

namespace trident {

/// A call that ended without a result: a division by zero, an index outside of its array, a budget used up, an argument
/// outside of its range.
class failure : public error {
 public:
  explicit failure(const trident_returned& how)
      : error(TRIDENT_E_INVALID, text_of(how)),
        kind_(static_cast<trident_failure>(how.failure)),
        line_(how.line),
        function_(how.function == nullptr ? "" : how.function) {}
  [[nodiscard]] trident_failure kind() const noexcept { return kind_; }
  [[nodiscard]] std::uint32_t line() const noexcept { return line_; }
  /// The one that failed: the function that was called, or one that it calls.
  [[nodiscard]] const std::string& function() const noexcept { return function_; }

 private:
  static std::string text_of(const trident_returned& how) {
    static constexpr const char* kWhy[] = {"it returned", "a division by zero", "an index outside of its array",
                                           "more rounds of loops than the budget allows",
                                           "an argument outside of its declared range"};
    const char* why = how.failure < std::size(kWhy) ? kWhy[how.failure] : "it failed";
    std::string text = std::string(how.function == nullptr ? "" : how.function) + ": line " + std::to_string(how.line);
    text += std::string(": ") + why;
    return how.argument == nullptr ? text : text + ": " + how.argument;
  }

  trident_failure kind_;
  std::uint32_t line_;
  std::string function_;
};

namespace detail {

template <class T>
constexpr trident_type element_of() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, double>) {
    return TRIDENT_F64;
  } else {
    static_assert(std::is_integral_v<U> && (sizeof(U) == 1 || sizeof(U) == 8), "elements of 8 bytes, or bytes");
    return sizeof(U) == 1 ? TRIDENT_U8 : TRIDENT_I64;
  }
}

}  // namespace detail

/// Marks a container or an array as one that a function reads and writes.
template <class Range>
auto inout(Range&& range) {
  return detail::written<detail::access::read_write>(range);
}

/// A function with loops, branches and arrays. May be called from any number of threads at once.
class function {
 public:
  function() = default;
  function(const context& ctx, const std::string& text) {
    trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
    options.syntax = TRIDENT_SYNTAX_FUNCTION;
    trident_kernel* made = nullptr;
    detail::check(trident_submit(ctx.handle(), detail::c_text(text), &options, &made));
    owned_.reset(made);
    handle_ = made;
  }
  /// Refers to a function of a library, which closes it.
  explicit function(trident_kernel* of_library) : handle_(of_library) {}

  [[nodiscard]] trident_kernel* handle() const noexcept { return handle_; }

  /// Calls it: numbers for values, containers for arrays. Throws failure, and error for arguments that do not fit.
  template <class... Args>
  std::int64_t operator()(Args&&... args) const {
    return run(0, args...).value.i;
  }
  /// Calls a function of f64.
  template <class... Args>
  double real(Args&&... args) const {
    return run(0, args...).value.f;
  }
  /// Calls it with a budget of rounds of loops; 0: 2^32. What it returns says what ran, and nothing of failures is
  /// thrown.
  template <class... Args>
  trident_returned within(std::uint64_t budget, Args&&... args) const {
    return call(budget, args...);
  }

  /// Waits until machine code runs, or none will.
  std::uint32_t wait(std::uint32_t timeout_ms = 10'000) const {
    detail::check(trident_wait(handle_, 1, timeout_ms));
    trident_kernel_info info{};
    info.struct_size = sizeof info;
    detail::check(trident_info(handle_, &info));
    return info.tier;
  }

 private:
  template <class... Args>
  trident_returned run(std::uint64_t budget, Args&... args) const {
    const trident_returned returned = call(budget, args...);
    if (returned.failure != TRIDENT_RETURNED) throw failure(returned);
    return returned;
  }

  template <class... Args>
  trident_returned call(std::uint64_t budget, Args&... args) const {
    std::uint32_t index = 0;
    const trident_argument arguments[sizeof...(Args) + 1] = {argument(index++, args)..., {}};
    trident_returned returned{};
    returned.struct_size = sizeof returned;
    detail::check(trident_function_call(handle_, arguments, sizeof...(Args), budget, &returned));
    return returned;
  }

  template <class Arg>
  trident_argument argument(std::uint32_t index, Arg& arg) const {
    using Plain = std::remove_cv_t<Arg>;
    if constexpr (std::is_arithmetic_v<Plain>) {
      return value(index, arg);
    } else if constexpr (detail::is_written<Plain, detail::access::write>::value) {
      return array(index, arg.data, arg.size, TRIDENT_OUT);
    } else if constexpr (detail::is_written<Plain, detail::access::read_write>::value) {
      return array(index, arg.data, arg.size, TRIDENT_INOUT);
    } else {
      return array(index, std::data(arg), std::size(arg), TRIDENT_IN);
    }
  }

  template <class T>
  trident_argument value(std::uint32_t index, T number) const {
    trident_argument argument{};
    const bool is_real = expected(index, TRIDENT_BY_VALUE).type == TRIDENT_F64;
    if (is_real)
      argument.value.f = static_cast<double>(number);
    else if (std::is_floating_point_v<T>)
      refuse(index, "a whole number is expected");
    else
      argument.value.i = static_cast<std::int64_t>(number);
    return argument;
  }

  template <class T>
  trident_argument array(std::uint32_t index, T* data, std::size_t size, trident_passing passing) const {
    if (expected(index, passing).type != static_cast<std::uint32_t>(detail::element_of<T>()))
      refuse(index, "its elements have another type");
    trident_argument argument{};
    argument.data = const_cast<void*>(static_cast<const void*>(data));
    argument.count = size;
    return argument;
  }

  [[nodiscard]] trident_parameter expected(std::uint32_t index, trident_passing passing) const {
    trident_parameter parameter{};
    parameter.struct_size = sizeof parameter;
    detail::check(trident_function_parameter(handle_, index, &parameter));
    if (parameter.passing != static_cast<std::uint32_t>(passing))
      refuse(index, "it is passed otherwise: a number, an array, out(array) or inout(array)");
    return parameter;
  }

  [[noreturn]] static void refuse(std::uint32_t index, const char* why) {
    throw error(TRIDENT_E_INVALID, "argument " + std::to_string(index + 1) + ": " + why);
  }

  std::unique_ptr<trident_kernel, detail::closer> owned_;
  trident_kernel* handle_ = nullptr;
};

/// Functions by name: those that come with the program, or those of a folder, which have passed their tests.
class library {
 public:
  explicit library(const context& ctx, const std::string& folder = {}) {
    trident_library* opened = nullptr;
    detail::check(trident_library_open(ctx.handle(), folder.empty() ? nullptr : detail::c_text(folder), &opened));
    handle_.reset(opened);
  }
  /// The function lives as long as the library.
  [[nodiscard]] function operator[](const std::string& name) const {
    trident_kernel* found = nullptr;
    detail::check(trident_library_function(handle_.get(), detail::c_text(name), &found));
    return function(found);
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (std::uint32_t i = 0; i < trident_library_size(handle_.get()); ++i)
      all.emplace_back(trident_library_name(handle_.get(), i));
    return all;
  }

 private:
  struct closer {
    void operator()(trident_library* library) const noexcept { trident_library_close(library); }
  };
  std::unique_ptr<trident_library, closer> handle_;
};

}  // namespace trident
