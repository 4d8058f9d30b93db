// Machine code of each function of the library against g++ -O2 of the same statements, interleaved, and where it has
// bulk loops against -O3 -march=native, too; functions that spend their time in loops against the interpreter of their
// regions; the time from a region, and from a text, to machine code. Answers are checked first, against plain C++ of
// tests/library.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "bench/functions/peers.h"
#include "bench/ratio.h"
#include "jit/codegen/region.h"
#include "jit/pipeline/function.h"
#include "jit/region/forward.h"
#include "jit/region/interpreter.h"
#include "runtime/os/cpu.h"
#include "tests/library/oracle.h"

namespace trident::bench {
namespace {

using function::Argument;
using function::Function;
using function::Library;
using function::Parameter;
using test::Arguments;

constexpr std::size_t kCalls = 64;      // per turn, each with arguments of its own
constexpr std::size_t kElements = 256;  // of arrays, unless the function's shape wants others
constexpr int kRounds = 31;
constexpr std::string_view kLoops[] = {"is_prime", "loop_count",  "loop_sum", "quicksort",
                                       "unique",   "hash_string", "strstr",   "sha256"};

/// A number of f64 within the declared range.
std::int64_t drawn_real(const Parameter& p, test::Random& random) {
  const double lo = p.lo ? function::real_of(*p.lo) : -1000, hi = p.hi ? function::real_of(*p.hi) : 1000;
  return function::bits_of(lo + (hi - lo) * static_cast<double>(random() >> 11) * 0x1p-53);
}

Argument drawn(const Parameter& p, test::Random& random) {
  const bool is_real = p.type == function::Type::f64;
  if (is_real && !p.is_array()) return {.is_real = true, .number = drawn_real(p, random)};
  if (!p.is_array()) {
    const std::int64_t lo = p.lo.value_or(INT64_MIN), hi = p.hi.value_or(INT64_MAX);
    const std::int64_t most = p.type == function::Type::boolean ? 1 : p.type == function::Type::u8 ? 255 : 1000;
    return {.number = std::clamp(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most + 1)), lo, hi)};
  }
  Argument array{.is_array = true, .is_real = is_real};
  for (std::size_t i = 0; i < kElements; ++i)
    array.elements.push_back(
        is_real ? drawn_real(p, random)
                : static_cast<std::int64_t>(p.type == function::Type::u8 ? 'a' + random() % 26 : random() % 100'000));
  // A text ends somewhere inside.
  if (p.type == function::Type::u8) array.elements[random() % kElements] = 0;
  return array;
}

/// Arguments that the function takes without a fault.
Arguments drawn(const Function& f, const test::Oracle& oracle, test::Random& random) {
  for (;;) {
    Arguments arguments;
    for (const Parameter& p : f.parameters) arguments.push_back(drawn(p, random));
    if (oracle.shape != nullptr) oracle.shape(arguments, random);
    Arguments copy = arguments;
    if (oracle.call(copy)) return arguments;
  }
}

std::vector<Arguments> drawn_calls(const Function& f, const test::Oracle& oracle) {
  test::Random random(5);
  std::vector<Arguments> calls;
  for (std::size_t c = 0; c < kCalls; ++c) calls.push_back(drawn(f, oracle, random));
  return calls;
}

/// Frames, windows and memory of kCalls calls, which can be put back.
class Scene {
 public:
  Scene(const Function& f, const function::Layout& layout, const std::vector<Arguments>& calls)
      : stride_((layout.frame_bytes + 63) / 64 * 64), frames_(stride_ * calls.size()) {
    for (std::size_t c = 0; c < calls.size(); ++c) add(f, layout, calls[c], c);
    fresh_frames_ = frames_;
    fresh_memory_ = memory_;
    for (Place& place : places_)
      windows_.push_back({0, place.bytes, reinterpret_cast<std::uint64_t>(memory_.data() + place.offset)});
    windows_each_ = places_.size() / calls.size();
  }

  void put_back() {
    std::memcpy(frames_.data(), fresh_frames_.data(), frames_.size());
    if (!memory_.empty()) std::memcpy(memory_.data(), fresh_memory_.data(), memory_.size());
  }
  void call(function::Entry entry) {
    for (std::size_t c = 0; c < kCalls; ++c) entry(frames_.data() + c * stride_, windows_.data() + c * windows_each_);
  }
  /// Returns how many instructions were run.
  std::uint64_t interpret(const region::Region& region) {
    std::uint64_t steps = 0;
    for (std::size_t c = 0; c < kCalls; ++c)
      steps += region::interpret(region, {frames_.data() + c * stride_, stride_},
                                 {windows_.data() + c * windows_each_, windows_each_}, UINT64_MAX)
                   .steps;
    return steps;
  }

 private:
  struct Place {
    std::size_t offset, bytes;
  };
  void add(const Function& f, const function::Layout& layout, const Arguments& arguments, std::size_t number) {
    std::byte* const frame = frames_.data() + number * stride_;
    const std::uint64_t budget = function::kBudget;
    std::memcpy(frame, &budget, sizeof budget);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const Parameter& p = f.parameters[i];
      const std::size_t bytes = function::element_bytes(p.type);
      const auto word = p.is_array() ? static_cast<std::int64_t>(arguments[i].elements.size()) : arguments[i].number;
      std::memcpy(frame + layout.slots[i], &word, sizeof word);
      if (!p.is_array()) continue;
      add_memory(arguments[i].elements.size() * bytes);
      for (std::size_t e = 0; e < arguments[i].elements.size(); ++e)
        std::memcpy(memory_.data() + places_.back().offset + e * bytes, &arguments[i].elements[e], bytes);
    }
    for (const std::uint64_t bytes : layout.local_bytes) add_memory(bytes);
  }
  void add_memory(std::size_t bytes) {
    places_.push_back({memory_.size(), bytes});
    memory_.resize(memory_.size() + (bytes + 63) / 64 * 64);
  }

  std::size_t stride_, windows_each_ = 0;
  std::vector<std::byte> frames_, fresh_frames_, memory_, fresh_memory_;
  std::vector<Place> places_;
  std::vector<region::Window> windows_;
};

/// Returns whether `call` does what the oracle does on each call.
template <class Call>
bool answers_right(const Function& f, const Call& call, const test::Oracle& oracle,
                   const std::vector<Arguments>& calls) {
  return std::all_of(calls.begin(), calls.end(), [&](const Arguments& arguments) {
    const auto got = call(arguments);
    Arguments expected = arguments;
    const auto wanted = oracle.call(expected);
    const bool has_result = f.result != function::Type::none;
    return got.ok() && !got->fault && (!has_result || function::is_same(f.result, got->result, *wanted)) &&
           got->arguments == expected;
  });
}

/// Calls of machine code.
auto calls_of(const Function& f, const function::Layout& layout, function::Entry entry) {
  return [&f, &layout, entry](const Arguments& arguments) { return function::call(f, layout, entry, arguments); };
}

template <class Work>
double turn_ns(Scene& scene, const Work& work) {
  scene.put_back();
  const std::uint64_t start = os::cycle_counter();
  work();
  return static_cast<double>(os::cycle_counter() - start) * os::cycle_counter_ns() / kCalls;
}

struct Native {
  function::Lowered lowered;
  image::Mapped mapped;
  bool has_bulk = false;
};

Result<Native> native(const Function& f) {
  TRY(const pipeline::CompiledFunction made,
      pipeline::compile_function(f, Library::shipped(),
                                 {.bulk = os::cpu_features().avx512 ? codegen::Isa::avx512 : codegen::Isa::avx2}));
  TRY(const os::Fd fd, image::seal(made.image));
  TRY(image::Mapped mapped, image::Mapped::map(fd));
  const bool has_bulk = !regionopt::find_bulk(region::forward_copies(made.lowered.region)).loops.empty();
  return Native{made.lowered, std::move(mapped), has_bulk};
}

/// Our time divided by that of g++ -O2, and where there are bulk loops by that of -O3 -march=native.
struct Ratios {
  double plain = 0, native = 0;  ///< 0: not measured
};

void count_wrong(const Function& f) {
  std::printf("%s: a wrong answer\n", f.name.c_str());
  ++wrong_answers();
}

Ratios compare(const Function& f, const test::Oracle& oracle, function::Entry peer, function::Entry native_peer) {
  const auto made = native(f);
  const std::vector<Arguments> calls = drawn_calls(f, oracle);
  const auto is_right = [&](function::Entry entry) {
    return answers_right(f, calls_of(f, made->lowered, entry), oracle, calls);
  };
  if (!made.ok() || !is_right(made->mapped.region_entry()) || !is_right(peer) || !is_right(native_peer)) {
    count_wrong(f);
    return {};
  }
  Scene scene(f, made->lowered, calls);
  const function::Entry entries[] = {made->mapped.region_entry(), peer, native_peer};
  Rounds rounds{.ns = {{}, {}, {}}};
  for (std::size_t r = 0; r < kRounds; ++r)
    for (std::size_t i = 0; i < std::size(entries); ++i) {
      const std::size_t c = (r + i) % std::size(entries);
      rounds.ns[c].push_back(turn_ns(scene, [&] { scene.call(entries[c]); }));
    }
  const Ratios ratios{rounds.ratio(0, 1), made->has_bulk ? rounds.ratio(0, 2) : 0};
  std::printf("  %-24s %10.1f ns %10.1f ns %10.1f ns %8.2f", f.name.c_str(), rounds.median_ns(0), rounds.median_ns(1),
              rounds.median_ns(2), ratios.plain);
  made->has_bulk ? std::printf(" %8.2f\n", ratios.native) : std::printf("\n");
  return ratios;
}

void print_ratios(const char* peer, std::span<const double> ratios) {
  double logs = 0;
  for (const double ratio : ratios) logs += std::log(ratio);
  const std::string name = std::string(" native / g++ ") + peer;
  print_figure("functions: geomean" + name, std::exp(logs / static_cast<double>(ratios.size())));
  print_figure("functions: worst" + name, *std::max_element(ratios.begin(), ratios.end()));
}

/// Time of the interpreter for each instruction of a region, and divided by that of machine code.
struct Interpreted {
  double op_ns = 0, ratio = 0;  ///< 0: not measured
};

Interpreted compare_interpreter(const Function& f, const test::Oracle& oracle) {
  const auto made = native(f);
  const std::vector<Arguments> calls = drawn_calls(f, oracle);
  const auto interpreted = [&](const Arguments& arguments) { return function::call(f, made->lowered, arguments); };
  if (!made.ok() || !answers_right(f, interpreted, oracle, calls) ||
      !answers_right(f, calls_of(f, made->lowered, made->mapped.region_entry()), oracle, calls)) {
    count_wrong(f);
    return {};
  }
  Scene scene(f, made->lowered, calls);
  Rounds rounds{.ns = {{}, {}}};
  std::uint64_t steps = 0;
  for (int r = 0; r < kRounds; ++r) {
    rounds.ns[0].push_back(turn_ns(scene, [&] { steps = scene.interpret(made->lowered.region); }));
    rounds.ns[1].push_back(turn_ns(scene, [&] { scene.call(made->mapped.region_entry()); }));
  }
  const double steps_each = static_cast<double>(steps) / kCalls;
  const Interpreted times{rounds.median_ns(0) / steps_each, rounds.ratio(0, 1)};
  std::printf("  %-24s %10.0f steps %8.2f ns a step %8.1f ns native %8.1f times\n", f.name.c_str(), steps_each,
              times.op_ns, rounds.median_ns(1), times.ratio);
  return times;
}

const test::Oracle* oracle_of(std::string_view name) {
  const auto oracles = test::oracles();
  const auto found =
      std::find_if(oracles.begin(), oracles.end(), [&](const test::Oracle& o) { return o.name == name; });
  return found == oracles.end() ? nullptr : &*found;
}

void interpreter(benchmark::State& state) {
  for (auto _ : state) {
    double slowest_ns = 0, least_ratio = HUGE_VAL;
    for (const std::string_view name : kLoops) {
      const Function* const f = Library::shipped().find(std::string(name));
      const test::Oracle* const oracle = oracle_of(name);
      CHECK(f != nullptr && oracle != nullptr);
      const Interpreted times = compare_interpreter(*f, *oracle);
      slowest_ns = std::max(slowest_ns, times.op_ns);
      least_ratio = std::min(least_ratio, times.ratio);
    }
    print_figure("functions: interpreter, worst ns an op", slowest_ns);
    print_figure("functions: interpreter / native, least", least_ratio);
  }
}

void all_functions(benchmark::State& state) {
  for (auto _ : state) {
    std::vector<double> plain, native;
    for (std::size_t p = 0; p < peers().size(); ++p) {
      const Peer& peer = peers()[p];
      const test::Oracle* const oracle = oracle_of(peer.name);
      const Function* const f = Library::shipped().find(peer.name);
      if (oracle == nullptr || f == nullptr) continue;
      const Ratios ratios = compare(*f, *oracle, peer.entry, native_peers()[p].entry);
      if (ratios.plain > 0) plain.push_back(ratios.plain);
      if (ratios.native > 0) native.push_back(ratios.native);
    }
    print_ratios("-O2", plain);
    print_ratios("-O3, bulk", native);
  }
}

/// A loop, a branch and a call: some 40 instructions of its region.
constexpr const char* kText = R"(fn f(n: i64) -> i64 {
  while n != 0 {
    if is_positive(n) {
      n = n - 2;
    }
    n = n + 1;
  }
  return n;
}
)";

