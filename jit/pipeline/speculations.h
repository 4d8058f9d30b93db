// Speculations of one search: the first as soon as there is a general kernel, since most callers' data lie in the
// ranges that were seen, and small steps of the general kernel take a third of a search. Where those steps make it much
// faster after all, it is joined with the same fast kernel once more.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "jit/pipeline/speculate.h"

namespace trident::pipeline {

/// The greatest time of a general kernel, over that of the one that a guarded kernel has beside it, that is worth
/// another guarded kernel: data that never fit take no more than that longer.
inline constexpr double kWorthJoining = 0.95;

class Speculations {
 public:
  /// `options` must outlive this.
  explicit Speculations(const Options& options) : options_(options) {}

  /// Speculates on what a search has so far, if ranges are known, and offers what is found. Returns whether that is in
  /// use. `left_ns`: processor time.
  bool begin(const expr::Expr& source, Optimised so_far, std::uint64_t left_ns);

  /// Ends the search that has come to `result`: takes what was found, or joins it with that kernel if that is worth it.
  /// Speculates now if nothing was known of ranges before.
  void end(const expr::Expr& source, Optimised& result, std::uint64_t left_ns);

 private:
  bool know_ranges();
  /// Speculates on the kernel of `result`.
  void speculate(const expr::Expr& source, Optimised& result, std::uint64_t left_ns);
  void join_again(const expr::Expr& source, Optimised& result, std::uint64_t left_ns);

  const Options& options_;
  std::vector<kir::Assumed> assumed_;  ///< as seen first
  bool asked_ = false;                 ///< Options::observe is asked once
  std::optional<FastKernel> fast_;
  std::optional<Optimised> first_;  ///< outcome of begin()
  double general_ratio_ = 1;        ///< time of its general kernel over the baseline's
};

}  // namespace trident::pipeline
