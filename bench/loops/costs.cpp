#include "bench/loops/costs.h"

#include <bit>
#include <cstring>

#include "bench/loops/attached_machine.h"
#include "bench/loops/unicorn_column.h"
#include "bench/ratio.h"
#include "jit/loop/describe.h"
#include "jit/pipeline/loop.h"
#include "runtime/base/check.h"

namespace trident::bench {
namespace {

constexpr std::uint64_t kShort = 64, kLong = 128;
constexpr std::uint64_t kCalls = 20'000;
constexpr int kRounds = 15;

std::uint32_t kernel_named(const char* name) {
  for (std::uint32_t k = 0; k < kernel_count; ++k)
    if (std::strcmp(kernels[k].name, name) == 0) return k;
  CHECK(false);
}

double call_ns(Column& column) {
  return column.cpu_ns(kCalls) / static_cast<double>(kCalls);
}

/// Time of an entry: of a call whose loop is swapped, without its native rounds, which cost the same in a longer call,
/// and without a call of one round, which the guest runs itself. All of these are short, so that the guest's slow
/// stores do not blur the difference.
double entry_ns(Column& shorter, Column& longer, Column& one) {
  constexpr double kNativeRounds = kShort - 1, kMore = kLong - kShort;
  const double a = call_ns(shorter), b = call_ns(longer);
  return a - (b - a) * kNativeRounds / kMore - call_ns(one);
}

/// Registers that an entry copies into the frame and out of it, of the loop that memcpy_u8 consists of.
int registers_copied() {
  // ldrb w6, [x1, x2]; strb w6, [x0, x2]; add x2, x2, #1; cmp x3, x2; b.ne: as gcc makes it
  constexpr std::uint32_t kWords[] = {0x38626826, 0x38226806, 0x91000442, 0xEB02007F, 0x54FFFF81};
  pipeline::LoopSource source{.head = 0x1000, .code_base = 0x1000, .code = {}};
  const auto bytes = std::as_bytes(std::span(kWords));
  source.code.assign(bytes.begin(), bytes.end());
  const auto outcome = pipeline::compile_loop(source, {});
  CHECK(outcome.ok() && std::holds_alternative<pipeline::CompiledLoop>(*outcome));
  const auto& made = std::get<pipeline::CompiledLoop>(*outcome);
  const auto counts = loop::describe(made.loop, made.region).counts;
  return std::popcount(counts.registers_read) + std::popcount(counts.registers_written);
}

double median_entry_ns(std::unique_ptr<SwapColumn> (*swap)(Work)) {
  const std::uint32_t kernel = kernel_named("memcpy_u8");
  const auto one = unicorn_column({kernel, 1});
  const auto swap_short = swap({kernel, kShort}), swap_long = swap({kernel, kLong});
  for (SwapColumn* column : {swap_short.get(), swap_long.get()}) column->warm();
  std::vector<double> all;
  for (int round = 0; round < kRounds; ++round) all.push_back(entry_ns(*swap_short, *swap_long, *one));
  return stats::median(all);
}

}  // namespace

void print_entry_cost() {
  const double ns = median_entry_ns(swap_column), allowed = 25 + 2.5 * registers_copied() + 55;
  print_figure("entry: ns, with pc and flags", ns);
  print_figure("entry / (25 + 2.5 a register copied + 55 ns)", ns / allowed);
  print_figure("entry, regions announced: ns", median_entry_ns(announced_swap_column));
}

/// Nothing may be swapped here, so that all that is left is the watch. The loop is the worst case: two instructions and
/// no store.
void print_detection_cost() {
  constexpr double kFirstNs = 10e9, kAfterNs = 4e9, kSliceCalls = 400;
  const Work work{kernel_named("strlen"), 4096};
  GuestMachine plain;
  AttachedMachine watched;
  watched.exclude_all();
  for (GuestMachine* machine : {&plain, &watched.machine()}) machine->fill(work);
  double plain_ns = 0, watched_ns = 0;
  const auto run_for = [&](double ns) {
    plain_ns = watched_ns = 0;
    while (watched_ns < ns) {
      plain_ns += plain.cpu_ns(work, static_cast<std::uint64_t>(kSliceCalls));
      watched_ns += watched.machine().cpu_ns(work, static_cast<std::uint64_t>(kSliceCalls));
    }
    return 100 * (watched_ns / plain_ns - 1);
  };
  print_figure("detection: % of the first 10 s", run_for(kFirstNs));
  print_figure("detection: % of the time after", run_for(kAfterNs));
}

}  // namespace trident::bench
