#include "clients/cli/loop/loop_rate.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "jit/codegen/region.h"
#include "jit/judge/timing.h"
#include "jit/loop/aarch64/lifter.h"
#include "jit/region/interpreter.h"
#include "runtime/os/memfd.h"
#include "runtime/stats/robust.h"

namespace trident::cli {
namespace {

constexpr std::uint64_t kMemoryBase = 0x4000'0000;
constexpr std::size_t kMemoryBytes = std::size_t{256} << 10, kWords = kMemoryBytes / sizeof(std::uint64_t);
constexpr std::uint64_t kRoundsMax = 2000, kStepsMax = 200'000;
constexpr int kDraws = 100;

/// Registers and memory of a guest before a loop. All windows show all of the memory.
struct State {
  std::vector<std::byte> frame = std::vector<std::byte>(TRIDENT_AARCH64_FRAME_BYTES);
  std::vector<std::uint64_t> memory = std::vector<std::uint64_t>(kWords);

  void set(std::uint32_t slot, std::uint64_t value) { std::memcpy(frame.data() + slot, &value, sizeof value); }
  void set_budget(std::uint64_t rounds) { set(offsetof(region::FrameHead, budget), rounds); }
  [[nodiscard]] region::FrameHead head() const {
    region::FrameHead head;
    std::memcpy(&head, frame.data(), sizeof head);
    return head;
  }
  [[nodiscard]] region::Window window() {
    return {kMemoryBase, kMemoryBytes, reinterpret_cast<std::uint64_t>(memory.data()) - kMemoryBase};
  }
};

class Drawing {
 public:
  explicit Drawing(const loop::Description& description) : description_(description) {}

  State state(std::uint64_t head) {
    State state;
    fill(state.memory);
    for (unsigned r = 0; r < 32; ++r) state.set(TRIDENT_AARCH64_FRAME_X + 8 * r, is_base(r) ? pointer() : number());
    state.set(TRIDENT_AARCH64_FRAME_PC, head);
    state.set_budget(kRoundsMax);
    return state;
  }

 private:
  [[nodiscard]] bool is_base(unsigned number) const {
    const auto is_it = [&](const trident_loop_window_use& window) { return window.base == number; };
    return std::any_of(description_.windows.begin(), description_.windows.end(), is_it);
  }

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  /// In the first half of the memory, so that a loop can go on from there.
  std::uint64_t pointer() { return kMemoryBase + kMemoryBytes / 8 + (below(kMemoryBytes / 2) & ~std::uint64_t{63}); }
  /// Counters, bounds, values.
  std::uint64_t number() {
    switch (below(8)) {
      case 0: return 0;
      case 1: return 1 + below(64);
      case 2: return kRoundsMax;
      case 3: return random_();
      case 4:
      case 5: return pointer();
      default: return kMemoryBase + kMemoryBytes - 4096;
    }
  }

  /// Searches go on among equal or non-zero bytes, code of -O0 reads pointers from the stack.
  void fill(std::vector<std::uint64_t>& memory) {
    const std::uint64_t how = below(5), byte = below(256);
    for (std::uint64_t& word : memory) {
      const bool is_pointer = below(2) == 0;
      if (how == 0) word = random_();
      if (how == 1) word = random_() | 0x0101'0101'0101'0101;
      if (how == 2) word = byte * 0x0101'0101'0101'0101;
      if (how >= 3) word = is_pointer ? pointer() : number();
    }
  }

  const loop::Description& description_;
  std::mt19937_64 random_{1};
};

/// Loads from beside the code find the code.
std::vector<region::Window> windows_of(const LookedAt& looked, State& state) {
  std::vector<region::Window> windows;
  const CodeRange& code = looked.code;
  for (const trident_loop_window_use& use : looked.description.windows)
    windows.push_back(use.base != loop::aarch64::kPcBase
                          ? state.window()
                          : region::Window{code.address, code.bytes.size(),
                                           reinterpret_cast<std::uint64_t>(code.bytes.data()) - code.address});
  return windows;
}

/// Rounds that a copy of `state` makes.
std::uint64_t rounds_of(const LookedAt& looked, State state) {
  const auto windows = windows_of(looked, state);
  (void)region::interpret(looked.made->region, state.frame, windows, kStepsMax);
  return kRoundsMax - std::min(kRoundsMax, state.head().budget);
}

struct Best {
  State state;
  std::uint64_t rounds = 0;
};

Best best_state(const LookedAt& looked) {
  Drawing drawing(looked.description);
  Best best;
  for (int i = 0; i < kDraws && best.rounds < kRoundsMax; ++i) {
    State state = drawing.state(looked.head);
    if (const std::uint64_t rounds = rounds_of(looked, state); rounds > best.rounds || i == 0)
      best = {std::move(state), rounds};
  }
  return best;
}

/// One contestant: a run from the same state every time.
struct Run {
  codegen::RegionEntry entry;
  const State* before;
  State now;
  std::vector<region::Window> windows;
};

void run(void* context) {
  auto& call = *static_cast<Run*>(context);
  call.entry(call.now.frame.data(), call.windows.data());
}

void begin_again(void* context) {
  auto& call = *static_cast<Run*>(context);
  std::memcpy(call.now.frame.data(), call.before->frame.data(), call.now.frame.size());
  std::memcpy(call.now.memory.data(), call.before->memory.data(), kMemoryBytes);
}

}  // namespace

Result<Rate> measured_rate(const LookedAt& looked) {
  Best best = best_state(looked);
  if (best.rounds == 0) return Rate{.note = "never goes round on drawn data"};
  // Whatever runs longer than the interpreter could is left after as many rounds.
  best.state.set_budget(best.rounds);
  TRY(const os::Mapping mapping, os::map_code(looked.made->code.bytes));
  Run call{reinterpret_cast<codegen::RegionEntry>(mapping.base()), &best.state, best.state, {}};
  call.windows = windows_of(looked, call.now);
  const judge::Contestant contestant{.fn = run, .context = &call, .reset = begin_again};
  TRY(const judge::Timings timings, judge::time_rounds(std::span(&contestant, 1), {}));
  if (timings.ns[0].empty()) return make_error(ErrorCode::kInternal, "the loop's code crashed or hung on drawn data");
  return Rate{stats::median(timings.ns[0]) / static_cast<double>(best.rounds), best.rounds, ""};
}

}  // namespace trident::cli
