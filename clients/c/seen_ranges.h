// Least and greatest numbers in the arguments of calls and whether there were NaNs, as calls note them: lock-free,
// async-signal-safe, without allocation. Of the first call, and of each whose number is a power of two, some elements
// are looked at; others are counted. The values are hints: nothing is wrong where one is missing.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <vector>

#include "clients/c/wire.h"
#include "jit/expr/expr.h"

namespace trident::client {

class SeenRanges {
 public:
  /// `variables` must outlive it.
  explicit SeenRanges(const std::vector<expr::Variable>& variables);

  /// Notes a call that is about to run. Any number of threads may; the arguments are those of trident_call().
  void note(std::uint64_t n, const void* const* in, const std::uint64_t* params);

  /// Forgets all calls. What runs at the same time may or may not be noted.
  void clear();

  /// Calls with elements, and the sum of their elements.
  [[nodiscard]] std::uint64_t calls() const { return calls_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t elements() const { return elements_.load(std::memory_order_relaxed); }
  /// Returns the ranges by variable: from -inf to inf for tables, and where no number was seen.
  [[nodiscard]] std::vector<wire::Range> ranges() const;

 private:
  struct Ends {
    std::atomic<double> lo{std::numeric_limits<double>::infinity()};
    std::atomic<double> hi{-std::numeric_limits<double>::infinity()};
    std::atomic<bool> nan{false};
  };

  void look_at(std::uint64_t n, const void* const* in, const std::uint64_t* params, std::uint64_t elements);

  const std::vector<expr::Variable>& variables_;
  std::vector<Ends> ends_;
  std::atomic<std::uint64_t> calls_ = 0, elements_ = 0;
};

}  // namespace trident::client
