// Trident for C++17 and later: RAII and types over trident.h; errors are exceptions of type trident::error.
//
//   trident::context ctx;
//   trident::kernel k = ctx.compile("a * sin(x) + y", {trident::scalar("a")});
//   std::vector<double> x = ..., y = ..., z(x.size());
//   k(trident::out(z), x, y, 2.0);          // outputs first, then arrays, then scalars, each in its order
//
// A kernel is right from the first call and gets faster behind its back. Contexts and kernels move and do not copy; a
// kernel may be called from any number of threads at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "trident.h"

namespace trident {

/// An error of a function of the library, with its reason.
class error : public std::runtime_error {
 public:
  error(trident_status status, const std::string& what) : std::runtime_error(what), status_(status) {}
  [[nodiscard]] trident_status status() const noexcept { return status_; }

 private:
  trident_status status_;
};

namespace detail {

inline void check(trident_status status) {
  if (status != TRIDENT_OK) throw error(status, trident_last_error());
}

/// The string for the C interface, which would read it only up to a NUL inside: throws error where there is one.
inline const char* c_text(const std::string& text) {
  if (text.find('\0') != std::string::npos) throw error(TRIDENT_E_INVALID, "the text has a NUL");
  return text.c_str();
}

template <class T>
constexpr trident_type type_of() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, float>) {
    return TRIDENT_F32;
  } else if constexpr (std::is_same_v<U, double>) {
    return TRIDENT_F64;
  } else if constexpr (std::is_same_v<U, bool>) {
    return TRIDENT_BOOL;
  } else {
    static_assert(std::is_integral_v<U>, "float, double, bool, integers");
    constexpr bool is_signed = std::is_signed_v<U>;
    if constexpr (sizeof(U) == 1) return is_signed ? TRIDENT_I8 : TRIDENT_U8;
    if constexpr (sizeof(U) == 2) return is_signed ? TRIDENT_I16 : TRIDENT_U16;
    return sizeof(U) == 4 ? TRIDENT_I32 : TRIDENT_I64;
  }
}
/// Returns whether an array of T may be one of `wanted`: unsigned integers stand for signed ones, too.
template <class T>
constexpr bool may_be(int wanted) {
  if (wanted == TRIDENT_U32 || wanted == TRIDENT_U64)
    return std::is_unsigned_v<std::remove_cv_t<T>> && sizeof(T) == (wanted == TRIDENT_U32 ? 4 : 8);
  return wanted == static_cast<int>(type_of<T>());
}

/// Closes a handle of the C interface when its owner goes.
struct closer {
  void operator()(trident_kernel* kernel) const noexcept { trident_close_kernel(kernel); }
  void operator()(trident_ctx* context) const noexcept { trident_close(context); }
};

enum class access { write, read_write };

/// A contiguous run of elements for the callee to write, or to read and write.
template <class T, access how>
struct written_range {
  T* data;
  std::size_t size;
};

template <class T>
using output_range = written_range<T, access::write>;

template <class Argument, access how>
struct is_written : std::false_type {};
template <class T, access how>
struct is_written<written_range<T, how>, how> : std::true_type {};

template <access how, class Range>
auto written(Range&& range) {
  using T = std::remove_pointer_t<decltype(std::data(range))>;
  static_assert(!std::is_const_v<T>, "what is written must be writable");
  return written_range<T, how>{std::data(range), std::size(range)};
}

}  // namespace detail

/// Marks a container or an array (anything with std::data and std::size) as an output of a call.
template <class Range>
auto out(Range&& range) {
  return detail::written<detail::access::write>(range);
}
/// A single element as an output: the result of a reduction.
template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
auto out(T& value) {
  return detail::output_range<T>{&value, 1};
}

/// A declared variable. Undeclared names are arrays of the kernel's type.
struct variable {
  std::string name;
  trident_type type = TRIDENT_F64;
  bool is_scalar = false;
  double lo = -std::numeric_limits<double>::infinity();  ///< a promise about every value
  double hi = std::numeric_limits<double>::infinity();
  bool is_table = false;  ///< an array of a length of its own, read by t[index]
};
template <class T = double>
variable array(std::string name, double lo = -std::numeric_limits<double>::infinity(),
               double hi = std::numeric_limits<double>::infinity()) {
  return {std::move(name), detail::type_of<T>(), false, lo, hi};
}
template <class T = double>
variable scalar(std::string name, double lo = -std::numeric_limits<double>::infinity(),
                double hi = std::numeric_limits<double>::infinity()) {
  return {std::move(name), detail::type_of<T>(), true, lo, hi};
}

