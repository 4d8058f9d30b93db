#include "jit/equiv/tail.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "jit/equiv/checker.h"
#include "jit/equiv/evaluator.h"
#include "jit/equiv/meter.h"

namespace trident::equiv {
namespace {

/// Points of a level, and the chains that make them.
constexpr std::size_t kLevelPoints = 1024;
constexpr std::size_t kChains = 128;
/// Fewer chains than this are not worth a level.
constexpr std::size_t kChainsMin = 8;
/// The climb ends at levels of whose points a set holds fewer than this.
constexpr double kExpectedMin = 0.1;
/// Random sets for the estimate.
constexpr int kTrials = 1000;
/// Smallest steps of a chain, as a power of two of a variable's range: near the spacing of the type's values.
constexpr double kFinestStepF32 = 24;
constexpr double kFinestStepF64 = 46;

struct Place {
  std::vector<Coordinate> at;  ///< per variable
  std::vector<Bits> bits;
  PointErrors errors;
};

double score_of(const PointErrors& e) {
  return std::max(e.ours_ulp, e.strict_ulp);
}

// Points of one stratum: those of a level below the next level's threshold. A set holds `expected` of them.
struct Stratum {
  std::vector<PointErrors> points;
  double expected = 0;
};

PointErrors errors_at(Meter& meter, std::size_t i, double got) {
  const OutputValues& v = meter.values();
  if (v.unsure[i] == 0 && !std::isfinite(v.correct[i] + v.error[i])) meter.refine(i);
  if (!meter.usable(i) || !std::isfinite(v.strict[i])) return {};
  // At the edge of overflow rounding decides; otherwise a result that is not finite is as wrong as possible.
  if (!std::isfinite(got))
    return std::fabs(v.correct[i]) < greatest_finite(v.type) / 2
               ? PointErrors{std::numeric_limits<double>::infinity(), 0}
               : PointErrors{};
  PointErrors e{meter.error_ulp(i, got), meter.error_ulp(i, v.strict[i])};
  if (meter.trusted(i, score_of(e))) return e;
  meter.refine(i);
  if (!meter.usable(i)) return {};
  return {meter.error_ulp(i, got), meter.error_ulp(i, v.strict[i])};
}

void take(PointErrors& greatest, const PointErrors& e) {
  greatest.ours_ulp = std::max(greatest.ours_ulp, e.ours_ulp);
  greatest.strict_ulp = std::max(greatest.strict_ulp, e.strict_ulp);
}

bool breaks(const TailQuestion& q, const PointErrors& greatest) {
  return greatest.ours_ulp > q.k * greatest.strict_ulp + q.slack_ulp;
}

// Draws by Knuth's method for small means; by the normal distribution for great ones.
std::uint64_t poisson(Random& random, double mean) {
  if (mean > 30) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += random.unit();
    return static_cast<std::uint64_t>(std::max(0.0, std::round(mean + std::sqrt(mean) * sum)));
  }
  const double least = std::exp(-mean);
  std::uint64_t count = 0;
  for (double product = random.unit(); product > least; product *= random.unit()) ++count;
  return count;
}

// Draws sets from the strata, and counts those that break the policy.
Tail estimate(const TailQuestion& q, const std::vector<Stratum>& strata, Random& random) {
  Tail tail;
  PointErrors certain{0, 0};  // from strata whose points are all in every set
  std::vector<const Stratum*> rare;
  for (const Stratum& s : strata) {
    if (s.points.empty()) continue;
    for (const PointErrors& e : s.points) {
      tail.ours_ulp = std::max(tail.ours_ulp, e.ours_ulp);
      tail.strict_ulp = std::max(tail.strict_ulp, e.strict_ulp);
    }
    if (s.expected < 8 * static_cast<double>(s.points.size())) {
      rare.push_back(&s);
      continue;
    }
    for (const PointErrors& e : s.points) take(certain, e);
  }
  if (!breaks(q, {tail.ours_ulp, certain.strict_ulp})) return tail;  // no set can be worse
  int broken = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    PointErrors greatest = certain;
    for (const Stratum* s : rare)
      for (std::uint64_t n = poisson(random, s->expected); n > 0; --n)
        take(greatest, s->points[random.below(s->points.size())]);
    if (breaks(q, greatest)) ++broken;
  }
  tail.probability = static_cast<double>(broken) / kTrials;
  return tail;
}

