// Functions through the spine. Oracle: answers in C++, faults read off the text, and spoilt code.
#include "jit/pipeline/function.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "jit/function/call.h"
#include "jit/function/describe.h"
#include "runtime/os/cpu.h"
#include "schemas/function_image.h"
#include "tests/support/foreign_floats.h"

namespace trident::pipeline {
namespace {

#define REQUIRE_FUNCTION_CODE() \
  if (!os::cpu_features().bmi2) GTEST_SKIP() << "the code of functions needs a processor with AVX2 and BMI2"

using function::Argument;
using function::Library;

/// A function that is mapped as clients map it: the image alone tells how to call it.
struct Native {
  function::Function function;
  function::Layout layout;
  image::Mapped mapped;

  function::Returned operator()(const std::vector<Argument>& arguments, std::uint64_t budget = 1000) const {
    auto returned = function::call(function, layout, mapped.region_entry(), arguments, budget);
    EXPECT_TRUE(returned.ok()) << returned.error().message;
    return std::move(returned).value();
  }
};

function::Function parsed_function(const std::string& text) {
  auto made = function::parse(text, "f.fn");
  CHECK(made.ok());
  CHECK(function::check(*made, Library::shipped()).ok());
  return std::move(*made);
}

Native native(const std::string& text, const FunctionOptions& options = {}) {
  function::Function f = parsed_function(text);
  const auto made = compile_function(f, Library::shipped(), options);
  EXPECT_TRUE(made.ok()) << made.error().message;
  const auto fd = image::seal(made->image);
  EXPECT_TRUE(fd.ok()) << fd.error().message;
  auto mapped = image::Mapped::map(*fd);
  EXPECT_TRUE(mapped.ok()) << mapped.error().message;
  const trident_image_header& h = mapped->header();
  EXPECT_EQ(h.version, TRIDENT_FUNCTION_IMAGE_VERSION);
  const auto description = std::span(made->image.bytes).subspan(h.description_offset, h.description_size);
  auto layout = function::layout_of(description);
  EXPECT_TRUE(layout.ok()) << layout.error().message;
  EXPECT_EQ(*layout, static_cast<const function::Layout&>(made->lowered));
  return {std::move(f), std::move(*layout), std::move(*mapped)};
}

Argument number(std::int64_t value) {
  return {.number = value};
}
Argument list(std::vector<std::int64_t> elements) {
  return {.is_array = true, .elements = std::move(elements)};
}

TEST(CompileFunction, ItsImageSorts) {
  REQUIRE_FUNCTION_CODE();
  const Native sort = native("fn f(a: inout [i64]) {\n  quicksort(a);\n}");
  EXPECT_EQ(sort({list({5, -3, 9, 0, 9, INT64_MIN})}).arguments[0].elements,
            (std::vector<std::int64_t>{INT64_MIN, -3, 0, 5, 9, 9}));
  EXPECT_TRUE(sort({list({})}).arguments[0].elements.empty());
}

TEST(CompileFunction, FaultsNameTheLineAndLeaveArraysAsTheyWere) {
  REQUIRE_FUNCTION_CODE();
  const Native f = native(R"(@param n in [0, 5]: how many
fn f(a: inout [u8], n: i64, by: i64) -> i64 {
  for i in 0..n {
    a[i] = 7 / by;
  }
  return n;
})");
  const auto fault = [](const function::Returned& r) { return r.fault ? print(*r.fault) : "none"; };
  EXPECT_EQ(fault(f({list({1, 2, 3}), number(2), number(7)})), "none");
  const function::Returned outside = f({list({1, 2, 3}), number(5), number(3)});
  EXPECT_EQ(fault(outside), "f: line 4: an index outside of its array");
  EXPECT_EQ(outside.arguments[0].elements, (std::vector<std::int64_t>{2, 2, 2}));
  EXPECT_EQ(fault(f({list({1, 2, 3}), number(5), number(0)})), "f: line 4: a division by zero");
  EXPECT_EQ(fault(f({list({1, 2, 3}), number(6), number(1)})),
            "f: line 1: an argument outside of its declared range: n");
  const function::Returned spent = f({list({1, 2, 3}), number(3), number(7)}, 2);
  EXPECT_EQ(fault(spent), "f: line 3: more rounds of loops than the budget allows");
  EXPECT_EQ(spent.arguments[0].elements, (std::vector<std::int64_t>{1, 1, 3}));
}

TEST(CompileFunction, LocalArraysAreClearedAtEachCall) {
  REQUIRE_FUNCTION_CODE();
  const Native f = native(R"(fn f(at: i64) -> i64 {
  let t = [u8; 100];
  let before = t[at];
  t[at] = 300;
  return before * 1000 + t[at];
})");
  for (int round = 0; round < 2; ++round) EXPECT_EQ(f({number(99)}).result, 300 % 256);
  EXPECT_TRUE(f({number(100)}).fault.has_value());
}

TEST(CompileFunction, ArraysOfRealsAreTried) {
  REQUIRE_FUNCTION_CODE();
  const Native sum = native(
      "@param low in [-1.0, 1.0]: a\nfn f(x: inout [f64], low: f64) -> f64 {\n  let total = 0.0;\n"
      "  for i in 0..len(x) {\n    x[i] = x[i] < low ? low : x[i];\n    total = total + sqrt(x[i]);\n  }\n"
      "  return total;\n}");
  const Argument x{.is_array = true, .is_real = true, .elements = {function::bits_of(4.0), function::bits_of(-9.0)}};
  const auto returned = sum({x, {.is_real = true, .number = function::bits_of(0.25)}});
  EXPECT_EQ(function::real_of(returned.result), 2.5);
  EXPECT_EQ(returned.arguments[0].elements,
            (std::vector<std::int64_t>{function::bits_of(4.0), function::bits_of(0.25)}));
}

Argument reals(const std::vector<double>& values) {
  Argument list{.is_array = true, .is_real = true};
  for (const double x : values) list.elements.push_back(function::bits_of(x));
  return list;
}

/// Numbers that round, and subnormal ones.
std::vector<double> delicate_reals(std::size_t count) {
  std::vector<double> x(count);
  for (std::size_t i = 0; i < count; ++i) x[i] = i % 5 == 3 ? 0x1.8p-1030 : static_cast<double>(i) * 0.37 - 5;
  return x;
}

#if defined(__x86_64__)
/// The code itself, called by threads that round otherwise, lose subnormals or trap exceptions.
TEST(CompileFunction, BulkCodeOfRealsGivesTheStandardBitsInEveryEnvironment) {
  REQUIRE_FUNCTION_CODE();
  for (const codegen::Isa isa : {codegen::Isa::avx2, bulk_isa()}) {
    const Native f = native(
        "fn f(x: [f64], lo: f64, y: out [f64]) -> i64 {\n  let n = 0;\n  for i in 0..len(x) {\n"
        "    y[i] = sqrt(abs(x[i])) / 3.0 + x[i] * lo;\n    if x[i] < lo {\n      n = n + 1;\n    }\n  }\n"
        "  return n;\n}",
        {.bulk = isa});
    EXPECT_EQ(f.mapped.header().tier, TRIDENT_TIER_OPTIMISED);
    const std::vector<double> x = delicate_reals(67);
    for (const double lo : {0.0, 0x1p-1060, 0.3}) {
      std::vector<double> y;
      for (const double v : x) y.push_back(std::sqrt(std::fabs(v)) / 3 + v * lo);
      const auto n = std::count_if(x.begin(), x.end(), [&](double v) { return v < lo; });
      const std::vector<Argument> arguments = {
          reals(x), {.is_real = true, .number = function::bits_of(lo)}, reals(std::vector<double>(x.size()))};
      for (const testing::FloatEnvironment& environment : testing::kForeignFloats) {
        function::Returned returned;
        {
          const testing::ForeignFloats floats(environment);
          returned = f(arguments);
        }
        EXPECT_EQ(returned.result, n) << environment.name;
        EXPECT_EQ(returned.arguments[2].elements, reals(y).elements) << environment.name;
      }
    }
  }
}
#endif

TEST(CompileFunction, TrialsReachMostBlocks) {
  REQUIRE_FUNCTION_CODE();
  const auto made = compile_function(*Library::shipped().find("binary_search"), Library::shipped(), {});
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_GE(made->trials.runs, 50u);
  EXPECT_GE(made->trials.rounds, 20u);
  EXPECT_GE(made->trials.blocks_reached * 4, made->trials.blocks * 3);
}

/// The code with the byte at `offset` behind the landing pad changed.
FunctionOptions spoilt(std::size_t offset, std::uint8_t byte) {
  return {.spoil = [=](codegen::MachineCode& code) { code.bytes[4 + offset] = std::byte{byte}; }};
}

TEST(CompileFunction, CodeThatDiffersIsNoImage) {
  REQUIRE_FUNCTION_CODE();
  const function::Function& f = *Library::shipped().find("gcd");
  const auto returns_at_once = compile_function(f, Library::shipped(), spoilt(0, 0xC3));
  ASSERT_FALSE(returns_at_once.ok());
  EXPECT_EQ(returns_at_once.error().code, ErrorCode::kNotEquivalent);
  const auto crashes = compile_function(f, Library::shipped(), spoilt(0, 0xCC));
  ASSERT_FALSE(crashes.ok());
  EXPECT_EQ(crashes.error().code, ErrorCode::kNotEquivalent);
}

/// Compiles the text, but with the code of another one.
Result<CompiledFunction> with_code_of(const std::string& text, const std::string& other) {
  const auto wrong = compile_function(parsed_function(other), Library::shipped(), {.runs_trials = false});
  return compile_function(parsed_function(text), Library::shipped(),
                          {.spoil = [&](codegen::MachineCode& code) { code = wrong->code; }});
}

TEST(CompileFunction, TrialsTellFunctionsApart) {
  REQUIRE_FUNCTION_CODE();
  const std::pair<const char*, const char*> kPairs[] = {
      {"fn f(a: [i64]) -> i64 {\n  return a[0];\n}", "fn f(a: [i64]) -> i64 {\n  return a[1];\n}"},
      {"fn f(a: i64) -> i64 {\n  return a / 3;\n}", "fn f(a: i64) -> i64 {\n  return udiv(a, 3);\n}"},
      {"fn f(a: [u8], b: inout [u8]) {\n  b[0] = a[0];\n  b[1] = a[0];\n}",
       "fn f(a: [u8], b: inout [u8]) {\n  let x = a[0];\n  b[0] = x;\n  b[1] = x;\n}"},
      {"fn f(n: i64) -> i64 {\n  let t = [i64; 9];\n  return t[n];\n}",
       "fn f(n: i64) -> i64 {\n  let t = [i64; 9];\n  t[8] = 1;\n  return t[n];\n}"},
  };
  for (const auto& [text, other] : kPairs) {
    EXPECT_TRUE(with_code_of(text, text).ok()) << text;
    const auto made = with_code_of(text, other);
    EXPECT_FALSE(made.ok()) << other;
  }
}

TEST(CompileFunction, EveryFlippedBitOfItsImageIsRefused) {
  REQUIRE_FUNCTION_CODE();
  const auto made = compile_function(*Library::shipped().find("gcd"), Library::shipped(), {});
  for (std::size_t bit = 0; bit < made->image.bytes.size() * 8; ++bit) {
    auto bytes = made->image.bytes;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_FALSE(image::validate(bytes).ok()) << "bit " << bit;
  }
}

TEST(CompileFunction, OneStageServesManyFunctions) {
  REQUIRE_FUNCTION_CODE();
  const auto stage = function_stage();
  ASSERT_TRUE(stage.ok()) << stage.error().message;
  for (const char* name : {"gcd", "itoa", "quicksort"}) {
    const auto made = compile_function(*Library::shipped().find(name), Library::shipped(), {.stage = stage->get()});
    EXPECT_TRUE(made.ok()) << made.error().message;
  }
}

TEST(FunctionKey, TellsWhatIsCompiled) {
  const auto key = [](const std::string& text) {
    return function_key(*function::lower(parsed_function(text), Library::shipped()));
  };
  const std::string text = "fn f(a: i64) -> i64 {\n  return a / 3;\n}";
  EXPECT_EQ(key(text), key("// A remark.\nfn f(b: i64) -> i64 {\n  return b / 3;\n}"));
  EXPECT_NE(key(text), key("fn f(a: i64) -> i64 {\n  return a / 4;\n}"));
  EXPECT_NE(key("fn f(a: [i64]) -> i64 {\n  return a[0];\n}"), key("fn g(a: [i64]) -> i64 {\n  return a[0];\n}"));
}

TEST(FunctionKey, TellsTextsAndInstructionSets) {
  constexpr auto kWide = codegen::Isa::avx512, kNarrow = codegen::Isa::avx2;
  EXPECT_EQ(function_key("f", "g", kWide), function_key("f", "g", kWide));
  EXPECT_NE(function_key("f", "g", kWide), function_key("f", "g", kNarrow));
  EXPECT_NE(function_key("f", "g", kWide), function_key("fg", "", kWide));
}

/// Every field of a description is refused by its own check.
TEST(FunctionDescription, HostileBytesAreRefused) {
  const auto lowered = function::lower(*Library::shipped().find("quicksort"), Library::shipped());
  const auto good = function::description_of(*lowered);
  ASSERT_TRUE(function::layout_of(good).ok());
  using D = trident_function_description;
  const auto refused = [&](auto change) {
    auto bytes = good;
    D d;
    std::memcpy(&d, bytes.data(), sizeof d);
    change(d);
    std::memcpy(bytes.data(), &d, sizeof d);
    return !function::layout_of(bytes).ok();
  };
  EXPECT_TRUE(refused([](D& d) { ++d.bytes; }));
  EXPECT_TRUE(refused([](D& d) { d.frame_bytes = 8192; }));
  EXPECT_TRUE(refused([](D& d) { d.frame_bytes = 24; }));
  EXPECT_TRUE(refused([](D& d) { d.failure_home = 8; }));
  EXPECT_TRUE(refused([](D& d) { d.place_home = d.frame_bytes; }));
  EXPECT_TRUE(refused([](D& d) { d.result_home += 4; }));
  EXPECT_TRUE(refused([](D& d) { ++d.parameters; }));
  EXPECT_TRUE(refused([](D& d) { d.locals = 0xFFFF'FFFF; }));
  EXPECT_TRUE(refused([](D& d) { d.places = 0x5555'5556; }));
  EXPECT_TRUE(refused([](D& d) { d.bytes -= d.name_bytes, d.name_bytes = 0; }));
  EXPECT_FALSE(function::layout_of(std::span(good).first(20)).ok());
}

/// A counting loop becomes bulk code; one whose rounds need each other does not; code that fails its trials is not
/// published, and the baseline's takes its place.
TEST(CompileFunction, TheFastestCodeIsTheOneThatPassesItsTrials) {
  REQUIRE_FUNCTION_CODE();
  const auto tier_of = [](const char* name, const FunctionOptions& options) {
    const auto made = compile_fastest(*Library::shipped().find(name), Library::shipped(), options);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return made->image.header().tier;
  };
  EXPECT_EQ(tier_of("reverse", {}), static_cast<std::uint32_t>(TRIDENT_TIER_OPTIMISED));
  EXPECT_EQ(tier_of("array_max", {}), static_cast<std::uint32_t>(TRIDENT_TIER_OPTIMISED));
  EXPECT_EQ(tier_of("gcd", {}), static_cast<std::uint32_t>(TRIDENT_TIER_BASELINE));
  int calls = 0;
  const auto spoil_first = [&](codegen::MachineCode& code) {
    if (calls++ == 0) code.bytes[0] = std::byte{0xC3};
  };
  EXPECT_EQ(tier_of("reverse", {.spoil = spoil_first}), static_cast<std::uint32_t>(TRIDENT_TIER_BASELINE));
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace trident::pipeline
