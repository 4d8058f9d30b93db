// The answer of an equivalence check.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trident::equiv {

/// A point at which a candidate's answer breaks the policy.
struct Counterexample {
  std::string why;  ///< "error above the policy's bound", "crashed (SIGSEGV)", ...
  std::vector<std::pair<std::string, std::string>> inputs;  ///< variable, value (decimal and hexadecimal float)
  std::string output;                                       ///< name, empty when the kernel did not answer
  std::uint64_t element = 0;                                ///< index in the call
  std::uint64_t elements = 0;                               ///< length of the call
  std::string got, wanted;
  double error_ulp = 0;
};

struct Verdict {
  enum class Kind : std::uint8_t {
    exhaustive,  ///< right at every point that the ranges allow
    sampled,     ///< right at `points` points drawn with `seed`
    differs,     ///< see counterexample
  };
  Kind kind = Kind::sampled;
  std::uint64_t points = 0;     ///< at which the reference decides
  std::uint64_t undecided = 0;  ///< points at which it does not decide (compare.h)
  double either_side = 0;       ///< share of the points at which the running error of the source reaches a step
  std::uint64_t seed = 0;
  double bound_share = 0;  ///< greatest error of the candidate as a share of what the policy allows at that point
  double risk = 0;  ///< the same at points where the candidate's result is not the source's own, which the bound holds
  double max_error_ulp = 0;  ///< greatest error in ulp of the correct value: large where the source cancels
  std::optional<Counterexample> counterexample;

  [[nodiscard]] bool same() const { return kind != Kind::differs; }
};

/// Prints one or a few lines for people.
std::string print(const Verdict& verdict);

}  // namespace trident::equiv