template <class T = double>
variable table(std::string name, double lo = -std::numeric_limits<double>::infinity(),
               double hi = std::numeric_limits<double>::infinity()) {
  return {std::move(name), detail::type_of<T>(), false, lo, hi, true};
}

struct compile_options {
  trident_type type = TRIDENT_F64;  ///< of variables and literals that do not say: TRIDENT_F32 or TRIDENT_F64
  trident_policy policy = TRIDENT_BOUNDED;
  double k = 2;  ///< bounded(k)
  trident_syntax syntax = TRIDENT_SYNTAX_AUTO;
  std::uint32_t elements = 0;  ///< typical length of a call; 0: 4096
};

/// A compiled expression.
class kernel {
 public:
  kernel() = default;
  /// Takes over a handle of the C interface.
  explicit kernel(trident_kernel* handle) noexcept : handle_(handle) {}

  [[nodiscard]] trident_kernel* handle() const noexcept { return handle_.get(); }
  explicit operator bool() const noexcept { return handle_ != nullptr; }

  /// Runs the kernel: outputs as out(...), arrays and tables as containers, scalars as numbers, each group in its own
  /// order. The lengths of arrays and outputs must agree, a table may have any; the types must be the kernel's; throws
  /// error (TRIDENT_E_INVALID) where they do not.
  template <class... Args>
  void operator()(const Args&... args) const {
    constexpr std::size_t outputs =
        (std::size_t{0} + ... + (detail::is_written<Args, detail::access::write>::value ? 1 : 0));
    constexpr std::size_t scalars = (std::size_t{0} + ... + (std::is_arithmetic_v<Args> ? 1 : 0));
    constexpr std::size_t arrays = sizeof...(Args) - outputs - scalars;
    if (!handle_) throw error(TRIDENT_E_INVALID, "a kernel that is empty or was moved from");
    call<arrays, outputs, scalars> c{*this};
    (c.add(args), ...);
    c.run();
  }

  /// Runs the kernel as trident_call() does: nothing is checked.
  void run(std::uint64_t n, const void* const* in, void* const* out, const std::uint64_t* params) const noexcept {
    trident_call(handle(), n, in, out, params);
  }

  /// Runs the kernel as trident_call_parallel() does, on at most `threads` threads; 0: as many as the environment says
  /// or as there are.
  void run_parallel(std::uint64_t n, const void* const* in, void* const* out, const std::uint64_t* params,
                    std::uint32_t threads = 0) const noexcept {
    trident_call_parallel(handle(), n, in, out, params, threads);
  }

  /// Runs the kernel as trident_call_strided() does, on arrays with steps between their elements; throws error
  /// (TRIDENT_E_MEMORY, TRIDENT_E_LIMIT, TRIDENT_E_INVALID).
  void run_strided(std::uint32_t dimensions, const std::uint64_t* shape, const void* const* in,
                   const std::int64_t* const* in_strides, void* const* out, const std::int64_t* const* out_strides,
                   const std::uint64_t* params, std::uint32_t threads = 0) const {
    detail::check(trident_call_strided(handle(), dimensions, shape, in, in_strides, out, out_strides, params, threads));
  }

  /// Waits until `tier` is reached or nothing more will come (true), or the time is over (false).
  bool wait(std::uint32_t tier, std::uint32_t timeout_ms) const {
    const trident_status status = trident_wait(handle(), tier, timeout_ms);
    if (status == TRIDENT_E_TIMEOUT) return false;
    detail::check(status);
    return true;
  }
  [[nodiscard]] trident_kernel_info info() const {
    trident_kernel_info info{};
    info.struct_size = sizeof(info);
    detail::check(trident_info(handle(), &info));
    return info;
  }
  /// Why the kernel runs no better code, in one sentence; empty while nothing stands in its way.
  [[nodiscard]] std::string note() const {
    const char* const text = trident_kernel_note(handle());
    return text == nullptr ? std::string() : text;
  }

 private:
  template <std::size_t Arrays, std::size_t Outputs, std::size_t Scalars>
  struct call {
    const kernel& owner;
    std::array<const void*, Arrays + 1> in{};
    std::array<void*, Outputs + 1> out{};
    std::array<std::uint64_t, Scalars + Arrays + 1> params{};  // lengths of tables follow the scalars
    std::uint32_t array_count = 0, output_count = 0, scalar_count = 0, table_count = 0;
    std::uint64_t n = 0;
    bool has_n = false;

