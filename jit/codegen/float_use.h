// Says which kernels and regions depend on the floating-point environment of their caller.
#pragma once

#include <algorithm>
#include <array>

#include "jit/kir/kir.h"
#include "jit/region/region.h"

namespace trident::codegen {

/// Ops that only move bits, or flip one, even of floats.
inline constexpr std::array kMoves = {kir::Op::Constant, kir::Op::Input,  kir::Op::Param,  kir::Op::Neg,
                                      kir::Op::Abs,      kir::Op::Select, kir::Op::Lookup, kir::Op::Gather,
                                      kir::Op::Strided,  kir::Op::Bitcast};

/// True if an array keeps halves: their conversions to and from f32 may trap, and NEON's round as the caller says.
inline bool keeps_halves(const kir::Kernel& kernel) {
  const auto is_half = [](const auto& array) { return array.storage == ir::Storage::f16; };
  return std::ranges::any_of(kernel.inputs, is_half) || std::ranges::any_of(kernel.outputs, is_half);
}

/// True if the kernel computes with floats: then its bits depend on rounding mode and subnormals, and it may trap.
inline bool uses_floats(const kir::Kernel& kernel) {
  return keeps_halves(kernel) || std::any_of(kernel.insts.begin(), kernel.insts.end(), [&](const kir::Inst& inst) {
           const bool takes = inst.a.valid() && ir::is_float(kernel.type_of(inst.a));
           const bool moves = std::find(kMoves.begin(), kMoves.end(), inst.op) != kMoves.end();
           return !moves && (takes || ir::is_float(inst.type));
         });
}

/// Ops of regions that only move bits, and ops that give the same for a subnormal and for the zero in its place.
inline constexpr std::array kRegionMoves = {region::Op::FNeg, region::Op::FAbs, region::Op::FCopysign,
                                            region::Op::BitsToFloat, region::Op::FloatToBits};
inline constexpr std::array kBlindToSubnormals = {region::Op::IntToFloat, region::Op::FloatToInt, region::Op::FTrunc,
                                                  region::Op::FRint};

/// True if the region's bits depend on rounding mode or subnormals, or it may trap.
inline bool depends_on_environment(const region::Region& region) {
  return std::any_of(region.insts.begin(), region.insts.end(), [](const region::Inst& inst) {
    const bool moves = std::find(kRegionMoves.begin(), kRegionMoves.end(), inst.op) != kRegionMoves.end();
    return region::is_float(inst.op) && !moves;
  });
}

/// True if the region's bits depend on what becomes of subnormals.
inline bool depends_on_subnormals(const region::Region& region) {
  return std::any_of(region.insts.begin(), region.insts.end(), [](const region::Inst& inst) {
    const auto has = [&](const auto& list) { return std::find(list.begin(), list.end(), inst.op) != list.end(); };
    return region::is_float(inst.op) && !has(kRegionMoves) && !has(kBlindToSubnormals);
  });
}

}  // namespace trident::codegen
