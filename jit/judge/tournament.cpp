#include "jit/judge/tournament.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/os/sandbox.h"
#include "runtime/stats/robust.h"

namespace trident::judge {
namespace {

constexpr std::uint32_t kHeatRounds = 7;
/// A heat whose ratios scatter by more than this is held again, at most this often: its ranking would be luck. On a
/// quiet machine they scatter by a hundredth.
constexpr double kNoisyHeat = 0.04;
constexpr int kHeatRepeats = 3;
constexpr std::uint32_t kFinalRounds = 31;
/// Looks at the data in the final; stats::decide()'s z is chosen for about this many.
constexpr int kFinalLooks = 10;
/// Contestants besides the incumbent that reach the final.
constexpr std::size_t kFinalists = 2;
/// The final has this part of the time for itself, however long noisy heats took: only it can find a winner.
constexpr std::uint64_t kFinalShare = 4;

std::vector<double> ratios_of(const std::vector<double>& ns, const std::vector<double>& incumbent_ns) {
  std::vector<double> ratios;
  const std::size_t rounds = std::min(ns.size(), incumbent_ns.size());
  for (std::size_t i = 0; i < rounds; ++i) ratios.push_back(ns[i] / incumbent_ns[i]);
  return ratios;
}

/// Times the contestants with these indices.
using TimeEntrants = std::function<Result<Timings>(std::span<const std::size_t> entrants, const TimingRules& rules)>;

class Tournament {
 public:
  Tournament(std::size_t contestants, TimeEntrants time, const TournamentRules& rules)
      : contestants_(contestants), time_(std::move(time)), rules_(rules) {
    CHECK(contestants > 0);
    verdict_.ratios.assign(contestants, std::numeric_limits<double>::infinity());
    verdict_.ratios[0] = 1;
    verdict_.ends.resize(contestants);
    for (std::size_t i = 1; i < contestants; ++i) field_.push_back(i);
    final_ns_ = rules.cpu_ns / kFinalShare;
    heats_end_ns_ = os::thread_work_ns() + rules.cpu_ns - final_ns_;
  }

  Result<Verdict> hold() {
    std::uint64_t batch_ns = rules_.batch_ns;
    while (field_.size() > kFinalists && !over(heats_end_ns_)) {
      heat_ratios_.assign(contestants_, {});
      for (int held = 0; held == 0 || (held <= kHeatRepeats && noisy() && !over(heats_end_ns_)); ++held) {
        TRY_VOID(heat(kHeatRounds, batch_ns, heats_end_ns_));
        if (!verdict_.incumbent_ran()) return std::move(verdict_);
      }
      rank();
      field_.resize(std::min(field_.size(), std::max(kFinalists, (field_.size() + 1) / 2)));
      batch_ns *= 2;
    }
    field_.resize(std::min(field_.size(), kFinalists));  // of many, cut off, none would be decided
    TRY_VOID(final_heats(batch_ns));
    return std::move(verdict_);
  }

 private:
  [[nodiscard]] bool over(std::uint64_t end_ns) const {
    return os::thread_work_ns() >= end_ns || (rules_.cancelled && rules_.cancelled());
  }

  // Times the incumbent and the field in turn; samples_ holds their times, the incumbent's first.
  Result<void> heat(std::uint32_t rounds, std::uint64_t batch_ns, std::uint64_t end_ns) {
    std::vector<std::size_t> entrants{0};
    entrants.insert(entrants.end(), field_.begin(), field_.end());
    const std::uint64_t now_ns = os::thread_work_ns();
    const std::uint64_t left_ns = end_ns > now_ns ? end_ns - now_ns : 1;
    TRY(Timings timings, time_(entrants, {rounds, batch_ns, left_ns}));
    verdict_.ends[0] = timings.ends[0];
    for (std::size_t i = 0; i < field_.size(); ++i) {
      auto& end = verdict_.ends[field_[i]];
      if (end.kind == os::SandboxEnd::Kind::finished) end = timings.ends[i + 1];  // one fault is one too many
      auto& ratios = heat_ratios_[field_[i]];
      const auto more = ratios_of(timings.ns[i + 1], timings.ns[0]);
      ratios.insert(ratios.end(), more.begin(), more.end());
      if (!ratios.empty()) verdict_.ratios[field_[i]] = stats::median(ratios);
      if (end.kind != os::SandboxEnd::Kind::finished)
        verdict_.ratios[field_[i]] = std::numeric_limits<double>::infinity();
    }
    samples_ = std::move(timings.ns);
    tell_progress();
    return {};
  }

  void tell_progress() {
    ++heats_;
    if (!rules_.progress) return;
    std::size_t total = kFinalLooks;
    for (std::size_t n = contestants_ - 1; n > kFinalists; n = std::max(kFinalists, (n + 1) / 2)) ++total;
    rules_.progress(heats_, std::max(heats_, total), *std::min_element(verdict_.ratios.begin(), verdict_.ratios.end()));
  }

