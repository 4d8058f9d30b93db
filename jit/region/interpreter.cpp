#include "jit/region/interpreter.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/float_environment.h"

namespace trident::region {
namespace {

std::uint64_t reversed_bits(std::uint64_t value, unsigned width) {
  std::uint64_t result = 0;
  for (unsigned i = 0; i < width; ++i) result |= (value >> i & 1) << (width - 1 - i);
  return result;
}

std::uint64_t reversed_bytes(std::uint64_t value, unsigned width) {
  std::uint64_t result = 0;
  for (unsigned i = 0; i < width; i += 8) result |= (value >> i & 0xFF) << (width - 8 - i);
  return result;
}

/// Ops on integers of type U, with S its signed twin and Wide an unsigned type of twice its width.
template <class U, class S, class Wide, class WideS>
std::uint64_t evaluate_as(Op op, U a, U b, U c, std::uint64_t condition) {
  constexpr unsigned kWidth = sizeof(U) * 8;
  const unsigned amount = static_cast<unsigned>(b % kWidth);
  const S sa = static_cast<S>(a), sb = static_cast<S>(b);
  switch (op) {
    case Op::Add: return static_cast<U>(a + b);
    case Op::Sub: return static_cast<U>(a - b);
    case Op::Mul: return static_cast<U>(a * b);
    case Op::UMulHigh: return static_cast<U>(static_cast<Wide>(a) * b >> kWidth);
    case Op::SMulHigh: return static_cast<U>(static_cast<Wide>(static_cast<WideS>(sa) * sb) >> kWidth);
    case Op::UDiv: return b == 0 ? 0 : a / b;
    case Op::SDiv:
      if (b == 0) return 0;
      return sb == -1 ? static_cast<U>(0 - a) : static_cast<U>(sa / sb);
    case Op::And: return a & b;
    case Op::Or: return a | b;
    case Op::Xor: return a ^ b;
    case Op::Not: return static_cast<U>(~a);
    case Op::Neg: return static_cast<U>(0 - a);
    case Op::Shl: return static_cast<U>(a << amount);
    case Op::Shr: return a >> amount;
    case Op::Sar: return static_cast<U>(sa >> amount);
    case Op::Rotr: return std::rotr(a, static_cast<int>(amount));
    case Op::Clz: return static_cast<U>(std::countl_zero(a));
    case Op::BitSwap: return reversed_bits(a, kWidth);
    case Op::ByteSwap: return reversed_bytes(a, kWidth);
    case Op::Sext8: return static_cast<U>(static_cast<S>(static_cast<std::int8_t>(a)));
    case Op::Sext16: return static_cast<U>(static_cast<S>(static_cast<std::int16_t>(a)));
    case Op::Zext32: return static_cast<std::uint32_t>(a);
    case Op::Sext32: return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(a)});
    case Op::Trunc: return static_cast<std::uint32_t>(a);
    case Op::Eq: return a == b;
    case Op::Ne: return a != b;
    case Op::ULt: return a < b;
    case Op::ULe: return a <= b;
    case Op::SLt: return sa < sb;
    case Op::SLe: return sa <= sb;
    case Op::Select: return condition != 0 ? b : c;
    case Op::Constant:
    case Op::Get:
    case Op::Set:
    case Op::Access:
    case Op::Load:
    case Op::Store:
    case Op::FAdd:
    case Op::FSub:
    case Op::FMul:
    case Op::FDiv:
    case Op::FSqrt:
    case Op::FFma:
    case Op::FFloor:
    case Op::FCeil:
    case Op::FTrunc:
    case Op::FRint:
    case Op::FMin:
    case Op::FMax:
    case Op::FNeg:
    case Op::FAbs:
    case Op::FCopysign:
    case Op::FLt:
    case Op::FLe:
    case Op::FEq:
    case Op::FNe:
    case Op::IntToFloat:
    case Op::FloatToInt:
    case Op::BitsToFloat:
    case Op::FloatToBits: break;
  }
  CHECK(false);
}

constexpr std::uint64_t kSignBit = std::uint64_t{1} << 63, kQuietBit = std::uint64_t{1} << 51;
/// NaN that arithmetic makes of numbers, and that of a multiply-add.
constexpr std::uint64_t kMadeNan = 0xFFF8'0000'0000'0000, kFusedNan = 0x7FF8'0000'0000'0000;