Function checked(const char* text) {
  auto f = function::parse(text, "f.fn");
  CHECK(f.ok() && function::check(*f, Library::shipped()).ok());
  return std::move(*f);
}

/// Returns the median time of a turn, divided by its kCalls.
template <class Work>
double median_us(const Work& work) {
  std::vector<double> times;
  for (int r = 0; r < 201; ++r) {
    const std::uint64_t start = os::cycle_counter();
    for (std::size_t c = 0; c < kCalls; ++c) work();
    times.push_back(static_cast<double>(os::cycle_counter() - start) * os::cycle_counter_ns() / kCalls / 1000);
  }
  return stats::median(times);
}

void compile_times(benchmark::State& state) {
  const auto lowered = function::lower(checked(kText), Library::shipped());
  std::printf("  the region has %zu instructions\n", lowered->region.insts.size());
  for (auto _ : state) {
    print_figure("functions: region to code, us", median_us([&] {
                   auto code = codegen::emit(lowered->region);
                   benchmark::DoNotOptimize(code);
                 }));
    print_figure("functions: text to code, us", median_us([] {
                   const Function f = checked(kText);
                   auto code = codegen::emit(function::lower(f, Library::shipped())->region);
                   benchmark::DoNotOptimize(code);
                 }));
  }
}

BENCHMARK(all_functions)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(interpreter)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(compile_times)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace trident::bench

int main(int argc, char** argv) {
  return trident::bench::run_benchmarks(argc, argv);
}
