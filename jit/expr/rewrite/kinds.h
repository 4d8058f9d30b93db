// Kinds of the e-graph's nodes, for learned costs: the column of jit/expr/ops.def, and what a leaf's value says.
#pragma once

#include "jit/nnue/features.h"

namespace trident::expr::rewrite {

/// Of nodes of Language. The hash covers every row of the table of ops and the list of kinds.
const nnue::KindTable& node_kinds();

}  // namespace trident::expr::rewrite
