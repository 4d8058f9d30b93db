#include "jit/equiv/judge.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "jit/equiv/lanes.h"

namespace trident::equiv {
namespace {

bool same_class(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b;
}

}  // namespace

Allowance allowance_of(const expr::Policy& policy) {
  switch (policy.kind) {
    case expr::PolicyKind::exact: return {1, 0};
    case expr::PolicyKind::bounded: return {policy.k, kBoundedSlackUlp};
    case expr::PolicyKind::fast: return {kFastUnits, kFastSlackUlp};
  }
  CHECK(false);
}

long double Judge::slack(long double magnitude) const {
  const long double greatest = greatest_finite(values().type);
  return static_cast<long double>(allowance_.slack_ulp) * ulp_at(values().type, std::min(magnitude, greatest));
}

long double Judge::allowed(std::size_t i) const {
  return values().bound[i] + slack(std::fabs(values().correct[i]));
}

bool Judge::is_own(std::size_t i, double got) const {
  return near_strict(i, got, slack(std::fabs(values().strict[i])));
}

void Judge::refine(std::size_t i) {
  if (reference_.refined() < refined_end_) {
    const bool is_float = ir::is_float(values().type);
    reference_.refine(output_, i, is_float ? std::min(values().bound[i], greatest_finite(values().type)) : 0);
  } else {
    reference_.leave_out(output_, i);
  }
}

Judged Judge::judge(std::size_t i, double got) {
  const bool undecided = values().unsure[i] == kRoundingDecides && values().error[i] != 0;  // MPFR was not asked yet
  if (undecided && !is_own(i, got)) refine(i);
  if (std::isfinite(got) && std::isfinite(values().correct[i])) return judge_finite(i, got);
  return judge_class(i, got);
}

bool Judge::near_strict(std::size_t i, double got, long double reach) const {
  const double strict = values().strict[i];
  if (!std::isfinite(strict) || !std::isfinite(got)) return same_class(strict, got);
  return std::fabs(static_cast<long double>(got) - static_cast<long double>(strict)) <= reach;
}

// Returns whether a value overflowed on the way and the strict result, which functions move, is a number where the
// correct value is 0, which has no units that could be those of the strict one.
bool Judge::strict_is_elsewhere(std::size_t i) const {
  constexpr std::uint8_t kBoth = kOverflows | kApproximate;
  const double strict = values().strict[i];
  return (values().on_the_way[i] & kBoth) == kBoth && values().correct[i] == 0 && std::isfinite(strict) && strict != 0;
}

// Returns how far from the strict value a result may be that is allowed there: the strict value is off by as many units
// as the bound of the correct value has.
long double Judge::reach_of_strict(std::size_t i) const {
  const long double strict = std::fabs(values().strict[i]), bound = values().bound[i];
  if (!std::isfinite(bound)) return slack(strict);
  const long double of_strict = bound / std::fabs(values().correct[i]) * strict;
  return slack(strict) + (of_strict > bound && std::isfinite(of_strict) ? of_strict : bound);
}

// Returns whether the reference leaves the value open even with many bits, or was not asked.
bool Judge::unknown(std::size_t i) const {
  return values().unsure[i] == kBeyondPrecision || values().unsure[i] == kLeftOut;
}

Judged Judge::judge_finite(std::size_t i, double got) {
  const auto error_now = [&] {
    return std::fabs(static_cast<long double>(got) - static_cast<long double>(values().correct[i]));
  };
  // Nothing is asked where everything is allowed; arithmetic on infinities would take hundreds of cycles.
  if (std::isinf(values().bound[i]) && !std::isnan(values().error[i])) return Judged{.open = true};
  long double error = error_now(), most = allowed(i);
  // A result that is wrong by the quick value too needs no MPFR where that was asked too often.
  const bool surely_wrong = values().unsure[i] == kDecided && error - values().error[i] > most;
  const bool may_ask = reference_.refined() < refined_end_;
  if (!(error + values().error[i] <= most) && values().error[i] != 0 && (may_ask || !surely_wrong)) {
    refine(i);
    if (!std::isfinite(values().correct[i])) return judge_class(i, got);
    error = error_now(), most = allowed(i);
  }
  Judged judged;
  judged.open = unknown(i) || std::isinf(values().bound[i]);
  if (judged.open) return judged;
  judged.share = static_cast<double>(error / most);
  judged.ulp = static_cast<double>(error / ulp_at(values().type, std::fabs(values().correct[i])));
  if (judged.holds()) return judged;
  // A value that overflowed on the way may be as it is in the source.
  const std::uint8_t way = values().on_the_way[i];
  if ((way & kOverflows) != 0 && near_strict(i, got, reach_of_strict(i))) return Judged{};
  if ((way & kMayOverflow) != 0 || strict_is_elsewhere(i)) return Judged{.open = true};
  return judged;
}

Judged Judge::judge_class(std::size_t i, double got) {
  if (near_strict(i, got, 0)) return Judged{};
  if (values().error[i] != 0) {
    refine(i);
    if (std::isfinite(got) && std::isfinite(values().correct[i]) && values().error[i] == 0) return judge_finite(i, got);
  }
  const std::uint8_t way = values().on_the_way[i];
  const long double size = std::fabs(values().correct[i]), bound = values().bound[i];
  const long double greatest = greatest_finite(values().type);
  // It may be the result that overflows, and nothing before. Where it overflows anyway, something before is what may.
  const bool by_itself = std::isfinite(size + bound) && size + bound >= greatest && size - bound <= greatest;
  const bool of_numbers = !std::isnan(got) && !std::isnan(values().correct[i]) && std::isfinite(values().bound[i]);
  const bool may_leave = ((way & kMayOverflow) != 0 && !by_itself) || ((way & kMayBeNan) != 0 && !of_numbers) ||
                         ((way & kEitherInfinity) != 0 && std::isinf(got));
  const bool unbounded = std::isinf(values().bound[i]) && ((way & kEitherSide) != 0 || values().unsure[i] != kDecided);
  if (unknown(i) || may_leave || unbounded) return Judged{.open = true};
  if (class_holds(i, got)) return Judged{};
  return Judged::wrong_class();
}

// Decides about results where ours or the correct value is not finite, and ours is not of the strict one's class.
bool Judge::class_holds(std::size_t i, double got) const {
  const long double correct = values().correct[i], bound = values().bound[i];
  const long double greatest = greatest_finite(values().type);
  // The correct value may be NaN, as that of the root of a negative number whose strict value is an infinity.
  if ((values().on_the_way[i] & kOverflows) != 0 && near_strict(i, got, reach_of_strict(i))) return true;
  if (std::isnan(correct) || std::isnan(got)) return std::isnan(correct) && std::isnan(got);
  // At the edge of overflow a value within the bound may be on the other side: where the bound reaches both infinities,
  // with either sign.
  const auto towards = [](long double infinite, long double other) { return std::signbit(infinite) ? -other : other; };
  const long double other = std::isinf(got) ? towards(got, correct) : towards(correct, got);
  return std::isfinite(bound) && other + bound + slack(greatest) >= greatest;
}

}  // namespace trident::equiv
