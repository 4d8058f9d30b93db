// The time from a hot loop to its native code: from trident_loop_submit() until code is there, over 200 different loops
// of up to 32 instructions, through a real daemon that tries each in a child before it answers. Beside it the same with
// the engine in this process. Every loop's code is run, and its registers are compared with what they must be.
#include <span>

#include "bench/native_latency.h"
#include "clients/c/trident_loop.h"
#include "jit/pipeline/loop.h"
#include "runtime/os/sandbox.h"

namespace trident::bench {
namespace {

constexpr std::uint32_t kInstructionsMax = 32;
constexpr std::uint64_t kHead = 0x400000, kData = 0x10000, kRounds = 100;

/// A loop of `adds` additions of different numbers to x0 over an array: ldrb w3, [x1], #1; add x0, x0, #number; ..;
/// subs x2, x2, #1; b.ne to the first.
struct Sample {
  std::vector<std::uint32_t> words;
  std::uint64_t added = 0;  ///< to x0 in a round

  Sample(int number, std::uint32_t instructions) {
    words.push_back(0x38401423);
    while (words.size() + 2 < instructions) {
      const auto add = static_cast<std::uint32_t>((number * 31 + 7 * words.size()) % 4096);
      words.push_back(0x91000000 | add << 10);
      added += add;
    }
    words.push_back(0xf1000442);
    words.push_back(0x54000001 | ((0u - static_cast<std::uint32_t>(words.size())) & 0x7ffff) << 5);
  }
};

/// Sample number `number`: of 4 to kInstructionsMax instructions.
Sample sample_of(int number) {
  return {number, 4 + static_cast<std::uint32_t>(number) % (kInstructionsMax - 3)};
}

class Cpu {
 public:
  Cpu(trident_mode mode, const std::string& socket) : context_(mode, socket), data_(4096) {
    CHECK(trident_loops_open(context_.get(), nullptr, &loops_) == TRIDENT_OK);
    const trident_loop_memory memory{sizeof memory, TRIDENT_LOOP_READ | TRIDENT_LOOP_WRITE, kData, data_.size(),
                                     data_.data()};
    CHECK(trident_loops_map(loops_, &memory) == TRIDENT_OK);
  }
  ~Cpu() { trident_loops_close(loops_); }
  Cpu(const Cpu&) = delete;
  Cpu& operator=(const Cpu&) = delete;

  Latency latency_of(int number) {
    const Sample sample = sample_of(number);
    const trident_loop_request request{sizeof request, 0, kHead, kHead, sample.words.data(), 4 * sample.words.size()};
    trident_loop* loop = nullptr;
    const double begin = now_us();
    if (trident_loop_submit(loops_, &request, &loop) != TRIDENT_OK) return {};
    Latency times{now_us() - begin, -1};
    while (trident_loop_is_ready(loop) == 0 && now_us() - begin < 1e3 * kPatienceMs) ::usleep(20);
    trident_loop_facts facts{};
    facts.struct_size = sizeof facts;
    const bool good =
        trident_loop_info(loop, &facts) == TRIDENT_OK && facts.state == TRIDENT_LOOP_READY && right(loop, sample);
    trident_loop_close(loop);
    if (good) times.native_us = static_cast<double>(facts.installed_ns) * 1e-3;
    return times;
  }

 private:
  bool right(trident_loop* loop, const Sample& sample) {
    trident_loop_frame frame{};
    frame.x[1] = kData;
    frame.x[2] = kRounds;
    frame.pc = kHead;
    frame.region.budget = 10 * kRounds;
    return trident_loop_enter(loop, &frame) == TRIDENT_LOOP_LEFT && frame.x[0] == kRounds * sample.added &&
           frame.x[1] == kData + kRounds && frame.pc == kHead + 4 * sample.words.size();
  }

  OpenContext context_;
  std::vector<std::uint8_t> data_;
  trident_loops* loops_ = nullptr;
};

pipeline::LoopSource source_of(const Sample& sample) {
  const auto bytes = std::as_bytes(std::span(sample.words));
  return {.head = kHead, .code_base = kHead, .code = {bytes.begin(), bytes.end()}};
}

/// Processor time of the parts, in this process: a sandboxed child that does nothing, and the compiler with and without
/// its trials.
void loop_parts(benchmark::State& state) {
  std::vector<double> child, plain, tried;
  int number = 20'000;
  const auto work_us = [](auto body) {
    const std::uint64_t begin = os::thread_work_ns();
    body();
    return static_cast<double>(os::thread_work_ns() - begin) * 1e-3;
  };
  for (auto _ : state) {
    const auto source = source_of(sample_of(++number));
    child.push_back(work_us([] {
      CHECK(os::run_sandboxed(
                {}, [](void*) {}, nullptr)
                .ok());
    }));
    plain.push_back(work_us([&] { CHECK(pipeline::compile_loop(source, {.runs_trials = false}).ok()); }));
    tried.push_back(work_us([&] { CHECK(pipeline::compile_loop(source, {}).ok()); }));
    state.SetIterationTime(tried.back() * 1e-6);
  }
  print_figure("a sandboxed child, CPU us P50", quantile(child, 0.5));
  print_figure("a loop compiled, CPU us P50", quantile(plain, 0.5));
  print_figure("a loop compiled and tried, CPU us P50", quantile(tried, 0.5));
}
BENCHMARK(loop_parts)->UseManualTime()->Iterations(kSubmissions)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace trident::bench

int main(int argc, char** argv) {
  trident::bench::register_latencies<trident::bench::Cpu>("loop");
  return trident::bench::run_benchmarks(argc, argv);
}
