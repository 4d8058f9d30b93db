// What a proof of a program costs, by runs on samples.
//
// The digest of a program is on its stack when it begins, and a changed program has another one. What a program leaves
// is compared from the stack of the first one; what it costs is measured from its own, as the prover will run it. One
// run is both, but for programs whose heights depend on their digest.
#pragma once

#include <array>
#include <map>
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

/// A digest, by which programs are told apart.
using Key = std::array<std::uint64_t, field::kDigestWords>;

struct Cost {
  Score score;
  std::vector<vm::Heights> heights;  ///< by sample
  Key key{};                         ///< of the program
};

/// Whether the proof of no sample is taller: never by padded heights, and by the tallest table only where another
/// sample gains a power of two for it.
bool never_taller(const Cost& before, const Cost& after);

/// Runs programs on samples and compares what they leave with what the first one left. Remembers what it has run.
class Scorer {
 public:
  /// `samples` and what they refer to must outlive it. Every sample's run of `baseline` must fit `budget`.
  Scorer(std::span<const vm::Inputs> samples, const vm::Budget& budget) : samples_(samples), budget_(budget) {}

  /// The first program: what others must leave. An error if it fails on a sample, with the failure's text.
  Result<Cost> begin(const tasm::Program& baseline);
  /// None if the program leaves something else on a sample, or fails there from its own digest.
  std::optional<Cost> cost(const tasm::Program& program);
  /// The cost of a new run from the program's own digest, whatever is remembered and compared.
  std::optional<Cost> cost_alone(const tasm::Program& program);
  /// How often each instruction of the program runs, over all samples.
  std::vector<std::uint64_t> executions(const tasm::Program& program);
  /// Programs that were run.
  [[nodiscard]] std::size_t scored() const { return scored_; }
  /// The first program's digest as it lies on its stack, bottom first, below zeros.
  [[nodiscard]] const std::vector<vm::Element>& first_stack() const { return first_stack_; }

 private:
  struct End {
    std::vector<vm::Element> output, stack;
  };
  vm::Failure run(const vm::Inputs& sample, std::span<const vm::Element> stack);
  [[nodiscard]] bool ended_as(const End& end) const;
  bool costs_by_digest(const Cost& first);
  std::optional<Cost> compared();
  std::optional<Cost> alone();

  std::span<const vm::Inputs> samples_;
  vm::Budget budget_;
  vm::Machine machine_;
  vm::Code code_;
  std::vector<vm::Element> first_stack_;
  std::vector<End> ends_;
  std::map<Key, std::optional<Cost>> known_;
  bool by_digest_ = false;  ///< heights depend on the digest
  std::size_t scored_ = 0;
};

}  // namespace trident::tir::tournament
