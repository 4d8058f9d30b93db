// Searches that end early (jit/kir/early_end.h). Oracles: loops over the elements, which say what an answer is; pages
// that cannot be read, which say that code behind the deciding chunk did not run.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "jit/codegen/codegen.h"
#include "jit/expr/expr.h"
#include "jit/kir/early_end.h"
#include "jit/kir/interpreter.h"
#include "jit/kir/reduction.h"
#include "tests/support/native_kernel.h"
#include "tests/support/search_kernel.h"

namespace trident::codegen {
namespace {

using testing::map_native;
using testing::runnable_isas;

constexpr std::uint64_t kChunk = kir::kChunk;
constexpr Variant kSearchVariants[] = {{.vectors = 1, .schedule = false},
                                       {.vectors = 2},
                                       {.vectors = 4, .vector_bits = 256},
                                       {.vectors = 3},
                                       {.vectors = 8}};

/// Calls f(what, run) for the interpreter at each level and for machine code of each kind.
void for_each_way(const kir::Kernel& kernel, const std::function<void(const std::string&, const testing::Run&)>& f) {
  for (const os::SimdLevel level : {os::SimdLevel::portable, os::SimdLevel::avx2, os::SimdLevel::avx512}) {
    if (!kir::is_available(level)) continue;
    const kir::Plan plan = kir::Plan::prepare(kernel, level);
    f("interpreter", [&](std::uint64_t n, const void* const* in, void* const* out, const std::uint64_t* params) {
      return plan.run(n, in, out, params);
    });
  }
  for (const Isa isa : runnable_isas())
    for (const Variant& variant : kSearchVariants) {
      const auto native = map_native(kernel, isa, variant);
      ASSERT_TRUE(native.ok()) << native.error().message;
      f(std::string(name_of(isa)) + ", " + std::to_string(variant.vectors) + " vectors",
        [&](std::uint64_t n, const void* const* in, void* const* out, const std::uint64_t* params) {
          native->entry()(nullptr, n, in, out, params);
          return n;
        });
    }
}

kir::Kernel kernel_of(const std::string& text) {
  const auto expr = expr::parse(text);
  CHECK(expr.ok());
  auto kernel = expr::lower(*expr, {});
  CHECK(kernel.ok() && kir::check(*kernel).ok());
  return std::move(*kernel);
}

/// The number that a scalar output is.
double number_of(const kir::Kernel& kernel, std::size_t output, std::uint64_t bits) {
  switch (kernel.type_of(kernel.outputs[output].value)) {
    case ir::Type::f32: return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case ir::Type::f64: return std::bit_cast<double>(bits);
    case ir::Type::i32: return static_cast<std::int32_t>(bits);
    case ir::Type::i64: return static_cast<double>(static_cast<std::int64_t>(bits));
    case ir::Type::b32:
    case ir::Type::b64: break;
  }
  CHECK(false);
}

/// Elements of a type, of which those behind the first `readable` chunks lie in pages that cannot be read.
template <class T>
class Elements {
 public:
  Elements(std::uint64_t n, std::uint64_t readable, T value) : n_(n) {
    void* at = ::mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    data_ = static_cast<T*>(at);
    std::fill_n(data_, n, value);
    readable_bytes_ = std::min(readable * kChunk * sizeof(T), bytes());
  }
  ~Elements() { ::munmap(data_, bytes()); }
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;
  T& operator[](std::uint64_t i) { return data_[i]; }
  [[nodiscard]] const T* data() const { return data_; }
  void close() {
    std::byte* const behind = reinterpret_cast<std::byte*>(data_) + readable_bytes_;
    if (readable_bytes_ != bytes()) CHECK(::mprotect(behind, bytes() - readable_bytes_, PROT_NONE) == 0);
  }

