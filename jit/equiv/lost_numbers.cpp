#include "jit/equiv/lost_numbers.h"

#include <cmath>
#include <cstring>

#include "jit/equiv/checker.h"
#include "jit/equiv/set_layout.h"

namespace trident::equiv {
namespace {

/// Points for each of a set: one of ten thousand may lose a number.
constexpr std::uint64_t kTimes = 12;
constexpr std::size_t kFoundMax = 64;

template <class T>
bool is_lost(const std::byte* ours, const std::byte* theirs) {
  T a, b;
  std::memcpy(&a, ours, sizeof a);
  std::memcpy(&b, theirs, sizeof b);
  return !std::isfinite(a) && std::isfinite(b);
}

bool is_lost_in(const expr::Expr& source, const CallOutputs& ours, const CallOutputs& theirs, std::uint64_t point) {
  for (std::size_t k = 0; k < source.outputs.size(); ++k) {
    const expr::Type type = source.at(source.outputs[k].node).type;
    const std::size_t at = static_cast<std::size_t>(point) * ir::bytes_of(type);
    if (at >= ours[k].size()) continue;  // the same for all points
    if (type == expr::Type::f32 && is_lost<float>(&ours[k][at], &theirs[k][at])) return true;
    if (type == expr::Type::f64 && is_lost<double>(&ours[k][at], &theirs[k][at])) return true;
  }
  return false;
}

}  // namespace

std::vector<Point> LostNumbers::of(const kir::Kernel& kernel, const expr::Expr& source, const kir::Kernel& unrewritten,
                                   std::span<const Samples> sets, std::uint64_t seed) {
  for (const Samples& set : sets) {
    const bool is_rare = set.name == "alike" || set.name == "missing" || set.name == "near" || set.way == Way::tiny ||
                         set.way == Way::vast;
    if (made_ || !set.more || !is_rare) continue;
    Part& part = parts_.emplace_back();
    part.samples = set.more(source, kTimes * set.n, ~seed - parts_.size());
    part.theirs = interpret_calls(source, unrewritten, part.samples, part.samples.calls);
  }
  made_ = true;
  const SetLayout layout(source);
  const kir::Plan plan = kir::Plan::prepare(kir::without_storage(kernel));
  std::vector<Point> found;
  for (const Part& part : parts_) {
    const Outputs ours = run_calls(plan, source, kernel, part.samples, part.samples.calls);
    for (std::uint64_t i = 0; i < part.samples.n && found.size() < kFoundMax; ++i)
      if (is_lost_in(source, ours[0], part.theirs[0], i)) found.push_back(layout.point(part.samples, i));
  }
  return found;
}

}  // namespace trident::equiv
