// Calls of functions on values: by the interpreter of regions, which is their meaning, or by machine code.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jit/function/lower.h"

namespace trident::function {

/// Rounds of loops in one call unless set.
inline constexpr std::uint64_t kBudget = std::uint64_t{1} << 32;

/// Why a call ended without a result, and where.
struct Fault {
  Failure failure = Failure::division;
  Place place;
  std::string argument{};  ///< Failure::range: the parameter
};
/// "gcd: line 5: a division by zero"
std::string print(const Fault& fault);

struct Returned {
  std::optional<Fault> fault{};
  std::int64_t result = 0;            ///< 0 after a fault; a bool is 0 or 1; of f64 the bits
  std::vector<Argument> arguments{};  ///< arrays as the function left them
};

/// Machine code of a function's region: `frame` and `windows` are those of its Layout. Where it is null, the
/// interpreter takes its place.
using Entry = void (*)(void* frame, const region::Window* windows);

/// Calls `function`, of which `lowered` was made. InvalidArgument for arguments that it does not take: their number, a
/// list for a value, elements of u8 outside of 0 to 255. Faults of the call itself are part of what is returned.
Result<Returned> call(const Function& function, const Lowered& lowered, std::span<const Argument> arguments,
                      std::uint64_t budget = kBudget);
/// Calls the machine code of `function` in the same way: results, faults and arrays are those of the interpreter.
Result<Returned> call(const Function& function, const Layout& layout, Entry entry, std::span<const Argument> arguments,
                      std::uint64_t budget = kBudget);

/// One line of @test that does not hold.
struct Miss {
  std::size_t test = 0;  ///< of Function::tests
  std::string why;
};
/// Runs the tests of a function; returns those that do not hold.
Result<std::vector<Miss>> run_tests(const Function& function, const Lowered& lowered, Entry entry = nullptr,
                                    std::uint64_t budget = std::uint64_t{1} << 24);

}  // namespace trident::function
