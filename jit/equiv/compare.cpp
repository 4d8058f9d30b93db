#include "jit/equiv/compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "jit/equiv/evaluator.h"
#include "jit/equiv/meter.h"
#include "jit/expr/shape.h"

namespace trident::equiv {
namespace {

using expr::PolicyKind;
using expr::Type;

constexpr long double kInfinity = std::numeric_limits<long double>::infinity();

struct Bound {
  double k = 2;
  double slack_ulp = kBoundedSlackUlp;
};
Bound bound_of(const expr::Policy& policy) {
  switch (policy.kind) {
    case PolicyKind::exact: return {1, 0};
    case PolicyKind::bounded: return {policy.k, kBoundedSlackUlp};
    case PolicyKind::fast: return {kFastFactor, kFastSlackUlp};
  }
  CHECK(false);
}

// Rounds the correct value as the type would hold it: overflow becomes infinity.
double rounded(Type type, long double correct) {
  return type == Type::f32 ? static_cast<double>(static_cast<float>(correct)) : static_cast<double>(correct);
}

bool same_class(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return true;
}

// Place of element `index` of an output (or of call `index` of a per-call one) in the results.
struct Place {
  std::size_t call = 0;
  std::uint64_t element = 0;
  std::uint64_t point = 0;  ///< index into the sample set
};

std::vector<Place> places_of(const Samples& samples, bool per_call) {
  std::vector<Place> places;
  for (std::size_t c = 0; c < samples.calls.size(); ++c) {
    const Call& call = samples.calls[c];
    if (per_call) places.push_back({c, 0, call.first});
    for (std::uint64_t i = 0; i < call.n && !per_call; ++i) places.push_back({c, i, call.first + i});
  }
  return places;
}

std::string print_number(Type type, long double value) {
  char text[96];
  std::snprintf(text, sizeof text, "%.*Lg (%La)", type == Type::f32 ? 9 : 17, value, value);
  return text;
}

Counterexample example_at(const expr::Expr& expr, const Samples& samples, const Place& place, const Call& call,
                          std::size_t output, std::string why) {
  Counterexample e;
  e.why = std::move(why);
  e.output = expr.outputs[output].name;
  e.element = place.element;
  e.elements = call.n;
  if (place.point >= samples.n) return e;
  for (std::size_t v = 0; v < expr.variables.size(); ++v)
    e.inputs.emplace_back(expr.variables[v].name,
                          print_lane(expr.variables[v].type, element_of(samples, expr, v, place.point)));
  return e;
}

bool inputs_finite(const expr::Expr& expr, const Samples& samples, std::uint64_t point) {
  for (std::size_t v = 0; v < expr.variables.size(); ++v) {
    const expr::Variable& variable = expr.variables[v];
    if (!ir::is_float(variable.type) || variable.is_table()) continue;
    if (!std::isfinite(load_float(variable.type, element_of(samples, expr, v, point)))) return false;
  }
  return true;
}

// Any element of a table may be read.
bool tables_finite(const expr::Expr& expr, const Samples& samples) {
  for (std::size_t v = 0; v < expr.variables.size(); ++v) {
    const expr::Variable& variable = expr.variables[v];
    if (!ir::is_float(variable.type) || !variable.is_table()) continue;
    for (std::uint64_t at = 0; at < samples.n; ++at)
      if (!std::isfinite(load_float(variable.type, element_of(samples, expr, v, at)))) return false;
  }
  return true;
}

// Returns whether the inputs of a result are finite: element `i` of an array output, or all elements of the call.
bool inputs_finite(const expr::Expr& expr, const Samples& samples, const Call& call, bool array, std::uint64_t i) {
  const std::uint64_t first = call.first + (array ? i : 0), end = array ? first + 1 : call.first + call.n;
  for (std::uint64_t point = first; point < end; ++point)
    if (!inputs_finite(expr, samples, point)) return false;
  return true;
}

// Says what rounding may do to one output: its steps off by an ulp, at random.
class Luck {
 public:
  Luck(Reference& reference, std::size_t output) : reference_(reference), output_(output) {}

  // Returns whether such a result satisfies `explain`, in a few tries.
  template <class Explains>
  bool explains(std::size_t i, Explains explain) {
    constexpr int kTries = 64;
    bool explained = false;
    for (int attempt = 0; attempt < kTries && !explained; ++attempt)
      explained = explain(reference_.wobbled(output_, i, random_, true));
    return explained;
  }

