// Functions as regions: calls are copied in, every fault becomes a way out that says what failed and where.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jit/expr/expr.h"
#include "jit/function/library.h"
#include "jit/region/region.h"

namespace trident::function {

/// A line of a function.
struct Place {
  std::string function;
  std::uint32_t line = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

/// How a call passes arguments and finds results. The frame begins with region::FrameHead, whose budget counts rounds
/// of all loops. Windows are those of array parameters in their order, from address 0 on, then those of local arrays,
/// which code clears itself.
struct Layout {
  std::uint32_t failure_slot = 0;          ///< i32: 0, or a Failure + 1
  std::uint32_t place_slot = 0;            ///< i32: where it failed, a number of `places`
  std::uint32_t result_slot = 0;           ///< i64 or f64; a bool is 0 or 1
  std::vector<std::uint32_t> slots;        ///< per parameter, i64 or f64: its value, or the number of its elements
  std::vector<std::uint64_t> local_bytes;  ///< per window of a local array
  std::uint32_t frame_bytes = 0;
  std::vector<Place> places;
  friend bool operator==(const Layout&, const Layout&) = default;
};

/// The instructions [first, last) compute an expression over operands; of what they make, others read the result alone.
struct Formula {
  expr::Expr meaning;  ///< its variables are the operands
  std::vector<region::Value> operands{};
  region::Value result{};
  std::uint32_t first = 0, last = 0;
};

struct Lowered : Layout {
  region::Region region;
  std::vector<Formula> formulas;  ///< in the order of their instructions
};

/// Lowers a checked function. LimitExceeded when it and what it calls need more instructions, variables or arrays than
/// a region has.
Result<Lowered> lower(const Function& function, const Library& library);

}  // namespace trident::function
