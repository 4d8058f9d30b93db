// Runs the search on the cases of a rewrite.txt: costs before and after, the work it took, and whether the result
// still has the value of the source (`trident rewrite`).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jit/corpus/corpus_reader.h"
#include "jit/expr/rewrite/rewrite.h"

namespace trident::cli {

/// A result is wrong where it is off by more than this share of the source's value and by more than this at all.
inline constexpr double kWrongShare = 1e-6, kWrongShareOfF32 = 3e-5, kWrongDifference = 1e-9;

struct RewriteSettings {
  expr::rewrite::RewriteOptions search;
  std::uint64_t points = 100'000;  ///< at which a result is compared with its source
  bool view = false;               ///< keep a graph of each case to look at
};

/// A step of a derivation as text.
struct DerivationLine {
  std::string rule, left, right;
  /// Constants that only one side has and that may be rounded: the sides are equal up to these.
  std::vector<std::string> rounded{};
};

/// "0.333 is rounded"; empty where nothing is.
std::string rounded_text(const DerivationLine& step);

/// How far a form, computed in f64, is at most from the source's value over the reals, at some thousand points.
struct FormError {
  double ulp = 0;  ///< in units of the exact value's last place; points where that is 0 do not count
  /// The error as a share of what the policy allows at the point (jit/equiv/compare.h). When a sum cancels, `ulp` is
  /// vast for any form, and this is not.
  double bound_share = 0;
};

struct RewriteCase {
  std::string name, group;
  expr::rewrite::TermCost before, after;  ///< before: of a derivative, that of the textbook's form
  egraph::SearchStats stats;
  std::string result;  ///< infix; the source's own text when nothing cheaper was found
  expr::rewrite::Differentiated differentiated = expr::rewrite::Differentiated::none;
  bool derivative_left = false;
  std::uint32_t passed_over = 0;  ///< cheaper forms: wrong, `unlike`, or with much greater errors than the source
  std::uint64_t compared = 0;     ///< points at which the source is finite
  FormError error_before, error;  ///< of the source, op by op as it stands, and of the result
  std::string unlike;  ///< the same where a zero's sign, or NaN, decides about the source's value: see special_values.h
  /// Share of points at which the source is finite in f64 and the result is not (it overflows on the way, say), and the
  /// first of them. The points have every magnitude that the assumptions allow.
  double not_finite_share = 0;
  std::string not_finite_at;
  std::string wrong;                       ///< the first point at which the result differs; empty when there is none
  std::string failure;                     ///< why there are no figures; empty when there are
  egraph::GraphView graph;                 ///< RewriteSettings::view: the last one that held something better
  std::vector<DerivationLine> derivation;  ///< RewriteOptions::explain
  std::string replay_fault;                ///< why the derivation does not hold; empty when it does
};

/// (after + 4) / (before + 4), so that results of cost zero have a ratio; 1 when a derivative is left.
double cost_ratio(const RewriteCase& c, double expr::rewrite::TermCost::*cost);

/// Fills in what the comparison of `result` with `source` at `points` points gives: compared, wrong, both errors. No
/// derivatives in either. Points are log-uniform in magnitude over what is declared of each variable; where nothing is,
/// over 0.01 to 10, of either sign.
Result<void> compare_with_source(const expr::Expr& source, const expr::Expr& result, const expr::Policy& policy,
                                 std::uint64_t points, RewriteCase& c);

/// Fills in where `result` is not finite although `source` is: not_finite_share and not_finite_at. No derivatives in
/// either. Points are log-uniform in magnitude over all of f64, within what is declared of each variable.
Result<void> look_far(const expr::Expr& source, const expr::Expr& result, std::uint64_t points, RewriteCase& c);

struct RewriteReport {
  std::vector<RewriteCase> cases;
  double tree_geomean = 1, dag_geomean = 1;  ///< over the cases without a failure
  bool failed() const;
};

/// Rewrites every case, one after the other, in this thread. A progress bar on a terminal.
RewriteReport rewrite_cases(const std::vector<corpus::CorpusKernel>& cases, const RewriteSettings& settings);

std::string rewrite_text(const RewriteReport& report);
std::string rewrite_json(const RewriteReport& report);
/// One case: costs, result, derivation, and its graph, class by class. Needs RewriteSettings::view.
std::string rewrite_html(const RewriteCase& c);

}  // namespace trident::cli
