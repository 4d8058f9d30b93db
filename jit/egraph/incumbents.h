// The terms that a search has found so far.
#pragma once

#include <cstddef>
#include <vector>

#include "jit/egraph/term.h"

namespace trident::egraph {

class Incumbents {
 public:
  [[nodiscard]] const Term& best() const { return list_.front().term; }
  [[nodiscard]] double best_cost() const { return list_.front().cost; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  void remember(Term term, double cost);
  /// Remembers a term that is better than all others.
  void put_first(Term term, double cost);
  void keep_initial();
  /// Moves out the best terms, at least one; if there are more than `keep`, not those that are much the same as others.
  std::vector<Term> take(std::size_t keep);

 private:
  struct Incumbent {
    double cost;
    Term term;
  };

  std::vector<Incumbent> list_;  ///< the best first, the initial one last of those that were records
  std::size_t bytes_ = 0;
};

}  // namespace trident::egraph
