// The time from a hot loop to its native code: from trident_loop_submit() until code is there, over 200 different loops
// of up to 32 instructions, through a real daemon that tries each in a child before it answers. Beside it the same with
// the engine in this process. Every loop's code is run, and its registers are compared with what they must be.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "bench/private_daemon.h"
#include "bench/ratio.h"
#include "clients/c/trident.h"
#include "clients/c/trident_loop.h"
#include "jit/pipeline/loop.h"
#include "runtime/base/check.h"
#include "runtime/os/clock.h"
#include "runtime/os/sandbox.h"

namespace trident::bench {
namespace {

constexpr int kLoops = 200, kWarmUp = 20;
constexpr std::uint32_t kInstructionsMax = 32, kPatienceMs = 10'000;
/// Emulators find a loop now and then.
constexpr unsigned kPauseUs = 5'000;
constexpr std::uint64_t kHead = 0x400000, kData = 0x10000, kRounds = 100;

double now_us() {
  return static_cast<double>(os::monotonic_ns()) * 1e-3;
}

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
  Cpu(trident_mode mode, const std::string& socket) : data_(4096) {
    ::setenv("TRIDENT_ENGINE", TRIDENT_ENGINE_PATH, 1);
    trident_options options{};
    options.struct_size = sizeof(options);
    options.mode = static_cast<std::uint32_t>(mode);
    options.socket_path = socket.c_str();
    options.connect_timeout_ms = kPatienceMs;
    CHECK(trident_open(&options, &ctx_) == TRIDENT_OK);
    CHECK(trident_loops_open(ctx_, nullptr, &loops_) == TRIDENT_OK);
    const trident_loop_memory memory{sizeof memory, TRIDENT_LOOP_READ | TRIDENT_LOOP_WRITE, kData, data_.size(),
                                     data_.data()};
    CHECK(trident_loops_map(loops_, &memory) == TRIDENT_OK);
  }
  ~Cpu() {
    trident_loops_close(loops_);
    trident_close(ctx_);
  }
  Cpu(const Cpu&) = delete;
  Cpu& operator=(const Cpu&) = delete;

  /// Microseconds from the submission until code is there; less than 0 for a failure or a wrong answer.
  double installed_us(const Sample& sample) {
    const trident_loop_request request{sizeof request, 0, kHead, kHead, sample.words.data(), 4 * sample.words.size()};
    trident_loop* loop = nullptr;
    const double begin = now_us();
    if (trident_loop_submit(loops_, &request, &loop) != TRIDENT_OK) return -1;
    while (trident_loop_is_ready(loop) == 0 && now_us() - begin < 1e3 * kPatienceMs) ::usleep(20);
    trident_loop_facts facts{};
    facts.struct_size = sizeof facts;
    const bool good =
        trident_loop_info(loop, &facts) == TRIDENT_OK && facts.state == TRIDENT_LOOP_READY && right(loop, sample);
    trident_loop_close(loop);
    return good ? static_cast<double>(facts.installed_ns) * 1e-3 : -1;
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

  std::vector<std::uint8_t> data_;
  trident_ctx* ctx_ = nullptr;
  trident_loops* loops_ = nullptr;
};

pipeline::LoopSource source_of(const Sample& sample) {
  const auto bytes = std::as_bytes(std::span(sample.words));
  return {.head = kHead, .code_base = kHead, .code = {bytes.begin(), bytes.end()}};
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

void measure(benchmark::State& state, trident_mode mode, const std::string& socket, const std::string& name,
             unsigned pause_us) {
  Cpu cpu(mode, socket);
  static int number = 0;  // no loop comes twice
  for (int i = 0; i < kWarmUp; ++i) cpu.installed_us(sample_of(++number));
  std::vector<double> times;
  for (auto _ : state) {
    ::usleep(pause_us);
    const double us = cpu.installed_us(sample_of(++number));
    if (us < 0) {
      state.SkipWithError("a loop was not installed, or its answer is wrong");
      ++wrong_answers();
      return;
    }
    times.push_back(us);
    state.SetIterationTime(us * 1e-6);
  }
  print_figure("loop to native code, " + name + ", us P50", quantile(times, 0.5));
  print_figure("loop to native code, " + name + ", us P95", quantile(times, 0.95));
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
BENCHMARK(loop_parts)->UseManualTime()->Iterations(kLoops)->Unit(benchmark::kMicrosecond);

void loop_latency_daemon(benchmark::State& state) {
  const PrivateDaemon daemon;
  measure(state, TRIDENT_MODE_DAEMON, daemon.socket(), "daemon", kPauseUs);
}
BENCHMARK(loop_latency_daemon)->UseManualTime()->Iterations(kLoops)->Unit(benchmark::kMicrosecond);

/// The next loop comes at once, while the worker's next child is being forked.
void loop_latency_in_a_row(benchmark::State& state) {
  const PrivateDaemon daemon;
  measure(state, TRIDENT_MODE_DAEMON, daemon.socket(), "daemon in a row", 0);
}
BENCHMARK(loop_latency_in_a_row)->UseManualTime()->Iterations(kLoops)->Unit(benchmark::kMicrosecond);

void loop_latency_embedded(benchmark::State& state) {
  measure(state, TRIDENT_MODE_EMBEDDED, "/nonexistent/s", "in this process", kPauseUs);
}
BENCHMARK(loop_latency_embedded)->UseManualTime()->Iterations(kLoops)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace trident::bench

int main(int argc, char** argv) {
  return trident::bench::run_benchmarks(argc, argv);
}
