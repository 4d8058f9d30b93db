// The cost of the indirection: a kernel called through a handle's slot (trident_call: an acquire load and a jump)
// against the same code called directly.
#include <array>

#include "bench/ratio.h"
#include "clients/c/trident.h"
#include "jit/expr/expr.h"
#include "jit/image/image.h"
#include "jit/pipeline/pipeline.h"
#include "runtime/os/cpu.h"

namespace trident::bench {
namespace {

constexpr int kCalls = 20000;

Result<image::Mapped> kernel() {
  TRY(const expr::Expr e, expr::parse("x * 2 + 1"));
  const codegen::Isa isa = os::cpu_features().avx512 ? codegen::Isa::avx512 : codegen::Isa::avx2;
  TRY(const pipeline::Compiled compiled, pipeline::compile_baseline(e, {.target = {.isa = isa}}));
  TRY(const os::Fd fd, image::seal(compiled.image));
  return image::Mapped::map(fd);
}

void slot_call(benchmark::State& state) {
  const auto mapped = kernel();
  if (!mapped.ok()) {
    state.SkipWithError(mapped.error().message.c_str());
    ++wrong_answers();
    return;
  }
  constexpr std::uint64_t kElements = 8;
  std::array<double, kElements> x{}, y{};
  for (std::size_t i = 0; i < kElements; ++i) x[i] = static_cast<double>(i);
  const void* in[] = {x.data()};
  void* out[] = {y.data()};
  // The handle as the client library lays it out: the entry is its first word. volatile keeps the compiler from
  // knowing what the slot holds.
  trident_kernel handle{mapped->entry()};
  trident_kernel* volatile published = &handle;
  const trident_kernel* slot = published;
  const trident_entry direct = mapped->entry();
  trident_call(slot, kElements, in, out, nullptr);
  for (std::size_t i = 0; i < kElements; ++i)
    if (y[i] != x[i] * 2 + 1) {
      state.SkipWithError("a wrong answer");
      ++wrong_answers();
      return;
    }
  const Rounds rounds = run_rounds(state,
                                   {[&] {
                                      for (int i = 0; i < kCalls; ++i) trident_call(slot, kElements, in, out, nullptr);
                                    },
                                    [&] {
                                      for (int i = 0; i < kCalls; ++i) direct(slot, kElements, in, out, nullptr);
                                    }},
                                   kCalls);
  state.counters["slot_ns"] = rounds.median_ns(0);
  state.counters["direct_ns"] = rounds.median_ns(1);
  print_figure("slot call: ns more than a direct call", rounds.difference_ns(0, 1));
}
BENCHMARK(slot_call)->UseManualTime()->Iterations(101)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace trident::bench

int main(int argc, char** argv) {
  return trident::bench::run_benchmarks(argc, argv);
}
