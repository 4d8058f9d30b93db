// The tests of `exact` share this: a kernel as written, data for it, and the forms that may replace it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "jit/pipeline/forms.h"
#include "tests/support/native_kernel.h"

namespace trident::testing {

/// Arguments of one call.
struct CallArguments {
  std::uint64_t n = 0;
  Arguments arguments;
};
/// Draws calls for a source: ordinary points, corners, infinities and NaN within its ranges.
std::vector<CallArguments> drawn_calls(const expr::Expr& source);

/// Calls `visit(text, source)` for sources where reductions meet elements, of each type that they have.
void each_source_of_passes(const std::function<void(const std::string&, const expr::Expr&)>& visit);

/// The remainder of any two f64, and calls that try it.
expr::Expr remainder_source();
std::vector<CallArguments> remainder_calls();

pipeline::Options exact_options(codegen::Isa isa);
/// Returns the forms of the optimiser under `exact`.
std::vector<pipeline::Form> exact_forms(const expr::Expr& source, codegen::Isa isa);
/// Returns the variants of a form's code that are compared: that of the baseline, and the first of the optimiser's.
std::vector<codegen::Variant> some_variants(const kir::Kernel& kernel, codegen::Isa isa);

/// Compares a way to run with the interpreter on the kernel as written, on all calls; empty when all bits agree.
std::string compare_calls(const kir::Kernel& written, const Run& run, const std::vector<CallArguments>& calls);

}  // namespace trident::testing
