// Decides when a channel reads, for an owner that gives its peers turns.
#pragma once

#include <cstdint>

#include "runtime/os/clock.h"

namespace trident::net {

class Gate {
 public:
  Gate() = default;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  virtual ~Gate() = default;

  /// The channel begins to read.
  void begin() { since_ns_ = os::monotonic_ns(); }
  /// The channel has read: the owner is told the time since begin() or the last tell(), by the clock.
  void tell() {
    const std::uint64_t now = os::monotonic_ns();
    took(now - since_ns_);
    since_ns_ = now;
  }
  /// Asked before each read and each frame. After a false the channel reads nothing until its resume().
  virtual bool open() = 0;

 protected:
  virtual void took(std::uint64_t ns) = 0;

 private:
  std::uint64_t since_ns_ = 0;
};

}  // namespace trident::net
