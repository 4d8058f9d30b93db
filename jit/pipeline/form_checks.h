// Checks of the meaning of forms, the cheap ones first. Every form is asked about the points drawn. The others cost ten
// times as much, so they are asked only where a form would be used: about rarer points that are sought from those
// (jit/equiv/tail.h), then about all other points (second_look.h) if its errors come near to the bound.
#pragma once

#include "jit/pipeline/second_look.h"
#include "jit/pipeline/tried.h"

namespace trident::pipeline {

class FormChecks {
 public:
  /// `source` and `checker`, which was made with `check`, must outlive this.
  FormChecks(const expr::Expr& source, const expr::Policy& policy, const equiv::CheckOptions& check,
             equiv::Checker& checker)
      : exact_(policy.kind == expr::PolicyKind::exact), checker_(checker), second_looks_(source, policy, check) {}

  /// Asks about the points drawn, and where the kernel's values overflow. Errors of all: those of the checker.
  Result<equiv::Checker::Prepared> at_drawn_points(const kir::Kernel& kernel, const Tried& unrewritten) {
    return checker_.check_meaning(kernel, equiv::Demand::policy, &*unrewritten.prepared);
  }
  /// Asks about a form that at_rare_points() is asked about before it is used: where its values overflow is asked then.
  Result<equiv::Checker::Prepared> at_first(const Form& form, const Tried& unrewritten) {
    const bool all_now =
        exact_ || form.pieces.count > 0;  // the first are asked no more, others are put together by this
    const equiv::Demand demand = all_now ? equiv::Demand::policy : equiv::Demand::drawn;
    return checker_.check_meaning(form.kernel, demand, &*unrewritten.prepared);
  }
  /// Asks about rarer points, once; the answer becomes the form's meaning.
  Result<bool> at_rare_points(Tried& tried);
  /// Asks about all other points, once, if results that are not the source's own came near to the bound, or if the form
  /// was chosen by the answers about them: one of many answers near the limit may be luck. The answer becomes the
  /// form's meaning if it is a refusal.
  Result<bool> at_other_points(Tried& tried);

 private:
  bool exact_;
  equiv::Checker& checker_;
  SecondLooks second_looks_;
};

}  // namespace trident::pipeline
