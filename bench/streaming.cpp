// Streams far larger than the caches: Trident's optimised kernels at 16M elements against copies and triads written by
// hand with non-temporal stores. No compiler emits those, so they, not a compiler, are the peer, for the
// same traffic.
#include <immintrin.h>

#include <cmath>
#include <cstring>
#include <memory>

#include "bench/ratio.h"
#include "jit/expr/expr.h"
#include "jit/image/image.h"
#include "jit/pipeline/pipeline.h"
#include "runtime/os/cpu.h"

namespace trident::bench {
namespace {

constexpr std::uint64_t kElements = std::uint64_t{16} << 20;
/// A call takes many milliseconds: the judge needs more than its usual time for a handful of rounds.
constexpr std::uint64_t kBudgetNs = 60'000'000'000;

struct Free {
  void operator()(void* p) const { std::free(p); }
};
using Stream = std::unique_ptr<float, Free>;

Stream make_stream(float seed) {
  Stream s(static_cast<float*>(std::aligned_alloc(4096, kElements * sizeof(float))));
  for (std::uint64_t i = 0; i < kElements; ++i) s.get()[i] = seed + static_cast<float>(i % 1024) * 0.001f;
  return s;
}

/// out = a * s
[[gnu::target("avx512f")]] void hand_scale_avx512(const float* a, float s, float* out) {
  const __m512 factor = _mm512_set1_ps(s);
  for (std::uint64_t i = 0; i < kElements; i += 64)
    for (std::uint64_t k = 0; k < 64; k += 16)
      _mm512_stream_ps(out + i + k, _mm512_mul_ps(_mm512_load_ps(a + i + k), factor));
  _mm_sfence();
}
/// out = a + s * b
[[gnu::target("avx512f")]] void hand_triad_avx512(const float* a, const float* b, float s, float* out) {
  const __m512 factor = _mm512_set1_ps(s);
  for (std::uint64_t i = 0; i < kElements; i += 64)
    for (std::uint64_t k = 0; k < 64; k += 16)
      _mm512_stream_ps(out + i + k, _mm512_fmadd_ps(_mm512_load_ps(b + i + k), factor, _mm512_load_ps(a + i + k)));
  _mm_sfence();
}
[[gnu::target("avx2,fma")]] void hand_scale_avx2(const float* a, float s, float* out) {
  const __m256 factor = _mm256_set1_ps(s);
  for (std::uint64_t i = 0; i < kElements; i += 32)
    for (std::uint64_t k = 0; k < 32; k += 8)
      _mm256_stream_ps(out + i + k, _mm256_mul_ps(_mm256_load_ps(a + i + k), factor));
  _mm_sfence();
}
[[gnu::target("avx2,fma")]] void hand_triad_avx2(const float* a, const float* b, float s, float* out) {
  const __m256 factor = _mm256_set1_ps(s);
  for (std::uint64_t i = 0; i < kElements; i += 32)
    for (std::uint64_t k = 0; k < 32; k += 8)
      _mm256_stream_ps(out + i + k, _mm256_fmadd_ps(_mm256_load_ps(b + i + k), factor, _mm256_load_ps(a + i + k)));
  _mm_sfence();
}

codegen::Isa host_isa() {
  return os::cpu_features().avx512 ? codegen::Isa::avx512 : codegen::Isa::avx2;
}

Result<image::Mapped> optimised_kernel(const char* text, std::string& variant) {
  expr::ParseOptions parse;
  parse.type = ir::Type::f32;
  TRY(const expr::Expr e, expr::parse(text, parse));
  const pipeline::Options options{.target = {.isa = host_isa(), .elements = kElements},
                                  .budget = {.cpu_ns = kBudgetNs}};
  TRY(pipeline::Optimised optimised, pipeline::optimise(e, options));
  pipeline::Compiled best;
  if (optimised.outcome == pipeline::Outcome::published) {
    best = std::move(optimised.winner);
  } else {
    TRY(best, pipeline::compile_baseline(e, options));
  }
  variant = std::to_string(best.variant.vectors) +
            (best.variant.non_temporal ? " vectors, non-temporal" : " vectors, plain stores");
  TRY(const os::Fd fd, image::seal(best.image));
  return image::Mapped::map(fd);
}

/// Times `text` over `inputs` streams against `hand`, which computes the same into a stream of its own.
void compare(benchmark::State& state, const char* name, const char* text, const std::vector<const float*>& inputs,
             const std::function<void(float*)>& hand) {
  std::string variant;
  const auto kernel = optimised_kernel(text, variant);
  if (!kernel.ok()) {
    state.SkipWithError(kernel.error().message.c_str());
    ++wrong_answers();
    return;
  }
  const Stream ours = make_stream(0), theirs = make_stream(0);
  std::vector<const void*> in(inputs.begin(), inputs.end());
  void* out[] = {ours.get()};
  const auto run = [&] { kernel->entry()(nullptr, kElements, in.data(), out, nullptr); };
  run();
  hand(theirs.get());
  for (std::uint64_t i = 0; i < kElements; ++i) {
    if (std::fabs(ours.get()[i] - theirs.get()[i]) <= 1e-6f * std::fabs(theirs.get()[i])) continue;
    state.SkipWithError("the answers differ");
    ++wrong_answers();
    return;
  }
  const Rounds rounds = run_rounds(state, {run, [&] { hand(theirs.get()); }});
  const double bytes = static_cast<double>(kElements * sizeof(float) * (inputs.size() + 1));
  state.counters["ours_GB/s"] = bytes / rounds.median_ns(0);
  state.counters["hand_GB/s"] = bytes / rounds.median_ns(1);
  state.SetLabel(variant);
  print_figure("share of hand-written bandwidth: " + std::string(name), 1 / rounds.ratio(0, 1));
}

void scale(benchmark::State& state) {
  const Stream a = make_stream(1);
  compare(state, "copy (scale), 16M f32", "a * 1.5", {a.get()}, [&](float* out) {
    host_isa() == codegen::Isa::avx512 ? hand_scale_avx512(a.get(), 1.5f, out) : hand_scale_avx2(a.get(), 1.5f, out);
  });
}

void triad(benchmark::State& state) {
  const Stream a = make_stream(1), b = make_stream(2);
  compare(state, "triad, 16M f32", "a + 1.5 * b", {a.get(), b.get()}, [&](float* out) {
    host_isa() == codegen::Isa::avx512 ? hand_triad_avx512(a.get(), b.get(), 1.5f, out)
                                       : hand_triad_avx2(a.get(), b.get(), 1.5f, out);
  });
}

BENCHMARK(scale)->UseManualTime()->Iterations(31)->Unit(benchmark::kMillisecond);
BENCHMARK(triad)->UseManualTime()->Iterations(31)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace trident::bench

int main(int argc, char** argv) {
  return trident::bench::run_benchmarks(argc, argv);
}
