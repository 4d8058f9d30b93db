// Compares a program with another on many generated inputs: guards a compiler against its own mistakes.
//
//   given inputs --changed--+
//   made-up inputs ---------+--> run of the original: does it pass new steps? --> kept, and changed again
//   kept inputs --changed---+
//
// It finds differences and proves nothing. A difference is reported as a sentence: the candidate ends otherwise, or
// goes on for several times as many cycles. Two runs that fail are the same however they fail (equiv.h).
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "jit/tir/equiv/state.h"

namespace trident::tir::equiv {

struct TrialOptions {
  std::uint64_t seed = 1;
  unsigned count = 300;                   ///< states
  std::uint64_t cycles = 100'000;         ///< limit per run of the original; longer runs are not used
  std::chrono::milliseconds time{1'000};  ///< limit of all work together; after it few states are tried
};

class Trials {
 public:
  /// Copies all arguments. The tried states have the stack of `given`, or sixteen zeros if it is empty.
  Trials(tasm::Program original, State given, const TrialOptions& options);

  /// Describes a difference; empty if none is found.
  std::string difference(const tasm::Program& candidate);
  /// True if the output or a failure depends on the five elements at the bottom of the stack, the digest.
  bool looks_at_digest();
  [[nodiscard]] std::size_t states() const { return states_.size(); }
  /// Number of states in which the original does not fail.
  [[nodiscard]] std::size_t ended() const { return ended_; }

 private:
  bool next_state();
  bool goes_elsewhere();
  [[nodiscard]] bool in_time() const { return spent_ < options_.time; }

  tasm::Program original_;
  State given_;
  TrialOptions options_;
  States source_;
  Random random_;
  vm::Code code_;
  vm::Machine machine_;
  std::vector<State> states_;
  std::vector<std::size_t> kept_;    ///< states that passed new steps
  std::vector<std::uint32_t> seen_;  ///< per step, the powers of two of the times that one run passed it
  unsigned made_ = 0;
  std::size_t ended_ = 0;
  std::chrono::steady_clock::duration spent_{};
};

}  // namespace trident::tir::equiv
