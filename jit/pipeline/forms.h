// Forms: kernels that should mean what the source means, made in different ways; the equivalence check decides whether
// they do. More kinds of form (e-graph candidates) join in forms().
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jit/expr/rewrite/rewrite.h"
#include "jit/pipeline/pass_scope.h"
#include "jit/pipeline/pipeline.h"

namespace trident::pipeline {

struct Form {
  std::string name;
  kir::Kernel kernel;
  bool keeps_roundings = false;  ///< has the source's roundings, and is no slower than the source
  expr::Expr expr{};             ///< unless keeps_roundings: the expression and options it was lowered from
  expr::LowerOptions how{};
  std::optional<std::size_t> in_place_of{};  ///< only checked if that form of the list is refused
  expr::rewrite::Pieces pieces{};  ///< of a large expression: what refine() may put together where this is refused
};

/// One vector at a time, in source order: the variant of the baseline tier.
inline constexpr codegen::Variant kBaselineVariant{
    .vectors = 1, .schedule = false, .non_temporal = false, .vector_bits = 0};

/// Returns how the baseline and the meaning of `exact` are lowered.
expr::LowerOptions unrewritten(const expr::Policy& policy);

/// Returns the costs of ops: measured here for the instruction set, else shipped for it and this processor.
const expr::rewrite::OpCosts& costs_of(codegen::Isa isa, const Search& search);

/// Returns the divider of a measured processor, else the code generator's usual one. A unit of the table
/// is half a cycle: two pipes begin an fma each.
codegen::DividerCycles divider_of(codegen::Isa isa, const Search& search);

/// Returns the start of a search by these options: policy, seed, costs and rules.
expr::rewrite::RewriteOptions rewriting(const Options& options);

/// Results of the unguided search, the statically cheapest first, with the judge's guesses.
struct Extraction {
  std::vector<expr::Expr> found;
  expr::rewrite::Pieces pieces;
  std::vector<double> guesses;     ///< logarithms of nanoseconds; empty without a judge
  double margin = 0;               ///< the judge's margin
  std::optional<Error> refused;    ///< reason why nothing was searched
  std::vector<std::size_t> order;  ///< forms worth a measurement, first the choice without one; contains 0
};
/// Searches `submitted`; `source` is the same without derivatives.
Extraction extract(const expr::Expr& submitted, const expr::Expr& source, const Options& options);
/// Returns the form to take without measurement: the one with the fastest guess if it promises more than the margin
/// over the first, the statically cheapest; else the first.
std::size_t learned_choice(std::span<const double> guesses, double margin);

/// Makes the code of a search's form: simplified, with functions of 4 ulp.
Result<kir::Kernel> lower_found(const expr::Expr& found, const expr::Policy& policy);

/// Makes the forms: the unrewritten one first, then from the most careful to the boldest; no two with the same
/// instructions. `source` is `submitted` without derivatives.
Result<std::vector<Form>> forms(const expr::Expr& submitted, const expr::Expr& source, const Options& options,
                                const PassScope& passes);

/// Keeps totals one element: a total that became a constant would be an array by itself.
void keep_totals(const kir::Kernel& source, kir::Kernel& rewritten);

/// True if both have the same instructions, tables and outputs, names aside.
bool same_kernel(const kir::Kernel& a, const kir::Kernel& b);

/// Prints the kernel of every form, one after the other.
std::string print(const std::vector<Form>& forms);

/// Returns LimitExceeded if the image is longer than images may be.
Result<void> check_size(const image::ImageBytes& image);

}  // namespace trident::pipeline
