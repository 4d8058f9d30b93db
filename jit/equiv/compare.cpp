#include "jit/equiv/compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "jit/equiv/evaluator.h"
#include "jit/expr/shape.h"

namespace trident::equiv {
namespace {

using expr::PolicyKind;
using expr::Type;

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

// Compares one output over one set.
class Comparison {
 public:
  Comparison(const expr::Expr& expr, const Samples& samples, Reference& reference, const Outputs& ours,
             const expr::Policy& policy, std::size_t output, const Comparing& comparing)
      : expr_(expr),
        samples_(samples),
        reference_(reference),
        ours_(ours),
        policy_(policy),
        comparing_(comparing),
        output_(output),
        places_(places_of(samples, values().per_call)),
        tables_finite_(policy.kind != PolicyKind::fast || tables_finite(expr, samples)),
        of_element_(!values().per_call && expr::passes_of(expr) == 1),
        judge_(reference, output, comparing.allowance.value_or(allowance_of(policy)), comparing.refined_max) {}

  std::optional<Counterexample> integers(Errors& errors) {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (outside_of_fast(i)) continue;
      const std::int64_t got = load_integer(values().type, lane(i));
      const auto within = [&] { return values().whole[i].lo <= got && got <= values().whole[i].hi; };
      if (got != values().integer[i]) judge_.refine(i);
      const bool known = values().unsure[i] == kDecided || values().unsure[i] == kRoundingDecides;
      if (known && !within()) return wrong_integer(i, got);
      count(errors.tally, i, !known || !values().whole[i].sure());
    }
    return std::nullopt;
  }

