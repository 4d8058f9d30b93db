#include "jit/codegen/x86_bulk_lanes.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "jit/regionopt/lanes.h"
#include "runtime/base/check.h"

namespace trident::codegen {

namespace x86 = asmjit::x86;
namespace Inst = asmjit::x86::Inst;
using RegionOp = region::Op;
using regionopt::BulkLoop;
using regionopt::Linear;
using regionopt::Node;
using regionopt::Reduction;

namespace {

/// Returns the form of a node that is made before the groups: a number, the same in all lanes or a step apart.
std::optional<Linear> made_before(const BulkLoop& loop, std::uint32_t n) {
  const Node& node = loop.nodes[n];
  if (node.type == region::Type::f64 && node.kind == Node::Kind::constant) return Linear{{}, node.imm};
  if (node.type == region::Type::f64 && node.kind == Node::Kind::variable)
    return Linear{{{static_cast<std::uint32_t>(node.imm), 1}}, 0};
  if (node.type != region::Type::i64) return {};
  if (node.kind == Node::Kind::constant || node.kind == Node::Kind::variable) return linear_form(loop.nodes, n);
  const auto form = loop.lane_bytes == 8 ? linear_form(loop.nodes, n) : std::nullopt;
  return form && is_simple(*form) ? form : std::nullopt;
}

bool is_truth(const Node& node) {
  return node.type == region::Type::i32;
}

/// Calls `visit` once with each node that lanes compute.
template <class Visit>
void for_lanes(const BulkLoop& loop, const Visit& visit) {
  std::vector<bool> seen(loop.nodes.size(), false);
  const auto walk = [&](const auto& self, std::uint32_t n) -> void {
    if (seen[n]) return;
    seen[n] = true;
    const Node& node = loop.nodes[n];
    if (node.kind == Node::Kind::op && !made_before(loop, n)) {
      const int arity = region::info(node.op).arity;
      self(self, node.a);
      const bool is_negation = is_truth(node) && node.op == RegionOp::Xor;
      if (arity > 1 && !is_negation) self(self, node.b);
      if (arity > 2) self(self, node.c);
    }
    visit(n);
  };
  for (const std::uint32_t stop : loop.stops) walk(walk, stop);
  for (const regionopt::Store& store : loop.stores) walk(walk, store.node);
  for (const Reduction& r : loop.reductions)
    if (r.kind != Reduction::Kind::series) walk(walk, r.node);
}

bool has_result(const Reduction& r) {
  return r.kind == Reduction::Kind::sum || r.kind == Reduction::Kind::least || r.kind == Reduction::Kind::greatest;
}

/// With AVX2, which has no instruction for these, two registers hold parts.
bool takes_two_more(const Node& node) {
  return node.kind == Node::Kind::op &&
         (node.op == RegionOp::Mul || node.op == RegionOp::ULt || node.op == RegionOp::ULe);
}

bool is_mixed(const BulkLoop& loop) {
  return std::any_of(loop.references.begin(), loop.references.end(),
                     [&](const auto& r) { return r.step != loop.references[0].step; });
}

}  // namespace

BulkLanes::Needs BulkLanes::needs_of(const BulkLoop& loop, bool avx512) {
  Needs needs{.vectors = 4, .masks = loop.stops.size() > 1 ? 1u : 0u};  // four to work with
  for_lanes(loop, [&](std::uint32_t n) {
    ++(is_truth(loop.nodes[n]) && avx512 ? needs.masks : needs.vectors);
    if (!avx512 && loop.lane_bytes == 8 && takes_two_more(loop.nodes[n])) needs.vectors += 2;
  });
  needs.vectors += static_cast<std::uint32_t>(2 * loop.reductions.size() + loop.stores.size());
  return needs;
}

bool BulkLanes::can(const BulkLoop& loop, bool avx512, std::uint32_t vectors) {
  if (loop.lane_bytes == 0) return true;
  if (is_mixed(loop) && loop.lane_bytes != 8) return false;
  const Needs needs = needs_of(loop, avx512);
  return needs.vectors <= vectors && needs.masks <= kMasks - kFirstMask;
}

BulkLanes::BulkLanes(X86Writer& writer, ConstantPool& pool, const BulkLoop& loop, const Shape& shape)
    : writer_(writer),
      a_(writer.assembler()),
      pool_(pool),
      loop_(loop),
      avx512_(shape.avx512),
      backwards_(shape.backwards),
      narrow_(loop.lane_bytes == 1),
      bytes_(shape.avx512 ? 64 : 32),
      count_(loop.lane_bytes == 0 ? 1 : bytes_ / loop.lane_bytes),
      needs_(needs_of(loop, shape.avx512)),
      vectors_(static_cast<std::uint32_t>(std::popcount(shape.free))),
      mixed_(loop.lane_bytes != 0 && is_mixed(loop)),
      free_(shape.free) {}

BulkLanes::Vec BulkLanes::vec(std::uint8_t reg, std::uint32_t bytes) const {
  if (bytes == 64) return x86::zmm(reg);
  return bytes == 32 ? Vec(x86::ymm(reg)) : Vec(x86::xmm(reg));
}

std::uint8_t BulkLanes::take() {
  CHECK(free_ != 0);
  const auto reg = static_cast<std::uint8_t>(std::countr_zero(free_));
  free_ &= free_ - 1;
  return reg;
}

void BulkLanes::op3(std::uint32_t id, std::uint8_t to, std::uint8_t a, std::uint8_t b) {
  a_.emit(id, vec(to), vec(a), vec(b));
}

void BulkLanes::broadcast(std::uint8_t to, const x86::Gp& from) {
  if (avx512_) {
    narrow_ ? a_.vpbroadcastb(vec(to), from.r32()) : a_.vpbroadcastq(vec(to), from.r64());
  } else {
    a_.vmovq(x86::xmm(to), from.r64());
    a_.emit(by_width(Inst::kIdVpbroadcastb, Inst::kIdVpbroadcastq), vec(to), x86::xmm(to));
  }
}

/// to += first, first + step, .. in the order of the rounds.
void BulkLanes::add_row(std::uint8_t to, std::int64_t first, std::int64_t step) {
  std::vector<std::int64_t> row;
  for (std::uint32_t lane = 0; lane < count_; ++lane)
    row.push_back(first + step * static_cast<std::int64_t>(backwards_ ? count_ - 1 - lane : lane));
  std::vector<std::uint8_t> row_bytes(bytes_);
  std::memcpy(row_bytes.data(), row.data(), bytes_);
  a_.vpaddq(vec(to), vec(to), writer_.pool_operand(pool_.add_bytes(row_bytes.data(), bytes_, bytes_)));
  writer_.note_pool_use(0);
}

void BulkLanes::begin(const Numbers& numbers) {
  stays_.assign(loop_.nodes.size(), kNoVector);
  for_lanes(loop_, [&](std::uint32_t n) {
    const auto form = made_before(loop_, n);
    if (!form) return;
    const std::uint8_t reg = stays_[n] = take();
    if (form->terms.empty())
      a_.mov(x86::rax, form->constant);
    else
      numbers(x86::rax, *form);
    broadcast(reg, x86::rax);
    std::int64_t step = 0;
    for (const Linear::Term& term : form->terms)
      for (const regionopt::Step& s : loop_.steps)
        if (s.variable == term.variable) step += term.factor * s.step;
    if (step == 0) return;
    add_row(reg, 0, step);
    advancing_.push_back({reg, step, kNoVector});
  });
  results_.assign(loop_.reductions.size(), kNoVector);
  for (std::size_t r = 0; r < loop_.reductions.size(); ++r) {
    const Reduction& reduction = loop_.reductions[r];
    if (!has_result(reduction)) continue;
    const std::uint8_t reg = results_[r] = take();
    if (reduction.kind == Reduction::Kind::sum) {
      op3(avx512_ ? Inst::kIdVpxorq : Inst::kIdVpxor, reg, reg, reg);
    } else {
      numbers(x86::rax, {{{reduction.variable, 1}}, 0});
      broadcast(reg, x86::rax);
    }
  }
  if (mixed_ && avx512_) {
    order_ = take();
    op3(Inst::kIdVpxorq, order_, order_, order_);
    add_row(order_, count_ - 1, -1);
  }
  if (!avx512_) {
    ones_ = take();
    op3(Inst::kIdVpcmpeqq, ones_, ones_, ones_);
  } else {
    set_all_active();
  }
  take_gains();
  free_in_groups_ = free_;
  parts_.resize(results_.size());
}

void BulkLanes::begin_group(bool partial, std::uint32_t number) {
  partial_ = partial;
  number_ = number;
  free_ = free_in_groups_;
  values_ = stays_;
  next_mask_ = kFirstMask;
}

x86::Mem BulkLanes::gain_of(const Advancing& value) {
  const std::uint64_t gain = static_cast<std::uint64_t>(value.step) * count_;
  return writer_.pool_operand(pool_.add_repeated(gain, 8, count_));
}

void BulkLanes::take_gains() {
  for (Advancing& value : advancing_) {
    if (needs_.vectors == vectors_) return;
    ++needs_.vectors;
    value.gain = take();
    a_.emit(avx512_ ? Inst::kIdVmovdqa64 : Inst::kIdVmovdqa, vec(value.gain), gain_of(value));
    writer_.note_pool_use(0);
  }
}

void BulkLanes::next_group() {
  for (const Advancing& value : advancing_) {
    if (value.gain != kNoVector) {
      op3(Inst::kIdVpaddq, value.reg, value.reg, value.gain);
      continue;
    }
    a_.vpaddq(vec(value.reg), vec(value.reg), gain_of(value));
    writer_.note_pool_use(0);
  }
}

/// Returns how many partial results a reduction has where `groups` groups follow one another.
std::uint32_t BulkLanes::spread_of(std::uint32_t groups) const {
  const auto many =
      static_cast<std::uint32_t>(std::count_if(loop_.reductions.begin(), loop_.reductions.end(), has_result));
  const std::uint32_t spare = vectors_ - needs_.vectors;
  while (groups > 1 && (groups - 1) * many > spare) groups /= 2;
  return groups;
}

void BulkLanes::spread(std::uint32_t groups) {
  const std::uint32_t parts = spread_of(groups);
  free_ = free_in_groups_;
  for (std::size_t r = 0; r < results_.size(); ++r) {
    if (results_[r] == kNoVector) continue;
    while (parts_[r].size() + 1 < parts) {
      const std::uint8_t part = parts_[r].emplace_back(take());
      if (loop_.reductions[r].kind == Reduction::Kind::sum)
        op3(avx512_ ? Inst::kIdVpxorq : Inst::kIdVpxor, part, part, part);
      else
        a_.emit(avx512_ ? Inst::kIdVmovdqa64 : Inst::kIdVmovdqa, vec(part), vec(results_[r]));
    }
  }
  free_in_groups_ = free_;
}

void BulkLanes::gather() {
  for (std::size_t r = 0; r < results_.size(); ++r) {
    for (const std::uint8_t part : parts_[r]) {
      free_ = free_in_groups_;
      combine(loop_.reductions[r].kind, vec(results_[r]), vec(results_[r]), vec(part));
      free_in_groups_ |= 1u << part;
    }
    parts_[r].clear();
  }
}

void BulkLanes::skip_rounds() {
  for (const Advancing& value : advancing_) {
    const std::uint8_t gain = take();
    a_.imul(x86::rdx, x86::rax, value.step);
    broadcast(gain, x86::rdx);
    op3(Inst::kIdVpaddq, value.reg, value.reg, gain);
  }
}

void BulkLanes::set_all_active() {
  if (needs_.masks == 0) return;
  a_.mov(x86::rax, count_ == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count_) - 1);
  a_.kmovq(x86::KReg(kActive), x86::rax);
}

