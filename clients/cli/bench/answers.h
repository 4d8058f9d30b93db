// Checks the answers of a benchmark's contestants against the reference of jit/equiv (MPFR at 200 bits) on the very
// points that are timed.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "clients/cli/bench/timing.h"
#include "jit/equiv/compare.h"
#include "jit/equiv/reference.h"

namespace trident::cli {

struct Answer {
  double max_ulp = 0;  ///< in ulp of max(|correct|, 1e-6 * largest |correct|), over all outputs
  std::string wrong;   ///< why the answer is not acceptable; empty when it is
};

class AnswerChecker {
 public:
  /// The reference at all points of `workload`, whose inputs were drawn from the ranges of `sampled`. `expr` must
  /// outlive the checker.
  static Result<std::unique_ptr<AnswerChecker>> make(const expr::Expr& expr, const std::vector<expr::Variable>& sampled,
                                                     const Workload& workload);

  /// An answer of ours, which must satisfy `policy` (for exact: see compare_bits of jit/equiv; here its errors are held
  /// to bounded(1)). `outputs[k]`: the bytes of output k.
  Answer ours(const std::vector<std::vector<std::byte>>& outputs, const expr::Policy& policy);
  /// An answer of a -ffast-math compiler, which has promised little: wrong only when it is off by kWrongFactor times
  /// the strict evaluation's error and more, or not finite where the right answer is.
  Answer theirs(const std::vector<std::vector<std::byte>>& outputs);
  /// Compares two answers bit by bit, NaN equal to NaN.
  [[nodiscard]] Answer same_bits(const std::vector<std::vector<std::byte>>& wanted,
                                 const std::vector<std::vector<std::byte>>& got) const;

  /// Greatest error of the strict evaluation: the source op by op, each correctly rounded.
  [[nodiscard]] double strict_ulp() const;
  /// Greatest error that `policy` allows our answers.
  [[nodiscard]] double allowed_ulp(const expr::Policy& policy) const;

 private:
  explicit AnswerChecker(const expr::Expr& expr) : expr_(expr) {}
  Answer compare(const std::vector<std::vector<std::byte>>& outputs, const expr::Policy& policy);
  bool widen();
  const expr::Expr& expr_;
  std::vector<expr::Variable> sampled_;
  bool wide_ = false;
  equiv::Samples samples_;
  std::optional<equiv::Reference> reference_;
  std::vector<double> strict_ulp_;  ///< per output
};

}  // namespace trident::cli
