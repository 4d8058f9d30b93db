// Random expressions for differential, fuzz and soak tests: typed, over every op that the options admit, with declared
// ranges, and inputs that keep those promises. The same seed gives the same expression on every machine.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "jit/expr/expr.h"
#include "tests/support/random.h"

namespace trident::testing {

/// A shape that random expressions are to hold more often than chance would give, such as the left side of a rewrite
/// rule: steps in postfix order, the last is the whole.
struct Motif {
  enum class Kind : std::uint8_t { variable, number, node };
  /// How the operand that stands for a variable is made to have a property.
  enum class Guard : std::uint8_t { none, truth, positive, negative, whole, constant, within_one, at_least_one };
  struct Step {
    Kind kind = Kind::variable;
    expr::Op op = expr::Op::Add;
    std::array<std::uint8_t, 3> child{};
    std::uint8_t variable = 0;
    double number = 0;  ///< of a constant, or the exponent of Powi
  };
  std::vector<Step> steps;
  std::vector<Guard> guards;  ///< per variable
};

struct RandomExprOptions {
  std::uint32_t nodes_max = 24;  ///< operations beside leaves, roughly
  std::uint32_t outputs_max = 3;
  std::uint32_t variables_max = 4;
  bool f32 = true;
  bool f64 = true;
  bool integers = true;   ///< i32 and i64, bit operations, casts between all types
  bool functions = true;  ///< transcendental functions, fmod, round, ...
  bool reductions = true;
  std::uint32_t passes_max = 1;     ///< with 2 and more, reductions meet elements, and there are argmin and argmax
  bool derivatives = false;         ///< Diff nodes
  bool scalars = true;              ///< parameters beside arrays
  double ranged = 0.7;              ///< share of variables with a declared range
  double or_nan = 0;                ///< share of the floats with a range that may be NaN too
  bool extremes = false;            ///< exponents of thousands and of 63 bits, the ends of integers among the constants
  double narrowing = 0;             ///< share of operations that cast an f64 to f32 and back
  std::span<const Motif> motifs{};  ///< a third of the operations are made of these
};

/// Passes expr::check(), has at least one output, and every output depends on what the options admit only.
expr::Expr random_expr(std::uint64_t seed, const RandomExprOptions& options = {});

/// The bits of `count` values of `variable`: its range's ends, values near zero and drawn from the range; without a
/// range also infinities, NaN, denormals and extremes. A scalar has one value.
std::vector<std::uint64_t> random_values(const expr::Variable& variable, std::size_t count, Random& random);

}  // namespace trident::testing
