#include "jit/judge/timing.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "runtime/os/clock.h"

namespace trident::judge {
namespace {

constexpr std::uint32_t kNobody = UINT32_MAX;
/// How much longer than its CPU time the child may take by the clock, on a machine that has others to run.
constexpr std::uint64_t kWallPerCpu = 20;
constexpr std::uint64_t kRepeatsMax = 1'000'000;

// Shared with the child; samples[round * contestants + contestant] in ticks per call follow it.
struct Board {
  volatile std::uint32_t running;  ///< the contestant under way
  volatile std::uint32_t rounds_done;
  double* samples() { return reinterpret_cast<double*>(this + 1); }
};

struct ChildContext {
  const trident_entry* entries = nullptr;
  const std::uint32_t* alive = nullptr;  ///< indices into entries
  std::uint32_t alive_count = 0;
  std::uint64_t* repeats = nullptr;
  std::uint64_t n = 0;
  const void* const* in = nullptr;
  void* const* out = nullptr;
  const std::uint64_t* params = nullptr;
  std::uint32_t rounds = 0;
  std::uint64_t batch_ticks = 0;
  std::uint64_t cpu_ns = 0;
  Board* board = nullptr;
};

std::uint64_t timed_calls(const ChildContext& c, trident_entry entry, std::uint64_t repeats) {
  const std::uint64_t start = os::cycle_counter();
  for (std::uint64_t i = 0; i < repeats; ++i) entry(nullptr, c.n, c.in, c.out, c.params);
  return os::cycle_counter() - start;
}

// Runs in the child: no allocation, no system calls.
void child_body(void* opaque) {
  const auto& c = *static_cast<const ChildContext*>(opaque);
  for (std::uint32_t i = 0; i < c.alive_count; ++i) {
    c.board->running = c.alive[i];
    const trident_entry entry = c.entries[c.alive[i]];
    timed_calls(c, entry, 1);  // page faults of the outputs, cold code
    const std::uint64_t one = std::max<std::uint64_t>(1, std::min(timed_calls(c, entry, 1), timed_calls(c, entry, 1)));
    c.repeats[i] = std::clamp<std::uint64_t>(c.batch_ticks / one, 1, kRepeatsMax);
    timed_calls(c, entry, c.repeats[i]);
  }
  for (std::uint32_t round = 0; round < c.rounds && os::thread_cpu_ns() < c.cpu_ns; ++round) {
    for (std::uint32_t turn = 0; turn < c.alive_count; ++turn) {
      const std::uint32_t i = round % 2 == 0 ? turn : c.alive_count - 1 - turn;
      c.board->running = c.alive[i];
      const std::uint64_t ticks = timed_calls(c, c.entries[c.alive[i]], c.repeats[i]);
      c.board->samples()[round * c.alive_count + i] = static_cast<double>(ticks) / static_cast<double>(c.repeats[i]);
    }
    c.board->rounds_done = round + 1;
  }
  c.board->running = kNobody;
}

// Arrays in ordinary private memory, each on another cache line of its page, so that no two arrays share the low twelve
// bits of their addresses (which costs time that says nothing about the code).
class Buffers {
 public:
  Result<void> make(const Signature& signature, const Workload& workload) {
    for (std::size_t i = 0; i < workload.inputs.size(); ++i) {
      TRY(std::byte* const place, allocate(workload.inputs[i].size()));
      if (!workload.inputs[i].empty()) std::memcpy(place, workload.inputs[i].data(), workload.inputs[i].size());
      in_.push_back(place);
    }
    for (const auto& output : signature.outputs) {
      const std::size_t size = output.bytes * (output.scalar ? 1 : static_cast<std::size_t>(workload.elements));
      TRY(std::byte* const place, allocate(size));
      out_.push_back(place);
    }
    return {};
  }
  [[nodiscard]] const void* const* in() const { return in_.data(); }
  [[nodiscard]] void* const* out() const { return out_.data(); }

 private:
  static constexpr std::size_t kStagger = 5 * 64;
  Result<std::byte*> allocate(std::size_t size) {
    const std::size_t offset = kStagger * (blocks_.size() % 12);
    auto* raw = static_cast<std::byte*>(::operator new (size + offset + 64, std::align_val_t{4096}, std::nothrow));
    if (raw == nullptr) return make_error(ErrorCode::kOutOfMemory, "no memory to time a kernel in");
    blocks_.emplace_back(raw);
    return raw + offset;
  }
  struct Free {
    void operator()(std::byte* p) const { ::operator delete (p, std::align_val_t{4096}); }
  };
  std::vector<std::unique_ptr<std::byte, Free>> blocks_;
  std::vector<const void*> in_;
  std::vector<void*> out_;
};

}  // namespace

Result<Timings> time_rounds(std::span<const image::Mapped* const> contestants, const Signature& signature,
                            const Workload& workload, const TimingRules& rules) {
  CHECK(workload.inputs.size() == signature.input_bytes.size());
  const auto count = static_cast<std::uint32_t>(contestants.size());
  Buffers buffers;
  TRY_VOID(buffers.make(signature, workload));
  TRY(os::Mapping shared, os::map_shared(sizeof(Board) + sizeof(double) * rules.rounds * count));
  auto* board = static_cast<Board*>(shared.base());
  std::vector<trident_entry> entries;
  std::vector<std::uint32_t> alive;
  for (std::uint32_t i = 0; i < count; ++i) {
    entries.push_back(contestants[i]->entry());
    alive.push_back(i);
  }
  std::vector<std::uint64_t> repeats(count);
  const double tick_ns = os::cycle_counter_ns();

  Timings timings;
  timings.ns.resize(count);
  timings.ends.resize(count);
  while (!alive.empty()) {
    board->running = kNobody;
    board->rounds_done = 0;
    const auto ticks = [&](std::uint64_t ns) { return static_cast<std::uint64_t>(static_cast<double>(ns) / tick_ns); };
    ChildContext context{entries.data(),        alive.data(),           static_cast<std::uint32_t>(alive.size()),
                         repeats.data(),        workload.elements,      buffers.in(),
                         buffers.out(),         workload.params.data(), rules.rounds,
                         ticks(rules.batch_ns), rules.cpu_ns,           board};
    // The child stops by itself between rounds; only one that hangs in a call meets the sandbox's limit.
    const std::uint64_t cpu_ns = rules.cpu_ns * 2 + 100'000'000;
    const os::SandboxLimits limits{.cpu_ns = cpu_ns,
                                   .wall_ns = cpu_ns * kWallPerCpu,
                                   .cpu_seconds = static_cast<std::uint32_t>(cpu_ns / 1'000'000'000u) + 2};
    TRY(const os::SandboxEnd end, os::run_sandboxed(limits, child_body, &context));
    if (end.kind == os::SandboxEnd::Kind::finished) break;
    const std::uint32_t guilty = board->running;
    if (guilty >= count) return make_error(ErrorCode::kOsError, "the timing child %s", os::describe(end).c_str());
    timings.ends[guilty] = end;
    std::erase(alive, guilty);
  }
  for (std::size_t i = 0; i < alive.size(); ++i)
    for (std::uint32_t round = 0; round < board->rounds_done; ++round)
      timings.ns[alive[i]].push_back(board->samples()[round * alive.size() + i] * tick_ns);
  return timings;
}

}  // namespace trident::judge
