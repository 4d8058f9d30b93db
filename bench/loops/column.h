// Columns of the table: ways to run a kernel of kernels.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/loops/kernels.h"

namespace trident::bench {

/// One kernel at one size.
struct Work {
  std::uint32_t kernel = 0;
  std::uint64_t bytes = 0;

  /// Rounds of the innermost loop in one call.
  [[nodiscard]] double rounds() const {
    const double n = static_cast<double>(bytes) / kernels[kernel].element_bytes;
    return kernels[kernel].is_quadratic != 0 ? n * (n - 1) / 2 : n;
  }
};

struct Answer {
  std::uint64_t result = 0, hash = 0;
  friend bool operator==(const Answer&, const Answer&) = default;
};

class Column {
 public:
  virtual ~Column() = default;
  /// Fills the arena and calls the kernel once.
  virtual Answer answer() = 0;
  /// CPU time of so many calls, in nanoseconds.
  virtual double cpu_ns(std::uint64_t calls) = 0;
  /// Rounds that a call makes. Only columns that run the innermost loop alone know better than the work.
  virtual double rounds() const = 0;
  /// False where answers mean nothing, because less than a call is run.
  virtual bool has_answers() const { return true; }
};

std::unique_ptr<Column> native_column(Work work);
/// Our machine code of the kernel's hottest loop, entered with the state that Unicorn has there first. Null, with the
/// reason on standard error, where the loop is refused.
std::unique_ptr<Column> alone_column(Work work);
/// Null where qemu-aarch64 is not installed.
std::unique_ptr<Column> qemu_column(Work work);

}  // namespace trident::bench
