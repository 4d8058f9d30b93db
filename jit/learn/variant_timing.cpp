#include "jit/learn/variant_timing.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "jit/expr/builder.h"
#include "jit/judge/timing.h"
#include "jit/pipeline/forms.h"
#include "runtime/os/cpu.h"
#include "runtime/stats/robust.h"

namespace trident::learn {
namespace {

constexpr std::uint64_t kTimedElementsMax = 1024, kTimedElementsMin = 64;
constexpr std::uint64_t kUsualLevel1 = 32u << 10;
constexpr std::uint64_t kMeasurementCpuNs = 400'000'000;
/// Limits of differences: on a quiet machine half of the kernels repeat to 2 % and all to 15 %.
constexpr double kMedianMax = 0.02, kGreatestMax = 0.15;
/// Ratio of a range's ends beyond which its values are drawn on a logarithmic scale.
constexpr double kWide = 1e3;

double unit(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) * 0x1p-53;
}

double value_in(const expr::Variable& v, std::mt19937_64& random) {
  const bool ends_lo = std::isfinite(v.lo), ends_hi = std::isfinite(v.hi);
  const double whole = ir::is_int(v.type) ? 1000 : 8;
  const double lo = ends_lo ? v.lo : ends_hi ? v.hi - 2 * whole : -whole;
  const double hi = ends_hi ? v.hi : lo + 2 * whole;
  const double at = unit(random);
  if (lo > 0 && hi / lo > kWide) return std::clamp(lo * std::exp(at * std::log(hi / lo)), lo, hi);
  return std::clamp(lo / 2 + (hi / 2 - lo / 2) * at + lo / 2 + (hi / 2 - lo / 2) * at, lo, hi);
}

std::uint64_t bits_in(const expr::Variable& v, std::mt19937_64& random) {
  const double value = value_in(v, random);
  if (!ir::is_int(v.type)) {
    // Rounding to f32 may leave a range of doubles.
    const std::uint64_t bits = expr::bits_of(v.type, value);
    const double rounded = expr::value_of(v.type, bits);
    if (rounded >= v.lo && rounded <= v.hi) return bits;
    return expr::bits_of(v.type, expr::value_of(v.type, expr::bits_of(v.type, v.lo / 2 + v.hi / 2)));
  }
  constexpr double kGreatest = 2147483647;
  return expr::bits_of_int(v.type, static_cast<std::int64_t>(std::clamp(std::floor(value), -kGreatest, kGreatest)));
}

/// Makes one measurement: nanoseconds per element, per kernel.
Result<std::vector<double>> measure(const CompiledFamily& family, const judge::Workload& workload,
                                    const TimingOptions& options) {
  std::vector<const image::Mapped*> contestants;
  for (const image::Mapped& code : family.code) contestants.push_back(&code);
  TRY(const judge::Timings timings,
      judge::time_rounds(contestants, family.signature, workload,
                         {.rounds = options.rounds, .batch_ns = options.batch_ns, .cpu_ns = kMeasurementCpuNs}));
  std::vector<double> ns;
  for (std::vector<double> rounds : timings.ns) {
    if (rounds.empty()) {
      ns.push_back(0);
      continue;
    }
    const auto quartile = rounds.begin() + static_cast<std::ptrdiff_t>(rounds.size() / 4);
    std::nth_element(rounds.begin(), quartile, rounds.end());
    ns.push_back(*quartile / static_cast<double>(workload.elements));
  }
  return ns;
}

/// Returns |log| of the two measurements' quotient, for each kernel that ran.
std::vector<double> differences(std::span<const FamilyTiming::Pair> times) {
  std::vector<double> all;
  for (const FamilyTiming::Pair& t : times)
    if (t.ns > 0 && t.ns_again > 0) all.push_back(std::fabs(std::log(t.ns_again / t.ns)));
  return all;
}
double disagreement(std::span<const FamilyTiming::Pair> times) {
  const std::vector<double> all = differences(times);
  if (all.empty()) return 0;
  return stats::median(all) / kMedianMax + *std::max_element(all.begin(), all.end()) / kGreatestMax;
}

}  // namespace

