// Staying awake for a moment after work.
//
// Submissions come in bursts, and waking a thread that sleeps on another processor costs its waker 2 to 10 us (in a
// virtual machine the interrupt leaves the guest) and 20 us until it runs. Whoever has just been busy therefore looks
// again for a moment before it sleeps, giving way to anyone who wants the processor. Idle stays idle: without work
// nothing begins.
#pragma once

#include <cstdint>

namespace trident::os {

class Linger {
 public:
  static constexpr std::uint64_t kNs = 200'000;

  /// Work has come: the moment begins anew. With one processor alone there is no moment.
  void begin();
  /// Returns true to look again instead of sleeping; other threads have had the processor in between.
  [[nodiscard]] bool goes_on() const;

 private:
  std::uint64_t until_ns_ = 0;
};

}  // namespace trident::os