 private:
  [[nodiscard]] std::size_t bytes() const { return (n_ * sizeof(T) / 4096 + 1) * 4096; }
  std::uint64_t n_;
  std::size_t readable_bytes_ = 0;
  T* data_ = nullptr;
};

/// Whether an element counts, and the text of the condition.
template <class T>
struct Condition {
  const char* text;
  bool (*holds)(T);
};
template <class T>
constexpr Condition<T> kConditions[] = {{"x > 0", [](T x) { return x > 0; }},
                                        {"x", [](T x) { return x != 0; }},
                                        {"!(x <= 0)", [](T x) { return !(x <= 0); }},
                                        {"x*x + 1 > 5", [](T x) { return x * x + 1 > 5; }}};

template <class T>
void compare_with_loops(const char* declared) {
  const T nan = std::numeric_limits<T>::quiet_NaN();
  for (const Condition<T>& condition : kConditions<T>) {
    const std::string c = condition.text;
    const kir::Kernel kernel =
        kernel_of(std::string(declared) + "(any = any(" + c + "), all = all(!(" + c + ")), first = first(" + c + "))");
    ASSERT_TRUE(kernel.leaves_chunks()) << kir::print(kernel);
    for_each_way(kernel, [&](const std::string& what, const testing::Run& run) {
      for (const std::uint64_t n : {0u, 1u, 7u, 4095u, 4096u, 4097u, 8192u, 12289u, 20001u})
        for (const std::uint64_t place :
             {std::uint64_t{0}, std::uint64_t{5}, kChunk - 1, kChunk, 2 * kChunk - 1, 3 * kChunk + 1, n - 1, n})
          for (const T value : {T{3}, nan}) {
            if (place >= n && place != n) continue;
            std::vector<T> x(n, T{0});
            if (place < n) x[place] = value;
            if (place + 17 < n) x[place + 17] = -7;
            std::uint64_t first = 0;
            while (first < n && !condition.holds(x[first])) ++first;
            std::uint64_t any = 0, all = 0, found = 0;
            const void* const in[] = {x.data()};
            void* const out[] = {&any, &all, &found};
            run(n, in, out, nullptr);
            EXPECT_EQ(number_of(kernel, 0, any), first < n ? 1 : 0) << what << " " << c << " " << n << " " << place;
            EXPECT_EQ(number_of(kernel, 1, all), first < n ? 0 : 1) << what << " " << c << " " << n << " " << place;
            EXPECT_EQ(number_of(kernel, 2, found), static_cast<double>(first))
                << what << " " << c << " " << n << " " << place;
          }
    });
  }
}

TEST(EarlyEnd, AnswersAreThoseOfLoops) {
  compare_with_loops<float>("x: f32; ");
  compare_with_loops<double>("x: f64; ");
}

/// Runs `text` on zeros with one element of value 3, whose chunk is the last that can be read.
template <class T>
void search_beside_closed_pages(const std::string& text, std::uint64_t place, std::int64_t wanted) {
  const kir::Kernel kernel = kernel_of(text);
  Elements<T> x(300 * kChunk, place / kChunk + 1, T{0});
  x[place] = 3;
  x.close();
  for_each_way(kernel, [&](const std::string& what, const testing::Run& run) {
    std::uint64_t result = 0;
    const void* const in[] = {x.data()};
    void* const out[] = {&result};
    run(300 * kChunk - 5, in, out, nullptr);
    EXPECT_EQ(number_of(kernel, 0, result), static_cast<double>(wanted)) << what << " " << text;
  });
}

TEST(EarlyEnd, ChunksBehindTheDecidingOneAreNotRead) {
  for (const std::uint64_t place : {std::uint64_t{0}, kChunk - 1, 5 * kChunk + 77}) {
    search_beside_closed_pages<float>("x: f32; any(x > 0)", place, 1);
    search_beside_closed_pages<float>("x: f32; all(x <= 0)", place, 0);
    search_beside_closed_pages<float>("x: f32; first(x > 0)", place, static_cast<std::int64_t>(place));
    search_beside_closed_pages<double>("x: f64; any(x > 0)", place, 1);
    search_beside_closed_pages<double>("x: f64; all(x <= 0)", place, 0);
    search_beside_closed_pages<double>("x: f64; first(x > 0)", place, static_cast<std::int64_t>(place));
    search_beside_closed_pages<std::int64_t>("x: i64; any(x == 3)", place, 1);
    search_beside_closed_pages<std::int32_t>("x: i32; first(x == 3)", place, static_cast<std::int64_t>(place));
    search_beside_closed_pages<float>("x: f32; any(sin(x) > 0.1) && !all(x < 2)", place, 1);
  }
}

TEST(EarlyEnd, AllResultsMustBeDecided) {
  const kir::Kernel kernel = kernel_of("x: f32; (a = any(x > 1), b = all(x > -1), c = first(x == 5))");
  for_each_way(kernel, [&](const std::string& what, const testing::Run& run) {
    Elements<float> x(9 * kChunk, 7, 0);
    x[3] = 2, x[4 * kChunk + 1] = -2, x[6 * kChunk + 9] = 5;
    x.close();
    std::uint64_t a = 0, b = 0, c = 0;
    const void* const in[] = {x.data()};
    void* const out[] = {&a, &b, &c};
    run(9 * kChunk, in, out, nullptr);
    EXPECT_EQ(number_of(kernel, 0, a), 1) << what;
    EXPECT_EQ(number_of(kernel, 1, b), 0) << what;
    EXPECT_EQ(number_of(kernel, 2, c), 6 * kChunk + 9) << what;
  });
}

TEST(EarlyEnd, KernelsThatNeedAllElementsHaveNone) {
  for (const char* text :
       {"(any(x > 0), sum(x))", "(any(x > 0), x + 1)", "max(x) > 0", "sum(x > 0)", "(any(x > 0), max(x))"})
    EXPECT_FALSE(kir::ends_early(kernel_of(text))) << text;
}

/// A pass before may end early; the one behind it reads all.
TEST(EarlyEnd, PassesEndByThemselves) {
  const kir::Kernel kernel = kernel_of("x: f32; where(any(x > 2), x + 1, x - 1)");
  ASSERT_TRUE(kir::ends_early(kernel)) << kir::print(kernel);
  ASSERT_FALSE(kernel.leaves_chunks());
  for (const bool found : {false, true})
    for_each_way(kernel, [&](const std::string& what, const testing::Run& run) {
      if (what != "interpreter" && !kernel.before.empty()) return;  // machine code of passes: passes_test.cpp
      std::vector<float> x(3 * kChunk + 5, 1), y(x.size());
      if (found) x[kChunk + 1] = 3;
      const void* const in[] = {x.data()};
      void* const out[] = {y.data()};
      run(x.size(), in, out, nullptr);
      for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], x[i] + (found ? 1 : -1)) << what;
    });
}

