#include "tests/support/random_region.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "jit/region/builder.h"
#include "tests/support/random.h"

namespace trident::testing {
namespace {

using region::Op;
using region::Region;
using region::Signature;
using region::Type;
using region::Value;

/// Where window w begins, for the code and for the caller: addresses near 2^64 wrap.
constexpr std::uint64_t kBases[] = {0x10'0000, 0xFFFF'FFFF'FFFF'FF00, 0x7FFF'FFF0, 0x10'0080};
constexpr std::uint64_t kMemoryBytes = 1024, kSpanMax = 256;
constexpr std::uint64_t kBudgetMax = 40;

class Generator {
 public:
  Generator(std::uint64_t seed, const RandomRegionOptions& options)
      : random_(seed), options_(options), builder_(region_) {}

  Region run() {
    region_.windows = options_.windows;
    budget_ = builder_.variable("budget", Type::i64, 0);
    std::uint32_t slot = region::kFrameHeadBytes;
    for (std::uint32_t v = 0; v < options_.variables; ++v, slot += 8)
      builder_.variable("v" + std::to_string(v), any_type(), slot);
    // Body, budget and choice of every block, then the exits.
    for (std::uint32_t b = 0; b < options_.blocks; ++b) block();
    for (const region::Exit exit : {region::Exit::budget, region::Exit::left, region::Exit::miss}) {
      builder_.begin_block();
      builder_.exit(exit);
    }
    return std::move(region_);
  }

 private:
  [[nodiscard]] std::uint32_t exit_block(std::uint32_t number) const { return 2 * options_.blocks + number; }
  std::uint32_t any_block() {
    const std::uint32_t b = random_.below(options_.blocks + 1);
    return b == options_.blocks ? exit_block(1) : 2 * b;
  }

  void block() {
    builder_.begin_block();
    values_.clear();
    places_.clear();
    for (std::uint32_t i = 0; i < options_.ops; ++i) {
      builder_.at(++source_);
      instruction();
    }
    builder_.at(++source_);
    const Value left = builder_.op_with(Op::Sub, builder_.get(budget_), 1);
    builder_.set(budget_, left);
    builder_.branch(builder_.op_with(Op::Eq, left, 0), exit_block(0),
                    static_cast<std::uint32_t>(region_.blocks.size()));
    builder_.begin_block();
    values_.clear();
    places_.clear();
    if (random_.below(3) == 0) return builder_.jump(any_block());
    const Value condition = value(Type::i32);
    builder_.branch(condition, any_block(), any_block());
  }

  void instruction() {
    switch (random_.below(8)) {
      case 0: return assign();
      case 1: return reserve();
      case 2:
      case 3:
        if (!places_.empty()) return memory();
        return operation();
      default: return operation();
    }
  }

  Value leaf(Type type) {
    std::vector<std::uint32_t> fit;
    for (std::uint32_t v = 0; v < region_.variables.size(); ++v)
      if (region_.variables[v].type == type) fit.push_back(v);
    if (fit.empty() || random_.below(3) == 0)
      return remember(builder_.constant(type, type == Type::f64 ? random_.float_bits() : constant()));
    return remember(builder_.get(fit[random_.below(static_cast<std::uint32_t>(fit.size()))]));
  }

  std::uint64_t constant() {
    switch (random_.below(4)) {
      case 0: return random_.below(70);
      case 1: return std::uint64_t{1} << random_.below(64);
      case 2: return ~std::uint64_t{random_.below(70)};
      default: return random_.next();
    }
  }

  Value remember(Value v) {
    values_.push_back(v);
    return v;
  }

  /// A value of `type` that is there, or a new one.
  Value value(Type type) {
    std::vector<Value> fit;
    for (const Value v : values_)
      if (builder_.type_of(v) == type) fit.push_back(v);
    if (fit.empty() || random_.below(4) == 0) return leaf(type);
    return fit[random_.below(static_cast<std::uint32_t>(fit.size()))];
  }

  Type any_type() {
    if (random_.below(3) == 0) return Type::f64;
    return random_.below(3) == 0 ? Type::i32 : Type::i64;
  }
  Type any_integer() { return random_.below(2) == 0 ? Type::i32 : Type::i64; }

  void operation() {
    const auto op = static_cast<Op>(random_.below(region::kOpCount));
    const Type type = any_integer();
    switch (info(op).signature) {
      case Signature::Same:
      case Signature::Compare: {
        const Value a = value(type), b = info(op).arity > 1 ? value(type) : Value();
        remember(builder_.op(op, a, b));
        return;
      }
      case Signature::Select: {
        const Type chosen = any_type();
        const Value a = value(Type::i32), b = value(chosen), c = value(chosen);
        remember(builder_.op(op, a, b, c));
        return;
      }
      case Signature::Widen: remember(builder_.op(op, value(Type::i32))); return;
      case Signature::Narrow: remember(builder_.op(op, value(Type::i64))); return;
      case Signature::Float:
      case Signature::Order:
      case Signature::Equality: {
        const std::uint32_t arity = info(op).arity;
        const Value a = value(Type::f64), b = arity > 1 ? value(Type::f64) : Value();
        remember(builder_.op(op, a, b, arity > 2 ? value(Type::f64) : Value()));
        return;
      }
      case Signature::FromInt: remember(builder_.op(op, value(Type::i64))); return;
      case Signature::ToInt: remember(builder_.op(op, value(Type::f64))); return;
      case Signature::Leaf:
      case Signature::Reserve:
      case Signature::Read:
      case Signature::Write:
      case Signature::Assign: leaf(type); return;
    }
  }

