#include "jit/pipeline/reason.h"

#include <algorithm>
#include <cstdio>
#include <set>

namespace trident::pipeline {
namespace {

std::string in_one_line(std::string text) {
  std::string line;
  for (const char c : text) {
    if (c == '\n') line += ',';
    const char kept = c == '\n' ? ' ' : c;
    if (kept != ' ' || (!line.empty() && line.back() != ' ')) line += kept;
  }
  return line;
}

std::string name_of(const expr::Policy& policy) {
  if (policy.kind == expr::PolicyKind::exact) return "exact";
  if (policy.kind == expr::PolicyKind::fast) return "fast";
  char text[32];
  std::snprintf(text, sizeof text, "bounded(%g)", policy.k);
  return text;
}

std::string budget_of(const Options& options) {
  char text[32];
  const std::uint64_t ns = options.budget_ns == 0 ? kDefaultBudgetNs : options.budget_ns;
  std::snprintf(text, sizeof text, "%g s", static_cast<double>(ns) * 1e-9);
  return text;
}

std::string no_gain_of(const Optimised& result, const Options& options) {
  std::set<std::string> refused, sound;
  std::size_t timed = 0;
  double best = 0;
  for (const CandidateReport& c : result.candidates) {
    (c.same ? sound : refused).insert(c.form);
    if (c.ratio == 0) continue;
    ++timed;
    if (best == 0 || c.ratio < best) best = c.ratio;
  }
  std::erase_if(refused, [&](const std::string& form) { return sound.contains(form); });
  std::string text = "nothing faster than the baseline was found";
  char part[96];
  std::snprintf(part, sizeof part, ": %zu kernels timed, the best at %.2f of its time", timed, best);
  if (timed > 1) text += part;
  std::snprintf(part, sizeof part, "; %zu forms refused under policy %s", refused.size(),
                name_of(options.policy).c_str());
  if (!refused.empty()) text += part;
  if (refused.empty() && options.policy.kind == expr::PolicyKind::exact) text += "; policy exact allows no rewriting";
  return text;
}

}  // namespace

std::string reason_of(const Optimised& result, const Options& options) {
  switch (result.outcome) {
    case Outcome::published: return {};
    case Outcome::no_gain: return no_gain_of(result, options);
    case Outcome::budget_spent:
      return "the search ended at its source: its time budget of " + budget_of(options) + " was spent" +
             (result.baseline_checked ? "" : " before the baseline was checked");
    case Outcome::not_equivalent:
      return "the baseline was revoked by the check against the reference: " + in_one_line(result.detail);
  }
  CHECK(false);
}

}  // namespace trident::pipeline
