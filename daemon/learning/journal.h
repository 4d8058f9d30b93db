// Expressions that clients have submitted, for the trainer to learn from: one per line, with the uid that submitted it
// behind it as a comment, "(...) ;1000;". Variables and outputs are numbered, not named, and there are no times or
// counts.
//
// Lines are appended to PATH. When it is full, the lines that are kept move to PATH.before, and it begins anew. Kept
// are as many bytes as one file may have, shared by user: a new line displaces the oldest of the user who has most, so
// one user's thousands displace nobody else's few, before and after a restart. An expression of several users has a
// line for each, so it stays until the last of them loses it. Lines of earlier builds have no uid and count as one more
// user's. A line that is kept is not written again.
//
// A file that somebody removes or replaces is noticed by the next line to write, or within a second by known ones.
// Then the files are read again, so expressions that are gone with them count as new.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "jit/expr/expr.h"
#include "runtime/os/fd.h"

namespace trident::learning {

class Journal {
 public:
  static constexpr std::uint64_t kRetryNs = 10'000'000'000;

  /// `bytes_max`: of both files together; 0: nothing is kept. What the files hold already counts. When a write fails, a
  /// line of the log says so, and `retry_ns` later the next is tried.
  Journal(std::string path, std::uint64_t bytes_max, std::uint64_t retry_ns = kRetryNs);

  /// Expressions beyond a size that no guide learns anything from are left out.
  void note(std::uint32_t uid, const expr::Expr& expr);

  struct Stats {
    std::uint64_t noted = 0, known = 0, left_out = 0;
    std::uint64_t lost = 0;  ///< while the file could not be written
  };
  [[nodiscard]] const Stats& stats() const { return stats_; }
  /// Why nothing can be written now, with the path; empty while all is well.
  [[nodiscard]] const std::string& fault() const { return fault_; }

 private:
  using Owner = std::uint64_t;  ///< a uid, or kUnknownOwner
  struct Line {
    std::uint64_t hash = 0, bytes = 0;
  };
  struct Share {
    std::deque<Line> lines;  ///< the oldest first
    std::uint64_t bytes = 0;
  };

  [[nodiscard]] std::uint64_t half() const { return bytes_max_ / 2; }
  void load();
  void load(const std::string& path);
  bool is_known(std::uint64_t hash);
  void keep(Owner owner, const Line& line);
  Result<void> open();
  Result<void> append(const std::string& line);
  Result<void> begin_new();
  void written(const Result<void>& how);

  std::string path_;
  std::uint64_t bytes_max_, retry_ns_;
  std::uint64_t bytes_ = 0;  ///< of the file at `path_`
  os::Fd file_;
  std::uint64_t ill_until_ns_ = 0;  ///< 0: well
  std::uint64_t looked_ns_ = 0;     ///< when a known line last looked at the file
  std::string fault_;
  std::unordered_map<Owner, Share> shares_;
  std::unordered_set<std::uint64_t> known_;  ///< hashes of all lines of shares_
  std::uint64_t kept_bytes_ = 0;
  Stats stats_;
};

/// The line of an expression, without its end; empty for one that is left out. Exposed for tests.
std::string journal_line(const expr::Expr& expr);

}  // namespace trident::learning