void BulkLanes::set_active(const x86::Gp& rounds) {
  a_.mov(x86::rax, -1);
  if (backwards_) {
    a_.mov(x86::edx, count_);
    a_.sub(x86::rdx, rounds);
    a_.shlx(x86::rax, x86::rax, x86::rdx);
    if (count_ == 8) a_.movzx(x86::eax, x86::al);
  } else {
    a_.bzhi(x86::rax, x86::rax, rounds);
  }
  a_.kmovq(x86::KReg(kActive), x86::rax);
}

// --- values ----------------------------------------------------------------------------------------------------------

bool BulkLanes::is_reversed(std::uint32_t reference) const {
  return mixed_ && loop_.references[reference].step < 0;
}

x86::Mem BulkLanes::all_of(std::uint32_t reference, const Places& places) const {
  x86::Mem mem = places(reference);
  if (loop_.references[reference].step < 0) mem.addOffset(-static_cast<std::int64_t>((count_ - 1) * loop_.lane_bytes));
  return mem;
}

void BulkLanes::reverse(std::uint8_t to, std::uint8_t from) {
  if (avx512_)
    a_.vpermq(vec(to), vec(order_), vec(from));
  else
    a_.vpermq(vec(to), vec(from), 0x1B);
}

std::uint8_t BulkLanes::load(std::uint32_t reference, const Places& places) {
  const std::uint8_t reg = take();
  const x86::Mem mem = all_of(reference, places);
  if (partial_) a_.k(x86::KReg(kActive)).z();
  a_.emit(!avx512_ ? Inst::kIdVmovdqu : by_width(Inst::kIdVmovdqu8, Inst::kIdVmovdqu64), vec(reg), mem);
  if (is_reversed(reference)) reverse(reg, reg);
  return reg;
}

