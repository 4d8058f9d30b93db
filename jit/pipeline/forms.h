// Forms: kernels that should mean what the source means, made in different ways. The equivalence check decides whether
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
  bool keeps_roundings = false;  ///< as the source, which it is no slower than
  expr::Expr expr{};             ///< unless it does: what was lowered to the kernel, and how
  expr::LowerOptions how{};
  std::optional<std::size_t> in_place_of{};  ///< only asked about where that form of the list is refused
};

/// One vector at a time, in source order: the variant of the baseline tier.
inline constexpr codegen::Variant kBaselineVariant{
    .vectors = 1, .schedule = false, .non_temporal = false, .vector_bits = 0};

/// How the baseline and the meaning of `exact` are lowered.
expr::LowerOptions unrewritten(const expr::Policy& policy);

/// What forms are weighed by: as measured here for the instruction set, else as shipped for it and this processor.
const expr::rewrite::OpCosts& costs_of(codegen::Isa isa, const Search& search);

/// The divider of a processor that was measured; of others what the code generator takes for usual. A unit of the table
/// is half a cycle: two pipes begin an fma each.
codegen::DividerCycles divider_of(codegen::Isa isa, const Search& search);

/// What a search by these options starts from: policy, seed, costs and rules.
expr::rewrite::RewriteOptions rewriting(const Options& options);

/// What the unguided search makes of an expression, the statically cheapest first, and what the judge says of it.
struct Extraction {
  std::vector<expr::Expr> found;
  std::vector<double> guesses;     ///< logarithms of nanoseconds; of no judge: none
  double margin = 0;               ///< the judge's
  std::optional<Error> refused;    ///< why nothing was searched
  std::vector<std::size_t> order;  ///< those that are worth a measurement, what is taken without one first; 0 is in it
};
/// `source` is `submitted` without derivatives.
Extraction extract(const expr::Expr& submitted, const expr::Expr& source, const Options& options);
/// Which form is taken where nothing is measured: that which is thought fastest if it promises more than the margin
/// over the first, the statically cheapest, else that one.
std::size_t learned_choice(std::span<const double> guesses, double margin);

/// As the code of a form that was found is made: simplified, with functions of 4 ulp.
Result<kir::Kernel> lower_found(const expr::Expr& found, const expr::Policy& policy);

/// The unrewritten form first, then from the most careful to the boldest; no two with the same instructions. `source`
/// is `submitted` without derivatives.
Result<std::vector<Form>> forms(const expr::Expr& submitted, const expr::Expr& source, const Options& options,
                                const PassScope& passes);

/// A total may have become a constant, which by itself would be an array: it stays one element, as in the source.
void keep_totals(const kir::Kernel& source, kir::Kernel& rewritten);

/// Whether both have the same instructions, tables and outputs, names aside.
bool same_kernel(const kir::Kernel& a, const kir::Kernel& b);

/// The kernel of every form, one after the other.
std::string print(const std::vector<Form>& forms);

/// LimitExceeded for an image that is longer than images may be.
Result<void> check_size(const image::ImageBytes& image);

}  // namespace trident::pipeline
