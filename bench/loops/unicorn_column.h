// Unicorn, alone and with loops swapped by clients/unicorn.
#pragma once

#include "bench/loops/column.h"

namespace trident::bench {

std::unique_ptr<Column> unicorn_column(Work work);

/// Loops are found and compiled while the column runs.
class SwapColumn : public Column {
 public:
  /// Runs until nothing more is installed or given up for some seconds.
  virtual void warm() = 0;
  /// Rounds that native code has made since the last call of this function.
  virtual std::uint64_t native_rounds() = 0;
};
std::unique_ptr<SwapColumn> swap_column(Work work);
/// Likewise, for a program that tells of its regions: nothing compares them at each entry.
std::unique_ptr<SwapColumn> announced_swap_column(Work work);

}  // namespace trident::bench
