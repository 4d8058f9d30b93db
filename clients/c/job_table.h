// Kernels by job number. A number is a row and the row's generation, so that a late answer for a closed kernel finds
// nothing, and adding one allocates nothing once the table has grown.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace trident::client {

struct Kernel;

class JobTable {
 public:
  /// Never 0.
  std::uint64_t add(Kernel* kernel) {
    std::uint32_t row = 0;
    if (free_.empty()) {
      if (rows_.size() == rows_.capacity()) rows_.reserve(std::max<std::size_t>(16, 2 * rows_.size()));
      free_.reserve(rows_.capacity());  // erase() must not fail
      row = static_cast<std::uint32_t>(rows_.size());
      rows_.push_back({});
    } else {
      row = free_.back();
      free_.pop_back();
    }
    rows_[row].kernel = kernel;
    return std::uint64_t{++rows_[row].generation} << 32 | row;
  }

  /// The kernel of `job`, or null when it is gone or never was.
  [[nodiscard]] Kernel* find(std::uint64_t job) const {
    const auto row = static_cast<std::uint32_t>(job);
    if (row >= rows_.size() || rows_[row].generation != job >> 32) return nullptr;
    return rows_[row].kernel;
  }

  void erase(std::uint64_t job) {
    const auto row = static_cast<std::uint32_t>(job);
    rows_[row].kernel = nullptr;
    free_.push_back(row);
  }

  template <class Visit>
  void for_each(Visit visit) const {
    for (const Row& row : rows_) {
      if (row.kernel != nullptr) visit(*row.kernel);
    }
  }

 private:
  struct Row {
    Kernel* kernel = nullptr;
    std::uint32_t generation = 0;
  };
  std::vector<Row> rows_;
  std::vector<std::uint32_t> free_;
};

}  // namespace trident::client
