// The kernels of every corpus in bench/corpus/*.tsv, as a test takes them: each `every`-th, in f32 and f64.
#pragma once

#include <functional>
#include <string>

#include "jit/expr/expr.h"

namespace trident::testing {

/// Calls `visit(name, source)` for each `every`-th kernel of each corpus. Sources have no derivatives.
void each_corpus_source(std::size_t every, const std::function<void(const std::string&, const expr::Expr&)>& visit);

}  // namespace trident::testing
