// Expressions that clients have submitted, for the trainer to learn from: one line of text each, in a file beside
// nothing else. Of a client there is its expressions alone: variables and outputs are numbered, not named, and who
// submitted what, when and how often is not there.
//
// Two files take turns: when the newer one is full it becomes the older one, and what that held is forgotten. An
// expression that is in either is not written again.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <unordered_set>

#include "jit/expr/expr.h"

namespace trident::learning {

class Journal {
 public:
  /// `bytes_max`: of both files together; 0: nothing is kept. What the files hold already counts.
  Journal(std::string path, std::uint64_t bytes_max);

  /// Expressions beyond a size that no guide learns anything from are left out. When a write fails, one line of the
  /// log says so, and nothing more is written.
  void note(const expr::Expr& expr);

  struct Stats {
    std::uint64_t noted = 0, known = 0, left_out = 0;
  };
  [[nodiscard]] const Stats& stats() const { return stats_; }

 private:
  void begin_new();

  std::string path_;
  std::uint64_t bytes_max_;
  std::uint64_t bytes_ = 0;  ///< of the newer file
  std::ofstream file_;
  std::unordered_set<std::uint64_t> newer_, older_;  ///< hashes of lines
  Stats stats_;
};

/// The line of an expression, without its end; empty for one that is left out. Exposed for tests.
std::string journal_line(const expr::Expr& expr);

}  // namespace trident::learning
