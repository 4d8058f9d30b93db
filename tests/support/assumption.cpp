#include "tests/support/assumption.h"

#include <bit>
#include <cmath>

#include "jit/kir/narrow.h"
#include "tests/support/random_kernel.h"

namespace trident::testing {
namespace {

using kir::Assumed;
using kir::Type;

constexpr Assumed kRanges[] = {{},       {0, 1},     {-8, 8},       {1, 4},       {-1000, 1000}, {0, 0x1p100},
                               {-4, -1}, {0.1, 0.3}, {-8, 8, true}, {1, 4, true}, {0, 1, true}};

std::uint64_t lane_of(Type type, double x) {
  if (type == Type::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(x));
  if (type == Type::f64) return std::bit_cast<std::uint64_t>(x);
  const double most = type == Type::i32 ? 0x1p30 : 0x1p62;
  const auto whole = static_cast<std::int64_t>(std::min(x, most));
  return type == Type::i32 ? static_cast<std::uint32_t>(whole) : static_cast<std::uint64_t>(whole);
}

/// Draws a quiet or a signalling NaN of either sign.
std::uint64_t random_nan(Random& random, Type type) {
  const std::uint64_t infinity = type == Type::f32 ? 0x7F80'0000 : 0x7FF0'0000'0000'0000;
  const std::uint64_t quiet = type == Type::f32 ? 0x40'0000 : 0x8'0000'0000'0000;
  const std::uint64_t sign = random.one_in(2) ? infinity + (infinity & -infinity) : 0;
  return sign | infinity | (random.one_in(4) ? 1 + random.below(1000) : quiet);
}

}  // namespace

Assumption assume(const kir::Kernel& general, Random& random) {
  Assumption made;
  for (const kir::Input& input : general.inputs)
    made.inputs.push_back(input.is_table() ? Assumed{} : kRanges[random.below(std::size(kRanges))]);
  for (const kir::Input& param : general.params)
    made.params.push_back(param.name.ends_with(".length") ? Assumed{} : kRanges[random.below(std::size(kRanges))]);
  std::vector<kir::Known> known(general.insts.size());
  for (std::size_t i = 0; i < general.insts.size(); ++i) {
    const kir::Inst& inst = general.insts[i];
    if (inst.op != kir::Op::Input && inst.op != kir::Op::Param) continue;
    const Assumed& range = inst.op == kir::Op::Input ? made.inputs[inst.imm] : made.params[inst.imm];
    if (!range.is_anything()) known[i] = {range.lo, range.hi, range.or_nan && ir::is_float(inst.type)};
  }
  made.fast = kir::narrow(general, known);
  return made;
}

std::uint64_t lane_around(Random& random, Type type, const Assumed& assumed, std::uint32_t one_outside_in) {
  const bool outside = one_outside_in != 0 && random.one_in(one_outside_in);
  if (assumed.is_anything() || (outside && random.one_in(2))) return random_lane(random, type);
  if (assumed.or_nan && ir::is_float(type) && !outside && random.one_in(8)) return random_nan(random, type);
  const double share = static_cast<double>(random.below(1 << 20)) / ((1 << 20) - 1);
  const double ends[] = {assumed.lo, assumed.hi};
  if (!outside && !random.one_in(8)) return lane_of(type, assumed.lo + share * (assumed.hi - assumed.lo));
  const double end = ends[random.below(2)];
  if (!outside) return lane_of(type, type == Type::f32 && (end == 0.1 || end == 0.3) ? 0.2 : end);
  if (type == Type::f32) {
    const float to = random.one_in(2) ? -INFINITY : INFINITY;
    return std::bit_cast<std::uint32_t>(std::nextafter(static_cast<float>(end), to));
  }
  return lane_of(type, std::nextafter(end, random.one_in(2) ? -INFINITY : INFINITY));
}

}  // namespace trident::testing