  // Returns whether steps off by an ulp leave hardly a digit right at one point, and now and then give a result far
  // beyond the others, as in the tangent of a value that is all rounding error. Then the greatest of a few tries says
  // little: some point of a set shows the result of one try in thousands. Errors that add up have no such outliers.
  bool scattered(std::size_t i, double error, const Meter& meter) {
    constexpr int kTries = 1024, kPointsMax = 64;
    constexpr double kFarBeyond = 4;      // in 90th percentiles of the errors; a normal distribution reaches 2
    constexpr double kBeyondTries = 1e6;  // times the tries, at most: a fault may show there, too
    const double few_digits = reference_.outputs()[output_].type == Type::f32 ? 0x1p16 : 0x1p45;
    if (++scattered_asked_ > kPointsMax) return false;
    std::vector<double> errors;
    for (int attempt = 0; attempt < kTries; ++attempt)
      if (const double other = reference_.wobbled(output_, i, random_, true); std::isfinite(other))
        errors.push_back(meter.error_ulp(i, other));
    if (errors.size() < kTries / 2) return false;
    std::sort(errors.begin(), errors.end());
    const double median = errors[errors.size() / 2], most = errors[errors.size() * 9 / 10], greatest = errors.back();
    return median >= few_digits && greatest >= kFarBeyond * most && error <= kBeyondTries * greatest;
  }

  // Bounds how far off the strict evaluation may be at one point, with the worst luck. Its steps are off by half an
  // ulp, the perturbed ones by that and one more.
  double strict_may_be_off_ulp(std::size_t i, const Meter& meter) {
    constexpr int kTries = 64, kPointsMax = 64;
    if (++asked_ > kPointsMax) return 0;  // so many points cannot all be unlucky
    double greatest = 0;
    for (int attempt = 0; attempt < kTries; ++attempt)
      if (const double other = reference_.wobbled(output_, i, random_, false); std::isfinite(other))
        greatest = std::max(greatest, meter.error_ulp(i, other));
    return greatest / 3;
  }

 private:
  Reference& reference_;
  std::size_t output_;
  Random random_{1};
  int asked_ = 0;            ///< points at which strict_may_be_off_ulp() was called
  int scattered_asked_ = 0;  ///< points at which scattered() was called
};

// Compares one output over one set.
class Comparison {
 public:
  Comparison(const expr::Expr& expr, const Samples& samples, Reference& reference, const Outputs& ours,
             const expr::Policy& policy, std::size_t output, const Standing& standing)
      : expr_(expr),
        samples_(samples),
        reference_(reference),
        ours_(ours),
        policy_(policy),
        standing_(standing),
        output_(output),
        places_(places_of(samples, values().per_call)),
        tables_finite_(policy.kind != PolicyKind::fast || tables_finite(expr, samples)),
        luck_(reference, output) {}

  // Call after integers() or floats().
  [[nodiscard]] Tally tally() const {
    Tally t;
    t.excused = excused_;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const std::uint8_t doubt = values().unsure[i];
      if (outside_of_fast(i)) continue;
      t.decided += doubt == kDecided ? 1 : 0;
      t.left_out += doubt == kLeftOut ? 1 : 0;
      if (doubt == kDecided || doubt == kLeftOut) continue;
      ++t.undecided;
      if (!as_fallback(i) && !near_fallback(i)) ++t.open;
    }
    return t;
  }

  std::optional<Counterexample> integers() {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (values().unsure[i] != kDecided || outside_of_fast(i)) continue;
      const std::int64_t got = load_integer(values().type, lane(i));
      if (got != values().integer[i]) reference_.refine(output_, i);
      if (got == values().integer[i] || values().unsure[i] != kDecided) continue;
      auto e = example(i, "integers differ");
      e.got = std::to_string(got);
      e.wanted = std::to_string(values().integer[i]);
      return e;
    }
    return std::nullopt;
  }

