// Every reduction of every type has the bits of the order in jit/kir/reduction.h: in the interpreter, in machine code
// of every instruction set and shape, from parts joined at any chunk, and on any number of threads. Oracle: plain C++,
// one element at a time in that order (tests/support/reduction_order.h), and searches from the first element to the
// last.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "clients/c/trident.h"
#include "jit/expr/expr.h"
#include "jit/kir/interpreter.h"
#include "jit/kir/reduction.h"
#include "tests/support/native_kernel.h"
#include "tests/support/reduction_order.h"

namespace trident::testing {
namespace {

using ir::Type;

constexpr codegen::Variant kVariants[] = {
    {.schedule = false}, {.vectors = 2}, {.vectors = 4}, {.vectors = 8}, {.vectors = 8, .vector_bits = 256}};
// None to three chunks and odd tails.
constexpr std::size_t kLengths[] = {0,    1,    2,    31,   33,   63,   64,    65,    1001,  4095,
                                    4096, 4097, 8191, 8192, 8255, 9999, 12287, 12288, 12289, 13337};
/// Calls of so many elements are divided between threads; the other lengths end in parts of a chunk and of a tree.
constexpr std::size_t kDivided[] = {32 * 4096, 37 * 4096 + 1, 200'001};

// --- the oracle ------------------------------------------------------------------------------------------------------

// Arithmetic of C++ on integers would overflow.
template <class T, class Operation>
T wrapping(T a, T b, Operation operation) {
  if constexpr (std::is_integral_v<T>) {
    using Bits = std::make_unsigned_t<T>;
    return static_cast<T>(operation(static_cast<Bits>(a), static_cast<Bits>(b)));
  } else {
    return operation(a, b);
  }
}

template <class T>
struct Oracle {
  using Float = std::conditional_t<std::is_floating_point_v<T>, T, double>;  ///< of means
  const std::vector<T>& x;

  template <class U, class Join>
  static U reduced(const std::vector<U>& values, U start, Join join) {
    return reduced_in_order([&](std::size_t i) { return values[i]; }, values.size(), sizeof(U), start, join);
  }
  template <class U>
  static U total(const std::vector<U>& values) {
    return reduced(values, U{0}, [](U a, U b) { return wrapping(a, b, [](auto p, auto q) { return p + q; }); });
  }
  [[nodiscard]] T prod() const {
    return reduced(x, T{1}, [](T a, T b) { return wrapping(a, b, [](auto p, auto q) { return p * q; }); });
  }
  [[nodiscard]] T minof() const {
    using Limits = std::numeric_limits<T>;
    const T start = Limits::has_infinity ? Limits::infinity() : Limits::max();
    return reduced(x, start, [](T earlier, T later) { return later < earlier ? later : earlier; });
  }
  [[nodiscard]] T maxof() const {
    using Limits = std::numeric_limits<T>;
    const T start = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    return reduced(x, start, [](T earlier, T later) { return later > earlier ? later : earlier; });
  }
  [[nodiscard]] std::vector<Float> floats() const { return {x.begin(), x.end()}; }
  [[nodiscard]] Float mean() const { return total(floats()) / static_cast<Float>(x.size()); }
  /// The squared distances from the mean, each rounded twice, added and divided.
  [[nodiscard]] Float var(std::size_t less) const {
    const Float middle = mean();
    std::vector<Float> squares = floats();
    for (Float& value : squares) value = value - middle;
    for (Float& value : squares) value = value * value;
    return total(squares) / static_cast<Float>(x.size() < less ? 0 : x.size() - less);
  }
  [[nodiscard]] std::int64_t any() const {
    return std::any_of(x.begin(), x.end(), [](T value) { return value != 0; }) ? 1 : 0;
  }
  [[nodiscard]] std::int64_t all() const {
    return std::all_of(x.begin(), x.end(), [](T value) { return value != 0; }) ? 1 : 0;
  }
  template <class Precedes>
  [[nodiscard]] std::int64_t first(Precedes precedes) const {
    for (std::size_t i = 0; i < x.size(); ++i)
      if (x[i] != x[i]) return static_cast<std::int64_t>(i);
    std::size_t best = 0;
    for (std::size_t i = 1; i < x.size(); ++i)
      if (precedes(x[i], x[best])) best = i;
    return x.empty() ? -1 : static_cast<std::int64_t>(best);
  }
};

/// A scalar as its bits and its type; any NaN equals any NaN.
struct Answer {
  Type type = Type::f32;
  std::uint64_t bits = 0;
  friend bool operator==(const Answer&, const Answer&) = default;
};

template <class T>
constexpr Type type_of() {
  if (std::is_same_v<T, float>) return Type::f32;
  if (std::is_same_v<T, double>) return Type::f64;
  return sizeof(T) == 4 ? Type::i32 : Type::i64;
}

template <class T>
Answer answer(T value) {
  if (value != value) value = std::numeric_limits<T>::quiet_NaN();
  Answer made{type_of<T>(), 0};
  std::memcpy(&made.bits, &value, sizeof value);
  return made;
}

Answer answer_of(Type type, std::uint64_t bits) {
  if (type == Type::f32) return answer(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  if (type == Type::f64) return answer(std::bit_cast<double>(bits));
  return {type, bits};
}

template <class T>
struct Case {
  const char* text;
  Answer (*answer)(const Oracle<T>&);
};

template <class T>
std::vector<Case<T>> cases() {
  using O = const Oracle<T>&;
  return {{"sum(x)", [](O o) { return answer(o.total(o.x)); }},
          {"prod(x)", [](O o) { return answer(o.prod()); }},
          {"minof(x)", [](O o) { return answer(o.minof()); }},
          {"maxof(x)", [](O o) { return answer(o.maxof()); }},
          {"mean(x)", [](O o) { return answer(o.mean()); }},
          {"var(x)", [](O o) { return answer(o.var(0)); }},
          {"var(x, 1)", [](O o) { return answer(o.var(1)); }},
          {"std(x)", [](O o) { return answer(std::sqrt(o.var(0))); }},
          {"std(x, 2)", [](O o) { return answer(std::sqrt(o.var(2))); }},
          {"i64(any(x))", [](O o) { return answer(o.any()); }},
          {"i64(all(x))", [](O o) { return answer(o.all()); }},
          {"argmin(x)", [](O o) { return answer(o.first([](T a, T b) { return a < b; })); }},
          {"argmax(x)", [](O o) { return answer(o.first([](T a, T b) { return a > b; })); }}};
}

// --- data ------------------------------------------------------------------------------------------------------------

enum class Pattern { plain, special, equal, zeros };
constexpr Pattern kPatterns[] = {Pattern::plain, Pattern::special, Pattern::equal, Pattern::zeros};

template <class T>
T drawn(Pattern pattern, Random& random) {
  constexpr bool kFloats = std::is_floating_point_v<T>;
  if (pattern == Pattern::zeros) return kFloats && random.below(2) == 0 ? -T{0} : T{0};
  if (pattern == Pattern::equal) return static_cast<T>(static_cast<int>(random.below(7)) - 3);
  if constexpr (!kFloats) {
    return static_cast<T>(random.next());
  } else {
    using Limits = std::numeric_limits<T>;
    const T special[] = {Limits::quiet_NaN(),  Limits::infinity(), -Limits::infinity(), -T{0},
                         Limits::denorm_min(), Limits::max()};
    if (pattern == Pattern::special && random.below(500) == 0) return special[random.below(6)];
    return static_cast<T>(1 + (static_cast<double>(random.below(2'000'001)) - 1e6) * 1e-8);  // products stay finite
  }
}

template <class T>
std::vector<T> values_of(Pattern pattern, std::size_t n) {
  Random random(n + 17 * static_cast<std::uint64_t>(pattern) + sizeof(T));
  std::vector<T> values(n);
  for (T& value : values) value = drawn<T>(pattern, random);
  return values;
}

// --- ways to compute -------------------------------------------------------------------------------------------------

kir::Kernel kernel_of(const std::string& text, Type type) {
  expr::Variable x;
  x.name = "x", x.type = type;
  const auto parsed = expr::parse(text, {.type = ir::is_int(type) ? Type::f64 : type, .variables = {x}});
  CHECK(parsed.ok());
  auto kernel = expr::lower(*parsed, {.policy = {expr::PolicyKind::exact, 0}, .simplify = false});
  CHECK(kernel.ok());
  return std::move(kernel).value();
}

struct Way {
  std::string name;
  Run run;
};

std::vector<Way> ways_to_run(const kir::Kernel& kernel, std::vector<image::Mapped>& mapped) {
  std::vector<Way> ways = {
      {"interpreter", [&kernel](std::uint64_t n, const void* const* in, void* const* out, const std::uint64_t* params) {
         kir::interpret(kernel, n, in, out, params);
         return n;
       }}};
  for (const codegen::Isa isa : runnable_isas())
    for (const codegen::Variant& variant : kVariants) {
      auto native = map_native(kernel, isa, variant);
      CHECK(native.ok());
      mapped.push_back(std::move(native).value());
      const auto entry = mapped.back().entry();
      ways.push_back({std::string(name_of(isa)) + " " + std::to_string(variant.vectors),
                      [entry](std::uint64_t n, const void* const* in, void* const* out, const std::uint64_t* params) {
                        entry(nullptr, n, in, out, params);
                        return n;
                      }});
    }
  return ways;
}

template <class T>
std::uint64_t bits_by(const Run& run, const T* x, std::size_t n) {
  std::uint64_t bits = 0;
  const void* const in[] = {x};
  void* const out[] = {&bits};
  run(n, in, out, nullptr);
  return bits;
}

template <class T>
class ReductionBits : public ::testing::Test {};
using Types = ::testing::Types<float, double, std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(ReductionBits, Types);

TYPED_TEST(ReductionBits, AreThoseOfTheOrderInEveryWay) {
  for (const auto& one : cases<TypeParam>()) {
    const kir::Kernel kernel = kernel_of(one.text, type_of<TypeParam>());
    const Type type = kernel.type_of(kernel.outputs[0].value);
    std::vector<image::Mapped> mapped;
    const std::vector<Way> ways = ways_to_run(kernel, mapped);
    for (const Pattern pattern : kPatterns)
      for (const std::size_t n : kLengths) {
        const std::vector<TypeParam> x = values_of<TypeParam>(pattern, n);
        const Answer wanted = one.answer({x});
        for (const Way& way : ways)
          ASSERT_EQ(answer_of(type, bits_by(way.run, x.data(), n)), wanted)
              << one.text << ", " << way.name << ", n " << n << ", pattern " << static_cast<int>(pattern);
      }
  }
}

/// Returns what three parts give: the chunks [0, a), [a, b) and the rest, each reduced by itself.
std::uint64_t of_parts(const std::vector<std::uint64_t>& chunks, std::size_t a, std::size_t b, const kir::Inst& inst) {
  const auto join = [&](std::uint64_t earlier, std::uint64_t later) {
    return kir::eval_lane(kir::joining_op(inst.op), inst.type, inst.type, later, earlier, 0);
  };
  const auto part = [&](std::size_t first, std::size_t end) {
    kir::ChunkRun<std::uint64_t> run(first);
    for (; first < end; ++first) run.add(chunks[first], join);
    return run;
  };
  kir::ChunkRun<std::uint64_t> whole = part(0, a);
  whole.append(part(a, b), join);
  whole.append(part(b, chunks.size()), join);
  return whole.result(join);
}

TYPED_TEST(ReductionBits, AreThoseOfTheOrderWhereverChunksAreSplit) {
  constexpr std::size_t kElements = 6 * kir::kChunk + 1234;
  const auto all = cases<TypeParam>();
  for (std::size_t i = 0; i < 4; ++i) {  // those that are one reduction
    const kir::Kernel kernel = kernel_of(all[i].text, type_of<TypeParam>());
    const kir::Inst& inst = kernel.at(kernel.outputs[0].value);
    ASSERT_TRUE(kir::is_reduction(inst));
    std::vector<image::Mapped> mapped;
    for (const Way& way : ways_to_run(kernel, mapped))
      for (const Pattern pattern : kPatterns) {
        const std::vector<TypeParam> x = values_of<TypeParam>(pattern, kElements);
        const Answer wanted = all[i].answer({x});
        std::vector<std::uint64_t> chunks;
        for (std::size_t first = 0; first < kElements; first += kir::kChunk)
          chunks.push_back(bits_by(way.run, x.data() + first, std::min<std::size_t>(kir::kChunk, kElements - first)));
        for (std::size_t a = 0; a <= chunks.size(); ++a)
          for (std::size_t b = a; b <= chunks.size(); ++b)
            ASSERT_EQ(answer_of(inst.type, of_parts(chunks, a, b, inst)), wanted)
                << all[i].text << ", " << way.name << ", parts at " << a << " and " << b;
      }
  }
}

template <class T>
void compare_threads(const Case<T>& one, trident_kernel* kernel) {
  const Type type = one.answer({{}}).type;
  for (const Pattern pattern : kPatterns)
    for (const std::size_t n : kDivided) {
      const std::vector<T> x = values_of<T>(pattern, n);
      const Answer wanted = one.answer({x});
      for (std::uint32_t threads = 1; threads <= 8; ++threads) {
        const Run run = [&](std::uint64_t count, const void* const* in, void* const* out, const std::uint64_t* params) {
          trident_call_parallel(kernel, count, in, out, params, threads);
          return count;
        };
        ASSERT_EQ(answer_of(type, bits_by(run, x.data(), n)), wanted)
            << one.text << ", " << threads << " threads, n " << n;
      }
    }
}

template <class T>
void compare_threads(trident_ctx* context) {
  for (const auto& one : cases<T>()) {
    trident_submit_options options = TRIDENT_SUBMIT_OPTIONS_INIT;
    options.type = type_of<T>() == Type::f32 ? TRIDENT_F32 : TRIDENT_F64;
    options.policy = TRIDENT_EXACT;
    trident_kernel* kernel = nullptr;
    ASSERT_EQ(trident_submit(context, one.text, &options, &kernel), TRIDENT_OK) << trident_last_error();
    ASSERT_NO_FATAL_FAILURE(compare_threads(one, kernel));
    trident_close_kernel(kernel);
  }
}

TEST(ReductionThreads, AnyNumberGivesTheBitsOfTheOrder) {
  trident_options options{};
  options.struct_size = sizeof(options);
  options.mode = TRIDENT_MODE_INTERP;
  trident_ctx* context = nullptr;
  ASSERT_EQ(trident_open(&options, &context), TRIDENT_OK) << trident_last_error();
  compare_threads<float>(context);
  compare_threads<double>(context);
  trident_close(context);
}

template <class T>
void expect_other_bits() {
  const std::vector<T> x = values_of<T>(Pattern::plain, 8191);
  T sum = 0, product = 1;
  for (const T value : x) sum += value, product *= value;
  const Oracle<T> oracle{x};
  EXPECT_NE(sum, oracle.total(x));
  EXPECT_NE(product, oracle.prod());
}

// The comparison sees an order: plain C++ from the first element to the last has other bits.
TEST(ReductionOrder, AnotherOneIsSeen) {
  expect_other_bits<float>();
  expect_other_bits<double>();
}

}  // namespace
}  // namespace trident::testing
