// Families of kernels that mean the same over the reals and take different time: a source and its variants by searches,
// random rewrites, other orders of sums and contractions. For timing alone (timed_kernels.h): their results
// in floating point are not checked, and they are never published.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jit/codegen/codegen.h"
#include "jit/egraph/guide.h"
#include "jit/expr/expr.h"
#include "jit/kir/kir.h"
#include "runtime/base/result.h"

namespace trident::learn {

struct KernelVariant {
  std::string text;  ///< expr::parse() reads it
  std::string how;   ///< "source"; "best": the statically cheapest form of a search; ...
  kir::Kernel kernel;
};

struct VariantOptions {
  std::uint64_t seed = 1;
  std::uint32_t wanted = 12;
  codegen::Isa isa = codegen::Isa::avx2;  ///< its static costs guide searches
  egraph::Guide* guide = nullptr;         ///< for one of the searches; null: none
};

/// Lowers a text to its kernel, here and in the benchmark cache: as the forms of a search
/// (jit/pipeline/forms.cpp), with functions of 4 ulp, and without simplification. Errors: those of the parser
/// and of expr::lower().
Result<kir::Kernel> kernel_of(const std::string& text);

/// Returns the source first, then "best" unless that is the same kernel, then others; no two with the same
/// instructions. Equal sources and options give equal variants. Errors: Unsupported for a source that reads tables or
/// that no search takes; those of expr::lower().
Result<std::vector<KernelVariant>> variants_of(const expr::Expr& source, const VariantOptions& options);

}  // namespace trident::learn