  std::optional<Counterexample> floats(double strict_elsewhere_ulp, Errors& errors) {
    Meter meter = standing_.at_edges ? Meter(reference_, output_, 0) : Meter(reference_, output_);
    errors.greatest = meter.greatest();
    errors.points.assign(places_.size(), {});
    errors.strict_ulp = standing_.at_edges ? 0 : meter.strict_ulp();
    const Bound bound = bound_of(policy_);
    const double k = 1 + (bound.k - 1) * (values().per_call ? standing_.per_call_allowance : 1);
    allowed_ulp_ = k * std::max(errors.strict_ulp, strict_elsewhere_ulp) + bound.slack_ulp;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (values().unsure[i] != kDecided || outside_of_fast(i)) continue;
      const double got = load_float(values().type, lane(i));
      const double strict = values().strict[i];
      if (std::isfinite(got) && meter.usable(i)) {
        double error = meter.error_ulp(i, got);
        if (error > allowed_ulp_ && values().error[i] != 0) {
          meter.refine(i);
          if (!meter.usable(i)) continue;
          error = meter.error_ulp(i, got);
        }
        if (error > allowed_ulp_) {
          const auto as_far = [&](double other) {
            return std::isfinite(other) && 2 * meter.error_ulp(i, other) >= error;
          };
          if (excused(i, as_far) || is_scattered(i, error, meter)) continue;
          if (standing_.at_edges && std::isfinite(strict) && error <= k * meter.error_ulp(i, strict) + bound.slack_ulp)
            continue;
          if (standing_.point_by_point && error <= bound.k * luck_.strict_may_be_off_ulp(i, meter) + bound.slack_ulp)
            continue;
        }
        errors.ours_ulp = std::max(errors.ours_ulp, error);
        if (error > allowed_ulp_) return too_far(i, got, error);
        if (std::isfinite(strict)) errors.points[i] = {error, meter.error_ulp(i, strict)};
        continue;
      }
      const auto of_this_class = [&](double other) { return same_class(got, other); };
      if (!class_agrees(i, got, strict, meter) && !excused(i, of_this_class)) {
        auto e = example(i, "the class of the value (finite, infinite or NaN) is wrong");
        e.got = print_lane(values().type, lane(i));
        e.wanted = print_number(values().type, static_cast<long double>(strict));
        return e;
      }
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] const OutputValues& values() const { return reference_.outputs()[output_]; }
  [[nodiscard]] const std::byte* lane(std::size_t i) const { return lane_of(ours_, i); }
  [[nodiscard]] const std::byte* lane_of(const Outputs& outputs, std::size_t i) const {
    const auto& column = outputs[places_[i].call][output_];
    const std::size_t at = static_cast<std::size_t>(places_[i].element) * ir::bytes_of(values().type);
    CHECK(at < column.size());
    return column.data() + at;
  }
  // Returns whether ours equals the fallback's value; without a fallback, the strict one (zeros of any sign).
  [[nodiscard]] bool as_fallback(std::size_t i) const {
    const Type type = values().type;
    if (!ir::is_float(type)) {
      // Strict values of integers are not kept: the correct one is the best guess.
      return load_integer(type, lane(i)) == (standing_.fallback != nullptr
                                                 ? load_integer(type, lane_of(*standing_.fallback, i))
                                                 : values().integer[i]);
    }
    const double got = load_float(type, lane(i));
    const double due =
        standing_.fallback != nullptr ? load_float(type, lane_of(*standing_.fallback, i)) : values().strict[i];
    return got == due || (std::isnan(got) && std::isnan(due));
  }
  /// True if ours is as near to the fallback as the policy allows to the correct value, with no step between.
  [[nodiscard]] bool near_fallback(std::size_t i) const {
    const Type type = values().type;
    if (!ir::is_float(type)) return false;
    const double got = load_float(type, lane(i));
    const double due =
        standing_.fallback != nullptr ? load_float(type, lane_of(*standing_.fallback, i)) : values().strict[i];
    if (!std::isfinite(got) || !std::isfinite(due)) return false;
    constexpr double kUlpMax = 4096;
    return std::fabs(static_cast<long double>(got) - due) <=
           std::min(allowed_ulp_, kUlpMax) * ulp_at(type, std::fabs(due));
  }
  [[nodiscard]] bool outside_of_fast(std::size_t i) const {
    if (policy_.kind != PolicyKind::fast) return false;
    const Place& place = places_[i];
    return !tables_finite_ || (ir::is_float(values().type) && !std::isfinite(values().strict[i])) ||
           !inputs_finite(expr_, samples_, samples_.calls[place.call], !values().per_call, place.element);
  }

