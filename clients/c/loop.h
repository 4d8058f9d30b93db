// A guest's loop as the client sees it: the handle that trident_loop_enter() reads, the code that was submitted, and
// its submission, whose slot swaps the code.
//
//   library's threads ── slot ──> `code`, then the bit `news` of `checks`
//   caller's thread   ── look(): catches up: `entry` and the shape become those of the slot's image
//
// Windows belong to an image: code must never run with those of another. So the caller's thread alone changes `entry`,
// together with the windows, when `checks` says that there is something new. Without that, an entry costs one look at
// `checks`. All that the caller's thread has stands in LoopState; it needs no lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "clients/c/guest_memory.h"
#include "clients/c/loop_shape.h"
#include "clients/c/submission.h"
#include "clients/c/trident_loop.h"

namespace trident::client {

struct Loops;

/// Bits of trident_loop.checks: reasons to look before entering.
enum LoopCheck : std::uint32_t {
  kLoopNews = 1,     ///< the slot has changed, or the job has ended
  kLoopMemory = 2,   ///< the guest's memory was mapped or unmapped
  kLoopWritten = 4,  ///< the guest's code may have changed
  kLoopCompare = 8   ///< it can change at any time
};

struct Loop final : trident_loop, Submitted {
  Loop(Loops& owner, const trident_loop_request& request);

  static Loop* of(trident_loop* handle) { return static_cast<Loop*>(handle); }
  static const Loop* of(const trident_loop* handle) { return static_cast<const Loop*>(handle); }

  // ---- the caller's thread ----
  /// Makes the loop ready to be entered with this frame. Returns false when it must not be entered.
  bool look(const trident_loop_frame& frame);
  /// Counts what an entry has done, and fills the window that was missed.
  void left(trident_loop_frame& frame, std::uint64_t budget);
  /// Takes over what the library's threads have done.
  void catch_up();
  /// Other memory: windows and code are found again at the next entry.
  void memory_changed();
  /// The guest may have written there.
  void written(std::uint64_t base, std::uint64_t last);
  /// No instruction in [begin, end) may be replaced.
  void exclude(std::uint64_t begin, std::uint64_t end);
  [[nodiscard]] bool is_ready() const { return shape_ && entry != &refuse; }
  /// Never entered again.
  [[nodiscard]] bool is_retired() const { return retired_ != nullptr; }
  /// Bits of the registers that entries read and write; they never grow once they have been told.
  void registers(std::uint64_t& read, std::uint64_t& written);
  trident_loop_facts facts();
  void seen(std::uint64_t guest_ns, std::uint64_t kernel_ns);

  // The hooks of a submitted thing (loop_request.cpp):
  void complete(ImageClaim& claim) const override;
  [[nodiscard]] std::uint64_t feature() const override;
  void append_request(wire::Frame& out, std::uint64_t job, bool inline_images) const override;
  void compile(const Engine& engine, std::uint32_t tier, const std::atomic<bool>& cancel,
               EngineAnswer& answer) override;
  void refused(std::uint32_t reason, std::uint64_t address) override;
  [[nodiscard]] bool listens() const override { return true; }
  void tell(std::unique_lock<std::mutex>& lock) override;

  /// The entry of a loop that must not be entered.
  static void refuse(trident_loop_frame* frame, const trident_region_window* windows);

  Loops& loops;
  const std::uint64_t code_base;
  const std::vector<std::byte> code_bytes;
  const bool joined;
  const std::uint64_t submitted_ns;

 private:
  /// Bytes of the guest's code in this process, and the copy that they must equal.
  struct Piece {
    HostRange host;
    std::size_t copy = 0;  ///< offset in code_bytes
  };

  void set_checks(std::uint32_t bits) { __atomic_fetch_or(&checks, bits, __ATOMIC_RELEASE); }
  std::uint32_t take_checks(std::uint32_t bits) {
    if ((__atomic_load_n(&checks, __ATOMIC_RELAXED) & bits) == 0) return 0;  // as nearly always
    return __atomic_fetch_and(&checks, ~bits, __ATOMIC_ACQUIRE) & bits;
  }
  void adopt(const ImageMap& image);
  /// Ends the use of the loop, for good.
  bool retire(const char* why);
  void describe(trident_loop_facts& facts) const;
  void find_code();
  [[nodiscard]] bool code_is_same() const;
  void fill_empty_windows(const trident_loop_frame& frame);
  void fill(std::size_t window, std::uint64_t address);
  [[nodiscard]] bool touches(std::uint64_t first, std::uint64_t last) const;

  std::array<trident_region_window, TRIDENT_LOOP_WINDOWS_MAX> windows_{};
  std::optional<LoopShape> shape_;   ///< of the image that runs or ran last; its registers are those of the first
  std::vector<Piece> pieces_;        ///< where the guest's code was found
  std::vector<HostRange> own_code_;  ///< the same bytes
  bool code_is_mapped_ = false;      ///< all of it was found
  bool stale_ = false;
  const char* retired_ = nullptr;  ///< why it is never entered again
  std::uint64_t entries_ = 0, iterations_ = 0, misses_ = 0;
  std::uint64_t told_entries_ = 0, told_iterations_ = 0;

 public:
  // ---- guarded by the context's mutex ----
  std::uint32_t reason = 0;  ///< row of jit/loop/refusals.def + 1
  std::uint64_t reason_address = 0;
  std::uint64_t installed_ns = 0;
  trident_loop_entry code = nullptr;  ///< the slot's
  Submission submission;
};

}  // namespace trident::client
