// The guest's hot loops as native code: clients/unicorn, attached to the CPU. Everything else here runs without it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "clients/emu/cpu.h"

namespace trident::emu {

enum class Mode : std::uint8_t { automatic, daemon, embedded };

struct SwapOptions {
  Mode mode = Mode::automatic;
  bool verify = false;  ///< the guest runs every loop itself, and native code is compared with it
};

struct LoopReport {
  std::uint64_t head = 0;
  std::string state;  ///< "installed", "refused", ..
  std::string note;   ///< why it is not installed, in a sentence
  std::uint64_t entries = 0, iterations = 0, misses = 0, shadows = 0, mismatches = 0;
  double guest_ns = 0, native_ns = 0;  ///< of an iteration; 0: not measured
};

struct SwapReport {
  std::uint64_t submitted = 0, installed = 0, refused = 0, unhooked = 0;
  std::uint64_t entries = 0, iterations = 0, misses = 0, shadows = 0, mismatches = 0;
  std::vector<LoopReport> loops;
};

class Swap {
 public:
  /// `cpu` outlives it, and has no memory yet. An error where no daemon answers (mode daemon), or Unicorn is too old.
  static Result<std::unique_ptr<Swap>> attach(const Cpu& cpu, const SwapOptions& options);
  Swap(const Swap&) = delete;
  Swap& operator=(const Swap&) = delete;
  ~Swap();

  /// Both are told after the CPU has been.
  void map(const Area& area);
  void unmap(std::uint64_t base, std::uint64_t bytes);
  [[nodiscard]] SwapReport report() const;

 private:
  struct Handles;
  explicit Swap(std::unique_ptr<Handles> handles);
  std::unique_ptr<Handles> handles_;
};

}  // namespace trident::emu