  // Returns whether the typical contestant's ratios scatter too much to rank it.
  [[nodiscard]] bool noisy() const {
    std::vector<double> spreads;
    for (const std::size_t i : field_)
      if (!heat_ratios_[i].empty())
        spreads.push_back(stats::median_absolute_deviation(heat_ratios_[i]) / verdict_.ratios[i]);
    return !spreads.empty() && stats::median(spreads) > kNoisyHeat;
  }

  void rank() {
    std::erase_if(field_, [&](std::size_t i) { return std::isinf(verdict_.ratios[i]); });
    std::stable_sort(field_.begin(), field_.end(),
                     [&](std::size_t a, std::size_t b) { return verdict_.ratios[a] < verdict_.ratios[b]; });
  }

  Result<void> final_heats(std::uint64_t batch_ns) {
    const std::vector<std::size_t> finalists = field_;
    heat_ratios_.assign(contestants_, {});
    std::vector<std::vector<double>> ratios(finalists.size());
    std::vector<std::vector<double>> ns(finalists.size() + 1);
    const std::uint64_t end_ns = std::max(heats_end_ns_, os::thread_work_ns()) + final_ns_;
    for (int look = 0; look < kFinalLooks; ++look) {
      if (look > 0 && over(end_ns)) break;
      TRY_VOID(heat(kFinalRounds, batch_ns, end_ns));
      if (!verdict_.incumbent_ran()) return {};
      ns[0].insert(ns[0].end(), samples_[0].begin(), samples_[0].end());
      bool decided = true;
      for (std::size_t i = 0; i < finalists.size(); ++i) {
        const auto more = ratios_of(samples_[i + 1], samples_[0]);
        ratios[i].insert(ratios[i].end(), more.begin(), more.end());
        ns[i + 1].insert(ns[i + 1].end(), samples_[i + 1].begin(), samples_[i + 1].end());
        if (verdict_.ends[finalists[i]].kind != os::SandboxEnd::Kind::finished) ratios[i].clear();
        decided =
            decided && (ratios[i].empty() || stats::decide(ratios[i], rules_.margin) != stats::Decision::undecided);
      }
      if (decided) break;
    }
    conclude(finalists, ratios, ns);
    return {};
  }

  void conclude(const std::vector<std::size_t>& finalists, const std::vector<std::vector<double>>& ratios,
                const std::vector<std::vector<double>>& ns) {
    if (!ns[0].empty()) verdict_.incumbent_ns = verdict_.winner_ns = stats::median(ns[0]);
    for (std::size_t i = 0; i < finalists.size(); ++i) {
      if (ratios[i].empty()) continue;
      const double ratio = stats::median(ratios[i]);
      verdict_.ratios[finalists[i]] = ratio;
      if (stats::decide(ratios[i], rules_.margin) != stats::Decision::better) continue;
      if (verdict_.gain && ratio >= verdict_.ratio) continue;
      verdict_.gain = true;
      verdict_.winner = finalists[i];
      verdict_.ratio = ratio;
      verdict_.noise = stats::median_absolute_deviation(ratios[i]);
      verdict_.winner_ns = stats::median(ns[i + 1]);
    }
  }

  std::size_t contestants_;
  TimeEntrants time_;
  const TournamentRules& rules_;
  std::uint64_t heats_end_ns_ = 0;  ///< of os::thread_work_ns()
  std::uint64_t final_ns_ = 0;
  std::vector<std::size_t> field_;                ///< contestants still in, the incumbent aside
  std::vector<std::vector<double>> heat_ratios_;  ///< per contestant, of the heats since the last ranking
  std::size_t heats_ = 0;
  std::vector<std::vector<double>> samples_;
  Verdict verdict_;
};

template <class T>
std::vector<T> chosen(std::span<const T> all, std::span<const std::size_t> indices) {
  std::vector<T> some;
  for (const std::size_t i : indices) some.push_back(all[i]);
  return some;
}

}  // namespace

Result<Verdict> hold_tournament(std::span<const Contestant> contestants, const TournamentRules& rules) {
  const auto time = [&](std::span<const std::size_t> entrants, const TimingRules& timing) {
    return time_rounds(chosen(contestants, entrants), timing);
  };
  return Tournament(contestants.size(), time, rules).hold();
}

Result<Verdict> hold_tournament(std::span<const image::Mapped* const> kernels, const Signature& signature,
                                const Workload& workload, const TournamentRules& rules) {
  const auto time = [&](std::span<const std::size_t> entrants, const TimingRules& timing) {
    return time_rounds(chosen(kernels, entrants), signature, workload, timing);
  };
  return Tournament(kernels.size(), time, rules).hold();
}

}  // namespace trident::judge