  void assign() {
    const std::uint32_t v = 1 + random_.below(options_.variables);
    builder_.set(v, value(region_.variables[v].type));
  }

  /// Mostly an address inside of the window, sometimes at its edges.
  void reserve() {
    const std::uint32_t window = random_.below(options_.windows);
    if (random_.below(4) == 0) return reserve_element(window);
    const std::uint64_t mask = random_.below(8) == 0 ? 2 * kSpanMax - 1 : kSpanMax / 2 - 1;
    const Value offset = builder_.op_with(Op::And, value(Type::i64), mask);
    const Value address = builder_.op_with(Op::Add, offset, kBases[window] - (random_.below(8) == 0 ? 2 : 0));
    places_.push_back(builder_.access(address, 1 + random_.below(32), window, exit_block(random_.below(2) + 1)));
  }

  void reserve_element(std::uint32_t window) {
    const auto bytes = static_cast<std::uint8_t>(1u << random_.below(4));
    const std::uint64_t most = kSpanMax / 2 / bytes;
    const Value index = builder_.op_with(Op::And, value(Type::i64), random_.below(8) == 0 ? 4 * most - 1 : most - 1);
    places_.push_back(builder_.element(index, bytes, window, exit_block(random_.below(2) + 1)));
  }

  void memory() {
    const Value place = places_[random_.below(static_cast<std::uint32_t>(places_.size()))];
    const std::uint64_t reserved = region_.insts[place.index].imm;
    const Type type = any_type();
    const auto bytes =
        type == Type::f64 ? std::uint8_t{8} : static_cast<std::uint8_t>(1u << random_.below(type == Type::i32 ? 3 : 4));
    if (bytes > reserved) return;
    const std::uint64_t displacement = random_.below(static_cast<std::uint32_t>(reserved - bytes + 1));
    if (random_.below(2) == 0) {
      const Value stored = value(type);
      builder_.store(bytes, place, stored, displacement);
    } else {
      remember(builder_.load(type, bytes, type != Type::f64 && random_.below(2) == 0, place, displacement));
    }
  }

  Random random_;
  const RandomRegionOptions& options_;
  Region region_;
  region::Builder builder_;
  std::uint32_t budget_ = 0;
  std::uint32_t source_ = 0;
  std::vector<Value> values_, places_;  ///< of this block
};

}  // namespace

Region random_region(std::uint64_t seed, const RandomRegionOptions& options) {
  return Generator(seed, options).run();
}

std::size_t frame_bytes(const Region& region) {
  std::size_t bytes = region::kFrameHeadBytes;
  for (const region::Variable& v : region.variables)
    bytes = std::max<std::size_t>(bytes, v.slot + region::bytes_of(v.type));
  return (bytes + 7) / 8 * 8;
}

RegionState::RegionState(const Region& region, std::uint64_t seed) {
  Random random(seed);
  frame.resize(frame_bytes(region));
  memory.resize(kMemoryBytes);
  for (std::byte& b : frame) b = static_cast<std::byte>(random.next());
  for (std::byte& b : memory) b = static_cast<std::byte>(random.next());
  for (const region::Variable& v : region.variables) {
    const std::uint64_t bits = random.float_bits();
    if (v.type == Type::f64) std::memcpy(frame.data() + v.slot, &bits, sizeof bits);
  }
  const std::uint64_t budget = random.below(kBudgetMax) + 1;
  std::memcpy(frame.data(), &budget, sizeof budget);
  for (std::uint32_t w = 0; w < region.windows; ++w) {
    const std::uint64_t span = random.below(8) == 0 ? random.below(40) : kSpanMax - random.below(130);
    const std::uint64_t start = random.below(static_cast<std::uint32_t>(kMemoryBytes - span + 1));
    windows.push_back({kBases[w], span, reinterpret_cast<std::uint64_t>(memory.data()) + start - kBases[w]});
  }
}

RegionState& RegionState::operator=(const RegionState& other) {
  frame = other.frame;
  memory = other.memory;
  windows = other.windows;
  const std::uint64_t moved =
      reinterpret_cast<std::uint64_t>(memory.data()) - reinterpret_cast<std::uint64_t>(other.memory.data());
  for (region::Window& window : windows) window.delta += moved;
  return *this;
}

}  // namespace trident::testing
