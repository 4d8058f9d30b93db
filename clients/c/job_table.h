// Submissions by job number. A number is a row and the row's generation, so that a late answer for a closed one finds
// nothing, and adding one allocates nothing once the table has grown.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace trident::client {

struct Submission;

class JobTable {
 public:
  /// Never 0.
  std::uint64_t add(Submission* submission) {
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
    rows_[row].submission = submission;
    return std::uint64_t{++rows_[row].generation} << 32 | row;
  }

  /// The submission of `job`, or null when it is gone or never was.
  [[nodiscard]] Submission* find(std::uint64_t job) const {
    const auto row = static_cast<std::uint32_t>(job);
    if (row >= rows_.size() || rows_[row].generation != job >> 32) return nullptr;
    return rows_[row].submission;
  }

  void erase(std::uint64_t job) {
    const auto row = static_cast<std::uint32_t>(job);
    rows_[row].submission = nullptr;
    free_.push_back(row);
  }

  template <class Visit>
  void for_each(Visit visit) const {
    for (const Row& row : rows_) {
      if (row.submission != nullptr) visit(*row.submission);
    }
  }

 private:
  struct Row {
    Submission* submission = nullptr;
    std::uint32_t generation = 0;
  };
  std::vector<Row> rows_;
  std::vector<std::uint32_t> free_;
};

}  // namespace trident::client