    [[noreturn]] static void refuse(const std::string& why) { throw error(TRIDENT_E_INVALID, why); }
    template <class T>
    static void expect(int wanted, const char* what, std::uint32_t index) {
      if (wanted < 0) refuse(std::string("too many ") + what + "s");
      if (!detail::may_be<T>(wanted)) refuse(std::string(what) + " " + std::to_string(index) + " has another type");
    }
    void length(std::uint64_t size) {
      if (has_n && size != n) refuse("arrays of different lengths");
      n = size;
      has_n = true;
    }
    template <class T>
    void add(const detail::output_range<T>& range) {
      const std::uint32_t index = output_count++;
      expect<T>(trident_output_type(owner.handle(), index), "output", index);
      if (trident_output_is_scalar(owner.handle(), index) == 1) {
        if (range.size != 1) refuse("output " + std::to_string(index) + " is a single element");
      } else {
        length(range.size);
      }
      out[index] = range.data;
    }
    template <class Arg>
    void add(const Arg& arg) {
      if constexpr (std::is_arithmetic_v<Arg>) {
        const std::uint32_t index = scalar_count++;
        expect<Arg>(trident_scalar_type(owner.handle(), index), "scalar", index);
        std::memcpy(&params[index], &arg, sizeof(arg));
      } else {
        using T = std::remove_pointer_t<decltype(std::data(arg))>;
        const std::uint32_t index = array_count++;
        expect<T>(trident_array_type(owner.handle(), index), "array", index);
        if (!add_table(index, std::size(arg))) length(std::size(arg));
        in[index] = std::data(arg);
      }
    }
    bool add_table(std::uint32_t index, std::uint64_t size) {
      if (trident_scalar_type(owner.handle(), Scalars) < 0) return false;  // no scalar but those given
      const std::string name = std::string(trident_array_name(owner.handle(), index)) + ".length";
      const int place = trident_scalar_index(owner.handle(), name.c_str());
      if (place < 0) return false;
      if (static_cast<std::size_t>(place) < Scalars || static_cast<std::size_t>(place) >= params.size())
        refuse("other scalars than the kernel has");
      params[static_cast<std::size_t>(place)] = size;
      ++table_count;
      return true;
    }
    void run() {
      if (trident_array_type(owner.handle(), array_count) >= 0) refuse("an array is missing");
      if (trident_output_type(owner.handle(), output_count) >= 0) refuse("an output is missing");
      if (trident_scalar_type(owner.handle(), scalar_count + table_count) >= 0) refuse("a scalar is missing");
      owner.run(n, in.data(), out.data(), params.data());
    }
  };

  std::unique_ptr<trident_kernel, detail::closer> handle_;
};

/// Inputs with which a program of Triton VM ends well; words below p = 2^64 - 2^32 + 1.
struct program_run {
  std::vector<std::uint64_t> public_input{}, secret_input{};
  std::vector<std::array<std::uint64_t, 5>> secret_digests{};
  std::vector<std::array<std::uint64_t, 2>> ram{};  ///< address, word
};

/// Options of a program of Triton VM: its inputs and the time of its search; words below p = 2^64 - 2^32 + 1.
struct program_options {
  trident_program_form form = TRIDENT_TASM;
  std::vector<std::uint64_t> public_input{}, secret_input{};
  std::vector<std::array<std::uint64_t, 5>> secret_digests{};
  std::vector<std::array<std::uint64_t, 2>> ram{};  ///< address, word
  std::uint64_t cycles = 0;                         ///< most cycles of one run; 0: the limit of the builder
  std::uint32_t milliseconds = 0, programs = 0;     ///< 0: 10,000 and 600
  std::uint32_t left_out = 0;                       ///< bits of trident_left_out
  std::vector<program_run> runs{};                  ///< further ones: the result is taller on none of them
};

/// A program that is cheaper to prove, or as it was where nothing cheaper was found.
struct program {
  std::string tasm, report;  ///< report: JSON
  bool better = false, by_daemon = false;
  std::uint32_t words_before = 0, words_after = 0;
  std::array<std::uint64_t, TRIDENT_TABLES> heights_before{}, heights_after{};  ///< by trident_table
  std::uint64_t padded_before = 0, padded_after = 0;
};

/// A connection to the compiler.
class context {
 public:
  explicit context(trident_mode mode = TRIDENT_MODE_AUTO, const std::string& socket_path = {}) {
    trident_options options{};
    options.struct_size = sizeof(options);
    options.mode = mode;
    options.socket_path = socket_path.empty() ? nullptr : detail::c_text(socket_path);
    trident_ctx* opened = nullptr;
    detail::check(trident_open(&options, &opened));
    handle_.reset(opened);
  }

  [[nodiscard]] trident_ctx* handle() const noexcept { return handle_.get(); }

  static std::uint32_t kind_of(const variable& v) noexcept {
    return v.is_table ? TRIDENT_TABLE : v.is_scalar ? TRIDENT_SCALAR : TRIDENT_ARRAY;
  }

