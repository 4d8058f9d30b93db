// Every reduction of every type has the bits of the order in jit/kir/reduction.h: in the interpreter, in machine code
// of every instruction set and shape (neon_reduction_bits_test.cpp: NEON), from parts joined at any chunk, and on any
// number of threads. Oracle: reduction_cases.h.
#include <gtest/gtest.h>

#include "clients/c/trident.h"
#include "jit/kir/interpreter.h"
#include "jit/kir/reduction.h"
#include "tests/differential/reduction_cases.h"

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
class ReductionBits : public ::testing::Test {};
using Types = ::testing::Types<float, double, std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(ReductionBits, Types);

TYPED_TEST(ReductionBits, AreThoseOfTheOrderInEveryWay) {
  for (const auto& one : cases<TypeParam>()) {
    const kir::Kernel kernel = reduction_kernel(one.text, type_of<TypeParam>());
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

/// Elements of 0 but for ones at the places that a call of `n` elements has.
template <class T>
std::vector<T> ones_at(std::size_t n, const std::vector<std::size_t>& places) {
  std::vector<T> x(n, T{0});
  for (const std::size_t place : places)
    if (place < n) x[place] = 1;
  return x;
}

TYPED_TEST(ReductionBits, TruthsAndPlacesAreRightWhereverTheFirstElementIsSet) {
  const std::vector<std::size_t> places[] = {{},       {0},        {4094}, {4095}, {4096}, {9000, 4097, 19'999},
                                             {19'999}, {0, 19'999}};
  for (const auto& one : cases<TypeParam>()) {
    const std::string_view text = one.text;
    if (text.find("first(") == text.npos && text.find("any(") == text.npos && text.find("all(") == text.npos) continue;
    const kir::Kernel kernel = reduction_kernel(one.text, type_of<TypeParam>());
    const Type type = kernel.type_of(kernel.outputs[0].value);
    std::vector<image::Mapped> mapped;
    const std::vector<Way> ways = ways_to_run(kernel, mapped);
    for (const auto& set : places)
      for (const std::size_t n : {0, 1, 4095, 4097, 20'000})
        for (const bool swapped : {false, true}) {
          std::vector<TypeParam> x = ones_at<TypeParam>(n, set);
          for (TypeParam& value : x) value = swapped ? 1 - value : 4 * value;
          for (const Way& way : ways)
            ASSERT_EQ(answer_of(type, bits_by(way.run, x.data(), n)), one.answer({x}))
                << one.text << ", " << way.name << ", n " << n << ", first of " << (set.empty() ? n : set[0]);
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
    const kir::Kernel kernel = reduction_kernel(all[i].text, type_of<TypeParam>());
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
