// How long it takes to make code: an expression of 30 ops from its text to baseline machine code in this process
// (bar: 10 us median), and what code generation alone takes of that, at each tier and instruction set.
#include "bench/ratio.h"
#include "jit/codegen/codegen.h"
#include "jit/expr/expr.h"
#include "runtime/os/cpu.h"

namespace trident::bench {
namespace {

constexpr double kBarUs = 10;
constexpr int kCalls = 100;  // per turn: the clock costs some tens of nanoseconds

// 30 ops on three arrays: polynomials, a blend of them, a root.
constexpr const char* kText =
    "p = ((((1.5 * x + 0.25) * x + 1.25) * x - 0.75) * x + 2.5) * x + 0.125; "
    "q = (((0.5 * y - 1.5) * y + 0.75) * y - 0.25) * y + 3; "
    "r = sqrt(p * p + q * q); "
    "(p - q) * z + r * (x - 2 * y) - min(r, z)";

Result<kir::Kernel> lowered() {
  expr::ParseOptions parse;
  parse.type = ir::Type::f32;
  TRY(const expr::Expr e, expr::parse(kText, parse));
  expr::LowerOptions lower;
  lower.simplify = false;
  lower.checked = true;
  return expr::lower(e, lower);
}

codegen::Isa host_isa() {
  return os::cpu_features().avx512 ? codegen::Isa::avx512 : codegen::Isa::avx2;
}

void text_to_code(benchmark::State& state) {
  const auto compile = [] {
    for (int i = 0; i < kCalls; ++i) {
      const auto kernel = lowered();
      const auto code = codegen::emit(*kernel, host_isa(), {.vectors = 1, .schedule = false});
      benchmark::DoNotOptimize(code.ok());
    }
  };
  const Rounds rounds = run_rounds(state, {compile}, kCalls);
  check_bar("expression text to baseline code, 30 ops, us", rounds.median_ns(0) / 1000, kBarUs, true);
}

void emit_only(benchmark::State& state, codegen::Isa isa, const codegen::Variant& variant) {
  const auto kernel = lowered();
  if (!kernel.ok() || !codegen::emit(*kernel, isa, variant).ok()) {
    state.SkipWithError("does not compile");
    ++missed();
    return;
  }
  for (auto _ : state) {
    const auto code = codegen::emit(*kernel, isa, variant);
    benchmark::DoNotOptimize(code.ok());
  }
}

BENCHMARK(text_to_code)->UseManualTime()->Iterations(201)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(emit_only, avx512_baseline, codegen::Isa::avx512, {.vectors = 1, .schedule = false})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(emit_only, avx2_baseline, codegen::Isa::avx2, {.vectors = 1, .schedule = false})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(emit_only, avx512_four_vectors, codegen::Isa::avx512, {.vectors = 4})->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace trident::bench

int main(int argc, char** argv) {
  return trident::bench::run_benchmarks(argc, argv);
}
