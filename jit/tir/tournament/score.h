// Measures the cost of a program's proof by runs on samples.
//
// The digest of a program is on its stack when it begins, and a changed program has another one. Results
// are compared from the stack of the first program; costs are measured from its own, as the prover will run it. One
// run does both, but for programs whose heights depend on their digest.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <vector>

#include "jit/tir/vm/machine.h"

namespace trident::tir::tournament {

/// Score, less is better: the padded height first, since it is the prover's time; then the tallest table, then words,
/// then the rows of all tables.
struct Score {
  std::uint64_t padded = 0, tallest = 0;  ///< sums over the samples
  std::uint32_t words = 0;
  std::uint64_t rows = 0;  ///< sum over the tables and samples

  /// Adds one run's heights.
  void add(const vm::Heights& heights);

  friend bool operator==(const Score&, const Score&) = default;
  friend bool operator<(const Score& a, const Score& b) {
    if (a.padded != b.padded) return a.padded < b.padded;
    if (a.tallest != b.tallest) return a.tallest < b.tallest;
    return a.words != b.words ? a.words < b.words : a.rows < b.rows;
  }
};

/// Digest of a program, its identity.
using Key = std::array<std::uint64_t, field::kDigestWords>;

struct Cost {
  Score score;
  std::vector<vm::Heights> heights;  ///< per sample
  Key key{};                         ///< key of the program
};

/// True if no sample's proof gets taller: never by padded heights, and by the tallest table only if another
/// sample gains a power of two for it.
bool never_taller(const Cost& before, const Cost& after);

/// Runs programs on samples and compares their results with those of the first one. Caches its runs.
class Scorer {
 public:
  /// `samples` and the data they refer to must outlive it. Every sample's run of `baseline` must fit `budget`.
  Scorer(std::span<const vm::Inputs> samples, const vm::Budget& budget) : samples_(samples), budget_(budget) {}

  /// Runs the first program, whose results the others must have. An error if it fails on a sample, with the text.
  Result<Cost> begin(const tasm::Program& baseline);
  /// Returns none if the program has another result on a sample, or fails there from its own digest.
  std::optional<Cost> cost(const tasm::Program& program);
  /// Measures a new run from the program's own digest, without cache and comparison.
  std::optional<Cost> cost_alone(const tasm::Program& program);
  /// Counts how often each instruction of the program runs, over all samples.
  std::vector<std::uint64_t> executions(const tasm::Program& program);
  /// Returns the number of programs that were run.
  [[nodiscard]] std::size_t scored() const { return scored_; }
  /// Returns the first program's digest as it lies on its stack, bottom first, below zeros.
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