  // Returns whether a result that breaks the policy may stand: it equals the fallback, or steps off by an ulp `explain`
  // it in an unrewritten kernel or at an edge of overflow.
  template <class Explains>
  bool excused(std::size_t i, Explains explain) {
    // So many unlucky points without a fault among them: an expression that leaves no digits right.
    constexpr std::size_t kEnough = 256;
    bool explained = standing_.fallback != nullptr ? as_fallback(i) : standing_.unrewritten && excused_ >= kEnough;
    if (!explained && (standing_.unrewritten || standing_.at_edges)) explained = luck_.explains(i, explain);
    excused_ += explained ? 1 : 0;
    return explained;
  }

  bool is_scattered(std::size_t i, double error, const Meter& meter) {
    const bool yes = standing_.unrewritten && luck_.scattered(i, error, meter);
    excused_ += yes ? 1 : 0;
    return yes;
  }

  // Handles results where ours or the correct value is not finite.
  bool class_agrees(std::size_t i, double got, double strict, const Meter& meter) {
    if (!std::isfinite(strict) && same_class(got, strict)) return true;
    if (got == strict) return true;  // as far off as the strict evaluation, so allowed
    if (values().error[i] != 0) reference_.refine(output_, i);
    if (values().unsure[i] != kDecided) return true;
    const long double correct = values().correct[i];
    if (std::isnan(correct)) return std::isnan(got);
    const double due = rounded(values().type, correct);
    if (std::isinf(due) && same_class(got, due)) return true;
    // At the edge of overflow a value within the bound may be on the other side.
    const long double reach =
        static_cast<long double>(allowed_ulp_) * ulp_at(values().type, greatest_finite(values().type));
    if (std::isinf(got))
      return std::copysign(kInfinity, correct) == got && std::fabs(correct) >= greatest_finite(values().type) - reach;
    if (!std::isfinite(got)) return false;
    if (std::isinf(due))
      return std::signbit(got) == std::signbit(due) && std::fabs(got) >= greatest_finite(values().type) - reach;
    return meter.error_ulp(i, got) <= allowed_ulp_;
  }

  Counterexample example(std::size_t i, const char* why) const {
    return example_at(expr_, samples_, places_[i], samples_.calls[places_[i].call], output_, why);
  }
  Counterexample too_far(std::size_t i, double got, double error) const {
    char why[160];
    std::snprintf(why, sizeof why, "error of %.2f ulp where the policy allows %.2f", error, allowed_ulp_);
    auto e = example(i, why);
    e.got = print_number(values().type, static_cast<long double>(got));
    e.wanted = print_number(values().type, values().correct[i]);
    e.error_ulp = error;
    return e;
  }

  const expr::Expr& expr_;
  const Samples& samples_;
  Reference& reference_;
  const Outputs& ours_;
  const expr::Policy& policy_;
  const Standing& standing_;
  std::size_t output_;
  std::vector<Place> places_;
  bool tables_finite_;  ///< computed under fast only
  double allowed_ulp_ = 0;
  Luck luck_;
  std::size_t excused_ = 0;
};

bool lanes_agree(Type type, const std::byte* a, const std::byte* b) {
  if (std::memcmp(a, b, ir::bytes_of(type)) == 0) return true;
  return ir::is_float(type) && std::isnan(load_float(type, a)) && std::isnan(load_float(type, b));
}

}  // namespace

std::string print_lane(Type type, const std::byte* bytes) {
  if (ir::is_float(type)) return print_number(type, static_cast<long double>(load_float(type, bytes)));
  return std::to_string(load_integer(type, bytes));
}

std::optional<Counterexample> compare_values(const expr::Expr& expr, const Samples& samples, Reference& reference,
                                             const Outputs& ours, const expr::Policy& policy,
                                             const std::vector<double>& strict_elsewhere_ulp,
                                             std::vector<Errors>& errors, const Standing& standing) {
  errors.assign(expr.outputs.size(), {});
  for (std::size_t k = 0; k < expr.outputs.size(); ++k) {
    Comparison comparison(expr, samples, reference, ours, policy, k, standing);
    const bool is_float = ir::is_float(reference.outputs()[k].type);
    auto difference = is_float ? comparison.floats(strict_elsewhere_ulp[k], errors[k]) : comparison.integers();
    if (difference) return difference;
    errors[k].tally = comparison.tally();
  }
  return std::nullopt;
}

bool Tally::inconclusive() const {
  return static_cast<double>(open) > kOpenShareMax * static_cast<double>(decided + undecided);
}

