// Two tape ops over one table of rows, for tokens as input and output: sums of rows, and products with
// the first rows. The table is an ordinary slice, so both add to one gradient.
#pragma once

#include "runtime/autodiff/tape.h"

namespace trident::tir::neural {

/// Sums the table's rows of each list: table [rows, width]; gives [bags.count(), width]; an empty list gives
/// zeros. Ids outside the table end the process.
template <class Real>
autodiff::Value<Real> sum_table_rows(autodiff::Tape<Real>&, autodiff::Value<Real> table, autodiff::Bags bags);

/// Multiplies x [.., width] by each of the table's first `rows` rows and adds bias [rows]: gives [.., rows].
template <class Real>
autodiff::Value<Real> compare_with_rows(autodiff::Tape<Real>&, autodiff::Value<Real> x, autodiff::Value<Real> table,
                                        std::size_t rows, autodiff::Value<Real> bias);

}  // namespace trident::tir::neural
