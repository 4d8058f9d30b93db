// Sampling in proportion to priorities that change: a binary tree whose leaves are the priorities and whose nodes are
// the sums of their two children. A priority changes and a sample is found in log2(count) steps. Nodes are always
// computed from their children, never adjusted by differences, so that rounding does not add up.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <vector>

#include "runtime/base/check.h"

namespace trident::train {

class SumTree {
 public:
  /// All priorities are 0.
  explicit SumTree(std::size_t count)
      : count_(count), leaves_(std::bit_ceil(count > 1 ? count : 2)), nodes_(2 * leaves_) {
    CHECK(count > 0);
  }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] double total() const { return nodes_[1]; }
  [[nodiscard]] double priority(std::size_t i) const { return nodes_[leaves_ + i]; }

  /// `priority` must be finite and not negative.
  void set(std::size_t i, double priority) {
    CHECK(i < count_ && std::isfinite(priority) && priority >= 0);
    std::size_t node = leaves_ + i;
    nodes_[node] = priority;
    while (node > 1) {
      node /= 2;
      nodes_[node] = nodes_[2 * node] + nodes_[2 * node + 1];
    }
  }
  /// The smallest i for which the priorities up to and with i sum to more than `mass`, within [0, total()). Never one
  /// whose priority is 0, however the sums are rounded: a descent never leaves a node that has mass for one without.
  [[nodiscard]] std::size_t find(double mass) const {
    CHECK(total() > 0);
    std::size_t node = 1;
    while (node < leaves_) {
      const double left = nodes_[2 * node], right = nodes_[2 * node + 1];
      if (mass < left || right == 0) {
        node = 2 * node;
      } else {
        mass -= left;
        node = 2 * node + 1;
      }
    }
    return node - leaves_;
  }

 private:
  std::size_t count_, leaves_;
  std::vector<double> nodes_;  // node 1 is the root, 2 i and 2 i + 1 the children of i
};

}  // namespace trident::train