Result<CompiledFamily> compile(const expr::Expr& source, std::span<const KernelVariant> variants, codegen::Isa isa) {
  CompiledFamily family;
  family.variables = source.variables;
  family.signature = judge::signature_of(variants[0].kernel);
  const codegen::DividerCycles divider = pipeline::divider_of(isa, {});
  for (std::size_t k = 0; k < variants.size(); ++k) {
    const kir::Kernel& kernel = variants[k].kernel;
    const auto code = codegen::emit(kernel, isa, codegen::variants(kernel, isa, divider).front());
    if (!code.ok() && k == 0) return code.error();
    if (!code.ok()) continue;
    const image::ImageBytes image =
        image::build(*code, image::counts_of(kernel), isa, TRIDENT_TIER_OPTIMISED, image::Key{});
    if (const auto fits = pipeline::check_size(image); !fits.ok()) {
      if (k == 0) return fits.error();
      continue;
    }
    TRY(const os::Fd fd, image::seal(image));
    TRY(image::Mapped mapped, image::Mapped::map(fd));
    family.kernels.push_back(k);
    family.code.push_back(std::move(mapped));
  }
  return family;
}

std::uint64_t elements_timed(const CompiledFamily& family) {
  std::uint64_t bytes = 1;
  for (const std::uint32_t input : family.signature.input_bytes) bytes += input;
  for (const judge::Signature::Output& output : family.signature.outputs) bytes += output.scalar ? 0 : output.bytes;
  const std::uint64_t level1 = os::cache_bytes(1) != 0 ? os::cache_bytes(1) : kUsualLevel1;
  std::uint64_t elements = kTimedElementsMax;
  while (elements > kTimedElementsMin && elements * bytes > level1 * 3 / 4) elements /= 2;
  return elements;
}

bool repeats(std::span<const FamilyTiming::Pair> times) {
  const std::vector<double> all = differences(times);
  return all.empty() || (stats::median(all) <= kMedianMax && *std::max_element(all.begin(), all.end()) <= kGreatestMax);
}

FamilyTiming choose(std::vector<std::vector<FamilyTiming::Pair>> attempts) {
  const auto best = std::min_element(attempts.begin(), attempts.end(),
                                     [](const auto& a, const auto& b) { return disagreement(a) < disagreement(b); });
  FamilyTiming timing;
  timing.kept = static_cast<std::size_t>(best - attempts.begin());
  timing.times = std::move(*best);
  attempts.erase(best);
  timing.earlier = std::move(attempts);
  return timing;
}

Result<FamilyTiming> time_family(const CompiledFamily& family, const TimingOptions& options) {
  std::mt19937_64 random(options.seed);
  judge::Workload workload;
  workload.elements = elements_timed(family);
  std::vector<std::vector<std::byte>> columns;
  for (const expr::Variable& v : family.variables) {
    if (v.is_scalar()) {
      workload.params.push_back(bits_in(v, random));
      continue;
    }
    const std::size_t bytes = ir::bytes_of(v.type);
    auto& column = columns.emplace_back(static_cast<std::size_t>(workload.elements) * bytes);
    for (std::size_t at = 0; at < column.size(); at += bytes) {
      const std::uint64_t bits = bits_in(v, random);
      std::memcpy(column.data() + at, &bits, bytes);
    }
  }
  for (const auto& column : columns) workload.inputs.emplace_back(column);

  std::vector<std::vector<FamilyTiming::Pair>> attempts;
  while (attempts.size() < std::max<std::uint32_t>(options.attempts, 1)) {
    TRY(const std::vector<double> first, measure(family, workload, options));
    TRY(const std::vector<double> second, measure(family, workload, options));
    auto& times = attempts.emplace_back();
    for (std::size_t k = 0; k < first.size(); ++k) times.push_back({first[k], second[k]});
    if (repeats(times)) break;
  }
  return choose(std::move(attempts));
}

}  // namespace trident::learn