std::uint8_t BulkLanes::value(std::uint32_t n, const Places& places) {
  if (values_[n] != kNoVector) return values_[n];
  const Node& node = loop_.nodes[n];
  CHECK(node.kind == Node::Kind::load || node.kind == Node::Kind::op);
  const std::uint8_t reg =
      node.kind == Node::Kind::load ? load(static_cast<std::uint32_t>(node.imm), places) : computed(node, places);
  return values_[n] = reg;
}

std::uint8_t BulkLanes::computed(const Node& node, const Places& places) {
  if (node.op == RegionOp::Select) {
    const std::uint8_t condition = truth(node.a, places), b = value(node.b, places), c = value(node.c, places);
    const std::uint8_t to = take();
    if (avx512_) {
      a_.k(x86::KReg(condition));
      op3(by_width(Inst::kIdVpblendmb, Inst::kIdVpblendmq), to, c, b);
    } else {
      a_.vpblendvb(vec(to), vec(c), vec(b), vec(condition));
    }
    return to;
  }
  if (region::is_float(node.op)) return real(node, places);
  const std::uint8_t a = value(node.a, places), b = value(node.b, places), to = take();
  if (node.op == RegionOp::Mul && !avx512_) return product(to, a, b);
  std::uint32_t id = 0;
  if (node.op == RegionOp::Add) id = by_width(Inst::kIdVpaddb, Inst::kIdVpaddq);
  if (node.op == RegionOp::Sub) id = by_width(Inst::kIdVpsubb, Inst::kIdVpsubq);
  if (node.op == RegionOp::Mul) id = Inst::kIdVpmullq;
  if (node.op == RegionOp::And) id = avx512_ ? Inst::kIdVpandq : Inst::kIdVpand;
  if (node.op == RegionOp::Or) id = avx512_ ? Inst::kIdVporq : Inst::kIdVpor;
  if (node.op == RegionOp::Xor) id = avx512_ ? Inst::kIdVpxorq : Inst::kIdVpxor;
  CHECK(id != 0);
  op3(id, to, a, b);
  return to;
}

