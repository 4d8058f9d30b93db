// Speculative kernels: guard, driver and both kernels together. Oracle of the bits: the interpreter on the general
// kernel, of which the fast one is a narrowing that is right inside the assumed ranges alone. Where the oracle must
// tell which kernel computed an element, the two compute different things.
#include "jit/codegen/speculative.h"

#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <sstream>

#include "jit/kir/builder.h"
#include "jit/kir/guard.h"
#include "tests/support/assumption.h"
#include "tests/support/draws.h"
#include "tests/support/fast_variants.h"
#include "tests/support/native_kernel.h"

namespace trident::codegen {
namespace {

using ir::Type;
using kir::Assumed;
using testing::Random;

Result<image::Mapped> map_speculative(const kir::Kernel& fast, const kir::Kernel& general, Isa isa,
                                      const Variant& variant, Division division) {
  TRY(const MachineCode fast_code, emit(fast, isa, variant));
  TRY(const MachineCode general_code,
      emit(general, isa, {.vectors = 2, .non_temporal = variant.non_temporal, .part = variant.part}));
  division.streams = variant.part;
  TRY(const MachineCode code, join_speculative(fast_code, general_code, array_bytes(general), division, isa));
  const image::ImageBytes bytes = image::build(code, image::counts_of(general), isa, TRIDENT_TIER_OPTIMISED, {});
  TRY(const os::Fd fd, image::seal(bytes));
  return image::Mapped::map(fd);
}

/// A handle as the driver sees it.
struct Self {
  const void* entry = nullptr;
  std::uint64_t* misses = nullptr;
};

// --- the bits ---

testing::Arguments draw_arguments(const kir::Kernel& kernel, const testing::Assumption& assumption, std::uint64_t n,
                                  Random& random) {
  testing::Arguments arguments = testing::random_arguments(kernel, n, random);
  const std::uint32_t outside[] = {0, 0, 400, 40, 3};
  const std::uint32_t one_in = outside[random.below(std::size(outside))];
  for (std::size_t i = 0; i < kernel.inputs.size(); ++i)
    if (!kernel.inputs[i].is_table())
      for (std::uint64_t& x : arguments.inputs[i])
        x = testing::lane_around(random, kernel.inputs[i].type, assumption.inputs[i], one_in);
  for (std::size_t p = 0; p < kernel.params.size(); ++p)
    if (!assumption.params[p].is_anything())
      arguments.params[p] = testing::lane_around(random, kernel.params[p].type, assumption.params[p], one_in);
  return arguments;
}

TEST(Speculative, RandomKernelsGiveTheBitsOfTheGeneralOne) {
  std::uint64_t tried = 0;
  for (std::uint64_t seed = testing::first_seed(); tried < testing::draws(120); ++seed) {
    Random random(seed);
    const kir::Kernel general = testing::random_kernel(seed, {.ops = 25,
                                                              .reductions = false,
                                                              .narrow_only = seed % 3 == 0,
                                                              .floats_only = seed % 2 == 0,
                                                              .tables = seed % 7 == 0});
    if (!runs_in_parts(general)) continue;
    testing::Assumption assumption = testing::assume(general, random);
    if (!kir::guard(assumption.fast, assumption.inputs, assumption.params)) continue;
    ++tried;
    ASSERT_TRUE(kir::check(assumption.fast).ok()) << kir::check(assumption.fast).error().message;
    for (const Isa isa : testing::runnable_isas()) {
      const Variant& variant = testing::kFastVariants[seed % std::size(testing::kFastVariants)];
      const Division division = {.chunk = seed % 2 == 0 ? 256u : 0, .shortest = seed % 3 == 0 ? 150u : 0};
      auto native = map_speculative(assumption.fast, general, isa, variant, division);
      ASSERT_TRUE(native.ok()) << native.error().message;
      for (const std::uint64_t n : {0, 1, 16, 130, 700, 1500}) {
        const testing::Arguments arguments = draw_arguments(general, assumption, n, random);
        ASSERT_EQ(testing::compare_on(general, *native, arguments.inputs, arguments.params,
                                      {.n = n,
                                       .in_place = random.one_in(2),
                                       .at_front = random.one_in(2),
                                       .misalign = static_cast<std::uint32_t>(random.below(4))}),
                  "")
            << "seed " << seed << " " << name_of(isa) << "\n"
            << kir::print(general) << kir::print(assumption.fast);
      }
    }
  }
}

Result<image::Mapped> map_selected(const kir::Kernel& scan, const kir::Kernel& fast, const kir::Kernel& general,
                                   Isa isa, std::uint32_t shortest) {
  TRY(const MachineCode scan_code, emit(scan, isa, {.vectors = 4}));
  TRY(const MachineCode fast_code, emit(fast, isa, {.vectors = 1}));
  TRY(const MachineCode general_code, emit(general, isa, {.vectors = 2}));
  TRY(const MachineCode code, join_selected({scan_code, fast_code, general_code}, shortest, isa));
  const image::ImageBytes bytes = image::build(code, image::counts_of(general), isa, TRIDENT_TIER_OPTIMISED, {});
  TRY(const os::Fd fd, image::seal(bytes));
  return image::Mapped::map(fd);
}

TEST(Speculative, RandomKernelsForWholeCallsGiveTheBitsOfTheGeneralOne) {
  std::uint64_t tried = 0;
  for (std::uint64_t seed = testing::first_seed(); tried < testing::draws(60); ++seed) {
    Random random(seed);
    const kir::Kernel general = testing::random_kernel(
        seed, {.ops = 25, .reductions = seed % 4 != 0, .floats_only = seed % 2 == 0, .tables = seed % 7 == 0});
    const testing::Assumption assumption = testing::assume(general, random);
    kir::Kernel scan;
    scan.inputs = general.inputs, scan.params = general.params;
    if (!kir::guard(scan, assumption.inputs, assumption.params)) continue;
    ++tried;
    ASSERT_TRUE(kir::check(scan).ok()) << kir::check(scan).error().message;
    for (const Isa isa : testing::runnable_isas()) {
      auto native = map_selected(scan, assumption.fast, general, isa, seed % 3 == 0 ? 150 : 0);
      ASSERT_TRUE(native.ok()) << native.error().message;
      for (const std::uint64_t n : {0, 1, 16, 130, 700, 9000}) {
        const testing::Arguments arguments = draw_arguments(general, assumption, n, random);
        ASSERT_EQ(testing::compare_on(general, *native, arguments.inputs, arguments.params,
                                      {.n = n, .in_place = random.one_in(2), .at_front = random.one_in(2)}),
                  "")
            << "seed " << seed << " " << name_of(isa) << "\n"
            << kir::print(general) << kir::print(scan);
      }
    }
  }
}

// --- which kernel ---

constexpr Assumed kUnit{0, 1};

/// x + `what` and y, which is copied, for any x; `guarded`: for x and y in [0, 1].
kir::Kernel adding(double what, bool guarded) {
  kir::Kernel kernel;
  kernel.inputs = {{"x", Type::f32}, {"y", Type::f64}};
  kir::Builder b(kernel);
  kernel.outputs = {{"sum", b.add(b.input(0), b.constant(Type::f32, what))}, {"y", b.input(1)}};
  const Assumed ranges[] = {kUnit, kUnit};
  EXPECT_TRUE(!guarded || kir::guard(kernel, ranges, {}));
  return kernel;
}

struct Answer {
  std::vector<float> x, sum;
  std::vector<double> y, copy;
  std::uint64_t misses = 0;

