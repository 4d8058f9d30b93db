#include "jit/codegen/x86_ranges.h"

#include <asmjit/x86.h>

#include <algorithm>

#include "jit/codegen/x86_select.h"

namespace trident::codegen {

namespace Inst = asmjit::x86::Inst;
using kir::Op;
using kir::Section;

namespace {

constexpr std::uint64_t kInfinity32 = 0x7F80'0000, kInfinity64 = 0x7FF0'0000'0000'0000;
constexpr std::uint8_t kAtMost = 2, kNotBelow = 5;  ///< predicates of vpcmpud

}  // namespace

X86Ranges::X86Ranges(X86Selector& selector, std::pmr::memory_resource* arena)
    : s_(selector), tests_(arena), others_(arena), of_tests_(arena) {}

/// Returns the input whose range the comparison `v` bounds, with the bound; nothing for other masks. The comparison
/// says that the input is within the bound, as "at most", or that it is not, as "less", whose sides are swapped.
std::optional<X86Ranges::Bound> X86Ranges::bound_of(kir::Value v, Op op) const {
  const kir::Inst& compare = s_.kernel_.at(v);
  if (compare.op != op || s_.body_uses_[v.index] != 1) return std::nullopt;
  const kir::Value low = op == Op::Le ? compare.a : compare.b, high = op == Op::Le ? compare.b : compare.a;
  const kir::Inst &a = s_.kernel_.at(low), &b = s_.kernel_.at(high);
  if (!ir::is_float(b.type)) return std::nullopt;
  if (a.op == Op::Constant && b.op == Op::Input) return Bound{high, Bound::Kind::least, a.imm};
  if (b.op != Op::Constant) return std::nullopt;
  if (a.op == Op::Input) return Bound{low, Bound::Kind::greatest, b.imm};
  if (a.op != Op::Abs || s_.body_uses_[low.index] != 1 || s_.kernel_.at(a.a).op != Op::Input) return std::nullopt;
  return Bound{a.a, Bound::Kind::size, b.imm};
}

/// Adds the bound that `mask` tests to the test of its input. Returns false where that has this end already.
bool X86Ranges::add(std::pmr::vector<Test>& tests, const Bound& bound, kir::Value mask, bool or_nan) {
  const auto is_its = [&](const Test& t) { return t.input == bound.input && t.or_nan == or_nan; };
  auto test = std::find_if(tests.begin(), tests.end(), is_its);
  if (test == tests.end()) test = tests.insert(tests.end(), Test{.input = bound.input, .or_nan = or_nan});
  auto& end = bound.kind == Bound::Kind::least ? test->least : test->greatest;
  if (end) return false;
  end = bound.bits;
  test->by_size |= bound.kind == Bound::Kind::size;
  test->masks[test->mask_count++] = mask;
  return true;
}

/// Sorts what must hold below `v` into bounds of inputs and other masks.
void X86Ranges::collect(kir::Value v) {
  const kir::Inst& inst = s_.kernel_.at(v);
  if (inst.op == Op::And && inst.section == Section::body && s_.body_uses_[v.index] == 1) {
    of_tests_[v.index] = 1;
    collect(inst.a);
    collect(inst.b);
    return;
  }
  const bool is_negation = inst.op == Op::Not && inst.section == Section::body && s_.body_uses_[v.index] == 1;
  if (is_negation && collect_strays(inst.a)) {
    of_tests_[v.index] = 1;
    return;
  }
  const auto bound = bound_of(v, Op::Le);
  if (!bound || !add(tests_, *bound, v, false)) others_.push_back(v);
}

/// Takes the tests of inputs that may be NaN: `v` is set where one of them is less or greater than an end. Returns
/// false, with nothing taken, where it says anything else.
bool X86Ranges::collect_strays(kir::Value v) {
  std::pmr::memory_resource* const arena = tests_.get_allocator().resource();
  std::pmr::vector<kir::Value> open(1, v, arena), unions(arena);
  std::pmr::vector<Test> tests(arena);
  while (!open.empty()) {
    const kir::Value mask = open.back();
    open.pop_back();
    const kir::Inst& inst = s_.kernel_.at(mask);
    if (inst.op == Op::Or && inst.section == Section::body && s_.body_uses_[mask.index] == 1) {
      unions.push_back(mask);
      open.push_back(inst.a);
      open.push_back(inst.b);
      continue;
    }
    const auto bound = bound_of(mask, Op::Lt);
    if (!bound || !add(tests, *bound, mask, true)) return false;
  }
  const auto is_of_guard = [&](const Test& test) {
    const std::uint64_t infinity = ir::bytes_of(s_.kernel_.type_of(test.input)) == 4 ? kInfinity32 : kInfinity64;
    const auto is_nan = [&](const std::optional<std::uint64_t>& end) {
      return end && (*end & (infinity | (infinity - 1))) > infinity;
    };
    return !is_nan(test.least) && !is_nan(test.greatest) && !(test.by_size && test.least);
  };
  if (!std::all_of(tests.begin(), tests.end(), is_of_guard)) return false;
  for (const kir::Value both : unions) of_tests_[both.index] = 1;
  tests_.insert(tests_.end(), tests.begin(), tests.end());
  return true;
}

/// A range that begins below zero, or has no end, is left to comparisons, unless NaN passes.
bool X86Ranges::takes(const Test& test) const {
  if (test.or_nan) return true;
  const bool is_f32 = ir::bytes_of(s_.kernel_.type_of(test.input)) == 4;
  const std::uint64_t infinity = is_f32 ? kInfinity32 : kInfinity64;
  const auto is_ordered = [&](const std::optional<std::uint64_t>& bits) { return bits && *bits <= infinity; };
  if (!is_ordered(test.greatest) || (test.by_size ? test.least.has_value() : !is_ordered(test.least))) return false;
  if (s_.target_.avx512 || is_f32) return true;
  // The upper half of a NaN may be that of infinity. A size takes no fewer instructions if its end is compared.
  return *test.greatest < infinity && !(test.by_size && compares_greatest(test));
}

/// The upper halves of two f64 show their order, but for ends whose lower half says more (AVX2 compares no 64-bit
/// integers without their sign, and has no maximum of them).
bool X86Ranges::compares_greatest(const Test& test) const {
  return by_halves(test) && static_cast<std::uint32_t>(*test.greatest) != ~std::uint32_t{0};
}
bool X86Ranges::compares_least(const Test& test) const {
  return has_least(test) && by_halves(test) && static_cast<std::uint32_t>(*test.least) != 0;
}
bool X86Ranges::by_halves(const Test& test) const {
  return !s_.target_.avx512 && ir::bytes_of(s_.kernel_.type_of(test.input)) == 8;
}
bool X86Ranges::has_least(const Test& test) {
  return !test.by_size && *test.least != 0;
}

void X86Ranges::replace(const Test& test) {
  for (std::uint8_t m = 0; m < test.mask_count; ++m) {
    of_tests_[test.masks[m].index] = 1;
    const kir::Inst& compare = s_.kernel_.at(test.masks[m]);
    if (test.by_size) of_tests_[(test.or_nan ? compare.b : compare.a).index] = 1;
  }
}

void X86Ranges::find() {
  const kir::Value exit = s_.kernel_.exit;
  if (!s_.kernel_.leaves_steps()) return;
  const kir::Inst& inst = s_.kernel_.at(exit);
  if (inst.section != Section::body || s_.body_uses_[exit.index] != 1) return;
  of_tests_.assign(s_.kernel_.insts.size(), 0);
  if (inst.op != Op::Not) {
    if (!collect_strays(exit)) return;
  } else {
    collect(inst.a);
  }
  for (const Test& test : tests_) {
    if (takes(test))
      replace(test);
    else
      others_.insert(others_.end(), test.masks.begin(), test.masks.begin() + test.mask_count);
  }
  std::erase_if(tests_, [&](const Test& test) { return !takes(test); });
  group_tests();
}

void X86Ranges::group_tests() {
  for (std::size_t i = 0; i < tests_.size(); ++i) {
    const auto is_like = [&](const Test& test) {
      return s_.kernel_.type_of(test.input) == s_.kernel_.type_of(tests_[i].input) && test.least == tests_[i].least &&
             test.greatest == tests_[i].greatest && test.by_size == tests_[i].by_size &&
             test.or_nan == tests_[i].or_nan;
    };
    tests_[i].group = static_cast<std::size_t>(std::find_if(tests_.begin(), tests_.end(), is_like) - tests_.begin());
  }
}

void X86Ranges::begin_body(std::uint32_t copies) {
  constexpr std::size_t kCost = 4;  // of two more joins of masks, in vectors each of which saves half an instruction
  packs_ = true;
  const auto inputs = std::count_if(tests_.begin(), tests_.end(), [&](const Test& test) { return packs(test); });
  packs_ = copies > 1 && copies * static_cast<std::size_t>(inputs) > kCost;
  for (Test& test : tests_) test.waiting = test.most = test.fewest = {};
}

/// Zero as the least end is left to bits_of(), for -0.
bool X86Ranges::packs(const Test& test) const {
  if (!packs_ || test.or_nan || !s_.target_.avx512 || s_.target_.lanes != 8 ||
      ir::bytes_of(s_.kernel_.type_of(test.input)) != 8)
    return false;
  const bool least = test.by_size || (has_least(test) && static_cast<std::uint32_t>(*test.least) == 0);
  return least && static_cast<std::uint32_t>(*test.greatest) == ~std::uint32_t{0};
}

/// Takes the upper halves of the input that waits and of another one into the group's extremes.
void X86Ranges::take_pair(Test& group, VReg second) {
  constexpr std::uint8_t kUpper = 0xDD;  // of each pair of halves
  s_.set_type(s_.kernel_.type_of(group.input));
  VReg halves = s_.emit_imm(Inst::kIdVshufps, {group.waiting, second}, kUpper, 1);
  if (group.by_size) halves = s_.logic(Op::And, halves, s_.constant(0x7FFF'FFFF'7FFF'FFFF));
  group.waiting = {};
  const bool first = !group.most.valid();
  group.most = extreme(Inst::kIdVpmaxud, group.most, halves, first);
  if (has_least(group)) group.fewest = extreme(Inst::kIdVpminud, group.fewest, halves, first);
}

VReg X86Ranges::bits_of(const Test& test) {
  const VReg x = s_.reg(test.input);
  s_.set_type(s_.kernel_.type_of(test.input));
  if (test.by_size) return s_.logic(Op::And, x, s_.constant((std::uint64_t{1} << (8u * s_.lane_ - 1)) - 1));
  if (*test.least != 0) return x;
  // -0 is no less than 0.
  return s_.emit(s_.pick(Inst::kIdVaddps, Inst::kIdVaddpd), {x, s_.constant(0)}, 4);
}

VReg X86Ranges::extreme(std::uint32_t id, VReg so_far, VReg value, bool first) {
  return first ? value : s_.emit(id, {so_far, value});
}

VReg X86Ranges::join(VReg holds) {
  const bool wide = s_.target_.avx512;
  for (std::size_t i = 0; i < tests_.size(); ++i) {
    Test& test = tests_[tests_[i].group];
    if (packs(test)) {
      const VReg input = s_.reg(tests_[i].input);
      if (test.waiting.valid())
        take_pair(test, input);
      else
        test.waiting = input;
      continue;
    }
    if (test.or_nan) {
      s_.set_type(s_.kernel_.type_of(test.input));
      take_number(test, s_.reg(tests_[i].input));
      continue;
    }
    const VReg bits = bits_of(tests_[i]);
    const bool first = s_.copy_ == 0 && tests_[i].group == i;
    const auto take = [&](VReg& so_far, std::uint32_t id) { so_far = extreme(id, so_far, bits, first); };
    take(test.most, wide ? s_.pick(Inst::kIdVpmaxud, Inst::kIdVpmaxuq) : Inst::kIdVpmaxud);
    if (compares_greatest(test)) take(test.greatest_value, Inst::kIdVmaxpd);
    if (!has_least(test)) continue;
    take(test.fewest, wide ? s_.pick(Inst::kIdVpminud, Inst::kIdVpminuq) : Inst::kIdVpminud);
    if (compares_least(test)) take(test.least_value, Inst::kIdVminpd);
  }
  for (const kir::Value other : others_) holds = both(holds, s_.reg(other));
  return holds;
}

/// Takes a vector into the extremes of floats, in whose place NaN leaves what was there.
void X86Ranges::take_number(Test& group, VReg x) {
  if (group.by_size) x = s_.logic(Op::And, x, s_.constant((std::uint64_t{1} << (8u * s_.lane_ - 1)) - 1));
  if (group.greatest) {
    const VReg so_far = group.most.valid() ? group.most : s_.constant(*group.greatest);
    group.most = s_.emit(s_.pick(Inst::kIdVmaxps, Inst::kIdVmaxpd), {x, so_far}, 4, 2);
  }
  if (group.least) {
    const VReg so_far = group.fewest.valid() ? group.fewest : s_.constant(*group.least);
    group.fewest = s_.emit(s_.pick(Inst::kIdVminps, Inst::kIdVminpd), {x, so_far}, 4, 2);
  }
}

VReg X86Ranges::both(VReg a, VReg b) {
  if (!a.valid()) return b;
  return s_.target_.avx512 ? s_.push_mask(Inst::kIdKandw, {a, b}).def : s_.logic(Op::And, a, b);
}

VReg X86Ranges::compare(VReg extreme, std::uint8_t predicate, std::uint64_t bits) {
  if (!s_.target_.avx512) {
    const VReg end = s_.constant(bits);
    const VReg beyond = s_.emit(predicate == kAtMost ? Inst::kIdVpmaxud : Inst::kIdVpminud, {extreme, end}, 1, 2);
    return s_.emit(Inst::kIdVpcmpeqd, {beyond, end}, 1, 2);
  }
  MInst& inst = s_.push_mask(s_.pick(Inst::kIdVpcmpud, Inst::kIdVpcmpuq), {extreme, s_.constant(bits)});
  inst.form = x86_form::kImmediate;
  inst.imm = predicate;
  inst.folds = 2;
  inst.latency = 3;
  return inst.def;
}

/// Returns the mask of a <= b, as floats.
VReg X86Ranges::at_most(VReg a, VReg b) {
  constexpr std::uint8_t kLessOrEqual = 2;
  const std::uint32_t id = s_.pick(Inst::kIdVcmpps, Inst::kIdVcmppd);
  if (!s_.target_.avx512) return s_.emit_imm(id, {a, b}, kLessOrEqual, 4);
  MInst& inst = s_.push_mask(id, {a, b});
  inst.form = x86_form::kImmediate;
  inst.imm = kLessOrEqual;
  inst.folds = 2;
  inst.latency = 3;
  return inst.def;
}

/// Compares the greatest and the least as floats; where there was a NaN, the upper halves have found it, or it passes.
VReg X86Ranges::compare_values(const Test& test, VReg holds) {
  if (test.or_nan) {
    if (test.greatest) holds = both(holds, at_most(test.most, s_.constant(*test.greatest)));
    if (test.least) holds = both(holds, at_most(s_.constant(*test.least), test.fewest));
    return holds;
  }
  if (compares_greatest(test)) holds = both(holds, at_most(test.greatest_value, s_.constant(*test.greatest)));
  if (compares_least(test)) holds = both(holds, at_most(s_.constant(*test.least), test.least_value));
  return holds;
}

VReg X86Ranges::compare_halves(VReg extreme, std::uint8_t predicate, std::uint64_t bits) {
  const std::uint64_t half = bits >> 32;
  MInst& inst = s_.push_mask(Inst::kIdVpcmpud, {extreme, s_.constant(half << 32 | half)});
  inst.form = x86_form::kImmediate;
  inst.imm = predicate;
  inst.latency = 3;
  return inst.def;
}

/// Compares the extremes of all groups that pack halves. Bits 0 to 7 of their masks tell of one vector, 8 to 15 of
/// another.
VReg X86Ranges::compare_pairs(VReg holds) {
  constexpr std::uint8_t kLanes = 8;
  VReg all;
  for (std::size_t i = 0; i < tests_.size(); ++i) {
    Test& test = tests_[i];
    if (test.group != i || !packs(test)) continue;
    s_.set_type(s_.kernel_.type_of(test.input));
    if (test.waiting.valid()) take_pair(test, test.waiting);
    all = both(all, compare_halves(test.most, kAtMost, *test.greatest));
    if (has_least(test)) all = both(all, compare_halves(test.fewest, kNotBelow, *test.least));
  }
  if (!all.valid()) return holds;
  MInst& shift = s_.push_mask(Inst::kIdKshiftrw, {all});
  shift.form = x86_form::kImmediate;
  shift.imm = kLanes;
  shift.latency = 4;
  const VReg others = shift.def;  // more instructions move `shift`
  return both(both(holds, all), others);
}

VReg X86Ranges::within(VReg holds) {
  holds = compare_pairs(holds);
  for (std::size_t i = 0; i < tests_.size(); ++i) {
    if (tests_[i].group != i || packs(tests_[i])) continue;
    const Test& test = tests_[i];
    s_.set_type(s_.kernel_.type_of(test.input));
    if (test.or_nan) {
      holds = compare_values(test, holds);
      continue;
    }
    // Lower halves that pass always: the greatest of these, and the least.
    const std::uint64_t low = by_halves(test) ? ~std::uint32_t{0} : 0;
    holds = both(holds, compare(test.most, kAtMost, *test.greatest | low));
    if (has_least(test)) holds = both(holds, compare(test.fewest, kNotBelow, *test.least & ~low));
    holds = compare_values(test, holds);
  }
  return holds;
}

}  // namespace trident::codegen