/// to = a * b = low halves' product + (sum of the two mixed products << 32), modulo 2^64.
std::uint8_t BulkLanes::product(std::uint8_t to, std::uint8_t a, std::uint8_t b) {
  const std::uint8_t mixed = take(), other = take();
  a_.vpsrlq(vec(mixed), vec(a), 32);
  op3(Inst::kIdVpmuludq, mixed, mixed, b);
  a_.vpsrlq(vec(other), vec(b), 32);
  op3(Inst::kIdVpmuludq, other, other, a);
  op3(Inst::kIdVpaddq, mixed, mixed, other);
  a_.vpsllq(vec(mixed), vec(mixed), 32);
  op3(Inst::kIdVpmuludq, to, a, b);
  op3(Inst::kIdVpaddq, to, to, mixed);
  return to;
}

std::uint8_t BulkLanes::real(const Node& node, const Places& places) {
  const std::uint8_t a = value(node.a, places);
  if (node.op == RegionOp::FNeg || node.op == RegionOp::FAbs) {
    constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
    const bool flips = node.op == RegionOp::FNeg;
    const std::uint8_t to = take();
    const x86::Mem bits = writer_.pool_operand(pool_.add_repeated(flips ? kSign : ~kSign, 8, count_));
    if (flips)
      a_.emit(avx512_ ? Inst::kIdVpxorq : Inst::kIdVpxor, vec(to), vec(a), bits);
    else
      a_.emit(avx512_ ? Inst::kIdVpandq : Inst::kIdVpand, vec(to), vec(a), bits);
    writer_.note_pool_use(0);
    return to;
  }
  if (node.op == RegionOp::FSqrt) {
    const std::uint8_t to = take();
    if (avx512_) a_.rn_sae();
    a_.emit(Inst::kIdVsqrtpd, vec(to), vec(a));
    return to;
  }
  const std::uint8_t b = value(node.b, places), to = take();
  constexpr std::pair<RegionOp, std::uint32_t> kIds[] = {{RegionOp::FAdd, Inst::kIdVaddpd},
                                                         {RegionOp::FSub, Inst::kIdVsubpd},
                                                         {RegionOp::FMul, Inst::kIdVmulpd},
                                                         {RegionOp::FDiv, Inst::kIdVdivpd}};
  const auto* const row =
      std::find_if(std::begin(kIds), std::end(kIds), [&](const auto& r) { return r.first == node.op; });
  CHECK(row != std::end(kIds));
  if (avx512_) a_.rn_sae();
  op3(row->second, to, a, b);
  return to;
}