Counterexample inconclusive(const std::string& output, const Tally& tally) {
  char why[160];
  std::snprintf(why, sizeof why,
                "undecided at %llu of %llu points, and at %llu of them the form differs from strict evaluation",
                static_cast<unsigned long long>(tally.undecided), static_cast<unsigned long long>(tally.all()),
                static_cast<unsigned long long>(tally.open));
  Counterexample e;
  e.why = why + (output.empty() ? std::string() : ", output " + output);
  return e;
}

std::vector<double> strict_errors(const expr::Expr& expr, Reference& reference, std::size_t refined_max) {
  std::vector<double> errors(expr.outputs.size(), 0);
  for (std::size_t k = 0; k < expr.outputs.size(); ++k) {
    settle(reference, k, refined_max);
    if (ir::is_float(reference.outputs()[k].type)) errors[k] = Meter(reference, k).strict_ulp();
  }
  return errors;
}

std::optional<Counterexample> compare_bits(const expr::Expr& expr, const Samples& samples,
                                           const std::vector<Call>& calls, const Outputs& wanted, const Outputs& got,
                                           expr::PolicyKind policy) {
  const bool open_tables = policy == expr::PolicyKind::fast && !tables_finite(expr, samples);
  // Result i of an array output comes from element i; a scalar one comes from all.
  const auto is_open = [&](const Call& call, bool array, std::size_t i) {
    return policy == expr::PolicyKind::fast && (open_tables || !inputs_finite(expr, samples, call, array, i));
  };
  const std::vector<expr::Shape> shapes = expr::shapes_of(expr);
  CHECK(wanted.size() == calls.size());
  CHECK(got.size() == calls.size());
  for (std::size_t c = 0; c < calls.size(); ++c) {
    for (std::size_t k = 0; k < expr.outputs.size(); ++k) {
      const Type type = expr.at(expr.outputs[k].node).type;
      const auto& w = wanted[c][k];
      const auto& g = got[c][k];
      CHECK(w.size() == g.size());
      if (w.empty() || std::memcmp(w.data(), g.data(), w.size()) == 0) continue;
      const std::size_t bytes = ir::bytes_of(type);
      for (std::size_t i = 0; i * bytes < w.size(); ++i) {
        if (lanes_agree(type, w.data() + i * bytes, g.data() + i * bytes)) continue;
        const bool total = shapes[expr.outputs[k].node.index] == expr::Shape::total;
        if (is_open(calls[c], !total, i)) continue;
        auto e =
            example_at(expr, samples, {c, i, calls[c].first + i}, calls[c], k, "bits differ from the interpreter's");
        e.got = print_lane(type, g.data() + i * bytes);
        e.wanted = print_lane(type, w.data() + i * bytes);
        return e;
      }
    }
  }
  return std::nullopt;
}

std::string print(const Verdict& verdict) {
  char text[384];
  if (verdict.same()) {
    char undecided[128] = "";
    if (verdict.undecided != 0)
      std::snprintf(undecided, sizeof undecided, ", %llu more undecided",
                    static_cast<unsigned long long>(verdict.undecided));
    if (verdict.excused != 0)
      std::snprintf(undecided + std::strlen(undecided), sizeof undecided - std::strlen(undecided),
                    ", %llu of them break the policy only as far as roundings explain",
                    static_cast<unsigned long long>(verdict.excused));
    std::snprintf(
        text, sizeof text, "same at %s%llu points (seed %llu%s), error at most %.2f ulp (strict evaluation: %.2f)",
        verdict.kind == Verdict::Kind::exhaustive ? "all " : "", static_cast<unsigned long long>(verdict.points),
        static_cast<unsigned long long>(verdict.seed), undecided, verdict.max_error_ulp, verdict.strict_error_ulp);
    return text;
  }
  std::string s = "differs: ";
  if (!verdict.counterexample) return s;
  const Counterexample& e = *verdict.counterexample;
  s += e.why;
  if (e.output.empty()) return s;
  s += "\n  output " + e.output + ", element " + std::to_string(e.element) + " of " + std::to_string(e.elements) + "\n";
  for (const auto& [name, value] : e.inputs) s += "  " + name + " = " + value + "\n";
  return s + "  got    " + e.got + "\n  wanted " + e.wanted;
}

}  // namespace trident::equiv
