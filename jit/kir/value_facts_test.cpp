// Bounds of integers against brute force: no value that the interpreter computes lies outside them.
#include "jit/kir/value_facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <string>

#include "jit/kir/interpreter.h"
#include "tests/support/draws.h"
#include "tests/support/random_kernel.h"

namespace trident::kir {
namespace {

using trident::testing::Random;
using Bounds = std::pair<std::int64_t, std::int64_t>;

/// The facts of a whole kernel whose inputs and parameters lie within bounds.
class Facts : private ValueFacts {
 public:
  /// `bounds`: of the kernel's instructions; ignored for what is no input or parameter.
  Facts(const Kernel& kernel, const std::vector<Bounds>& bounds) {
    to_ = kernel;
    for (std::size_t i = 0; i < to_.insts.size(); ++i) {
      Fact f = fact_of(to_.insts[i]);
      const Op op = to_.insts[i].op;
      if (op == Op::Input || op == Op::Param) {
        f.least = std::max(f.least, bounds[i].first);
        f.greatest = std::min(f.greatest, bounds[i].second);
      }
      facts_.push_back(f);
    }
  }
  [[nodiscard]] const Fact& of(std::size_t i) const { return facts_[i]; }
  [[nodiscard]] bool allows(std::size_t i, std::int64_t value) const {
    return value >= facts_[i].least && value <= facts_[i].greatest;
  }
};

std::uint64_t lane_of(Type type, std::int64_t value) {
  return static_cast<std::uint64_t>(value) & (type == Type::i32 ? 0xFFFF'FFFFu : ~std::uint64_t{0});
}
std::int64_t value_of(Type type, std::uint64_t lane) {
  return type == Type::i32 ? static_cast<std::int32_t>(lane) : static_cast<std::int64_t>(lane);
}
Bounds whole(Type type) {
  return type == Type::i32 ? Bounds{INT32_MIN, INT32_MAX} : Bounds{INT64_MIN, INT64_MAX};
}

/// Draws a number of `type`: next to powers of two of either sign, small, or any.
std::int64_t draw_end(Random& random, Type type) {
  const std::int64_t beside = static_cast<std::int64_t>(random.below(5)) - 2;
  const auto power = static_cast<std::int64_t>(std::uint64_t{1} << random.below(64));
  const std::uint64_t number =
      random.one_in(4)
          ? static_cast<std::uint64_t>(beside)
          : (random.one_in(8) ? random.next() : static_cast<std::uint64_t>(power)) + static_cast<std::uint64_t>(beside);
  return value_of(type, lane_of(type, static_cast<std::int64_t>(random.one_in(2) ? number : 0 - number)));
}

Bounds draw_bounds(Random& random, Type type) {
  if (random.one_in(8)) return whole(type);
  const std::int64_t one = draw_end(random, type);
  if (random.one_in(8)) return {one, one};
  const std::int64_t other = draw_end(random, type);
  return {std::min(one, other), std::max(one, other)};
}

std::int64_t draw_within(Random& random, const Bounds& bounds) {
  const std::uint64_t span = static_cast<std::uint64_t>(bounds.second) - static_cast<std::uint64_t>(bounds.first);
  const std::uint64_t small = random.below(3), inside = span == ~std::uint64_t{0} ? span : span + 1;
  const std::uint64_t from_first = random.one_in(3)   ? std::min(small, span)
                                   : random.one_in(2) ? span - std::min(small, span)
                                                      : random.next() % inside;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(bounds.first) + from_first);
}

constexpr Op kOps[] = {Op::Neg, Op::Abs, Op::Add, Op::Sub, Op::Mul,    Op::Min, Op::Max,    Op::And,    Op::Or,
                       Op::Xor, Op::Not, Op::Shl, Op::Shr, Op::AndNot, Op::Sar, Op::Select, Op::Convert};

/// One op of two operands, any of which may be a constant, or both the same.
struct OneOp {
  Kernel kernel;
  std::vector<Bounds> bounds;
  Type operand, result;

