// Integer powers as products.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "jit/expr/expr.h"

namespace trident::expr {

/// Powers of one base. Each is a product of two smaller ones and reuses existing powers: a short addition chain, not
/// always the shortest.
template <class V>
class PowerChain {
 public:
  explicit PowerChain(V base) { add(1, base); }
  void add(std::uint64_t exponent, V value) { made_.push_back({exponent, value}); }

  template <class Multiply>
  V power(std::uint64_t n, const Multiply& multiply) {
    if (const V* found = find(n)) return *found;
    // The most even split among existing powers; else a half, a third of a multiple of three, halves that differ by one
    // when they are near at hand, or one less.
    std::uint64_t part = 0;
    for (const Made& m : made_) {
      if (m.exponent < n && find(n - m.exponent) && std::max(m.exponent, n - m.exponent) <= n - part) {
        part = std::min(m.exponent, n - m.exponent);
      }
    }
    if (part == 0) part = n % 2 == 0 ? n / 2 : n % 3 == 0 ? n / 3 : find(n / 2) && splits(n / 2 + 1) ? n / 2 : 1;
    const V small = power(part, multiply);
    const V large = power(n - part, multiply);
    const V made = multiply(small, large);
    made_.push_back({n, made});
    return made;
  }

 private:
  struct Made {
    std::uint64_t exponent;
    V value;
  };
  bool splits(std::uint64_t n) const {
    return std::any_of(made_.begin(), made_.end(),
                       [&](const Made& m) { return m.exponent < n && find(n - m.exponent) != nullptr; });
  }
  const V* find(std::uint64_t n) const {
    for (const Made& m : made_) {
      if (m.exponent == n) return &m.value;
    }
    return nullptr;
  }
  std::vector<Made> made_;
};

/// Exponents beyond this are left to pow.
inline constexpr std::int64_t kPowerChainMax = 64;

/// Says which Powi nodes a chain of plain products is accurate enough for, so that bounded(2) holds. The reference
/// rounds a power once, a chain for x^n n - 1 times. A chain is fine where x is itself the rounded result of an
/// operation, whose error the power multiplies by n in the reference too; for n <= 3; and for n <= 5 where no
/// cancellation amplifies the error later.
std::vector<bool> accurate_chains(const Expr& expr, const LowerOptions& options);

}  // namespace trident::expr
