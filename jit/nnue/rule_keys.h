// Assigns rows of biases of the guide's head to rules by their text, not by number or name, so that weights
// still fit rules that stay when others are added or removed. Row 0 is for rules without a row of their own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "jit/egraph/pattern.h"

namespace trident::nnue {

/// Hashes both sides of a rule; never 0.
std::uint64_t key_of(const egraph::Rule& rule, std::span<const egraph::OpRow> ops);

/// Returns for every rule the row with its key, else 0.
std::vector<std::uint32_t> rows_of(std::span<const egraph::Rule> rules, std::span<const egraph::OpRow> ops,
                                   std::span<const std::uint64_t> keys);

/// Returns the keys of rows for these rules: row 0, and then one for each in their order.
std::vector<std::uint64_t> keys_of(std::span<const egraph::Rule> rules, std::span<const egraph::OpRow> ops);

}  // namespace trident::nnue
