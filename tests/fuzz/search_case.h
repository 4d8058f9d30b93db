// One case of the campaign of searches (search_campaign.cpp): a random expression, rewritten and compiled in one of
// many ways, and checked as follows.
//
//   exact           forms have the interpreter's bits of the unrewritten kernel, NaN aside
//   bounded, fast   a form that breaks the policy at fresh points, which the search has never seen, must be refused by
//                   the check that the optimiser publishes by (one case in twelve is asked, it takes long); what that
//                   check accepts must hold at 16,384 points more
//   any             a form has the source's value over the reals (tests/support/mpfr_evaluator.h, MPFR at 400 bits)
//   wherever
//                   both have one, but for few points; no elements and one give what the source gives; machine code of
//                   a random variant gives the interpreter's bits between guard pages; whatever the source can be
//                   lowered to, its forms can; the same case gives the same forms twice
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "jit/egraph/search.h"
#include "jit/expr/expr.h"
#include "jit/expr/rewrite/rewrite.h"
#include "runtime/base/result.h"

namespace trident::fuzz {

struct SearchCase {
  std::uint64_t seed = 0;  ///< of points, of the search, of variants
  expr::Expr expr;
  expr::Policy policy;
  egraph::Strategy strategy = egraph::Strategy::best_first;
  bool odd_costs = false;  ///< the search's costs of ops are drawn by the seed: it then prefers odd forms
  std::uint32_t graph_nodes = 600;
};

/// The case of a seed; expressions of up to `nodes_max` operations. Every machine makes the same case.
SearchCase make_search_case(std::uint64_t seed, std::uint32_t nodes_max);

/// A case as a text that read_search_case() reads: a line of settings and the expression.
std::string print(const SearchCase& c);
Result<SearchCase> read_search_case(const std::string& text);

/// Runs the case's search on `source`, with derivations (RewriteOptions::explain) on request.
Result<expr::rewrite::Rewritten> search_of(const SearchCase& c, const expr::Expr& source, bool explain);

/// Counts of forms by their fate.
struct SearchCounts {
  std::uint64_t cases = 0, forms = 0, kept = 0, refused = 0, unasked = 0, accepted = 0, codes = 0;
  void add(const SearchCounts& other);
};

struct Finding {
  std::string kind;  ///< "exact bits", "code", ...; empty when all is well
  std::string what;  ///< with values
};

Finding check_search_case(const SearchCase& c, SearchCounts& counts);

/// The smallest expression found that shows a finding of the same kind; at most `tries` checks.
SearchCase minimise(const SearchCase& c, const std::string& kind, unsigned tries);

}  // namespace trident::fuzz
