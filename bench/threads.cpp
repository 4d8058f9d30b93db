// Compares what a second thread gains a call (trident_call_parallel) with what the second processor gives a loop that
// touches no memory: on a machine that others use, and in virtual machines, that is less than 2.
//
//   gain    time on one thread / time on two, of kernels that compute, over that of the spin loop; 1 M elements. A
//           round takes about as long as the spin loop's, which wakes its second thread once too
//   first   time on one thread / time on two of the first call of such a round, whose second thread sleeps
//   loss    time of trident_call_parallel / time of trident_call, of short calls and of calls bound by memory
//
// Kernels are the last code of the engine in this process, which has seen the data: it may be guarded. The answers of
// both calls are compared bit by bit.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "bench/ratio.h"
#include "clients/c/trident.h"
#include "runtime/base/check.h"

namespace trident::bench {
namespace {

constexpr std::uint32_t kPatienceMs = 120'000;
constexpr std::uint64_t kMillion = 1'000'000;
constexpr int kRounds = 61;
constexpr std::uint64_t kSpins = 8'000'000;  // long beside the time in which the second thread wakes up

struct Case {
  const char* name;
  const char* text;
  std::uint64_t elements;
  bool computes;  ///< two threads gain
  int calls;      ///< in one round
};
constexpr Case kCases[] = {
    {"gain of 1 M: sin(x)*exp(-y)", "sin(x)*exp(-y)", kMillion, true, 48},
    {"gain of 1 M: log(x*x + 1)/(1 + y*y)", "log(x*x + 1)/(1 + y*y)", kMillion, true, 48},
    {"gain of 1 M: sum(cos(x)*y)", "sum(cos(x)*y)", kMillion, true, 48},
    {"loss of 1 K: x*y + 1", "x*y + 1", 1000, false, 2000},
    {"loss of 32 Ki: x*y + 1", "x*y + 1", 1 << 15, false, 200},
    {"loss of 64 Ki: x*y + 1", "x*y + 1", 1 << 16, false, 100},
    {"loss of 64 Ki: sum(x)", "sum(x)", 1 << 16, false, 200},
    {"loss of 128 Ki: sum(x)", "sum(x)", 1 << 17, false, 100},
    {"loss of 512 Ki: sum(x)", "sum(x)", 1 << 19, false, 40},
    {"loss of 1 M: sum(x)", "sum(x)", kMillion, false, 20},
    {"loss of 256 Ki: x + y", "x + y", 1 << 18, false, 20},
    {"loss of 16 M: x + y", "x + y", 1 << 24, false, 1},
};

/// A chain of multiplications, whose time is the processor's.
[[gnu::noinline]] std::uint64_t spin(std::uint64_t count) {
  std::uint64_t value = 1;
  for (std::uint64_t i = 0; i < count; ++i) {
    value = value * 6364136223846793005u + 1;
    asm volatile("" : "+r"(value));
  }
  return value;
}

/// A thread that spins whenever it is told to, and sleeps meanwhile.
class Second {
 public:
  ~Second() {
    begin(kOver);
    thread_.join();
  }
  void begin(std::uint64_t count) {
    wanted_ = count;
    wanted_.notify_one();
  }
  void wait() const {
    while (wanted_ != 0) {
    }
  }

 private:
  static constexpr std::uint64_t kOver = ~std::uint64_t{0};

