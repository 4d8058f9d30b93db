#include "jit/judge/timing.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>

#include "runtime/os/clock.h"

namespace trident::judge {
namespace {

constexpr std::uint32_t kNobody = UINT32_MAX;
constexpr std::uint64_t kRepeatsMax = 1'000'000;

// Shared with the child; samples[round * contestants + contestant] in ticks per call follow it.
struct Board {
  volatile std::uint32_t running;  ///< the contestant under way
  volatile std::uint32_t rounds_done;
  double* samples() { return reinterpret_cast<double*>(this + 1); }
};

struct ChildContext {
  const Contestant* contestants = nullptr;
  const std::uint32_t* alive = nullptr;  ///< indices into contestants
  std::uint32_t alive_count = 0;
  std::uint64_t* repeats = nullptr;
  std::uint32_t rounds = 0;
  std::uint64_t batch_ticks = 0;
  std::uint64_t cpu_ns = 0;
  Board* board = nullptr;
};

struct Ticks {
  std::uint64_t calls = 0;
  std::uint64_t all = 0;  ///< resets included
};

// Calls without a reset are timed together. The others are timed one by one, so that resets stay outside.
Ticks timed_calls(const Contestant& c, std::uint64_t repeats) {
  Ticks ticks;
  const std::uint64_t begin = os::cycle_counter();
  if (c.reset == nullptr) {
    for (std::uint64_t i = 0; i < repeats; ++i) c.fn(c.context);
    ticks.calls = ticks.all = os::cycle_counter() - begin;
    return ticks;
  }
  for (std::uint64_t i = 0; i < repeats; ++i) {
    c.reset(c.context);
    const std::uint64_t start = os::cycle_counter();
    c.fn(c.context);
    ticks.calls += os::cycle_counter() - start;
  }
  ticks.all = os::cycle_counter() - begin;
  return ticks;
}

// Runs in the child: no allocation, no system calls.
void child_body(void* opaque) {
  const auto& c = *static_cast<const ChildContext*>(opaque);
  for (std::uint32_t i = 0; i < c.alive_count; ++i) {
    c.board->running = c.alive[i];
    const Contestant& contestant = c.contestants[c.alive[i]];
    timed_calls(contestant, 1);  // page faults of the outputs, cold code
    std::uint64_t one = std::max<std::uint64_t>(1, timed_calls(contestant, 1).all);
    c.repeats[i] = 1;
    if (one >= c.batch_ticks) continue;  // a batch is one call, and a long one is warm by now
    one = std::max<std::uint64_t>(1, std::min(one, timed_calls(contestant, 1).all));
    c.repeats[i] = std::clamp<std::uint64_t>(c.batch_ticks / one, 1, kRepeatsMax);
    timed_calls(contestant, c.repeats[i]);
  }
  for (std::uint32_t round = 0; round < c.rounds && os::thread_cpu_ns() < c.cpu_ns; ++round) {
    for (std::uint32_t turn = 0; turn < c.alive_count; ++turn) {
      const std::uint32_t i = round % 2 == 0 ? turn : c.alive_count - 1 - turn;
      c.board->running = c.alive[i];
      const std::uint64_t ticks = timed_calls(c.contestants[c.alive[i]], c.repeats[i]).calls;
      c.board->samples()[round * c.alive_count + i] = static_cast<double>(ticks) / static_cast<double>(c.repeats[i]);
    }
    c.board->rounds_done = round + 1;
  }
  c.board->running = kNobody;
}

// Arrays in ordinary private memory, each on another cache line of its page, so that no two share the low twelve bits
// of their addresses. (Sharing costs time that says nothing about the code.)
class Buffers {
 public:
  Result<void> make(const Signature& signature, const Workload& workload) {
    for (std::size_t i = 0; i < workload.inputs.size(); ++i) {
      TRY(std::byte* const place, allocate(workload.inputs[i].size()));
      fill_input(signature, i, workload.inputs[i], place);
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
    if (raw == nullptr) return make_error(ErrorCode::kOutOfMemory, "not enough memory to time a kernel");
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

Result<Timings> time_rounds(std::span<const Contestant> contestants, const TimingRules& rules) {
  const auto count = static_cast<std::uint32_t>(contestants.size());
  TRY(os::Mapping shared, os::map_shared(sizeof(Board) + sizeof(double) * rules.rounds * count));
  auto* board = static_cast<Board*>(shared.base());
  std::vector<std::uint32_t> alive(count);
  std::iota(alive.begin(), alive.end(), 0u);
  std::vector<std::uint64_t> repeats(count);
  const double tick_ns = os::cycle_counter_ns();
  const auto batch_ticks = static_cast<std::uint64_t>(static_cast<double>(rules.batch_ns) / tick_ns);

  Timings timings;
  timings.ns.resize(count);
  timings.ends.resize(count);
  while (!alive.empty()) {
    board->running = kNobody;
    board->rounds_done = 0;
    ChildContext context{contestants.data(), alive.data(), static_cast<std::uint32_t>(alive.size()),
                         repeats.data(),     rules.rounds, batch_ticks,
                         rules.cpu_ns,       board};
    // The child stops by itself between rounds; only one that hangs in a call meets the sandbox's limit.
    TRY(const os::SandboxEnd end, run_in_child({}, rules.cpu_ns * 2 + 100'000'000, child_body, &context));
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

Result<Timings> time_rounds(std::span<const image::Mapped* const> kernels, const Signature& signature,
                            const Workload& workload, const TimingRules& rules) {
  CHECK(workload.inputs.size() == signature.input_bytes.size());
  Buffers buffers;
  TRY_VOID(buffers.make(signature, workload));
  std::uint64_t misses = 0;  // the child's copy counts
  const CountingSelf self{nullptr, &misses};
  std::vector<KernelCall> calls;
  for (const image::Mapped* kernel : kernels)
    calls.push_back({kernel->entry(), workload.elements, buffers.in(), buffers.out(), workload.params.data(), &self});
  std::vector<Contestant> contestants;
  for (KernelCall& call : calls) contestants.push_back({call_kernel, &call});
  return time_rounds(contestants, rules);
}

}  // namespace trident::judge
