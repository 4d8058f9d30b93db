// Watches one kernel's data, so that callers who declare nothing get code that is fast for what they have.
//
//   learning ── ranges told ──> told ── speculative code ──> watching ── misses ──> measuring ──┐
//                                ^ wider ranges told              ^── rare ──┬── often <────────┘
//                                └───────────────────────────────────────────┤
//                                          any range told: over <────────────┘ nothing wider helps
//
// While it learns or measures, the slot's calls take a detour through SeenRanges; else a call costs what it costs
// without. A thread of the library looks now and then: often while the kernel is young, ever more rarely later, never
// once nothing can change. One that the caller has shown data of (trident_observe) is not learnt.
//
// Misses are measured against the elements of the calls between two looks: the code's counter alone does not say
// whether one element in a billion misses or all. Wider ranges than were told before are told twice at most; then the
// speculation is taken back: anything is told, and the general code that came before returns at once. If only baseline
// code came before, the speculative code stays until general code comes, because it loses less.
//
// All functions but note() need the context's mutex.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "clients/c/seen_ranges.h"
#include "clients/c/submission.h"

namespace trident::client {

class DataWatch {
 public:
  /// The time of a look that does not come.
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  /// A function for the entry that notes calls here and jumps to the slot's code.
  using Detour = void(const void* self, std::uint64_t n, const void* const* in, void* const* out,
                      const std::uint64_t* params);

  /// Begins to learn, with the detour, if `learns`; else only speculative code that may come is watched. `misses` is
  /// the counter of the kernel's speculative code.
  DataWatch(const std::vector<expr::Variable>& variables, Submission& submission, Detour* detour,
            const std::uint64_t& misses, bool learns);

  void note(std::uint64_t n, const void* const* in, const std::uint64_t* params) { seen_.note(n, in, params); }

  /// Looks, and may give the submission ranges that are to be told. Returns the time of the next look; earlier ones do
  /// no harm.
  std::uint64_t look(std::uint64_t now_ns);

 private:
  enum class Phase : std::uint8_t { learning, told, watching, measuring, over };

  void enter(Phase phase);
  void enter(Phase phase, std::uint64_t now_ns);
  [[nodiscard]] std::uint64_t later(std::uint64_t now_ns, std::uint64_t least_ns) const;
  std::uint64_t learn(std::uint64_t now_ns);
  std::uint64_t watch(std::uint64_t now_ns);
  std::uint64_t wait_for_wider(std::uint64_t now_ns);
  std::uint64_t measure(std::uint64_t now_ns);
  bool tell_seen();
  void tell_wider(std::uint64_t now_ns);
  void tell(std::vector<wire::Range> ranges, std::uint64_t misses);

  SeenRanges seen_;
  Submission& submission_;
  Detour* detour_;
  const std::uint64_t& misses_;
  Phase phase_ = Phase::learning;
  std::uint64_t since_ns_ = 0;              ///< it learns, was told or is watched since then; 0: no look yet
  std::optional<std::uint64_t> called_ns_;  ///< the first look that found a call
  std::uint64_t misses_before_ = 0;         ///< known before this phase
  const ImageMap* missed_ = nullptr;        ///< code that wider ranges were told of
  std::uint32_t widened_ = 0;
};

}  // namespace trident::client
