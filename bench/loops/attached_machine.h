// guest.elf in Unicorn, with clients/unicorn attached. Loops are compiled by this process's engine.
#pragma once

#include "bench/loops/guest_machine.h"
#include "clients/unicorn/trident_unicorn.h"

namespace trident::bench {

class AttachedMachine {
 public:
  /// `flags` are those of trident_unicorn_options.
  explicit AttachedMachine(std::uint32_t flags = 0);
  ~AttachedMachine();
  AttachedMachine(const AttachedMachine&) = delete;
  AttachedMachine& operator=(const AttachedMachine&) = delete;

  GuestMachine& machine() { return machine_; }
  /// No loop is made or entered from now on; jumps back are counted as ever.
  void exclude_all();
  [[nodiscard]] trident_unicorn_stats stats() const;

 private:
  GuestMachine machine_;
  trident_unicorn* handle_ = nullptr;
};

}  // namespace trident::bench