  std::optional<Counterexample> floats(Errors& errors) {
    errors.shares.assign(places_.size(), 0);
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (outside_of_fast(i)) continue;
      const double got = load_float(values().type, lane(i));
      Judged judged = judge_.judge(i, got);
      if (judged.open && loses_a_number(i, got)) judged = Judged::wrong_class();
      count(errors.tally, i, judged.open);
      errors.shares[i] = judged.share;
      errors.share = std::max(errors.share, judged.share);
      if (judged.share > errors.risk && !judge_.is_own(i, got)) errors.risk = judged.share;
      errors.ulp = std::max(errors.ulp, judged.ulp);
      if (!judged.holds()) return judged.class_wrong ? wrong_class(i) : too_far(i, got, judged);
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

  // Returns whether ours is NaN where what it replaces and the correct value are numbers, and no step or overflow
  // decides about that. So sqrt(x*x - y*y) does not become sqrt(fma(x, x, -(y*y))), which is NaN where x = y. Functions
  // of the kernel as written may leave a domain that strict ones do not.
  [[nodiscard]] bool loses_a_number(std::size_t i, double got) const {
    const bool decided = values().unsure[i] == kDecided || values().unsure[i] == kRoundingDecides;
    const int pardon = kEitherSide | kMayOverflow | (comparing_.fallback == nullptr ? kApproximate : 0);
    if (!std::isnan(got) || !decided || (values().on_the_way[i] & pardon) != 0) return false;
    return std::isfinite(fallback_of(i)) && std::isfinite(values().correct[i]);
  }

  void count(Tally& tally, std::size_t i, bool open) const {
    tally.either_side += (values().on_the_way[i] & kEitherSide) != 0 ? 1 : 0;
    if (values().unsure[i] == kLeftOut) {
      ++tally.left_out;
    } else if (!open) {
      ++tally.decided;
    } else {
      ++tally.undecided;
      if (!as_fallback(i) && !near_fallback(i)) ++tally.open;
    }
  }

  // Returns whether ours equals the fallback's value; without a fallback, the strict one (zeros of any sign).
  [[nodiscard]] bool as_fallback(std::size_t i) const {
    const Type type = values().type;
    if (!ir::is_float(type)) {
      // Strict values of integers are not kept: the correct one is the best guess.
      return load_integer(type, lane(i)) == (comparing_.fallback != nullptr
                                                 ? load_integer(type, lane_of(*comparing_.fallback, i))
                                                 : values().integer[i]);
    }
    const double got = load_float(type, lane(i)), due = fallback_of(i);
    return got == due || (std::isnan(got) && std::isnan(due));
  }
  /// True if ours is as near to the fallback as it may be to the correct value, with no step between.
  [[nodiscard]] bool near_fallback(std::size_t i) const {
    const Type type = values().type;
    if (!ir::is_float(type)) return false;
    const double got = load_float(type, lane(i)), due = fallback_of(i);
    if (!std::isfinite(got) || !std::isfinite(due)) return false;
    constexpr long double kUlpMax = 4096;
    const long double ulp = ulp_at(type, std::fabs(due));
    return std::fabs(static_cast<long double>(got) - due) <= std::min(judge_.allowed(i), kUlpMax * ulp);
  }
  [[nodiscard]] double fallback_of(std::size_t i) const {
    return comparing_.fallback != nullptr ? load_float(values().type, lane_of(*comparing_.fallback, i))
                                          : values().strict[i];
  }
  [[nodiscard]] bool outside_of_fast(std::size_t i) const {
    if (policy_.kind != PolicyKind::fast) return false;
    const Place& place = places_[i];
    return !tables_finite_ || (ir::is_float(values().type) && !std::isfinite(values().strict[i])) ||
           !inputs_finite(expr_, samples_, samples_.calls[place.call], of_element_, place.element);
  }

  Counterexample example(std::size_t i, const char* why) const {
    return example_at(expr_, samples_, places_[i], samples_.calls[places_[i].call], output_, why);
  }
  Counterexample wrong_integer(std::size_t i, std::int64_t got) const {
    auto e = example(i, "integers differ");
    e.got = std::to_string(got);
    e.wanted = std::to_string(values().integer[i]);
    return e;
  }
  Counterexample wrong_class(std::size_t i) const {
    auto e = example(i, "the class of the value (finite, infinite or NaN) is wrong");
    e.got = print_lane(values().type, lane(i));
    e.wanted = print_number(values().type, static_cast<long double>(values().strict[i]));
    return e;
  }
  Counterexample too_far(std::size_t i, double got, const Judged& judged) const {
    char why[160];
    std::snprintf(why, sizeof why, "error of %.4g ulp where the policy allows %.4g", judged.ulp,
                  judged.ulp / judged.share);
    auto e = example(i, why);
    e.got = print_number(values().type, static_cast<long double>(got));
    e.wanted = print_number(values().type, values().correct[i]);
    e.error_ulp = judged.ulp;
    return e;
  }

  const expr::Expr& expr_;
  const Samples& samples_;
  Reference& reference_;
  const Outputs& ours_;
  const expr::Policy& policy_;
  const Comparing& comparing_;
  std::size_t output_;
  std::vector<Place> places_;
  bool tables_finite_;  ///< computed under fast only
  bool of_element_;     ///< a result depends on the inputs of one element alone
  Judge judge_;
};

bool lanes_agree(Type type, const std::byte* a, const std::byte* b) {
  if (std::memcmp(a, b, ir::bytes_of(type)) == 0) return true;
  return ir::is_float(type) && std::isnan(load_float(type, a)) && std::isnan(load_float(type, b));
}

/// Returns values as they are once an array has kept them.
std::vector<std::byte> as_kept(expr::Storage storage, Type type, std::vector<std::byte> values) {
  if (!ir::converts(storage)) return values;
  const std::size_t n = values.size() / ir::bytes_of(type);
  std::vector<std::byte> elements(n * ir::facts_of(storage).bytes);
  ir::narrow(storage, values.data(), elements.data(), n);
  ir::widen(storage, elements.data(), values.data(), n);
  return values;
}

}  // namespace

std::string print_lane(Type type, const std::byte* bytes) {
  if (ir::is_float(type)) return print_number(type, static_cast<long double>(load_float(type, bytes)));
  return std::to_string(load_integer(type, bytes));
}

std::optional<Counterexample> compare_values(const expr::Expr& expr, const Samples& samples, Reference& reference,
                                             const Outputs& ours, const expr::Policy& policy,
                                             std::vector<Errors>& errors, const Comparing& comparing) {
  errors.assign(expr.outputs.size(), {});
  for (std::size_t k = 0; k < expr.outputs.size(); ++k) {
    Comparison comparison(expr, samples, reference, ours, policy, k, comparing);
    const bool is_float = ir::is_float(reference.outputs()[k].type);
    auto difference = is_float ? comparison.floats(errors[k]) : comparison.integers(errors[k]);
    if (difference) return difference;
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

std::optional<Counterexample> compare_bits(const expr::Expr& expr, const Samples& samples,
                                           const std::vector<Call>& calls, const Outputs& wanted, const Outputs& got,
                                           expr::PolicyKind policy) {
  const bool open_tables = policy == expr::PolicyKind::fast && !tables_finite(expr, samples);
  // Result i of an array output comes from element i; a scalar one comes from all.
  const auto is_open = [&](const Call& call, bool array, std::size_t i) {
    return policy == expr::PolicyKind::fast && (open_tables || !inputs_finite(expr, samples, call, array, i));
  };
  const std::vector<expr::Shape> shapes = expr::shapes_of(expr);
  const bool one_pass = expr::passes_of(expr) == 1;
  CHECK(wanted.size() == calls.size());
  CHECK(got.size() == calls.size());
  for (std::size_t c = 0; c < calls.size(); ++c) {
    for (std::size_t k = 0; k < expr.outputs.size(); ++k) {
      const Type type = expr.at(expr.outputs[k].node).type;
      const auto w = as_kept(expr.outputs[k].storage, type, wanted[c][k]);
      const auto g = as_kept(expr.outputs[k].storage, type, got[c][k]);
      CHECK(w.size() == g.size());
      if (w.empty() || std::memcmp(w.data(), g.data(), w.size()) == 0) continue;
      const std::size_t bytes = ir::bytes_of(type);
      for (std::size_t i = 0; i * bytes < w.size(); ++i) {
        if (lanes_agree(type, w.data() + i * bytes, g.data() + i * bytes)) continue;
        const bool total = shapes[expr.outputs[k].node.index] == expr::Shape::total;
        if (is_open(calls[c], !total && one_pass, i)) continue;
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
    if (verdict.either_side != 0)
      std::snprintf(undecided + std::strlen(undecided), sizeof undecided - std::strlen(undecided),
                    ", %.2g %% on either side of a step", 100 * verdict.either_side);
    std::snprintf(text, sizeof text, "same at %s%llu points (seed %llu%s), errors up to %.2f of the bound (%.3g ulp)",
                  verdict.kind == Verdict::Kind::exhaustive ? "all " : "",
                  static_cast<unsigned long long>(verdict.points), static_cast<unsigned long long>(verdict.seed),
                  undecided, verdict.bound_share, verdict.max_error_ulp);
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
