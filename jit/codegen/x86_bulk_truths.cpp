// Conditions in lanes: comparisons, stops, and which lanes they hold in.
#include "jit/codegen/x86_bulk_lanes.h"

namespace trident::codegen {

namespace x86 = asmjit::x86;
namespace Inst = asmjit::x86::Inst;
using RegionOp = region::Op;
using regionopt::Node;

namespace {

/// Returns the predicate of VCMPPD, of those that raise nothing for quiet NaN.
int predicate_of(RegionOp op) {
  constexpr int kEqual = 0, kNotEqual = 4, kLess = 17, kLessEqual = 18;
  if (op == RegionOp::FEq) return kEqual;
  if (op == RegionOp::FNe) return kNotEqual;
  return op == RegionOp::FLt ? kLess : kLessEqual;
}

}  // namespace

std::uint8_t BulkLanes::truth(std::uint32_t n, const Places& places) {
  if (values_[n] != kNoVector) return values_[n];
  const std::uint8_t reg = avx512_ ? mask_truth(loop_.nodes[n], places) : vector_truth(loop_.nodes[n], places);
  return values_[n] = reg;
}

std::uint8_t BulkLanes::mask_truth(const Node& node, const Places& places) {
  const x86::KReg active(kActive);
  if (node.op == RegionOp::Xor) {
    const x86::KReg a(truth(node.a, places)), to(next_mask_++);
    a_.kxorq(to, a, active);
    return static_cast<std::uint8_t>(to.id());
  }
  if (node.op == RegionOp::And || node.op == RegionOp::Or) {
    const x86::KReg a(truth(node.a, places)), b(truth(node.b, places)), to(next_mask_++);
    node.op == RegionOp::And ? a_.kandq(to, a, b) : a_.korq(to, a, b);
    return static_cast<std::uint8_t>(to.id());
  }
  const std::uint8_t a = value(node.a, places), b = value(node.b, places);
  const x86::KReg to(next_mask_++);
  if (region::is_float(node.op)) {
    a_.k(active);
    a_.sae();
    a_.emit(Inst::kIdVcmppd, to, vec(a), vec(b), asmjit::Imm(predicate_of(node.op)));
    return static_cast<std::uint8_t>(to.id());
  }
  constexpr int kEqual = 0, kLess = 1, kLessEqual = 2, kNotEqual = 4;
  const bool is_unsigned = narrow_ || node.op == RegionOp::ULt || node.op == RegionOp::ULe;
  const int order = node.op == RegionOp::Eq                                ? kEqual
                    : node.op == RegionOp::Ne                              ? kNotEqual
                    : node.op == RegionOp::ULt || node.op == RegionOp::SLt ? kLess
                                                                           : kLessEqual;
  a_.k(active);
  a_.emit(by_width(Inst::kIdVpcmpub, is_unsigned ? Inst::kIdVpcmpuq : Inst::kIdVpcmpq), to, vec(a), vec(b),
          asmjit::Imm(order));
  return static_cast<std::uint8_t>(to.id());
}

std::uint8_t BulkLanes::vector_truth(const Node& node, const Places& places) {
  const auto negated = [&](std::uint8_t reg) {
    op3(Inst::kIdVpxor, reg, reg, ones_);
    return reg;
  };
  if (node.op == RegionOp::Xor || node.op == RegionOp::And || node.op == RegionOp::Or) {
    const std::uint8_t a = truth(node.a, places), b = node.op == RegionOp::Xor ? ones_ : truth(node.b, places),
                       to = take();
    op3(node.op == RegionOp::Xor   ? Inst::kIdVpxor
        : node.op == RegionOp::And ? Inst::kIdVpand
                                   : Inst::kIdVpor,
        to, a, b);
    return to;
  }
  std::uint8_t a = value(node.a, places), b = value(node.b, places);
  const std::uint8_t to = take();
  if (region::is_float(node.op)) {
    a_.emit(Inst::kIdVcmppd, vec(to), vec(a), vec(b), asmjit::Imm(predicate_of(node.op)));
    return to;
  }
  const bool is_strict = node.op == RegionOp::ULt || node.op == RegionOp::SLt;
  if (node.op == RegionOp::Eq || node.op == RegionOp::Ne) {
    op3(by_width(Inst::kIdVpcmpeqb, Inst::kIdVpcmpeqq), to, a, b);
    return node.op == RegionOp::Eq ? to : negated(to);
  }
  if (!narrow_) {
    if (node.op == RegionOp::ULt || node.op == RegionOp::ULe) a = with_signs_flipped(a), b = with_signs_flipped(b);
    op3(Inst::kIdVpcmpgtq, to, is_strict ? b : a, is_strict ? a : b);
    return is_strict ? to : negated(to);
  }
  // a <= b where the lesser of them is a; a < b where b <= a does not hold.
  op3(Inst::kIdVpminub, to, a, b);
  op3(Inst::kIdVpcmpeqb, to, to, is_strict ? b : a);
  return is_strict ? negated(to) : to;
}

/// Numbers without a sign are in the order of these with one.
std::uint8_t BulkLanes::with_signs_flipped(std::uint8_t from) {
  const std::uint8_t to = take();
  a_.vpxor(vec(to), vec(from), writer_.pool_operand(pool_.add_repeated(std::uint64_t{1} << 63, 8, count_)));
  writer_.note_pool_use(0);
  return to;
}

void BulkLanes::bits(std::uint8_t truth) {
  if (avx512_)
    a_.kmovq(x86::rax, x86::KReg(truth));
  else if (narrow_)
    a_.vpmovmskb(x86::eax, vec(truth));
  else
    a_.vmovmskpd(x86::eax, vec(truth));
}

void BulkLanes::bits_of(std::uint32_t node, const Places& places) {
  bits(truth(node, places));
}

void BulkLanes::any_stops(std::span<const std::uint32_t> stops, const Places& places) {
  stop_ = truth(stops[0], places);
  if (stops.size() > 1) {
    const std::uint8_t all = avx512_ ? next_mask_++ : take();
    std::uint8_t so_far = stop_;
    for (const std::uint32_t stop : stops.subspan(1)) {
      const std::uint8_t more = truth(stop, places);
      if (avx512_)
        a_.korq(x86::KReg(all), x86::KReg(so_far), x86::KReg(more));
      else
        op3(Inst::kIdVpor, all, so_far, more);
      so_far = all;
    }
    stop_ = all;
  }
  if (avx512_) {
    a_.kortestq(x86::KReg(stop_), x86::KReg(stop_));
  } else {
    bits(stop_);
    a_.test(x86::eax, x86::eax);
  }
}

void BulkLanes::first_stop() {
  bits(stop_);
  if (backwards_) {
    a_.lzcnt(x86::rax, x86::rax);
    a_.sub(x86::rax, 64 - count_);
  } else {
    a_.tzcnt(x86::rax, x86::rax);
  }
}

void BulkLanes::last_bit() {
  if (backwards_) {
    a_.tzcnt(x86::rax, x86::rax);
    a_.neg(x86::rax);
    a_.add(x86::rax, count_ - 1);
  } else {
    a_.lzcnt(x86::rax, x86::rax);
    a_.xor_(x86::rax, 63);
  }
}

}  // namespace trident::codegen
