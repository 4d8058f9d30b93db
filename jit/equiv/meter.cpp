#include "jit/equiv/meter.h"

#include <algorithm>
#include <cfloat>
#include <utility>
#include <vector>

namespace trident::equiv {

long double greatest_finite(expr::Type type) {
  return type == expr::Type::f32 ? static_cast<long double>(FLT_MAX) : DBL_MAX;
}

Meter::Meter(Reference& reference, std::size_t output) : Meter(reference, output, 0) {
  for (std::size_t i = 0; i < values().correct.size(); ++i) {
    const long double magnitude = std::fabs(values().correct[i]);
    if (usable(i) && magnitude <= greatest_finite(values().type)) greatest_ = std::max(greatest_, magnitude);
  }
}

Meter::Meter(Reference& reference, std::size_t output, long double greatest)
    : reference_(reference), output_(output), greatest_(greatest) {}

long double Meter::scale(std::size_t i) const {
  const long double floor = kFloorShare * greatest_;
  const bool has_magnitude = values().per_call && ir::is_float(values().type);
  return has_magnitude ? std::max(floor, values().magnitude[i]) : floor;
}

long double Meter::unit(std::size_t i) const {
  const long double magnitude = std::max(std::fabs(values().correct[i]), scale(i));
  return ulp_at(values().type, std::min(magnitude, greatest_finite(values().type)));
}

void settle(Reference& reference, std::size_t output, std::size_t refined_max) {
  const OutputValues& values = reference.outputs()[output];
  const bool is_float = ir::is_float(values.type);
  Meter meter(reference, output);
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < values.unsure.size(); ++i)
    if (values.unsure[i] != kDecided || (is_float && meter.usable(i) && !meter.trusted(i))) open.push_back(i);
  const std::size_t stride = open.size() / (refined_max + 1) + 1;
  const std::size_t start = reference.refined();
  for (std::size_t j = 0; j < open.size() && !reference.stopped(); ++j) {
    if (j % stride == 0 && reference.refined() - start < refined_max) {
      meter.refine(open[j]);
    } else if (values.unsure[open[j]] == kDecided) {
      reference.leave_out(output, open[j]);
    }
  }
}

double Meter::strict_ulp() {
  constexpr long double kKnownShare = 0.001L;
  using Candidate = std::pair<double, std::size_t>;  // error, point
  std::vector<Candidate> heap;
  for (std::size_t i = 0; i < values().strict.size(); ++i)
    if (usable(i) && std::isfinite(values().strict[i])) heap.emplace_back(error_ulp(i, values().strict[i]), i);
  std::make_heap(heap.begin(), heap.end());
  // Takes the greatest error, unless its value is not known well enough.
  while (!heap.empty()) {
    const auto [worst, at] = heap.front();
    const bool known = worst == 0 || values().error[at] <= kKnownShare * static_cast<long double>(worst) * unit(at);
    if (known || reference_.stopped()) return worst;
    std::pop_heap(heap.begin(), heap.end());
    heap.pop_back();
    refine(at);
    if (!usable(at)) continue;
    heap.emplace_back(error_ulp(at, values().strict[at]), at);
    std::push_heap(heap.begin(), heap.end());
  }
  return 0;
}

}  // namespace trident::equiv
