// The guest's CPU: AArch64 by Unicorn, in user mode as far as programs can tell.
#pragma once

#include <unicorn/unicorn.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>

#include "clients/emu/memory.h"

namespace trident::emu {

/// Numbers that a program passes to the system: the number of the call, then its arguments.
struct SystemCall {
  std::uint64_t number;
  std::array<std::uint64_t, 6> arguments;
};

/// Reason for which a program stopped. `signal` is 0 when stop() was called.
struct Stop {
  int signal = 0;
  std::uint64_t pc = 0;       ///< begin of the block that stopped: Unicorn knows no more
  std::uint64_t address = 0;  ///< that an access failed at
  const char* what = "";      ///< "it read memory that is not mapped"
};

class Cpu {
 public:
  static Result<std::unique_ptr<Cpu>> make();
  Cpu(const Cpu&) = delete;
  Cpu& operator=(const Cpu&) = delete;
  ~Cpu();

  bool map(const Area& area);
  void unmap(std::uint64_t base, std::uint64_t bytes);
  /// Drops translations of code. Unicorn sees stores of the guest only, and keeps what it has of memory that goes.
  void forget_code(std::uint64_t base, std::uint64_t bytes);
  [[nodiscard]] uc_engine* engine() const { return engine_; }

  /// Runs from `pc` on. `call` answers system calls, and may call stop().
  Stop run(std::uint64_t pc, std::uint64_t sp, const std::function<std::uint64_t(const SystemCall&)>& call);
  void stop();
  /// Leaves the emulation and goes on at once: Unicorn drops deleted hooks from its lists only then, and looks through
  /// these lists at every hooked block. For use in `call`.
  void go_round();

 private:
  Cpu() = default;
  static void on_interrupt(uc_engine* engine, std::uint32_t number, void* cpu);
  static bool on_bad_access(uc_engine* engine, uc_mem_type type, std::uint64_t address, int size, std::int64_t value,
                            void* cpu);
  bool enable_floats();
  void answer_call();
  [[nodiscard]] Stop reason(uc_err error) const;

  uc_engine* engine_ = nullptr;
  std::function<std::uint64_t(const SystemCall&)> call_;
  std::uint64_t bad_address_ = 0;
  bool goes_round_ = false;
  int trap_ = 0;  ///< signal of an exception that is no system call
};

}  // namespace trident::emu