  [[nodiscard]] bool fits(std::size_t i) const { return x[i] >= 0 && x[i] <= 1 && y[i] >= 0 && y[i] <= 1; }
  [[nodiscard]] bool by_fast(std::size_t i) const { return sum[i] == x[i] + 1; }
};

/// Calls a kernel that adds 1 where it is fast and 2 where it is general.
Answer call(const image::Mapped& native, std::vector<float> x, std::vector<double> y) {
  Answer answer{std::move(x), {}, std::move(y), {}, 0};
  answer.sum.assign(answer.x.size(), 0);
  answer.copy.assign(answer.x.size(), 0);
  const Self self{nullptr, &answer.misses};
  const void* const in[] = {answer.x.data(), answer.y.data()};
  void* const out[] = {answer.sum.data(), answer.copy.data()};
  native.entry()(&self, answer.x.size(), in, out, nullptr);
  return answer;
}

Result<image::Mapped> map_adding(Isa isa, const Variant& variant, const Division& division = {}) {
  return map_speculative(adding(1, true), adding(2, false), isa, variant, division);
}

TEST(Speculative, OneBadLaneInEachPositionIsComputedByTheGeneralKernel) {
  for (const Isa isa : testing::runnable_isas())
    for (const Variant& variant : {Variant{.vectors = 1}, Variant{.vectors = 4}, Variant{.vectors = 8}}) {
      const auto native = map_adding(isa, variant);
      ASSERT_TRUE(native.ok()) << native.error().message;
      for (const std::size_t n : {1, 17, 140, 300})
        for (std::size_t bad = 0; bad <= n; ++bad) {
          std::vector<float> x(n, 0.5F);
          std::vector<double> y(n, 1);
          const std::size_t step = 16 * 8;  // misses in the first step leave all to the general kernel
          if (bad < n && bad % 2 == 0) x[bad] = std::nextafter(1.0F, 2.0F);
          if (bad < n && bad % 2 != 0) y[bad] = std::nan("");
          const Answer answer = call(*native, std::move(x), std::move(y));
          ASSERT_EQ(answer.misses, bad < n ? 1u : 0u);
          for (std::size_t i = 0; i < n; ++i) {
            const bool near = bad < n && (bad < step || (i > bad ? i - bad : bad - i) < kBlockFirst);
            ASSERT_EQ(answer.sum[i], answer.x[i] + (answer.by_fast(i) ? 1 : 2)) << i << " of " << n << ", bad " << bad;
            ASSERT_TRUE(answer.fits(i) || !answer.by_fast(i)) << i << " of " << n << ", bad " << bad;
            ASSERT_TRUE(near || answer.by_fast(i)) << i << " of " << n << ", bad " << bad;
          }
        }
    }
}

TEST(Speculative, DataThatNeverFitMissRarely) {
  for (const Isa isa : testing::runnable_isas()) {
    const auto native = map_adding(isa, {.vectors = 2});
    ASSERT_TRUE(native.ok()) << native.error().message;
    const Answer answer = call(*native, std::vector<float>(100'000, -1), std::vector<double>(100'000, 0.5));
    EXPECT_LE(answer.misses, 3 + 100'000 / kBlockMax);
    for (std::size_t i = 0; i < answer.x.size(); ++i) ASSERT_EQ(answer.sum[i], 1);
  }
}

TEST(Speculative, TheFastKernelGoesOnBehindRareMisses) {
  for (const Isa isa : testing::runnable_isas()) {
    const auto native = map_adding(isa, {.vectors = 2});
    ASSERT_TRUE(native.ok()) << native.error().message;
    std::vector<float> x(100'000, 0.25F);
    for (std::size_t i = 9'999; i < x.size(); i += 10'000) x[i] = 2;
    const Answer answer = call(*native, std::move(x), std::vector<double>(100'000, 0.5));
    EXPECT_EQ(answer.misses, 10u);
    std::size_t fast = 0;
    for (std::size_t i = 0; i < answer.x.size(); ++i) fast += answer.by_fast(i) ? 1 : 0;
    EXPECT_GE(fast, 100'000 - 10 * kBlockFirst);
  }
}

TEST(Speculative, FrequentMissesLeaveTheRestToTheGeneralKernel) {
  for (const Isa isa : testing::runnable_isas()) {
    const auto native = map_adding(isa, {.vectors = 2});
    ASSERT_TRUE(native.ok()) << native.error().message;
    for (const std::size_t every : {17, 300, 1000, 4000}) {
      std::vector<float> x(100'000, 0.25F);
      for (std::size_t i = every - 1; i < x.size(); i += every) x[i] = 2;
      EXPECT_LE(call(*native, std::move(x), std::vector<double>(100'000, 0.5)).misses, 3 + 100'000 / kBlockMax)
          << every;
    }
  }
}

TEST(Speculative, WhoComputesAnElementDependsOnItsChunkAlone) {
  constexpr std::uint32_t kChunk = 512;
  for (const Isa isa : testing::runnable_isas()) {
    const auto native = map_adding(isa, {.vectors = 2}, {.chunk = kChunk});
    ASSERT_TRUE(native.ok()) << native.error().message;
    for (std::uint64_t seed = 1; seed <= testing::draws(40); ++seed) {
      Random random(seed);
      const std::size_t n = 3 * kChunk + random.below(kChunk);
      std::vector<float> x(n, 0.5F);
      for (float& value : x)
        if (random.one_in(100)) value = -1;
      const Answer whole = call(*native, x, std::vector<double>(n, 0));
      for (std::size_t first = 0; first < n; first += kChunk) {
        const std::size_t count = std::min<std::size_t>(kChunk, n - first);
        const auto begin = x.begin() + static_cast<std::ptrdiff_t>(first);
        const Answer part =
            call(*native, {begin, begin + static_cast<std::ptrdiff_t>(count)}, std::vector<double>(count, 0));
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(part.sum[i], whole.sum[first + i]) << "seed " << seed;
      }
    }
  }
}

TEST(Speculative, ShortChunksAreTheGeneralKernels) {
  constexpr std::uint32_t kChunk = 512, kShortest = 200;
  for (const Isa isa : testing::runnable_isas())
    for (const Division& division : {Division{0, kShortest}, Division{kChunk, kShortest}}) {
      const auto native = map_adding(isa, {.vectors = 2}, division);
      ASSERT_TRUE(native.ok()) << native.error().message;
      for (const std::size_t n : {1u, 199u, 200u, 201u, kChunk + 199, kChunk + 200, 2 * kChunk}) {
        const Answer answer = call(*native, std::vector<float>(n, 0.5F), std::vector<double>(n, 1));
        EXPECT_EQ(answer.misses, 0u);
        const std::size_t last = n < kShortest || division.chunk == 0 ? n : n % kChunk;
        const std::size_t by_fast = last < kShortest ? n - last : n;
        for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(answer.by_fast(i), i < by_fast) << i << " of " << n;
      }
    }
}

TEST(Speculative, CountsNothingWithoutACounter) {
  for (const Isa isa : testing::runnable_isas()) {
    const auto native = map_adding(isa, {.vectors = 2});
    ASSERT_TRUE(native.ok()) << native.error().message;
    float x = 7, sum = 0;
    double y = 0, copy = 1;
    const void* const in[] = {&x, &y};
    void* const out[] = {&sum, &copy};
    const Self no_counter{};
    for (const Self* self : {static_cast<const Self*>(nullptr), &no_counter}) {
      native->entry()(self, 1, in, out, nullptr);
      EXPECT_EQ(sum, 9);
      EXPECT_EQ(copy, 0);
    }
  }
}

TEST(Speculative, NoElementsNeedNoArrays) {
  for (const Isa isa : testing::runnable_isas()) {
    const auto native = map_adding(isa, {.vectors = 2});
    ASSERT_TRUE(native.ok()) << native.error().message;
    native->entry()(nullptr, 0, nullptr, nullptr, nullptr);
  }
}

TEST(Speculative, KernelsThatAskForNOrAnElementsNumberDoNotRunInParts) {
  const auto runs = [](const char* text) {
    const auto kernel = kir::parse(std::string("input x f32\n%0 = input f32 0\n") + text);
    EXPECT_TRUE(kernel.ok()) << kernel.error().message;
    return runs_in_parts(*kernel);
  };
  EXPECT_TRUE(runs("output y %0\n"));
  EXPECT_FALSE(runs("%1 = index i32\noutput y %1\n"));
  EXPECT_FALSE(runs("%1 = count f32\noutput y %1\n"));
  EXPECT_FALSE(runs("%1 = sum f32 %0\noutput scalar y %1\n"));
}

// --- streams ---

constexpr Variant kStreaming = {.vectors = 2, .non_temporal = true, .part = true};
constexpr std::uint32_t kStreamChunk = 4096;
constexpr std::size_t kStreamed = kStreamBytes / (sizeof(float) + sizeof(double)) + 1000;

/// Arrays that begin some elements behind a boundary of 64 bytes.
struct StreamedArrays {
  StreamedArrays(std::size_t n, std::size_t away_f32, std::size_t away_f64)
      : n(n), bytes(4 * (8 * n + 128)), away_f32(away_f32), away_f64(away_f64) {}
  template <class T>
  T* array(std::size_t number) {
    std::byte* const begin = bytes.data() + number * (8 * n + 128);
    const auto beyond = reinterpret_cast<std::uintptr_t>(begin) % 64;
    return reinterpret_cast<T*>(begin + (64 - beyond)) + (sizeof(T) == 4 ? away_f32 : away_f64);
  }
  void call(const image::Mapped& native, std::size_t first, std::size_t count) {
    const void* const in[] = {array<float>(0) + first, array<double>(1) + first};
    void* const out[] = {array<float>(2) + first, array<double>(3) + first};
    native.entry()(nullptr, count, in, out, nullptr);
  }
  std::size_t n;
  std::vector<std::byte> bytes;
  std::size_t away_f32, away_f64;
};

TEST(Speculative, LongCallsGiveTheBitsOfTheirChunksWhereverTheirArraysLie) {
  for (const Isa isa : testing::runnable_isas()) {
    const auto native =
        map_speculative(adding(1, true), adding(2, false), isa, kStreaming, {.chunk = kStreamChunk, .shortest = 200});
    ASSERT_TRUE(native.ok()) << native.error().message;
    for (const std::size_t away : {0, 3, 5, 6}) {
      Random random(away);
      const std::size_t away_f64 = away == 5 ? 2 : away;  // then the call cannot stream
      StreamedArrays whole(kStreamed, away, away_f64), chunks(kStreamed, away, away_f64);
      for (std::size_t i = 0; i < kStreamed; ++i) {
        whole.array<float>(0)[i] = chunks.array<float>(0)[i] = random.one_in(2000) ? 2.0F : 0.5F;
        whole.array<double>(1)[i] = chunks.array<double>(1)[i] = static_cast<double>(i) / kStreamed;
      }
      whole.call(*native, 0, kStreamed);
      for (std::size_t first = 0; first < kStreamed; first += kStreamChunk)
        chunks.call(*native, first, std::min<std::size_t>(kStreamChunk, kStreamed - first));
      for (std::size_t i = 0; i < kStreamed; ++i) {
        const float x = whole.array<float>(0)[i], sum = whole.array<float>(2)[i];
        ASSERT_TRUE(sum == x + 2 || (x == 0.5F && sum == x + 1)) << i << ", away " << away;
        ASSERT_EQ(sum, chunks.array<float>(2)[i]) << i << ", away " << away;
        ASSERT_EQ(whole.array<double>(3)[i], static_cast<double>(i) / kStreamed) << i;
      }
    }
  }
}

/// Makes streaming stores trap. Returns how many there are.
std::size_t trap_streaming_stores(MachineCode& code, Isa isa) {
  const auto listing = disassemble(code, isa);
  EXPECT_TRUE(listing.ok());
  std::istringstream lines(*listing);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("vmovnt") == std::string::npos) continue;
    code.bytes[std::stoul(line, nullptr, 16)] = std::byte{0xCC};
    ++count;
  }
  return count;
}

/// Joins a fast and a general kernel, one of which traps where it streams.
Result<image::Mapped> map_trapping(Isa isa, bool fast_traps) {
  const kir::Kernel general = adding(2, false);
  TRY(MachineCode fast_code, emit(adding(1, true), isa, kStreaming));
  TRY(MachineCode general_code, emit(general, isa, kStreaming));
  EXPECT_GT(trap_streaming_stores(fast_traps ? fast_code : general_code, isa), 0u);
  TRY(const MachineCode code,
      join_speculative(fast_code, general_code, array_bytes(general), {kStreamChunk, 3000, true}, isa));
  const image::ImageBytes bytes = image::build(code, image::counts_of(general), isa, TRIDENT_TIER_OPTIMISED, {});
  TRY(const os::Fd fd, image::seal(bytes));
  return image::Mapped::map(fd);
}

TEST(Speculative, BothKernelsStreamInLongCallsAndInNoOthers) {
  for (const Isa isa : testing::runnable_isas())
    for (const bool fast_traps : {false, true}) {
      const auto native = map_trapping(isa, fast_traps);
      ASSERT_TRUE(native.ok()) << native.error().message;
      for (const std::size_t away : {0, 3}) {
        StreamedArrays arrays(kStreamed, away, away);
        for (std::size_t i = 0; i < kStreamed; ++i) arrays.array<float>(0)[i] = fast_traps ? 0.5F : 2.0F;
        for (const std::size_t n : {kStreamed - 1001, std::size_t{2500}}) arrays.call(*native, 0, n);
        EXPECT_EXIT(arrays.call(*native, 0, kStreamed), ::testing::KilledBySignal(SIGTRAP), "");
      }
    }
}

}  // namespace
}  // namespace trident::codegen
