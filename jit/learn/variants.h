// Families of kernels that mean the same over the reals and take different time: a source and what searches, random
// rewrites, other orders of sums and contractions make of it. For timing alone (timed_kernels.h): nothing here is
// checked for what it computes in floating point, and nothing of it is ever published.
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
  std::string how;   ///< "source"; "best": what a search found statically cheapest; ...
  kir::Kernel kernel;
};

struct VariantOptions {
  std::uint64_t seed = 1;
  std::uint32_t wanted = 12;
  codegen::Isa isa = codegen::Isa::avx2;  ///< whose static costs searches go by
  egraph::Guide* guide = nullptr;         ///< for one of the searches; null: none
};

/// The kernel that a text stands for, here and in the benchmark cache: lowered as the forms of a search are
/// (jit/pipeline/forms.cpp), with functions of 4 ulp, and nothing simplified on the way. Errors: those of the parser
/// and of expr::lower().
Result<kir::Kernel> kernel_of(const std::string& text);

/// The source first, then "best" unless that is the same kernel as the source, then others; no two with the same
/// instructions. The same for the same source and options. Errors: Unsupported for a source that reads tables, and for
/// what no search takes; what expr::lower() refuses.
Result<std::vector<KernelVariant>> variants_of(const expr::Expr& source, const VariantOptions& options);

}  // namespace trident::learn