// Climbs from level to level: from the points of a set beyond a threshold to others nearby that are beyond it too.
class Climb {
 public:
  explicit Climb(const TailQuestion& q) : q_(q), random_(q.seed ^ 0x7A11u) {
    for (const auto& variable : q.source.variables) has_scalars_ = has_scalars_ || variable.is_scalar();
  }

  Result<Tail> run() {
    const std::vector<PointErrors> drawn(q_.errors.begin() + static_cast<std::ptrdiff_t>(q_.start.runs),
                                         q_.errors.end());
    bool more = !drawn.empty() && divide(drawn, 1, 0);
    std::vector<Place> chains;
    for (std::size_t i = 0; more && i < drawn.size() && chains.size() < kChains; ++i)
      if (score_of(drawn[i]) >= threshold_) chains.push_back(place_at(q_.start.runs + i, drawn[i]));
    for (double probability = share_; more; probability *= share_) {
      TRY(std::vector<Place> level, conditional_points(chains));
      std::vector<PointErrors> errors;
      for (const Place& place : level) errors.push_back(place.errors);
      if (probability * share_ * q_.set_points < kExpectedMin) {
        strata_.push_back({std::move(errors), q_.set_points * probability});
        break;
      }
      more = divide(std::move(errors), probability, threshold_);
      chains.clear();
      for (Place& place : level)
        if (score_of(place.errors) >= threshold_ && chains.size() < kChains) chains.push_back(std::move(place));
    }
    return estimate(q_, strata_, random_);
  }

 private:
  // Divides `errors` at the kChains-th greatest score. If most of them tie there, divides at the next greater one that
  // a few have. Points below are a stratum of their own. Where there is no such score (the errors are bounded, and this
  // is the bound) all of them are, and there is no next level.
  bool divide(std::vector<PointErrors> errors, double probability, double above) {
    std::vector<double> scores;
    for (const PointErrors& e : errors) scores.push_back(score_of(e));
    const std::size_t wanted = std::min(kChains, scores.size());
    std::nth_element(scores.begin(), scores.begin() + static_cast<std::ptrdiff_t>(wanted) - 1, scores.end(),
                     std::greater<>());
    threshold_ = scores[wanted - 1];
    const auto count_beyond = [&] {
      return static_cast<std::size_t>(
          std::count_if(scores.begin(), scores.end(), [&](double score) { return score >= threshold_; }));
    };
    std::size_t beyond = count_beyond();
    bool more = threshold_ > above && beyond * 2 < errors.size();
    if (!more) {
      double next = std::numeric_limits<double>::infinity();
      for (const double score : scores)
        if (score > threshold_) next = std::min(next, score);
      std::swap(threshold_, next);
      beyond = count_beyond();
      more = beyond >= kChainsMin;
      if (!more) threshold_ = next;
    }
    share_ = static_cast<double>(beyond) / static_cast<double>(errors.size());
    Stratum stratum;
    stratum.expected = q_.set_points * probability * (more ? 1 - share_ : 1);
    for (const PointErrors& e : errors)
      if (!more || score_of(e) < threshold_) stratum.points.push_back(e);
    strata_.push_back(std::move(stratum));
    return more;
  }

  // Draws kLevelPoints points beyond the threshold.
  Result<std::vector<Place>> conditional_points(std::vector<Place>& chains) {
    std::vector<Place> level;
    while (level.size() < kLevelPoints) {
      if (q_.cancelled && q_.cancelled())
        return make_error(ErrorCode::kCancelled, "the equivalence check was cancelled");
      TRY_VOID(move(chains));
      level.insert(level.end(), chains.begin(), chains.end());
    }
    return level;
  }

