// The exact values of trees of integer literals, such as 50000*50000 in "i < 50000*50000". Such a tree has the type of
// what it meets, and a sum that wraps in that type would be another number than the text says. So the composer refuses
// it. Sums of variables wrap, because only the program knows their values.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "jit/expr/builder.h"

namespace trident::expr {

/// A value that its type does not hold.
struct LiteralExcess {
  Type type = Type::i32;
  std::optional<std::int64_t> value{};  ///< where it is a single one that fits i64
};

class LiteralValues {
 public:
  /// `builder` must outlive this.
  explicit LiteralValues(const Builder& builder) : builder_(builder) {}
  /// Returns the excess of a tree of literals in one type, i32 or i64; none where wrapping arithmetic gives its value:
  /// 2^31 - 1 is an i32. A selection counts as all values between those that it chooses from. The tree is as deep as
  /// Value::literal_depth at most.
  std::optional<LiteralExcess> excess_of(NodeId id);

  using Exact = __int128;  ///< holds sums and products of two values that hulls have
  struct Hull {
    Exact least = 0, most = 0;
  };

 private:
  Hull hull_of(NodeId id);
  bool fits(Type type, const Hull& hull);

  const Builder& builder_;
  std::unordered_map<std::uint32_t, Hull> hulls_;  ///< of operations, -2^63 to 2^63
  std::optional<LiteralExcess> excess_{};
};

}  // namespace trident::expr
