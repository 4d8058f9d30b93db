// Strict values moved by up to an ulp, as another order of roundings might give them.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <unordered_map>

#include "jit/equiv/draw.h"
#include "jit/equiv/rounded.h"
#include "jit/expr/expr.h"
#include "jit/expr/powers.h"

namespace trident::equiv {

class Wobble {
 public:
  /// From now on moves the value of every op that rounds, at random. With `chains` powers may be made of rounded
  /// products, as a kernel makes them.
  void start(Random* random, bool chains) {
    random_ = random;
    chains_ = chains;
    last_.clear();
  }
  [[nodiscard]] bool started() const { return random_ != nullptr; }

  /// Moves the value of node number `index`.
  double moved(const expr::Node& node, std::uint32_t index, const std::array<double, 3>& operands, double value) {
    const auto [last, first_time] = last_.try_emplace(index);
    if (first_time || last->second.operands != operands) {
      if (chains_ && node.op == expr::Op::Powi) value = chain_of_products(node, operands[0], value);
      last->second = {operands, moved(node, value)};
    }
    return last->second.result;
  }

 private:
  /// A node's perturbation, which repeats for equal operands: in a sum of like terms such errors do not cancel.
  struct Moved {
    std::array<double, 3> operands{};
    double result = 0;
  };

  double moved(const expr::Node& node, double value) {
    const bool exact = expr::info(node.op).rounding == expr::Rounding::exact;
    if (exact || value == 0 || !std::isfinite(value)) return value;
    const std::uint64_t way = random_->below(3);
    if (way == 0) return value;
    const double towards = way == 1 ? 0 : std::copysign(std::numeric_limits<double>::infinity(), value);
    if (node.type == expr::Type::f64) return std::nextafter(value, towards);
    return static_cast<double>(std::nextafter(static_cast<float>(value), static_cast<float>(towards)));
  }

  // Multiplies the power out, rounding each product, as a kernel does; or returns `value`, at random.
  double chain_of_products(const expr::Node& node, double base, double value) {
    const auto exponent = static_cast<std::int64_t>(node.imm);
    const std::int64_t size = std::min(std::abs(exponent), expr::kPowerChainMax + 1);
    if (size < 2 || size > expr::kPowerChainMax || random_->below(2) == 0) return value;
    expr::PowerChain<double> chain(base);
    const double product = chain.power(static_cast<std::uint64_t>(size), [&](double x, double y) {
      return apply_rounded(expr::Op::Mul, node.type, 0, x, y, 0);
    });
    return exponent > 0 ? product : apply_rounded(expr::Op::Div, node.type, 0, 1, product, 0);
  }

  Random* random_ = nullptr;
  bool chains_ = false;
  std::unordered_map<std::uint32_t, Moved> last_;  ///< by node
};

}  // namespace trident::equiv
