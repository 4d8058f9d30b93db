// RAM while a block is executed on values: what the block found, and its stores. symbolic.h says how.
#pragma once

#include <vector>

#include "jit/tir/equiv/symbolic.h"

namespace trident::tir::equiv {

class Ram {
 public:
  explicit Ram(Values& values) : values_(values) {}
  Value load(Value address);
  void store(Value address, Value word);
  /// In normal form.
  [[nodiscard]] std::vector<Store> stores();

 private:
  [[nodiscard]] bool differ(Value a, Value b);

  Values& values_;
  std::vector<Store> stores_;  ///< in order, none to an address of a later one
};

}  // namespace trident::tir::equiv
