// Forms and their code, with the results of checks and judge, and reports of these.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jit/equiv/checker.h"
#include "jit/pipeline/forms.h"

namespace trident::pipeline {

struct Tried {
  Form form;
  std::optional<equiv::Checker::Prepared> prepared{};  ///< its meaning; none: not checked in time
  bool code_checked = false;                           ///< one of its candidates was checked thoroughly
  bool parts_checked = false;                          ///< it was checked whether it is careful in all its parts
  bool rare_checked = false;                           ///< it holds at rarer points too (form_checks.h)
  bool looked_again = false;                           ///< ... and at other points
  bool chosen_by_checks = false;                       ///< answers about the drawn points have led to it
  std::vector<Tried> before{};                         ///< forms that stand in for it if it does not hold there

  /// True if it means what the source means.
  [[nodiscard]] bool holds() const { return prepared && prepared->meaning.same(); }
  /// True if every check of forms was made.
  [[nodiscard]] bool is_checked() const {
    return rare_checked && looked_again && (form.keeps_roundings || parts_checked);
  }
};

/// Code of a form in one variant.
struct Candidate {
  std::size_t form = 0;
  codegen::Variant variant;
  codegen::MachineCode code;
  image::ImageBytes image;
  image::Mapped mapped;
  equiv::Verdict verdict{};
  bool checked = false;
  bool checked_fully = false;
  bool sifted_out = false;  ///< many others were faster at a first look: it is not checked (sift.h)
  double ratio = 0;         ///< measured time over the baseline's; 0: not timed

  /// True if it does what its form means.
  [[nodiscard]] bool holds() const { return checked && verdict.same(); }
};

/// True if the form holds for which this one would be the replacement, or the one for which that would.
bool replaced(std::span<const Tried> tried, const Tried& one);

std::string print(const codegen::Variant& variant);
std::string name_of(std::span<const Tried> tried, const Candidate& candidate);

std::string print_meanings(std::span<const Tried> tried);
std::string print_code(std::span<const Tried> tried, std::span<const Candidate> candidates, codegen::Isa isa);
std::string print_verdicts(std::span<const Tried> tried, std::span<const Candidate> candidates);
std::string print_ratios(std::span<const Tried> tried, std::span<const Candidate> candidates);

/// Counts forms and candidates that may have been faster, were there more time.
std::size_t count_unchecked(std::span<const Tried> tried, std::span<const Candidate> candidates);
/// Lists forms that were not checked in time, if `rewritten_asked`, then those that were refused, then candidates.
std::vector<CandidateReport> reports(std::span<const Tried> tried, std::span<const Candidate> candidates,
                                     bool rewritten_asked);

}  // namespace trident::pipeline
