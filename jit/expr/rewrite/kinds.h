// Kinds of the e-graph's nodes, for learned costs: the column of jit/expr/ops.def, and for leaves their value.
#pragma once

#include "jit/nnue/features.h"

namespace trident::expr::rewrite {

/// Returns the kinds of Language's nodes. The hash covers every row of the op table and the list of kinds.
const nnue::KindTable& node_kinds();

}  // namespace trident::expr::rewrite
