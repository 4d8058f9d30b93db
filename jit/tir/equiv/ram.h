// RAM while a block is executed on values: its contents before the block, and its stores. symbolic.h explains both.
#pragma once

#include <vector>

#include "jit/tir/equiv/symbolic.h"

namespace trident::tir::equiv {

class Ram {
 public:
  explicit Ram(Values& values) : values_(values) {}
  Value load(Value address);
  void store(Value address, Value word);
  /// Returns the stores in normal form.
  [[nodiscard]] std::vector<Store> stores();

 private:
  [[nodiscard]] bool differ(Value a, Value b);

  Values& values_;
  std::vector<Store> stores_;  ///< in order, at most one per address
};

}  // namespace trident::tir::equiv
