// Expressions that clients have submitted, from a journal (one per line): some to learn from, some held out to
// judge by, and a measure of a guide's gain on them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "jit/egraph/guide.h"
#include "jit/expr/expr.h"
#include "jit/learn/scrambles.h"
#include "runtime/base/result.h"
#include "runtime/nn/accumulator/weights.h"

namespace trident::learn {

struct Submitted {
  std::vector<expr::Expr> train, held_out;
  std::size_t passed_over = 0;  ///< lines skipped
};

/// Reads journals. Holds out one expression in five by a hash: it never changes sides, however often the journal is
/// read and whatever else is in it. Skips lines that are no expressions. A missing file has no lines; other
/// errors are those of os::read_file().
Result<Submitted> read_submitted(std::span<const std::string> files);

/// Runs the guided search by these weights: returns the geometric mean over the cases of (after + 4) / (before + 4),
/// of DAG costs. It applies `applications` rewrites to each and reads no clock: equal weights give an equal
/// figure. Skips cases that no search takes; 1 if none is left.
double found_ratio(std::span<const expr::Expr> cases, const nn::AccumulatorWeights& weights,
                   std::uint64_t applications);

/// Runs the search by another guide.
double found_ratio(std::span<const expr::Expr> cases, egraph::Guide& guide, std::uint64_t applications,
                   const std::function<void(std::size_t done)>& progress = {});

/// Number of rewrites that take about 10 ms.
inline constexpr std::uint64_t kApplicationsJudged = 400;

/// Composes expressions that no episode plays, for a journal with too few to judge by.
std::vector<expr::Expr> composed_cases(std::size_t count, const ScrambleOptions& options = {});
/// Makes such expressions worse at random, in turn.
std::vector<expr::Expr> worsened_cases(std::size_t count, std::span<const expr::Expr> expressions,
                                       const ScrambleOptions& options = {});

}  // namespace trident::learn