double as_float(std::uint64_t bits) {
  return std::bit_cast<double>(bits);
}

/// Returns the bits of what arithmetic has made of a and b.
std::uint64_t made(double result, std::uint64_t a, std::uint64_t b) {
  if (!std::isnan(result)) return std::bit_cast<std::uint64_t>(result);
  if (std::isnan(as_float(a))) return a | kQuietBit;
  return std::isnan(as_float(b)) ? b | kQuietBit : kMadeNan;
}

/// Does as `cvttsd2si`.
std::uint64_t integer_of(double x) {
  return static_cast<std::uint64_t>(x >= -0x1p63 && x < 0x1p63 ? static_cast<std::int64_t>(x)
                                                               : std::numeric_limits<std::int64_t>::min());
}

std::uint64_t fused(double x, double y, double z) {
  const double result = std::fma(x, y, z);
  return std::isnan(result) ? kFusedNan : std::bit_cast<std::uint64_t>(result);
}

using Bits = std::uint64_t;
using FloatOp = Bits (*)(Bits a, Bits b, Bits c);
/// The ops on floats, from FAdd on.
constexpr FloatOp kFloatOps[] = {
    [](Bits a, Bits b, Bits) { return made(as_float(a) + as_float(b), a, b); },
    [](Bits a, Bits b, Bits) { return made(as_float(a) - as_float(b), a, b); },
    [](Bits a, Bits b, Bits) { return made(as_float(a) * as_float(b), a, b); },
    [](Bits a, Bits b, Bits) { return made(as_float(a) / as_float(b), a, b); },
    [](Bits a, Bits, Bits) { return made(std::sqrt(as_float(a)), a, a); },
    [](Bits a, Bits b, Bits c) { return fused(as_float(a), as_float(b), as_float(c)); },
    [](Bits a, Bits, Bits) { return made(std::floor(as_float(a)), a, a); },
    [](Bits a, Bits, Bits) { return made(std::ceil(as_float(a)), a, a); },
    [](Bits a, Bits, Bits) { return made(std::trunc(as_float(a)), a, a); },
    [](Bits a, Bits, Bits) { return made(std::nearbyint(as_float(a)), a, a); },
    [](Bits a, Bits b, Bits) { return std::isnan(as_float(a)) || as_float(b) < as_float(a) ? b : a; },
    [](Bits a, Bits b, Bits) { return std::isnan(as_float(a)) || as_float(b) > as_float(a) ? b : a; },
    [](Bits a, Bits, Bits) { return a ^ kSignBit; },
    [](Bits a, Bits, Bits) { return a & ~kSignBit; },
    [](Bits a, Bits b, Bits) { return (a & ~kSignBit) | (b & kSignBit); },
    [](Bits a, Bits b, Bits) { return Bits{as_float(a) < as_float(b)}; },
    [](Bits a, Bits b, Bits) { return Bits{as_float(a) <= as_float(b)}; },
    [](Bits a, Bits b, Bits) { return Bits{as_float(a) == as_float(b)}; },
    [](Bits a, Bits b, Bits) { return Bits{as_float(a) != as_float(b)}; },
    [](Bits a, Bits, Bits) { return std::bit_cast<Bits>(static_cast<double>(static_cast<std::int64_t>(a))); },
    [](Bits a, Bits, Bits) { return integer_of(as_float(a)); },
    [](Bits a, Bits, Bits) { return a; },
    [](Bits a, Bits, Bits) { return a; },
};
constexpr auto kFirstFloatOp = static_cast<std::size_t>(Op::FAdd);
static_assert(std::size(kFloatOps) == kOpCount - kFirstFloatOp);

