// Expressions to learn rewriting from: sides of rules composed, then made worse by random rewrites. So a way
// back to the good form exists, and every domain of rules takes part.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jit/expr/rewrite/rewrite.h"

namespace trident::learn {

struct ScrambleOptions {
  std::vector<std::string> themes{};  ///< files of rules (RuleSet::Tags::theme) to compose from; empty: all
  std::uint32_t parts_max = 9;        ///< sides of rules that are combined
  std::uint32_t steps_min = 0;        ///< least number of rewrites that make it worse
  std::uint32_t steps_max = 8;        ///< most such rewrites
  std::uint32_t nodes_max = 140;      ///< largest result of a rewrite
  /// A fourth is about values of f32, elements of tables, or choices whose conditions are known: the themes types,
  /// memory and truths, whose sides say nothing without them. All of it if no other theme is asked for.
  bool dressed = false;
};

struct Scramble {
  expr::Expr good, expr;              ///< before and after the random rewrites
  std::vector<std::string> themes{};  ///< themes that it was composed from
  std::uint32_t steps = 0;
};

/// Makes a scramble; equal seeds and options give equal ones. None if the draw is no expression; use another seed.
std::optional<Scramble> scrambled(std::uint64_t seed, const ScrambleOptions& options = {});

/// Applies random rewrites to an expression. None if it has derivatives or is too large.
std::optional<Scramble> worsened(const expr::Expr& good, std::uint64_t seed, const ScrambleOptions& options = {});

}  // namespace trident::learn
