// Least and greatest values of a call's arguments: hints for the daemon about the data that a kernel gets.
#pragma once

#include <cstdint>
#include <vector>

#include "clients/c/wire.h"
#include "jit/expr/expr.h"

namespace trident::client {

/// Returns the range of the numbers in an array of `n` elements; of a long one, that of about `looked_at` of them.
/// Where there is no number, lo is inf and hi is -inf.
wire::Range numbers_of(ir::Type type, const void* data, std::uint64_t n, std::uint64_t looked_at);

/// Returns the ranges of the arguments of one call, by variable; of long arrays, those of some of the elements. From
/// -inf to inf for tables and where an argument has no number. Allocates the result and nothing else.
std::vector<wire::Range> ranges_of(const std::vector<expr::Variable>& variables, std::uint64_t n, const void* const* in,
                                   const std::uint64_t* params);

/// Calls visit(v, data) for each variable but tables, `data` being its array or its scalar.
template <class Visit>
void for_each_argument(const std::vector<expr::Variable>& variables, const void* const* in, const std::uint64_t* params,
                       Visit visit) {
  std::size_t array = 0, scalar = 0;
  for (std::size_t v = 0; v < variables.size(); ++v) {
    const bool is_scalar = variables[v].is_scalar();
    const std::size_t place = is_scalar ? scalar++ : array++;
    if (variables[v].is_table() || ir::converts(variables[v].storage)) continue;
    visit(v, is_scalar ? static_cast<const void*>(&params[place]) : in[place]);
  }
}

}  // namespace trident::client
