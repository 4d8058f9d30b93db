// How long it takes to make code: an expression of 30 ops from its text to baseline machine code in this process
// (the median), and the part of code generation in that, at each tier and instruction set.
#include <algorithm>
#include <cmath>

#include "bench/ratio.h"
#include "jit/codegen/codegen.h"
#include "jit/expr/expr.h"
#include "jit/image/image.h"
#include "runtime/os/cpu.h"

namespace trident::bench {
namespace {

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

/// kText in C++, in its order; no -ffast-math and no contraction, so every operation rounds once, as in the kernel.
float expected(float x, float y, float z) {
  const float p = ((((1.5f * x + 0.25f) * x + 1.25f) * x - 0.75f) * x + 2.5f) * x + 0.125f;
  const float q = (((0.5f * y - 1.5f) * y + 0.75f) * y - 0.25f) * y + 3;
  const float r = std::sqrt(p * p + q * q);
  return (p - q) * z + r * (x - 2 * y) - std::min(r, z);
}

/// Checks the answers of the code that is timed, tails included. Returns a sentence when one is wrong.
std::string check_answers(codegen::Isa isa, const codegen::Variant& variant) {
  constexpr std::size_t kElements = 1003;
  const auto run = [&](const float* x, const float* y, const float* z, float* out) -> Result<void> {
    TRY(const kir::Kernel kernel, lowered());
    TRY(const codegen::MachineCode code, codegen::emit(kernel, isa, variant));
    TRY(const os::Fd fd, image::seal(image::build(code, image::counts_of(kernel), isa, TRIDENT_TIER_BASELINE, {})));
    TRY(const image::Mapped mapped, image::Mapped::map(fd));
    const void* in[] = {x, y, z};
    void* outputs[] = {out};
    mapped.entry()(nullptr, kElements, in, outputs, nullptr);
    return {};
  };
  std::vector<float> x(kElements), y(kElements), z(kElements), out(kElements, NAN);
  for (std::size_t i = 0; i < kElements; ++i) {
    const auto t = static_cast<float>(i);
    x[i] = std::sin(t), y[i] = 3 * std::cos(0.7f * t), z[i] = t / 100 - 5;
  }
  if (const auto done = run(x.data(), y.data(), z.data(), out.data()); !done.ok()) return done.error().message;
  for (std::size_t i = 0; i < kElements; ++i)
    if (!(out[i] == expected(x[i], y[i], z[i])))
      return "a wrong answer: element " + std::to_string(i) + " is " + std::to_string(out[i]) + ", expected " +
             std::to_string(expected(x[i], y[i], z[i]));
  return {};
}

bool answers_right(benchmark::State& state, codegen::Isa isa, const codegen::Variant& variant) {
  const std::string wrong = check_answers(isa, variant);
  if (wrong.empty()) return true;
  state.SkipWithError(wrong.c_str());
  ++wrong_answers();
  return false;
}

void text_to_code(benchmark::State& state) {
  if (!answers_right(state, host_isa(), {.vectors = 1, .schedule = false})) return;
  const auto compile = [] {
    for (int i = 0; i < kCalls; ++i) {
      const auto kernel = lowered();
      const auto code = codegen::emit(*kernel, host_isa(), {.vectors = 1, .schedule = false});
      benchmark::DoNotOptimize(code.ok());
    }
  };
  const Rounds rounds = run_rounds(state, {compile}, kCalls);
  print_figure("expression text to baseline code, 30 ops, us", rounds.median_ns(0) / 1000);
}

void emit_only(benchmark::State& state, codegen::Isa isa, const codegen::Variant& variant) {
  // Code for what this processor lacks can be timed in the making, not run.
  if (isa != codegen::Isa::avx512 || os::cpu_features().avx512) {
    if (!answers_right(state, isa, variant)) return;
  }
  const auto kernel = lowered();
  if (!kernel.ok() || !codegen::emit(*kernel, isa, variant).ok()) {
    state.SkipWithError("does not compile");
    ++wrong_answers();
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
