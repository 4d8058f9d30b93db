// Which row of biases of the guide's head is whose: by what a rule says, not by its number or its name, so that weights
// go on to serve rules that stay when others come and go. Row 0 is for rules that have none of their own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "jit/egraph/pattern.h"

namespace trident::nnue {

/// Of both sides of a rule; not 0.
std::uint64_t key_of(const egraph::Rule& rule, std::span<const egraph::OpRow> ops);

/// For every rule the row whose key is the rule's, else 0.
std::vector<std::uint32_t> rows_of(std::span<const egraph::Rule> rules, std::span<const egraph::OpRow> ops,
                                   std::span<const std::uint64_t> keys);

/// Keys of rows for these rules: row 0, and then one for each in their order.
std::vector<std::uint64_t> keys_of(std::span<const egraph::Rule> rules, std::span<const egraph::OpRow> ops);

}  // namespace trident::nnue