TEST(EarlyEnd, CodeStopsBehindTheChunkThatDecides) {
  const auto kernel = kir::parse(testing::kStopsAtFive);
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  for_each_way(*kernel, [&](const std::string& what, const testing::Run& run) {
    for (const std::uint64_t n : {std::uint64_t{0}, std::uint64_t{100}, 6 * kChunk, 6 * kChunk + 100})
      for (std::int32_t chunk = 0; chunk < 8; ++chunk) {
        const testing::SearchCase wanted(n, chunk);
        std::int32_t results[2] = {};
        const void* const in[] = {wanted.x.data()};
        void* const out[] = {&results[0], &results[1]};
        run(n, in, out, nullptr);
        EXPECT_EQ(results[0], wanted.most) << what << " " << n << " " << chunk;
        EXPECT_EQ(results[1], wanted.least) << what << " " << n << " " << chunk;
      }
  });
}

TEST(EarlyEnd, TheCheckerWantsExtremaOfIntegersAndScalars) {
  const auto fault = [](std::string text) {
    const auto kernel = kir::parse(text);
    return kernel.ok() ? std::string() : kernel.error().message;
  };
  EXPECT_NE(fault("input x f32\n%0 = input f32 0\n%1 = maxof f32 %0\n%2 = lt b32 %1, %1\noutput scalar m %1\nexit %2\n")
                .find("extrema of integers"),
            std::string::npos);
  EXPECT_NE(fault("input x i32\n%0 = input i32 0\n%1 = maxof i32 %0\n%2 = lt b32 %1, %1\noutput scalar m %1\n"
                  "output y %0\nexit %2\n")
                .find("array output"),
            std::string::npos);
}

}  // namespace
}  // namespace trident::codegen
