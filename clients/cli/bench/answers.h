// Checks the answers of a benchmark's contestants against the reference of jit/equiv on the very points that are timed.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "clients/cli/bench/timing.h"
#include "jit/equiv/compare.h"
#include "jit/equiv/reference.h"

namespace trident::cli {

struct Answer {
  double max_ulp = 0;      ///< in ulp of the correct value, over all outputs and points
  double bound_share = 0;  ///< greatest error as a share of what is allowed at that point
  std::string wrong;       ///< why the answer is not acceptable; empty when it is
};

class AnswerChecker {
 public:
  /// Checks answers at all points of `workload`. `expr` must outlive the checker.
  static Result<std::unique_ptr<AnswerChecker>> make(const expr::Expr& expr, const Workload& workload);

  /// An answer of ours, which must satisfy `policy` (for exact: see compare_bits of jit/equiv; here its errors are held
  /// to bounded(1)). `outputs[k]`: the bytes of output k.
  Answer ours(const std::vector<std::vector<std::byte>>& outputs, const expr::Policy& policy);
  /// An answer of a -ffast-math compiler, which has promised little: wrong only when it is off by kWrongUnits times the
  /// running error and more, or not finite where the right answer is.
  Answer theirs(const std::vector<std::vector<std::byte>>& outputs);
  /// Compares two answers bit by bit, NaN equal to NaN.
  [[nodiscard]] Answer same_bits(const std::vector<std::vector<std::byte>>& wanted,
                                 const std::vector<std::vector<std::byte>>& got) const;

 private:
  explicit AnswerChecker(const expr::Expr& expr) : expr_(expr) {}
  Answer compare(const std::vector<std::vector<std::byte>>& outputs, const expr::Policy& policy,
                 const equiv::Allowance& allowance);
  const expr::Expr& expr_;
  equiv::Samples samples_;
  std::map<double, equiv::Reference> references_;  ///< by units of the running error
};

}  // namespace trident::cli
