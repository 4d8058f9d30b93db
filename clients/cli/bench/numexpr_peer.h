// numexpr as a contestant: a Python process that evaluates one expression over given arrays and reports nanoseconds.
// Optional: where Python or numexpr is missing, or numexpr lacks an op, the benchmark shows the contestant as missing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "jit/expr/expr.h"
#include "runtime/os/process.h"

namespace trident::cli {

/// An expression as one line for numexpr.evaluate, over its variables and the float constants k0, k1, ... (numexpr
/// takes a literal as f64 and would widen an f32 kernel).
struct NumexprSource {
  std::string text;
  std::vector<double> constants;  ///< value of k<i>
};
/// Unsupported where numexpr lacks an op, for several outputs, or when the text explodes (it has no local names).
Result<NumexprSource> numexpr_source(const expr::Expr& expr);

class NumexprPeer {
 public:
  /// Starts the process; NotFound with the reason when Python or numexpr is missing. One thread, as all contestants.
  static Result<NumexprPeer> start();
  /// "numexpr 2.8.4".
  [[nodiscard]] const std::string& version() const { return version_; }
  /// Gives it an expression and its arrays (of expr's types, n elements each, in the order of the variables).
  Result<void> load(const expr::Expr& expr, std::uint64_t n, std::span<const void* const> arrays);
  /// Mean nanoseconds per evaluation over `calls`.
  Result<double> time_ns(std::uint64_t calls);
  /// The bytes of the result.
  Result<void> result(std::span<std::byte> out);

 private:
  explicit NumexprPeer(os::Process process) : process_(std::move(process)) {}
  Result<void> send(const std::string& line);
  Result<std::string> receive();
  os::Process process_;
  std::string version_;
};

}  // namespace trident::cli