class Interpreter {
 public:
  Interpreter(const Region& region, std::span<std::byte> frame, std::span<const Window> windows)
      : region_(region), frame_(frame), windows_(windows), values_(region.insts.size()) {
    for (const Variable& v : region.variables) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, frame.data() + v.slot, bytes_of(v.type));
      variables_.push_back(bits);
    }
  }

  Outcome run(std::uint64_t steps, std::span<std::uint8_t> reached) {
    Outcome run;
    for (std::uint32_t block = 0; !run.exit && run.steps < steps;) {
      if (!reached.empty()) reached[block] = 1;
      run.exit = block_after(block, run.steps, steps);
    }
    for (std::size_t v = 0; v < variables_.size(); ++v)
      std::memcpy(frame_.data() + region_.variables[v].slot, &variables_[v], bytes_of(region_.variables[v].type));
    if (run.exit) store_head(offsetof(FrameHead, exit), static_cast<std::uint32_t>(*run.exit));
    return run;
  }

 private:
  /// Runs `block` and makes it the next one. Returns an exit when control leaves.
  std::optional<Exit> block_after(std::uint32_t& block, std::uint64_t& done, std::uint64_t steps) {
    const Block& now = region_.blocks[block];
    for (std::uint32_t i = now.first; i < now.last; ++i, ++done) {
      if (done == steps) return {};
      const Inst& inst = region_.insts[i];
      if (inst.op == Op::Access && !reserve(inst, i)) {
        block = inst.otherwise;
        return {};
      }
      if (inst.op != Op::Access) step(inst, i);
    }
    ++done;
    if (now.end.flow == Flow::exit) return now.end.exit;
    const bool taken = now.end.flow == Flow::jump || values_[now.end.condition.index] != 0;
    block = taken ? now.end.then : now.end.otherwise;
    return {};
  }

  bool reserve(const Inst& inst, std::uint32_t number) {
    const Window& window = windows_[inst.window];
    const std::uint64_t address = values_[inst.a.index];
    if (inst.bytes != 0) {
      values_[number] = window.lo + address * inst.imm + window.delta;
      return address < window.span / inst.imm;
    }
    if (window.span >= inst.imm && address - window.lo <= window.span - inst.imm) {
      values_[number] = address + window.delta;
      return true;
    }
    store_head(offsetof(FrameHead, exit_address), address);
    store_head(offsetof(FrameHead, exit_window), inst.window);
    return false;
  }

  void step(const Inst& inst, std::uint32_t number) {
    if (inst.op == Op::Constant) {
      values_[number] = inst.imm;
    } else if (inst.op == Op::Get) {
      values_[number] = variables_[inst.imm];
    } else if (inst.op == Op::Set) {
      variables_[inst.imm] = values_[inst.a.index];
    } else if (inst.op == Op::Load) {
      values_[number] = load(inst);
    } else if (inst.op == Op::Store) {
      std::memcpy(host(inst), &values_[inst.b.index], inst.bytes);
    } else {
      values_[number] = computed(inst);
    }
  }

  [[nodiscard]] std::uint64_t computed(const Inst& inst) const {
    const auto value = [&](Value v) { return v.valid() ? values_[v.index] : 0; };
    const Value first = inst.op == Op::Select ? inst.b : inst.a;
    return evaluate(inst.op, region_.insts[first.index].type, value(inst.a), value(inst.b), value(inst.c));
  }

  [[nodiscard]] void* host(const Inst& inst) const { return reinterpret_cast<void*>(values_[inst.a.index] + inst.imm); }

  [[nodiscard]] std::uint64_t load(const Inst& inst) const {
    std::uint64_t bits = 0;
    std::memcpy(&bits, host(inst), inst.bytes);
    if (inst.is_signed) {
      const unsigned unused = 64 - 8 * inst.bytes;
      bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << unused) >> unused);
    }
    return inst.type == Type::i32 ? static_cast<std::uint32_t>(bits) : bits;
  }

  template <class T>
  void store_head(std::size_t offset, T value) {
    std::memcpy(frame_.data() + offset, &value, sizeof value);
  }

  const Region& region_;
  std::span<std::byte> frame_;
  std::span<const Window> windows_;
  std::vector<std::uint64_t> values_;  ///< of instructions; of an Access, the host's address
  std::vector<std::uint64_t> variables_;
};

}  // namespace

std::uint64_t evaluate(Op op, Type type, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  if (is_float(op)) return kFloatOps[static_cast<std::size_t>(op) - kFirstFloatOp](a, b, c);
  if (type == Type::i32)
    return evaluate_as<std::uint32_t, std::int32_t, std::uint64_t, std::int64_t>(
        op, static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b), static_cast<std::uint32_t>(c), a);
  return evaluate_as<std::uint64_t, std::int64_t, unsigned __int128, __int128>(op, a, b, c, a);
}

Outcome interpret(const Region& region, std::span<std::byte> frame, std::span<const Window> windows,
                  std::uint64_t steps, std::span<std::uint8_t> reached) {
  const StandardFloats floats;
  return Interpreter(region, frame, windows).run(steps, reached);
}

}  // namespace trident::region
