// A program held to another one on many generated inputs: what guards a compiler against its own mistakes.
//
//   given inputs --changed--+
//   inputs made up ---------+--> run of the original: does it go where none has gone? --> kept, and changed again
//   those kept ---changed---+
//
// That finds differences and proves nothing. A sentence is said of how a candidate ends otherwise, or that it goes on
// for several times as many cycles; in which way both fail does not matter (equiv.h).
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "jit/tir/equiv/state.h"

namespace trident::tir::equiv {

struct TrialOptions {
  std::uint64_t seed = 1;
  unsigned count = 300;                   ///< states
  std::uint64_t cycles = 100'000;         ///< of a run of the original; one that takes more says nothing
  std::chrono::milliseconds time{1'000};  ///< of all work together, beyond which few states are tried
};

class Trials {
 public:
  /// The states that are tried have the stack of `given`, or sixteen zeros if it is empty. Copies all.
  Trials(tasm::Program original, State given, const TrialOptions& options);

  /// What is different, empty where nothing is found.
  std::string difference(const tasm::Program& candidate);
  /// Whether what it writes, or whether it fails, depends on the five elements at the bottom of the stack: its digest.
  bool looks_at_digest();
  [[nodiscard]] std::size_t states() const { return states_.size(); }
  /// Of them: in which the original does not fail.
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
  std::vector<std::size_t> kept_;    ///< states that went where none before had gone
  std::vector<std::uint32_t> seen_;  ///< by step: how often one run passed it, as a set of powers of two
  unsigned made_ = 0;
  std::size_t ended_ = 0;
  std::chrono::steady_clock::duration spent_{};
};

}  // namespace trident::tir::equiv
