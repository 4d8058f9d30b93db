#pragma once

#include <cstdint>

#include "jit/expr/expr.h"

namespace trident::expr::rewrite {

/// Returns an op as e-graphs and patterns store it.
constexpr std::uint8_t op_code(Op op) {
  return static_cast<std::uint8_t>(op);
}

}  // namespace trident::expr::rewrite
