// What clients have submitted, as a journal has it (one expression per line): what to learn from, what is kept to
// judge by, and how much a guide finds in it.
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
  std::size_t passed_over = 0;  ///< lines
};

/// An expression is held out by what it is, one in five: it never changes sides, however often the journal is read and
/// whatever else is in it. Lines that are no expressions are passed over. A file that is not there has no lines; other
/// errors are those of os::read_file().
Result<Submitted> read_submitted(std::span<const std::string> files);

/// What the guided search finds by these weights, as the geometric mean over the cases of (after + 4) / (before + 4),
/// of DAG costs. So many rewrites are applied to each, and no clock is looked at: the same weights have the same
/// figure. Cases that no search takes are passed over; 1 where none is left.
double found_ratio(std::span<const expr::Expr> cases, const nn::AccumulatorWeights& weights,
                   std::uint64_t applications);

/// ... by another guide.
double found_ratio(std::span<const expr::Expr> cases, egraph::Guide& guide, std::uint64_t applications,
                   const std::function<void(std::size_t done)>& progress = {});

/// So many rewrites take about 10 ms.
inline constexpr std::uint64_t kApplicationsJudged = 400;

/// Composed expressions that no episode plays, for a journal that has too few to judge by.
std::vector<expr::Expr> composed_cases(std::size_t count, const ScrambleOptions& options = {});
/// ... of expressions that were made worse at random, in turn.
std::vector<expr::Expr> worsened_cases(std::size_t count, std::span<const expr::Expr> expressions,
                                       const ScrambleOptions& options = {});

}  // namespace trident::learn
