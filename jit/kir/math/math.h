// Math functions as sequences of kir ops, in variants by accuracy and by the range of the arguments. Because they are
// plain kir, the interpreter and every host give the same bits.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "jit/kir/builder.h"

namespace trident::kir::math {

enum class Function : std::uint8_t {
#define X(Name, text, arity, special) Name,
#include "jit/kir/math/functions.def"
#undef X
};

/// Greatest error of the result against the true value of the function at the given (exact) argument. errors.def has
/// the figures for each function; the accuracy campaign of tests/accuracy measures them over all ranges, and the tests
/// of this folder sample them.
enum class Accuracy : std::uint8_t {
  ulp1,  ///< at most 1 ulp over the whole range (errors.def names four exceptions), all special values right
  ulp4,  ///< at most 4 ulp over the whole range, all special values right
  rel3,  ///< relative error at most 1e-3 (absolute below 1e-3 near zeros away from the origin); finite arguments
};

/// Known range of an argument: lo <= x <= hi, or NaN when `may_be_nan`. Infinite ends mean infinities may occur.
struct Range {
  double lo = -std::numeric_limits<double>::infinity();
  double hi = std::numeric_limits<double>::infinity();
  bool may_be_nan = true;
};

std::string_view name_of(Function f);
std::uint32_t arity_of(Function f);

/// Appends the expansion of `f` at `args` (all of one float type) and returns its result. A narrower range gives
/// shorter code. sin and cos of one value share their reduction through the builder's hash-consing.
Value emit(Builder& builder, Function f, std::span<const Value> args, std::span<const Range> ranges, Accuracy accuracy);

/// The stated greatest error in ulp of `f` for `type` at `accuracy`, as established by the tests of this folder.
double stated_error_ulp(Function f, Type type, Accuracy accuracy);

}  // namespace trident::kir::math
