// Chooses variants to measure. A rough model of the execution units says how many of a kernel's divisions should avoid
// the divider. Only measurement knows how many vectors to interleave, so a few numbers are always offered. Long chains
// of dependent operations leave the pipes idle unless many vectors keep in step, which may be worth a few spills.
#include <algorithm>
#include <array>
#include <utility>

#include "jit/codegen/codegen.h"
#include "jit/kir/reduction.h"

namespace trident::codegen {

namespace {

constexpr std::uint32_t kNewtonAll = 8;
constexpr double kLockstepWork = 40;   ///< vector instructions from which values of many vectors crowd the registers
constexpr double kStreamingWork = 24;  ///< vector instructions up to which a loop can be bound by memory

/// Cycles of the two vector ports and of the divider for one vector of the body.
struct Work {
  double pipes = 0;         ///< without divisions
  double divider = 0;       ///< all divisions and roots in hardware
  double newton_pipes = 0;  ///< all of them by Newton steps
};

/// Cycles of both pipes for a root or a quotient by estimate and step (x86_estimates.cpp).
constexpr double kEstimatePipes = 2.5;
/// Those for the test of doubtful operands.
constexpr double kDoubtPipes = 1.5;

double estimate_pipes(const kir::Inst& inst) {
  return kEstimatePipes + (kir::has_doubtful_operands(inst.op) && inst.flags == 0 ? kDoubtPipes : 0);
}

Work estimate(const kir::Kernel& kernel, Isa isa, const DividerCycles& divider) {
  Work work;
  for (const kir::Inst& inst : kernel.insts) {
    if (inst.section != kir::Section::body || inst.op == kir::Op::Input || inst.op == kir::Op::Bitcast) continue;
    const bool wide = inst.type == ir::Type::f64;
    if (inst.op != kir::Op::Div && inst.op != kir::Op::Sqrt) {
      work.pipes += kir::is_estimate(inst.op) ? estimate_pipes(inst) : 0.5;
      continue;
    }
    const double guard = inst.flags == kir::kNormal ? 0 : inst.flags == kir::kBounded ? 1 : 3;
    const bool root = inst.op == kir::Op::Sqrt;
    const double cycles =
        root ? (wide ? divider.sqrt_f64 : divider.sqrt_f32) : (wide ? divider.div_f64 : divider.div_f32);
    work.divider += isa == Isa::avx2 ? cycles / 2 : cycles;
    work.newton_pipes += (root ? (wide ? 6.5 : 5) : (wide ? 6 : 5)) + guard;
  }
  return work;
}

/// Returns the share of divisions, in eighths, that balances ports and divider.
std::uint32_t balanced_newton(const Work& work) {
  std::uint32_t best = 0;
  double least = 0;
  for (std::uint32_t k = 0; k <= kNewtonAll; ++k) {
    const double share = static_cast<double>(k) / kNewtonAll;
    const double cycles = std::max(work.divider * (1 - share), work.pipes + work.newton_pipes * share);
    if (k == 0 || cycles < least) best = k, least = cycles;
  }
  return best;
}

bool divides_twice_by_one(const kir::Kernel& kernel) {
  std::vector<bool> divides(kernel.insts.size(), false);
  for (const kir::Inst& inst : kernel.insts) {
    if (inst.op != kir::Op::Div) continue;
    if (divides[inst.b.index]) return true;
    divides[inst.b.index] = true;
  }
  return false;
}

/// Returns whether products with powers of two, as in exponentials, may underflow in the loop.
bool scales(const kir::Kernel& kernel) {
  return std::any_of(kernel.insts.begin(), kernel.insts.end(), [](const kir::Inst& inst) {
    return inst.op == kir::Op::Scalef && inst.section == kir::Section::body && inst.flags != kir::kNormal;
  });
}

}  // namespace

std::uint32_t balanced_estimates(const kir::Kernel& kernel, Isa isa, const DividerCycles& divider) {
  Work work = estimate(kernel, isa, divider);
  work.newton_pipes = 0;
  for (const kir::Inst& inst : kernel.insts) {
    const bool is_quotient = inst.op == kir::Op::Div14 || inst.op == kir::Op::Div12;
    if (!is_quotient || inst.section != kir::Section::body) continue;
    work.pipes -= estimate_pipes(inst);
    work.newton_pipes += estimate_pipes(inst);
    work.divider += isa == Isa::avx2 ? divider.div_f32 / 2 : divider.div_f32;
  }
  return work.newton_pipes == 0 ? 0 : balanced_newton(work);
}

std::vector<Variant> variants(const kir::Kernel& kernel, Isa isa, const DividerCycles& divider) {
  const Work work = estimate(kernel, isa, divider);
  const std::uint32_t newton = isa == Isa::neon || work.divider == 0 ? 0 : balanced_newton(work);
  std::vector<Variant> result;
  const auto shape = [](int vectors, std::uint32_t share) {
    return Variant{.vectors = static_cast<std::uint8_t>(vectors),
                   .newton = static_cast<std::uint8_t>(std::min(share, kNewtonAll))};
  };
  const auto offer = [&](const Variant& variant) {
    if (std::find(result.begin(), result.end(), variant) == result.end()) result.push_back(variant);
  };
  const auto add = [&](int vectors, std::uint32_t share) { offer(shape(vectors, share)); };
  // Partial results of a reduction live in registers where a step takes all of them: 8 vectors of 32 bytes, 4 of 64.
  const bool reduces = std::any_of(kernel.insts.begin(), kernel.insts.end(), kir::is_reduction);
  const bool may_underflow = isa == Isa::avx512 && scales(kernel);
  const auto add_apart = [&](int vectors, bool lockstep) {
    if (!may_underflow) return;
    Variant variant = shape(vectors, newton);
    variant.lockstep = lockstep, variant.underflow_apart = true;
    offer(variant);
  };
  for (const int vectors : reduces ? std::array{8, 4} : std::array{2, 4}) add(vectors, newton);
  // Among the first, which alone may be tried (pipeline/rival.cpp): where results underflow, nothing else counts.
  add_apart(reduces ? 8 : 2, false);
  for (const int vectors : reduces ? std::array{2, 1} : std::array{1, 8}) add(vectors, newton);
  if (!reduces) add(3, newton);
  add_apart(4, false);
  if (!reduces) add_apart(3, false);
  if (newton != 0) {
    for (const int vectors : {2, 4}) {
      add(vectors, newton + 1);
      add(vectors, newton - 1);
      add(vectors, newton < 2 ? 0 : newton - 2);
    }
    for (const int vectors : {2, 4, 1}) add(vectors, 0);  // some processors divide fast
  } else if (isa != Isa::neon && work.divider > 0) {
    if (divides_twice_by_one(kernel))
      for (const int vectors : {2, 4}) add(vectors, 1);
    for (const int vectors : {4, 8, 2}) {  // other work in the ports may leave more room than the model knows
      add(vectors, kNewtonAll / 4);
      add(vectors, kNewtonAll * 5 / 8);
    }
  }
  const double instructions = 2 * (work.pipes + work.newton_pipes);
  if (!reduces && isa != Isa::neon && instructions >= kLockstepWork) {
    const int most = isa == Isa::avx512 ? 8 : 6;
    for (const auto& [vectors, share] : {std::pair(most, newton), std::pair(most - 2, newton), std::pair(most, 0u)}) {
      Variant variant = shape(vectors, share);
      variant.lockstep = true;
      offer(variant);
    }
    add_apart(most, true);
  }
  const bool writes = std::any_of(kernel.outputs.begin(), kernel.outputs.end(),
                                  [](const kir::Output& o) { return o.kind == kir::OutputKind::array; });
  if (writes && !reduces && !kir::converts_elements(kernel) && isa != Isa::neon && instructions <= kStreamingWork) {
    for (const int vectors : {4, 2}) {
      Variant variant = shape(vectors, newton);
      variant.non_temporal = true;
      offer(variant);
    }
  }
  return result;
}

}  // namespace trident::codegen
