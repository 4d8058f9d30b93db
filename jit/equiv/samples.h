// Points at which a kernel is compared with its source. A set of points is judged as a whole (compare.h), so points of
// different character come in different sets:
//
//   uniform   uniform in the declared ranges (moderate values where none is declared), with runs of neighbouring values
//   spread    uniform in the exponent, large magnitudes within the ranges
//   small     the same for magnitudes up to 1, where a range comes near to zero: errors count in ulp of at least 1e-6
//   of
//             a set's greatest value, so that large values in a set hide what happens near zero
// vast      magnitudes up to the greatest of the type, where a range has an open end: no step may overflow where the
// source's does not
//   sums      calls of a few elements, where a part of a sum overflows and the whole does not
//   tiny      magnitudes down to the least of the type, where a range comes so near to zero: nor underflow
//   missing   spread, with NaN for one variable or some that may be NaN beside their range, as data have it
//   alike     variables at one place or two of spread and of small, so that those of one range are equal or opposite
// near      around the least values of divisors, around steps that few points reach, and where values whose sign
// decides are zero
// steps     both sides of the source's jumps, among ordinary values
// branch    for each branch of a selection that few of these take: points that take it
// edges     both sides of where values of the source overflow or become NaN (edges.h; added by the checker)
// faint     both sides of where they underflow
//   hidden    several variables NaN, infinite or zero together, where min, max or a selection hides fewer (hidden.h)
//   corners   zeros of both signs, ends of ranges, powers of two, denormals, values around constants of the source,
//             both sides of its steps, both branches of its selections, and infinities and NaN where no range forbids
//             them
//
// When the ranges hold few enough values in all, one set has every combination and the check is exhaustive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "jit/equiv/draw.h"
#include "jit/expr/expr.h"

namespace trident::equiv {

/// One call of a kernel: the elements [first, first + n).
struct Call {
  std::uint64_t first = 0;
  std::uint64_t n = 0;
  bool in_place = false;                    ///< outputs take the place of inputs
  std::uint64_t table_length = UINT64_MAX;  ///< elements of every table, which start where its column does; at most all

  bool operator==(const Call&) const = default;
};

/// Values for every variable of an expression. Scalar variables are constant within each call.
struct Samples {
  std::string name;  ///< "uniform", "spread", "small", "vast", "sums", "missing", "alike", "near", "tiny", "steps", "branch",
                     ///< "edges", "faint", "hidden", "corners", "all": for messages
  Way way = Way::uniform;  ///< of the drawn ones
  std::uint64_t n = 0;
  std::vector<std::vector<std::byte>> columns;  ///< columns[variable]: n elements of the variable's type, tables' too
  std::vector<Call> calls;                      ///< in order and without overlap, together [0, n)
  std::uint64_t runs = 0;  ///< elements [0, runs) are runs of neighbouring values, the others drawn one by one
  bool exhaustive = false;
  bool unexplored = false;  ///< of the corners: a selection may take a branch that no point takes
  /// Draws as many more points of the same kind, in one call, by another seed (lost_numbers.h). Empty for sets whose
  /// points are no draws, and where it matters which call a point is in.
  std::function<Samples(const expr::Expr& expr, std::uint64_t points, std::uint64_t seed)> more{};
};

struct SampleOptions {
  std::uint64_t points =
      16'384;  ///< about that many in each of uniform and spread, half in small, vast, tiny and alike
  std::uint64_t seed = 1;
  bool ordinary = false;              ///< neither vast nor tiny ones nor corners: for variables that may never be there
  std::function<bool()> cancelled{};  ///< asked now and then; once true, the returned sets are incomplete
};

/// Returns how many points the reference computes in some tens of milliseconds: fewer for long expressions.
std::uint64_t suggested_points(const expr::Expr& expr);

/// Makes all sets. `expr` has passed expr::check() and holds no Diff. Deterministic in all arguments.
std::vector<Samples> make_samples(const expr::Expr& expr, const SampleOptions& options);

/// Draws one set of `points` points in one way, values of scalar variables too: for evaluation point by point, which
/// knows no calls.
Samples draw_set(const expr::Expr& expr, Way way, std::uint64_t points, std::uint64_t seed);

/// Makes a set of the given points (at least one), padded to a multiple of 64 with repeats; calls of one element where
/// a call's length matters.
Samples make_gathered(const expr::Expr& expr, const char* name, std::vector<std::vector<Bits>> points);

/// Repeats the elements of `set`, at least `elements` of them in a whole number of 64s: for code whose path differs in
/// long calls. Makes no calls; scalar variables have their value of the set's first element.
Samples make_long(const expr::Expr& expr, const Samples& set, std::uint64_t elements);

}  // namespace trident::equiv
