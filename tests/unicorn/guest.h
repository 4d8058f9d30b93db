// A guest of Unicorn with code and data, alone or with a handle attached. Ends at a system call, which nothing catches.
#pragma once

#include <unicorn/unicorn.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "clients/unicorn/trident_unicorn.h"

namespace trident::tests {

inline constexpr std::uint64_t kCode = 0x1'0000, kCodeBytes = 0x4000, kData = 0x20'0000, kDataBytes = 0x8000;
inline constexpr std::uint32_t kStop = 0xD400'0001;  ///< svc #0

struct GuestState {
  std::array<std::uint64_t, 32> x{};
  std::uint64_t nzcv = 0, pc = 0;
};

class Guest {
 public:
  /// Maps code as readable and executable, data as readable and writable, both by uc_mem_map().
  Guest();
  ~Guest();
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  void write_code(std::uint64_t address, const std::vector<std::uint32_t>& words);
  void write(std::uint64_t address, const void* bytes, std::size_t size);
  std::vector<std::uint8_t> read(std::uint64_t address, std::size_t size);
  void set(const GuestState& state);
  GuestState state();
  uc_err run(std::uint64_t begin, std::uint64_t until = 0, std::uint64_t timeout_us = 0, std::size_t count = 0);

  /// The double of libtrident does not look at the context.
  void attach(trident_unicorn_options options = {}, trident_ctx* context = nullptr);
  void detach();
  trident_unicorn_stats stats();
  trident_unicorn_loop_facts loop(std::uint32_t number = 0);

  uc_engine* uc = nullptr;
  trident_unicorn* handle = nullptr;
};

/// Options with everything early: hot after 16 jumps, two shadow runs.
trident_unicorn_options early();

}  // namespace trident::tests
