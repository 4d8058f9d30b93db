#include "jit/pipeline/form_checks.h"

#include <limits>

namespace trident::pipeline {

Result<bool> FormChecks::at_rare_points(Tried& tried) {
  if (!tried.holds()) return false;
  if (tried.rare_checked || exact_) return tried.rare_checked = true;
  TRY_VOID(checker_.ask_more(tried.form.kernel, equiv::Demand::any_set, *tried.prepared));
  tried.rare_checked = true;
  return tried.holds();
}

Result<bool> FormChecks::at_other_points(Tried& tried) {
  if (!tried.holds()) return false;
  if (tried.looked_again || (tried.form.keeps_roundings && !tried.chosen_by_checks)) return tried.looked_again = true;
  constexpr double kAnyError = std::numeric_limits<double>::infinity();
  const double risk = tried.chosen_by_checks ? kAnyError : tried.prepared->meaning.risk;
  TRY(equiv::Verdict verdict, second_looks_.ask(tried.form.kernel, risk));
  tried.looked_again = true;
  if (verdict.same()) return true;
  tried.prepared->meaning = std::move(verdict);
  return false;
}

}  // namespace trident::pipeline
