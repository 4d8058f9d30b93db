// Questions that lowering asks of texts: which expressions need blocks of their own, which can fail, what loops change.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "jit/function/library.h"

namespace trident::function {

/// Sets has_flow and is_plain of all expressions; their types are known.
void mark_flow(std::vector<Statement>& list);
/// Returns whether `e` is a quotient or a remainder of integers.
bool divides(const Expression& e);
/// Returns whether one of `list` gives `name` a new value.
bool assigns(const std::vector<Statement>& list, std::string_view name);
/// Returns whether a copy of `e` is small: calls in it are of short functions.
bool is_short(const Expression& e, const Library& library);

/// Returns whether the counted loop `s` does few rounds, as many as its text says, and each is so short that copies of
/// it cost little: no branch, no loop, no call of a function.
bool has_few_rounds(const Statement& s);

/// Limits of one name from both sides, joined by &&.
struct Between {
  const Expression* name;
  std::int64_t lo, hi;
};
std::optional<Between> between(const Expression& e);

}  // namespace trident::function