  void run() {
    for (;;) {
      wanted_.wait(0);
      if (wanted_ == kOver) return;
      benchmark::DoNotOptimize(spin(wanted_));
      wanted_ = 0;
    }
  }
  std::atomic<std::uint64_t> wanted_ = 0;
  std::thread thread_{[this] { run(); }};
};

class Call {
 public:
  Call(trident_ctx* ctx, const Case& what) : case_(what), x_(what.elements), y_(what.elements), z_(what.elements) {
    for (std::uint64_t i = 0; i < what.elements; ++i) {
      x_[i] = static_cast<float>(i % 1000) * 0.01F;
      y_[i] = static_cast<float>(i % 777) * 0.003F + 0.1F;
    }
    trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
    options.type = TRIDENT_F32;
    options.policy = TRIDENT_EXACT;
    options.elements_hint = static_cast<std::uint32_t>(what.elements);
    CHECK(trident_submit(ctx, what.text, &options, &kernel_) == TRIDENT_OK);
    const void* in[] = {x_.data(), y_.data()};
    trident_observe(kernel_, what.elements, in, nullptr);
    CHECK(trident_wait(kernel_, 2, kPatienceMs) == TRIDENT_OK);
    while (!is_done()) std::this_thread::sleep_for(std::chrono::milliseconds(5));  // a search would take a processor
  }
  ~Call() { trident_close_kernel(kernel_); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  void plain() { plain(case_.calls); }
  void divided() { divided(case_.calls); }
  void plain(int calls) {
    call(calls, [&](auto... arguments) { trident_call(kernel_, arguments...); });
  }
  void divided(int calls) {
    call(calls, [&](auto... arguments) { trident_call_parallel(kernel_, arguments..., 2); });
  }
  [[nodiscard]] bool agree() {
    plain();
    const std::vector<float> expected = z_;
    std::fill(z_.begin(), z_.end(), -1.0F);
    divided();
    const std::size_t results = trident_output_is_scalar(kernel_, 0) == 1 ? 1 : z_.size();
    return std::memcmp(expected.data(), z_.data(), results * sizeof(float)) == 0;
  }

 private:
  [[nodiscard]] bool is_done() const {
    trident_kernel_info info{};
    info.struct_size = sizeof(info);
    CHECK(trident_info(kernel_, &info) == TRIDENT_OK);
    return info.done != 0;
  }
  template <class Run>
  void call(int calls, Run run) {
    const void* in[] = {x_.data(), y_.data()};
    void* out[] = {z_.data()};
    for (int i = 0; i < calls; ++i) run(case_.elements, in, out, static_cast<const std::uint64_t*>(nullptr));
  }
  const Case& case_;
  std::vector<float> x_, y_, z_;
  trident_kernel* kernel_ = nullptr;
};

trident_ctx* engine_context() {
  ::setenv("TRIDENT_ENGINE", TRIDENT_ENGINE_PATH, 1);
  trident_options options{};
  options.struct_size = sizeof(options);
  options.mode = TRIDENT_MODE_EMBEDDED;
  options.threads = 2;
  trident_ctx* ctx = nullptr;
  CHECK(trident_open(&options, &ctx) == TRIDENT_OK);
  return ctx;
}

void threads(benchmark::State& state) {
  const Case& what = kCases[state.range(0)];
  static trident_ctx* const ctx = engine_context();
  Call call(ctx, what);
  if (!call.agree()) {
    state.SkipWithError("a wrong answer");
    ++wrong_answers();
    return;
  }
  if (!what.computes) {
    const Rounds rounds = run_rounds(state, {[&] { call.divided(); }, [&] { call.plain(); }});
    print_figure(what.name, rounds.ratio(0, 1));
    return;
  }
  Second second;
  const auto spin_on_two = [&] {
    second.begin(kSpins / 2);
    benchmark::DoNotOptimize(spin(kSpins / 2));
    second.wait();
  };
  const Rounds rounds =
      run_rounds(state, {[&] { call.plain(); }, [&] { call.divided(); }, [] { benchmark::DoNotOptimize(spin(kSpins)); },
                         spin_on_two, [&] { call.plain(1); }, [&] { call.divided(1); }});
  state.counters["gain"] = rounds.ratio(0, 1);
  state.counters["spin_gain"] = rounds.ratio(2, 3);
  print_figure(what.name, rounds.ratio(0, 1) / rounds.ratio(2, 3));
  print_figure(std::string("first") + (what.name + 4), rounds.ratio(4, 5));
}
BENCHMARK(threads)
    ->DenseRange(0, static_cast<int>(std::size(kCases)) - 1)
    ->UseManualTime()
    ->Iterations(kRounds)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace trident::bench

int main(int argc, char** argv) {
  return trident::bench::run_benchmarks(argc, argv);
}
