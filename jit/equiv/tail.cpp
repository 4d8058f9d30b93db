#include "jit/equiv/tail.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "jit/equiv/checker.h"
#include "jit/equiv/evaluator.h"
#include "jit/equiv/judge.h"

namespace trident::equiv {
namespace {

/// Points of a level, and the chains that make them.
constexpr std::size_t kLevelPoints = 1024;
constexpr std::size_t kChains = 128;
/// Fewer chains than this are not worth a level.
constexpr std::size_t kChainsMin = 8;
/// The climb ends at levels of whose points a set holds fewer than this.
constexpr double kExpectedMin = 0.1;
/// Smallest steps of a chain, as a power of two of a variable's range: near the spacing of the type's values.
constexpr double kFinestStepF32 = 24;
constexpr double kFinestStepF64 = 46;

/// MPFR evaluations for the proposals of one move.
constexpr std::size_t kMoveRefinedMax = 32;

struct Climber {
  std::vector<Coordinate> at;  ///< per variable
  Point bits;
  double share = 0;
};

// Climbs from level to level: from the points of a set beyond a threshold to others nearby that are beyond it too.
class Climb {
 public:
  explicit Climb(const TailQuestion& q)
      : q_(q),
        meaning_(q.source),
        random_(q.seed ^ 0x7A11u),
        plan_(kir::Plan::prepare(kir::without_storage(q.kernel))) {
    meaning_.outputs = {q.source.outputs[q.output]};
    for (const auto& variable : q.source.variables) has_scalars_ = has_scalars_ || variable.is_scalar();
  }

  Result<Tail> run() {
    const std::vector<double> drawn(q_.shares.begin() + static_cast<std::ptrdiff_t>(q_.start.runs), q_.shares.end());
    bool more = !drawn.empty() && divide(drawn, 0);
    std::vector<Climber> chains;
    for (std::size_t i = 0; more && i < drawn.size() && chains.size() < kChains; ++i)
      if (drawn[i] >= threshold_) chains.push_back(place_at(q_.start.runs + i, drawn[i]));
    for (double probability = share_; more && tail_.share <= 1; probability *= share_) {
      TRY(std::vector<Climber> level, conditional_points(chains));
      if (probability * share_ * q_.set_points < kExpectedMin) break;
      std::vector<double> shares;
      for (const Climber& place : level) shares.push_back(place.share);
      more = divide(std::move(shares), threshold_);
      chains.clear();
      for (Climber& place : level)
        if (place.share >= threshold_ && chains.size() < kChains) chains.push_back(std::move(place));
    }
    return tail_;
  }

 private:
  // Divides `shares` at the kChains-th greatest. If most of them tie there, divides at the next greater one that a few
  // have. Returns whether there is a next level: none where the errors are bounded, and this is the bound.
  bool divide(std::vector<double> shares, double above) {
    const std::size_t wanted = std::min(kChains, shares.size());
    std::nth_element(shares.begin(), shares.begin() + static_cast<std::ptrdiff_t>(wanted) - 1, shares.end(),
                     std::greater<>());
    threshold_ = shares[wanted - 1];
    const auto count_beyond = [&] {
      return static_cast<std::size_t>(
          std::count_if(shares.begin(), shares.end(), [&](double share) { return share >= threshold_; }));
    };
    std::size_t beyond = count_beyond();
    bool more = threshold_ > above && beyond * 2 < shares.size();
    if (!more) {
      double next = std::numeric_limits<double>::infinity();
      for (const double share : shares)
        if (share > threshold_) next = std::min(next, share);
      threshold_ = next;
      beyond = count_beyond();
      more = beyond >= kChainsMin;
    }
    share_ = static_cast<double>(beyond) / static_cast<double>(shares.size());
    return more;
  }

  // Draws kLevelPoints points beyond the threshold.
  Result<std::vector<Climber>> conditional_points(std::vector<Climber>& chains) {
    std::vector<Climber> level;
    while (level.size() < kLevelPoints && tail_.share <= 1) {
      if (q_.cancelled && q_.cancelled())
        return make_error(ErrorCode::kCancelled, "the equivalence check was cancelled");
      TRY_VOID(move(chains));
      level.insert(level.end(), chains.begin(), chains.end());
    }
    return level;
  }

  Climber place_at(std::uint64_t index, double share) const {
    Climber place;
    place.share = share;
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
  Climber proposal(const Climber& from) {
    Climber to = from;
    to.share = 0;
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

  Result<void> move(std::vector<Climber>& chains) {
    std::vector<Climber> proposals;
    for (const Climber& place : chains) proposals.push_back(proposal(place));
    TRY_VOID(measure(proposals));
    for (std::size_t c = 0; c < chains.size(); ++c)
      if (proposals[c].share >= threshold_) chains[c] = std::move(proposals[c]);
    return {};
  }

  /// Makes room for so many points.
  void resize(std::size_t n) {
    reference_.reset();
    samples_ = {};
    samples_.n = n;
    for (const expr::Variable& variable : q_.source.variables)
      samples_.columns.emplace_back(n * ir::bytes_of(variable.type));
    for (std::uint64_t i = 0; i < (has_scalars_ ? n : 1); ++i)
      samples_.calls.push_back({i, has_scalars_ ? 1 : samples_.n, false});
  }

  /// Computes the correct values at these places.
  Result<void> refer_to(const std::vector<Climber>& places) {
    if (samples_.n != places.size()) resize(places.size());
    for (std::size_t v = 0; v < q_.source.variables.size(); ++v) {
      const std::size_t bytes = ir::bytes_of(q_.source.variables[v].type);
      for (std::size_t i = 0; i < places.size(); ++i)
        std::memcpy(samples_.columns[v].data() + i * bytes, &places[i].bits[v], bytes);
    }
    if (reference_) return reference_->renew();
    TRY(Reference made, Reference::make(meaning_, samples_, q_.cancelled, allowance_of(q_.policy).units));
    reference_.emplace(std::move(made));
    return {};
  }

  Result<void> measure(std::vector<Climber>& places) {
    TRY_VOID(refer_to(places));
    const Outputs ours = run_calls(plan_, q_.source, q_.kernel, samples_, samples_.calls);
    Judge judge(*reference_, 0, allowance_of(q_.policy), kMoveRefinedMax);
    const OutputValues& values = reference_->outputs()[0];
    const std::size_t bytes = ir::bytes_of(values.type);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto& lanes = ours[has_scalars_ ? i : 0][q_.output];
      if (q_.policy.kind == expr::PolicyKind::fast && !std::isfinite(values.strict[i])) continue;
      const double got = load_float(values.type, lanes.data() + (has_scalars_ ? 0 : i * bytes));
      const double share = places[i].share = judge.judge(i, got).share;
      if (share > tail_.risk && !judge.is_own(i, got)) tail_.risk = share;
      if (share > tail_.share) tail_.share = share, tail_.point = places[i].bits;
    }
    if (reference_->stopped()) return make_error(ErrorCode::kCancelled, "the equivalence check was cancelled");
    return {};
  }

  const TailQuestion& q_;
  expr::Expr meaning_;  ///< the source with the output in question alone: correct values of others are not needed
  Random random_;
  kir::Plan plan_;
  bool has_scalars_ = false;
  Samples samples_;                     ///< of the last move
  std::optional<Reference> reference_;  ///< of `samples_`
  Tail tail_;
  double threshold_ = 0;  ///< of the current level
  double share_ = 0;      ///< the share of the level before that lies beyond it
};

}  // namespace

Result<Tail> explore_tail(const TailQuestion& question) {
  return Climb(question).run();
}

}  // namespace trident::equiv
