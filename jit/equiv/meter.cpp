#include "jit/equiv/meter.h"

#include <algorithm>
#include <cfloat>
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

long double Meter::unit(std::size_t i) const {
  const OutputValues& v = values();
  long double magnitude = std::max(std::fabs(v.correct[i]), kFloorShare * greatest_);
  if (v.per_call) magnitude = std::max(magnitude, v.magnitude[i]);
  return ulp_at(v.type, std::min(magnitude, greatest_finite(v.type)));
}

void Meter::settle(std::size_t refined_max) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < values().correct.size(); ++i)
    if (usable(i) && !trusted(i)) open.push_back(i);
  const std::size_t stride = open.size() / (refined_max + 1) + 1;
  for (std::size_t j = 0; j < open.size(); ++j) {
    if (j % stride == 0) {
      refine(open[j]);
    } else {
      reference_.give_up(output_, open[j]);
    }
  }
}

double Meter::strict_ulp() {
  for (;;) {
    double worst = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < values().strict.size(); ++i) {
      if (!usable(i) || !std::isfinite(values().strict[i])) continue;
      const double error = error_ulp(i, values().strict[i]);
      if (error > worst) worst = error, at = i;
    }
    if (worst == 0 || values().error[at] == 0) return worst;
    refine(at);
  }
}

}  // namespace trident::equiv