// --- effects ---------------------------------------------------------------------------------------------------------

void BulkLanes::read(const Places& places) {
  for (const regionopt::Store& store : loop_.stores) value(store.node, places);
  for (const Reduction& r : loop_.reductions) {
    if (r.kind == Reduction::Kind::series) continue;
    has_result(r) ? value(r.node, places) : truth(r.node, places);
  }
}

void BulkLanes::store(const regionopt::Store& store, const Places& places) {
  std::uint8_t reg = value(store.node, places);
  if (is_reversed(store.reference)) {
    const std::uint8_t turned = take();
    reverse(turned, reg);
    reg = turned;
  }
  if (partial_) a_.k(x86::KReg(kActive));
  a_.emit(!avx512_ ? Inst::kIdVmovdqu : by_width(Inst::kIdVmovdqu8, Inst::kIdVmovdqu64),
          all_of(store.reference, places), vec(reg));
}

void BulkLanes::combine(Reduction::Kind kind, const Vec& to, const Vec& a, const Vec& b) {
  if (kind == Reduction::Kind::sum) {
    a_.vpaddq(to, a, b);
  } else if (avx512_) {
    a_.emit(kind == Reduction::Kind::greatest ? Inst::kIdVpmaxsq : Inst::kIdVpminsq, to, a, b);
  } else {
    const Vec above = vec(take(), a.size());
    a_.vpcmpgtq(above, a, b);
    kind == Reduction::Kind::greatest ? a_.vpblendvb(to, b, a, above) : a_.vpblendvb(to, a, b, above);
  }
}

/// Returns sums of eight bytes each.
std::uint8_t BulkLanes::sums_of_bytes(std::uint8_t from) {
  const std::uint8_t zero = take(), to = take();
  if (partial_) {
    a_.k(x86::KReg(kActive)).z().vmovdqu8(vec(to), vec(from));
    from = to;
  }
  op3(avx512_ ? Inst::kIdVpxorq : Inst::kIdVpxor, zero, zero, zero);
  op3(Inst::kIdVpsadbw, to, from, zero);
  return to;
}

void BulkLanes::reduce(const Reduction& reduction, const Places& places) {
  const auto r = static_cast<std::size_t>(&reduction - loop_.reductions.data());
  const std::size_t part = number_ % (parts_[r].size() + 1);
  const std::uint8_t result = part == 0 ? results_[r] : parts_[r][part - 1];
  std::uint8_t from = value(reduction.node, places);
  if (narrow_)
    from = sums_of_bytes(from);
  else if (partial_)
    a_.k(x86::KReg(kActive));
  combine(reduction.kind, vec(result), vec(result), vec(from));
}

void BulkLanes::finish(const std::function<void(std::uint32_t)>& add, const std::function<void(std::uint32_t)>& set) {
  for (std::size_t r = 0; r < loop_.reductions.size(); ++r) {
    const Reduction& reduction = loop_.reductions[r];
    if (!has_result(reduction)) continue;
    free_ = free_in_groups_;
    const std::uint8_t result = results_[r];
    const std::uint8_t half = take();
    if (avx512_) {
      a_.vextracti64x4(x86::ymm(half), x86::zmm(result), 1);
      combine(reduction.kind, vec(result, 32), vec(result, 32), vec(half, 32));
      a_.vextracti64x2(x86::xmm(half), x86::ymm(result), 1);
    } else {
      a_.vextracti128(x86::xmm(half), x86::ymm(result), 1);
    }
    combine(reduction.kind, vec(result, 16), vec(result, 16), vec(half, 16));
    a_.vpshufd(x86::xmm(half), x86::xmm(result), 0x4E);
    combine(reduction.kind, vec(result, 16), vec(result, 16), vec(half, 16));
    a_.vmovq(x86::rax, x86::xmm(result));
    reduction.kind == Reduction::Kind::sum ? add(reduction.variable) : set(reduction.variable);
  }
  a_.vzeroupper();
}

}  // namespace trident::codegen
