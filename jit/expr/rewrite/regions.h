// Searches a large term region by region. A graph that holds all of a large term has no room for what the rules make of
// it, and each round of matching looks at all of it. So the term is divided into regions of some dozens of nodes, each
// is searched by itself, and the best forms are put together; then once more, with the borders elsewhere.
//
//   nodes in depth-first order   |......region.......|.......region......|....region...|
//   values that cross a border   become variables, with the facts that are known of them
//
// A stretch of an order in which operands come first is convex: no value leaves it and comes back. So any forms of the
// regions can be put together. Borders stand where few values cross them.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "jit/egraph/search.h"
#include "jit/expr/rewrite/language.h"

namespace trident::expr::rewrite {

/// Terms of more nodes that are no leaves than this are searched by regions, of at most kRegionNodes.
inline constexpr std::size_t kWholeNodesMax = 128, kRegionNodes = 64;

/// Returns the number of nodes that are no leaves.
std::size_t inner_nodes(const Expr& expr);

/// Regions of a term for which something cheaper was found, and the term with some of them in their new form.
struct TermPieces {
  std::size_t count = 0;
  std::function<egraph::Term(const std::vector<bool>& renewed)> term;
};

struct RegionResult {
  egraph::SearchResult found;
  TermPieces pieces;  ///< of the first division
};

/// Searches as egraph::search() does, within the same budget for all regions together. `language` is that of `space`.
/// There are no explanations, and nothing is looked at. Values known only after the loop stay as they are.
RegionResult search_by_regions(const egraph::SearchSpace& space, const Language& language, const egraph::Term& initial,
                               const egraph::SearchOptions& options);

}  // namespace trident::expr::rewrite
