// guest.elf in Unicorn: all of its memory is memory of this process.
#pragma once

#include <unicorn/unicorn.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bench/loops/column.h"

namespace trident::bench {

class GuestMachine {
 public:
  GuestMachine();
  ~GuestMachine();
  GuestMachine(const GuestMachine&) = delete;
  GuestMachine& operator=(const GuestMachine&) = delete;

  /// Runs so many calls of the kernel. Returns the last one's result.
  std::uint64_t run(const Work& work, std::uint64_t calls);
  /// Runs them, and returns the CPU time that they took.
  double cpu_ns(const Work& work, std::uint64_t calls);
  /// Fills the arena for the work, or hashes it.
  void fill(const Work& work);
  [[nodiscard]] std::uint64_t hash() const;

  [[nodiscard]] uc_engine* engine() const { return engine_; }
  /// Memory of the guest in this process, which begins at memory_base().
  [[nodiscard]] std::uint8_t* memory() { return memory_; }
  [[nodiscard]] std::uint64_t memory_base() const { return base_; }
  [[nodiscard]] std::uint64_t memory_bytes() const { return bytes_; }
  /// The first bytes are code and constants, and may not be written.
  [[nodiscard]] std::uint64_t code_bytes() const { return code_bytes_; }

  struct Function {
    std::uint64_t address = 0, bytes = 0;
  };
  [[nodiscard]] Function function_of(std::uint32_t kernel) const;

 private:
  struct Symbol {
    std::string name;
    std::uint64_t address, bytes;
  };
  void load();
  [[nodiscard]] const Symbol& symbol(const std::string& name) const;
  [[nodiscard]] std::uint8_t* at(std::uint64_t address) const { return memory_ + (address - base_); }

  uc_engine* engine_ = nullptr;
  std::uint8_t* memory_ = nullptr;
  std::uint64_t base_ = 0, bytes_ = 0, code_bytes_ = 0;
  std::vector<Symbol> symbols_;
};

/// A number of Unicorn's for x0..x30 and, as 31, sp.
int unicorn_register(unsigned number);

}  // namespace trident::bench
