// What a proof of a program costs, by runs on samples.
#pragma once

#include <optional>
#include <vector>

#include "jit/tir/vm/machine.h"

namespace trident::tir::tournament {

/// Less is better: the padded height first, since it is the prover's time; then the tallest table, then words.
struct Score {
  std::uint64_t padded = 0, tallest = 0;  ///< sums over the samples
  std::uint32_t words = 0;

  friend bool operator==(const Score&, const Score&) = default;
  friend bool operator<(const Score& a, const Score& b) {
    if (a.padded != b.padded) return a.padded < b.padded;
    return a.tallest != b.tallest ? a.tallest < b.tallest : a.words < b.words;
  }
};

/// Runs programs on samples and compares what they leave with what the first one left.
class Scorer {
 public:
  /// `samples` and what they refer to must outlive it. Every sample's run of `baseline` must fit `budget`.
  Scorer(std::span<const vm::Inputs> samples, const vm::Budget& budget) : samples_(samples), budget_(budget) {}

  /// The first program: what others must leave. An error if it fails on a sample, with the failure's text.
  Result<Score> begin(const tasm::Program& baseline);
  /// None if the program leaves something else on a sample. It is run from the stack that the first one had.
  std::optional<Score> score(const tasm::Program& program);
  /// Of the last program, by sample.
  [[nodiscard]] const std::vector<vm::Heights>& heights() const { return heights_; }
  /// How often each instruction of the last program ran, over all samples.
  [[nodiscard]] const std::vector<std::uint64_t>& executions() const { return executions_; }
  [[nodiscard]] std::size_t scored() const { return scored_; }
  /// The first program's digest as it lies on its stack, bottom first, below zeros.
  [[nodiscard]] const std::vector<vm::Element>& first_stack() const { return first_stack_; }

 private:
  struct End {
    std::vector<vm::Element> output, stack;
  };
  Score add_up(const vm::Code& code) const;
  void run(const vm::Code& code, const vm::Inputs& sample);

  std::span<const vm::Inputs> samples_;
  vm::Budget budget_;
  vm::Machine machine_;
  vm::Code code_;
  std::vector<vm::Element> first_stack_;
  std::vector<End> ends_;
  std::vector<vm::Heights> heights_;
  std::vector<std::uint64_t> executions_;
  std::size_t scored_ = 0;
};

}  // namespace trident::tir::tournament