  OneOp(Random& random, Op op) : operand(random.one_in(2) ? Type::i32 : Type::i64), result(operand) {
    if (op == Op::Convert) result = random.one_in(2) ? Type::i32 : Type::i64;
    const bool is_shift = op == Op::Shl || op == Op::Shr || op == Op::Sar;
    for (std::uint32_t i = 0; i < 2; ++i) {
      Bounds b = draw_bounds(random, operand);
      const bool is_count = is_shift && i == 1 && !random.one_in(4), is_constant = is_count || random.one_in(3);
      if (is_count) b.first = static_cast<std::int64_t>(random.below(70)) - 3;
      if (is_constant) b.second = b.first;
      kernel.inputs.push_back({i == 0 ? "a" : "b", operand});
      kernel.insts.push_back({.op = is_constant ? Op::Constant : Op::Input,
                              .type = operand,
                              .section = Section::body,
                              .imm = is_constant ? lane_of(operand, b.first) : i});
      bounds.push_back(b);
    }
    kernel.insts.push_back({.op = Op::Constant, .type = ir::mask_of(operand), .section = Section::body});
    const bool is_unary = info(op).arity == 1;
    const Value a(0), b(random.one_in(6) ? 0 : 1), mask(2);
    Inst inst{.op = op, .type = result, .section = Section::body, .a = a};
    if (op == Op::Select)
      inst.a = mask, inst.b = a, inst.c = b;
    else if (!is_unary)
      inst.b = b;
    kernel.insts.push_back(inst);
    bounds.resize(kernel.insts.size());
  }
};

TEST(ValueFacts, BoundEachOpOfIntegers) {
  std::size_t bounded[std::size(kOps)] = {};
  for (std::uint64_t seed = 1; seed <= testing::draws(40'000); ++seed) {
    Random random(seed);
    const std::size_t number = seed % std::size(kOps);
    const Op op = kOps[number];
    const OneOp test(random, op);
    const Facts facts(test.kernel, test.bounds);
    const Inst& inst = test.kernel.insts.back();
    const std::size_t last = test.kernel.insts.size() - 1;
    const Fact& f = facts.of(last);
    bounded[number] += f.least > INT64_MIN || f.greatest < INT64_MAX ? 1 : 0;
    for (int draw = 0; draw < 40; ++draw) {
      const std::uint64_t mask = random.one_in(2) ? ~std::uint64_t{0} : 0;
      const std::uint64_t lanes[] = {lane_of(test.operand, draw_within(random, test.bounds[0])),
                                     lane_of(test.operand, draw_within(random, test.bounds[1])),
                                     test.operand == Type::i32 ? mask & 0xFFFF'FFFFu : mask};
      const auto at = [&](Value v) { return v.valid() ? lanes[v.index] : 0; };
      const std::uint64_t got = eval_lane(op, inst.type, test.operand, at(inst.a), at(inst.b), at(inst.c));
      ASSERT_TRUE(facts.allows(last, value_of(inst.type, got)))
          << "seed " << seed << ": " << value_of(inst.type, got) << " is not in [" << f.least << ", " << f.greatest
          << "]; operands in [" << test.bounds[0].first << ", " << test.bounds[0].second << "], ["
          << test.bounds[1].first << ", " << test.bounds[1].second << "]\n"
          << print(test.kernel);
    }
  }
  for (std::size_t i = 0; i < std::size(kOps); ++i) {
    const Op op = kOps[i];
    const bool has_no_bounds = op == Op::Or || op == Op::Xor || op == Op::Not || op == Op::AndNot || op == Op::Sar;
    EXPECT_EQ(bounded[i] > 0, !has_no_bounds) << info(op).text;
  }
}

/// Chains of ops, conversions from floats and reinterpreted ones among them.
TEST(ValueFacts, BoundTheIntegersOfRandomKernels) {
  constexpr std::size_t kElements = 64;
  for (std::uint64_t seed = 1; seed <= testing::draws(3000); ++seed) {
    Random random(seed * 77);
    Kernel kernel = testing::random_kernel(seed, {.ops = 40, .reductions = false});
    std::vector<Bounds> bounds(kernel.insts.size());
    std::vector<std::vector<std::uint8_t>> columns(kernel.inputs.size());
    std::vector<std::uint64_t> params(kernel.params.size());
    std::vector<std::size_t> integers;
    for (std::size_t i = 0; i < kernel.insts.size(); ++i) {
      const Inst& inst = kernel.insts[i];
      if (ir::is_int(inst.type) && inst.section == Section::body) integers.push_back(i);
      bounds[i] = draw_bounds(random, ir::is_int(inst.type) ? inst.type : Type::i64);
    }
    if (integers.empty()) continue;
    const auto lane = [&](Op op, std::size_t number, Type type) {
      for (std::size_t i = 0; i < kernel.insts.size() && ir::is_int(type); ++i)
        if (kernel.insts[i].op == op && kernel.insts[i].imm == number)
          return lane_of(type, draw_within(random, bounds[i]));
      return testing::random_lane(random, type);
    };
    std::vector<const void*> in;
    for (std::size_t input = 0; input < kernel.inputs.size(); ++input) {
      const std::size_t bytes = ir::bytes_of(kernel.inputs[input].type);
      columns[input].resize(kElements * bytes);
      for (std::size_t i = 0; i < kElements; ++i) {
        const std::uint64_t bits = lane(Op::Input, input, kernel.inputs[input].type);
        std::memcpy(columns[input].data() + i * bytes, &bits, bytes);
      }
      in.push_back(columns[input].data());
    }
    for (std::size_t p = 0; p < params.size(); ++p) params[p] = lane(Op::Param, p, kernel.params[p].type);
    kernel.outputs.clear();
    std::vector<std::vector<std::uint64_t>> values(integers.size(), std::vector<std::uint64_t>(kElements));
    std::vector<void*> out;
    for (std::size_t o = 0; o < integers.size(); ++o) {
      kernel.outputs.push_back({"v" + std::to_string(o), Value(static_cast<std::uint32_t>(integers[o]))});
      out.push_back(values[o].data());
    }
    ASSERT_TRUE(check(kernel).ok()) << check(kernel).error().message;
    interpret(kernel, kElements, in.data(), out.data(), params.data());
    const Facts facts(kernel, bounds);
    for (std::size_t o = 0; o < integers.size(); ++o) {
      const Type type = kernel.insts[integers[o]].type;
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(values[o].data());
      for (std::size_t i = 0; i < kElements; ++i) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, bytes + i * ir::bytes_of(type), ir::bytes_of(type));
        const Fact& f = facts.of(integers[o]);
        ASSERT_TRUE(facts.allows(integers[o], value_of(type, bits)))
            << "seed " << seed << ", value " << integers[o] << ": " << value_of(type, bits) << " is not in [" << f.least
            << ", " << f.greatest << "]\n"
            << print(kernel);
      }
    }
  }
}

}  // namespace
}  // namespace trident::kir
