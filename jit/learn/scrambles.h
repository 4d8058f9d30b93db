// Expressions to learn rewriting from: compositions of what rules are about, made worse by random rewrites. The way
// back to the good form is there, and every domain of rules takes part.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jit/expr/rewrite/rewrite.h"

namespace trident::learn {

struct ScrambleOptions {
  std::vector<std::string> themes{};  ///< files of rules (RuleSet::Tags::theme) to compose from; empty: all
  std::uint32_t parts_max = 9;        ///< sides of rules that are put together
  std::uint32_t steps_min = 0;        ///< rewrites that make it worse: at least,
  std::uint32_t steps_max = 8;        ///< ... and at most
  std::uint32_t nodes_max = 140;      ///< that a rewrite may lead to
  /// A fourth is about values of f32, elements of tables, or choices whose conditions are known: what the themes types,
  /// memory and truths are about, whose sides say nothing without them. All of it where no other theme is asked for.
  bool dressed = false;
};

struct Scramble {
  expr::Expr good, expr;              ///< before and after the random rewrites
  std::vector<std::string> themes{};  ///< that it was composed from
  std::uint32_t steps = 0;
};

/// The same for the same seed and options. Nothing where what was drawn is no expression; ask again with another seed.
std::optional<Scramble> scrambled(std::uint64_t seed, const ScrambleOptions& options = {});

/// An expression and random rewrites of it. Nothing of one with derivatives, nor of one that is too large.
std::optional<Scramble> worsened(const expr::Expr& good, std::uint64_t seed, const ScrambleOptions& options = {});

}  // namespace trident::learn
