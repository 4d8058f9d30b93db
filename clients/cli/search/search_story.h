// The story of a search in an expression, to be read and looked at (`trident explain`): the chain of rules from the
// source to the form that was found, each form's predicted cost and its time on this machine, and each strategy's
// progress with every rewrite.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "jit/codegen/codegen.h"
#include "jit/expr/rewrite/chain.h"
#include "jit/pipeline/search_rules.h"

namespace trident::cli {

struct StoryOptions {
  expr::Policy policy;
  codegen::Isa isa = codegen::Isa::avx2;
  std::uint64_t seed = 1, elements = 4096;
  const pipeline::SearchRules* rules = nullptr;
  bool curves = false;  ///< for search_svg(): some seconds of searching
};

struct StoryStep {
  std::vector<std::string> rules;  ///< that lead here; none for the source
  std::string text;                ///< the form, infix
  double cost = 0;                 ///< static, in fmas
  double predicted_ns = 0;         ///< per element, by the analytical model
  double judged_ns = 0;            ///< ... by the judge's network; 0 where there is none
  double measured_ns = 0;          ///< ... the median here; 0 where it could not be timed
};

struct SearchStory {
  std::vector<StoryStep> steps;
  /// By strategy: rewrites applied, and the cost of the best form by then.
  std::vector<std::pair<std::string, std::vector<std::pair<double, double>>>> curves;
};

/// Searches as the optimiser does, and times what it found. Errors: those of the search, OsError.
Result<SearchStory> tell(const expr::Expr& source, const StoryOptions& options);

/// A line for each form, with rules, costs and times.
std::string story_text(const SearchStory& story);
/// The chain as boxes with bars for costs and times, and the curves beside it, as one SVG.
std::string story_svg(const SearchStory& story);

}  // namespace trident::cli