  Place place_at(std::uint64_t index, const PointErrors& errors) const {
    Place place;
    place.errors = errors;
    for (std::size_t v = 0; v < q_.source.variables.size(); ++v) {
      const auto& variable = q_.source.variables[v];
      const std::size_t bytes = ir::bytes_of(variable.type);
      Bits bits = 0;
      std::memcpy(&bits, q_.start.columns[v].data() + static_cast<std::size_t>(index) * bytes, bytes);
      place.bits.push_back(bits);
      place.at.push_back(ir::is_float(variable.type) ? place_of(variable, q_.way, bits) : Coordinate{});
    }
    return place;
  }

  // Draws another place nearby: the proposal is as likely in the other direction.
  Place proposal(const Place& from) {
    Place to = from;
    const std::size_t count = to.at.size();
    const std::size_t only = random_.next() % 2 == 0 && count != 0 ? random_.below(count) : count;
    for (std::size_t v = 0; v < count; ++v) {
      if (only != count && v != only) continue;
      const auto& variable = q_.source.variables[v];
      Coordinate& at = to.at[v];
      if (ir::is_float(variable.type)) {
        const double finest = variable.type == expr::Type::f32 ? kFinestStepF32 : kFinestStepF64;
        at.place += (2 * random_.unit() - 1) * std::exp2(-finest * random_.unit());
        at.place = std::fabs(at.place);
        if (at.place > 1) at.place = 2 - at.place;
        if (random_.below(8) == 0) at.negative = !at.negative;
      } else if (random_.next() % 2 == 0) {
        at.raw = random_.next();
      } else {
        continue;
      }
      to.bits[v] = value_at(variable, q_.way, at);
    }
    return to;
  }

  Result<void> move(std::vector<Place>& chains) {
    std::vector<Place> proposals;
    for (const Place& place : chains) proposals.push_back(proposal(place));
    TRY_VOID(measure(proposals));
    for (std::size_t c = 0; c < chains.size(); ++c)
      if (score_of(proposals[c].errors) >= threshold_) chains[c] = std::move(proposals[c]);
    return {};
  }

  Result<void> measure(std::vector<Place>& places) const {
    Samples samples;
    samples.n = places.size();
    for (std::size_t v = 0; v < q_.source.variables.size(); ++v) {
      const std::size_t bytes = ir::bytes_of(q_.source.variables[v].type);
      auto& column = samples.columns.emplace_back(places.size() * bytes);
      for (std::size_t i = 0; i < places.size(); ++i) std::memcpy(column.data() + i * bytes, &places[i].bits[v], bytes);
    }
    for (std::uint64_t i = 0; i < (has_scalars_ ? samples.n : 1); ++i)
      samples.calls.push_back({i, has_scalars_ ? 1 : samples.n, false});
    TRY(Reference reference, Reference::make(q_.source, samples, q_.cancelled));
    const Outputs ours = interpret_calls(q_.source, q_.kernel, samples, samples.calls);
    Meter meter(reference, q_.output, q_.greatest);
    const std::size_t bytes = ir::bytes_of(meter.values().type);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto& lanes = ours[has_scalars_ ? i : 0][q_.output];
      const double got = load_float(meter.values().type, lanes.data() + (has_scalars_ ? 0 : i * bytes));
      places[i].errors = errors_at(meter, i, got);
    }
    if (reference.stopped()) return make_error(ErrorCode::kCancelled, "the equivalence check was cancelled");
    return {};
  }

  const TailQuestion& q_;
  Random random_;
  bool has_scalars_ = false;
  std::vector<Stratum> strata_;
  double threshold_ = 0;  ///< of the current level
  double share_ = 0;      ///< the share of the level before that lies beyond it
};

}  // namespace

Result<Tail> explore_tail(const TailQuestion& question) {
  return Climb(question).run();
}

}  // namespace trident::equiv
