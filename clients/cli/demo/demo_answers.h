// Judges the answers of every call that the demo makes of one kernel.
//
// Holding each of a million answers to MPFR would take hours, and comparing it with a stored right one would push the
// kernel's own arrays out of the first-level cache between two timed calls. So the first answer of each code is held to
// the reference, and of every later one the 128-bit digest (XXH3) is compared with that answer's: the same code on the
// same inputs gives the same bits. A tier may have several codes: a search that goes on replaces its own first one. A
// digest reads nothing but the outputs, which the call has just written.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "clients/cli/bench/answers.h"
#include "clients/cli/bench/timing.h"

namespace trident::cli {

inline constexpr std::size_t kTiers = 3;  ///< interpreter, baseline, optimised: enum trident_tier

/// Names the code that answers a call.
struct DemoCode {
  std::uint32_t tier = 0;
  std::uint32_t swaps = 0;  ///< how often the kernel's entry was replaced until now
  bool operator==(const DemoCode&) const = default;
};

class DemoAnswers {
 public:
  /// Right is what satisfies `policy`. `checker`, which must outlive this, was made for the workload that is judged.
  DemoAnswers(AnswerChecker& checker, const expr::Policy& policy) : checker_(checker), policy_(policy) {}

  /// Overwrites the outputs, so that a call that stores nothing does not pass for one that answers as the last did.
  static void spoil(const Workload& workload);

  /// Why what a call has left in the outputs of `workload` is wrong; empty when it is right. `before` and `after`: the
  /// kernel's code around the call. When they differ, the answer may be of either.
  std::string judge(const Workload& workload, const DemoCode& before, const DemoCode& after);

  /// Greatest error of the answers of `tier` that were held to the reference, as a share of what the policy allows.
  [[nodiscard]] std::optional<double> bound_share(std::uint32_t tier) const { return bound_share_.at(tier); }

 private:
  struct Digest {
    std::uint64_t low = 0, high = 0;
    bool operator==(const Digest&) const = default;
  };
  struct Right {
    DemoCode code;
    Digest digest;
  };
  static Digest digest_of(const Workload& workload);
  /// Returns whether an answer of this code was held to the reference.
  [[nodiscard]] bool knows(const DemoCode& code) const;

  AnswerChecker& checker_;
  expr::Policy policy_;
  std::array<std::optional<Right>, kTiers> right_;  ///< of the last code of each tier
  std::array<std::optional<double>, kTiers> bound_share_;
};

}  // namespace trident::cli