  /// Parses `text` and returns a kernel that may be called at once. Throws error with line and caret on a bad text.
  [[nodiscard]] kernel compile(const std::string& text, const std::vector<variable>& variables = {},
                               const compile_options& how = {}) const {
    std::vector<trident_variable> plain;
    plain.reserve(variables.size());
    for (const variable& v : variables) {
      plain.push_back({detail::c_text(v.name), static_cast<std::uint32_t>(v.type), kind_of(v), v.lo, v.hi});
    }
    trident_submit_options options{};
    options.struct_size = sizeof(options);
    options.type = how.type;
    options.policy = how.policy;
    options.syntax = how.syntax;
    options.k = how.k;
    options.variables = plain.data();
    options.variable_count = static_cast<std::uint32_t>(plain.size());
    options.elements_hint = how.elements;
    trident_kernel* made = nullptr;
    detail::check(trident_submit(handle(), detail::c_text(text), &options, &made));
    return kernel(made);
  }

  /// Builds as trident_build_program() does, and waits for it. `progress(done, total)`, called from this thread:
  /// false gives up, and what it throws passes on. Throws error, with file, line and column on a bad text.
  [[nodiscard]] program build(const std::string& text, const program_options& how = {},
                              std::function<bool(std::uint32_t, std::uint32_t)> progress = {}) const {
    trident_program_options options{};
    options.struct_size = sizeof(options);
    options.form = how.form;
    options.public_input = how.public_input.data(), options.public_count = how.public_input.size();
    options.secret_input = how.secret_input.data(), options.secret_count = how.secret_input.size();
    options.digest_count = how.secret_digests.size();
    options.secret_digests = how.secret_digests.empty() ? nullptr : how.secret_digests[0].data();
    options.ram_count = how.ram.size();
    options.ram = how.ram.empty() ? nullptr : how.ram[0].data();
    std::vector<trident_program_run> runs;
    for (const program_run& run : how.runs)
      runs.push_back({run.public_input.data(), run.secret_input.data(),
                      run.secret_digests.empty() ? nullptr : run.secret_digests[0].data(),
                      run.ram.empty() ? nullptr : run.ram[0].data(), run.public_input.size(), run.secret_input.size(),
                      run.secret_digests.size(), run.ram.size()});
    options.runs = runs.data(), options.run_count = runs.size();
    options.cycles = how.cycles;
    options.milliseconds = how.milliseconds, options.programs = how.programs, options.left_out = how.left_out;
    struct watcher {  // no exception may pass through the library
      const std::function<bool(std::uint32_t, std::uint32_t)>& ask;
      std::exception_ptr thrown;
    } watch{progress, nullptr};
    const auto told = [](std::uint32_t done, std::uint32_t total, void* user) -> int {
      auto& w = *static_cast<watcher*>(user);
      try {
        return w.ask(done, total) ? 0 : 1;
      } catch (...) {
        w.thrown = std::current_exception();
        return 1;
      }
    };
    trident_program* raw = nullptr;
    const trident_status status = trident_build_program(
        handle(), detail::c_text(text), &options,
        progress ? static_cast<int (*)(std::uint32_t, std::uint32_t, void*)>(told) : nullptr, &watch, &raw);
    if (watch.thrown) std::rethrow_exception(watch.thrown);
    detail::check(status);
    const std::unique_ptr<trident_program, decltype(&trident_free_program)> owned(raw, trident_free_program);
    program out;
    out.tasm.assign(raw->tasm, raw->tasm_size), out.report = raw->report;
    out.better = raw->better != 0, out.by_daemon = raw->by_daemon != 0;
    out.words_before = raw->words_before, out.words_after = raw->words_after;
    std::memcpy(out.heights_before.data(), raw->heights_before, sizeof(raw->heights_before));
    std::memcpy(out.heights_after.data(), raw->heights_after, sizeof(raw->heights_after));
    out.padded_before = raw->padded_before, out.padded_after = raw->padded_after;
    return out;
  }

  [[nodiscard]] trident_stats stats() const {
    trident_stats stats{};
    stats.struct_size = sizeof(stats);
    detail::check(trident_get_stats(handle(), &stats));
    return stats;
  }
  /// The daemon's own counters as JSON; throws error (TRIDENT_E_DAEMON) when none is connected.
  [[nodiscard]] std::string daemon_stats(std::uint32_t timeout_ms = 2000) const {
    std::string json(1u << 20, '\0');
    detail::check(trident_daemon_stats(handle(), json.data(), json.size(), timeout_ms));
    json.resize(std::strlen(json.c_str()));
    return json;
  }

 private:
  std::unique_ptr<trident_ctx, detail::closer> handle_;
};

}  // namespace trident
