#include "jit/pipeline/speculations.h"

#include <utility>

namespace trident::pipeline {
namespace {

double ratio_of(const Optimised& o) {
  return o.outcome == Outcome::published && o.baseline_ns > 0 ? o.winner_ns / o.baseline_ns : 1;
}

bool is_published(const Optimised& o) {
  return o.speculation && o.speculation->published;
}

/// Takes the kernel of another outcome of the same search.
void take_kernel(Optimised& result, Optimised&& from) {
  result.outcome = from.outcome;
  result.winner = std::move(from.winner);
  result.baseline_ns = from.baseline_ns, result.winner_ns = from.winner_ns;
  result.errors = std::move(from.errors);
  result.detail = std::move(from.detail), result.note = std::move(from.note);
  result.speculation = std::move(from.speculation);
}

void append(std::vector<PassTime>& times, const std::vector<PassTime>& more) {
  times.insert(times.end(), more.begin(), more.end());
}

}  // namespace

bool Speculations::know_ranges() {
  if (assumed_.empty()) assumed_ = options_.target.assumed;
  if (assumed_.empty() && options_.observe && !std::exchange(asked_, true)) assumed_ = options_.observe();
  return !assumed_.empty();
}

void Speculations::speculate(const expr::Expr& source, Optimised& result, std::uint64_t left_ns) {
  Options options = options_;
  options.target.assumed = assumed_;
  pipeline::speculate(source, options, left_ns, result, fast_);
}

bool Speculations::begin(const expr::Expr& source, Optimised so_far, std::uint64_t left_ns) {
  if (!know_ranges()) return false;
  general_ratio_ = ratio_of(so_far);
  speculate(source, so_far, left_ns);
  if (!so_far.speculation) return false;
  first_ = std::move(so_far);
  if (!is_published(*first_)) return false;
  if (options_.interim) options_.interim({first_->winner.image, first_->baseline_ns, first_->winner_ns, true});
  return true;
}

void Speculations::end(const expr::Expr& source, Optimised& result, std::uint64_t left_ns) {
  if (!first_) {
    if (!know_ranges()) return;
    if (options_.interim && result.outcome == Outcome::published)
      options_.interim({result.winner.image, result.baseline_ns, result.winner_ns});
    return speculate(source, result, left_ns);
  }
  append(result.times, first_->times);
  if (result.outcome == Outcome::not_equivalent) return;
  if (!is_published(*first_)) return void(result.speculation = std::move(first_->speculation));
  const bool is_much_faster = result.outcome == Outcome::published && ratio_of(result) < kWorthJoining * general_ratio_;
  if (is_much_faster) return join_again(source, result, left_ns);
  take_kernel(result, std::move(*first_));
}

void Speculations::join_again(const expr::Expr& source, Optimised& result, std::uint64_t left_ns) {
  Optimised again = result;
  again.times.clear();
  speculate(source, again, left_ns);
  append(result.times, again.times);
  // Where the general kernel is so fast now that the guarded one gains too little, it is the better one for all data.
  const bool is_better = is_published(again) || ratio_of(again) < ratio_of(*first_);
  take_kernel(result, is_better ? std::move(again) : std::move(*first_));
}

}  // namespace trident::pipeline
