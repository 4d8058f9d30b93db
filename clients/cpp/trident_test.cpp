// The C++ wrapper: compiled as C++17 (see CMakeLists.txt) and run against the interpreter. Oracle: the same formula
// here.
#include "trident.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "trident_function.hpp"

#if __cplusplus >= 202002L
#include <span>
#endif

namespace {

trident_status status_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const trident::error& e) {
    EXPECT_STRNE("", e.what());
    return e.status();
  }
  return TRIDENT_OK;
}

TEST(Cpp, CallsWithOutputsArraysAndScalars) {
  const trident::context ctx(TRIDENT_MODE_INTERP);
  const trident::kernel k =
      ctx.compile("y = a * x + f64(i); s = sum(x); (y, s)", {trident::scalar("a"), trident::array<std::int32_t>("i")});
  const std::vector<double> x = {1, 2, 3, 4};
  const std::array<std::int32_t, 4> i = {10, 20, 30, 40};
  std::vector<double> y(4);
  double s = 0;
  k(trident::out(y), trident::out(s), i, x, 0.5);  // i was declared, x comes after it
  for (std::size_t n = 0; n < 4; ++n) EXPECT_EQ(0.5 * x[n] + i[n], y[n]);
  EXPECT_EQ(10.0, s);
}

TEST(Cpp, TakesNarrowArrays) {
  const trident::context ctx(TRIDENT_MODE_INTERP);
  const trident::kernel k = ctx.compile("u8_sat(f64(p) * 2 + f64(w))",
                                        {trident::array<std::uint8_t>("p"), trident::array<std::uint16_t>("w")});
  const std::vector<std::uint8_t> p = {1, 100, 200};
  const std::vector<std::uint16_t> w = {0, 5, 60000};
  std::vector<std::uint8_t> out(3);
  k(trident::out(out), p, w);
  EXPECT_EQ((std::vector<std::uint8_t>{2, 205, 255}), out);
  std::vector<std::int8_t> other(3);
  EXPECT_NE(TRIDENT_OK, status_of([&] { k(trident::out(other), p, w); }));
}

TEST(Cpp, ScalarsHaveTheTypeThatTheyAreDeclaredWith) {
  const trident::context ctx(TRIDENT_MODE_INTERP);
  const std::vector<std::uint8_t> x = {1, 255};
  std::vector<std::int32_t> y(2);
  const trident::kernel in_text = ctx.compile("x: u8, param g: i8; i32(x) + g");
  const trident::kernel by_caller =
      ctx.compile("i32(x) + g", {trident::array<std::uint8_t>("x"), trident::scalar<std::int8_t>("g")});
  for (const trident::kernel* k : {&in_text, &by_caller}) {
    (*k)(trident::out(y), x, std::int8_t{-100});
    EXPECT_EQ((std::vector<std::int32_t>{-99, 155}), y);
    EXPECT_EQ(TRIDENT_E_INVALID, status_of([&] { (*k)(trident::out(y), x, 300); }));
  }
}

TEST(Cpp, RunsOnThreads) {
  const trident::context ctx(TRIDENT_MODE_INTERP);
  const trident::kernel k = ctx.compile("2*x + 1");
  std::vector<double> x(100'000), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  const void* in[] = {x.data()};
  void* out[] = {y.data()};
  k.run_parallel(x.size(), in, out, nullptr, 2);
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(2 * x[i] + 1, y[i]) << i;
}

TEST(Cpp, TakesStrides) {
  const trident::context ctx(TRIDENT_MODE_INTERP);
  const trident::kernel k = ctx.compile("2*x + 1");
  const double x[] = {1, 0, 2, 0, 3, 0};
  double y[3] = {};
  const std::uint64_t shape = 3;
  const std::int64_t two = 2 * sizeof(double), back = -static_cast<std::int64_t>(sizeof(double));
  const void* in[] = {x};
  void* out[] = {y + 2};
  const std::int64_t *in_strides[] = {&two}, *out_strides[] = {&back};
  k.run_strided(1, &shape, in, in_strides, out, out_strides, nullptr);
  EXPECT_EQ((std::vector<double>{7, 5, 3}), std::vector<double>(y, y + 3));
  EXPECT_NE(TRIDENT_OK, status_of([&] { k.run_strided(65, &shape, in, in_strides, out, out_strides, nullptr); }));
}

#if __cplusplus >= 202002L
TEST(Cpp, TakesSpans) {
  const trident::context ctx(TRIDENT_MODE_INTERP);
  const trident::kernel k = ctx.compile("x * 2", {}, {TRIDENT_F32});
  std::vector<float> data = {1, 2, 3, 4, 5};
  const std::span<const float> middle(data.data() + 1, 3);
  float results[3];
  k(trident::out(std::span<float>(results)), middle);
  EXPECT_EQ(4.0f, results[0]);
  EXPECT_EQ(8.0f, results[2]);
}
#endif

TEST(Cpp, RefusesWhatDoesNotFit) {
  const trident::context ctx(TRIDENT_MODE_INTERP);
  const trident::kernel k = ctx.compile("a * x + y", {trident::scalar("a")});
  const std::vector<double> x(4), y(4), shorter(3);
  const std::vector<float> single(4);
  std::vector<double> z(4), z3(3);
  using trident::out;
  EXPECT_EQ(TRIDENT_OK, status_of([&] { k(out(z), x, y, 1.0); }));
  EXPECT_EQ(TRIDENT_E_INVALID, status_of([&] { k(out(z), x, shorter, 1.0); }));
  EXPECT_EQ(TRIDENT_E_INVALID, status_of([&] { k(out(z3), x, y, 1.0); }));
  EXPECT_EQ(TRIDENT_E_INVALID, status_of([&] { k(out(z), x, single, 1.0); }));
  EXPECT_EQ(TRIDENT_E_INVALID, status_of([&] { k(out(z), x, y, 1.0f); }));
  EXPECT_EQ(TRIDENT_E_INVALID, status_of([&] { k(out(z), x, y); }));
  EXPECT_EQ(TRIDENT_E_INVALID, status_of([&] { k(out(z), x, 1.0); }));
  EXPECT_EQ(TRIDENT_E_INVALID, status_of([&] { k(x, y, 1.0); }));
  EXPECT_EQ(TRIDENT_E_INVALID, status_of([&] { k(out(z), x, y, x, 1.0); }));
  const trident::kernel total = ctx.compile("sum(x)");
  EXPECT_EQ(TRIDENT_E_INVALID, status_of([&] { total(out(z), x); }));
}

TEST(Cpp, ErrorsCarryStatusAndPlace) {
  const trident::context ctx(TRIDENT_MODE_INTERP);
  try {
    const auto k = ctx.compile("x + * y");
    FAIL();
  } catch (const trident::error& e) {
    EXPECT_EQ(TRIDENT_E_SYNTAX, e.status());
    EXPECT_NE(std::string::npos, std::string(e.what()).find("x + * y\n      ^"));
  }
  EXPECT_EQ(TRIDENT_E_DAEMON, status_of([] { trident::context(TRIDENT_MODE_DAEMON, "/nonexistent/socket"); }));
  EXPECT_EQ(TRIDENT_E_DAEMON, status_of([&] { static_cast<void>(ctx.daemon_stats()); }));
}

TEST(Cpp, RefusesNulInTexts) {
  const trident::context ctx(TRIDENT_MODE_INTERP);
  const auto with_nul = [](std::string text) { return text + '\0' + "+ 1"; };
  EXPECT_EQ(TRIDENT_E_INVALID, status_of([&] { static_cast<void>(ctx.compile(with_nul("x"))); }));
  EXPECT_EQ(TRIDENT_E_INVALID,
            status_of([&] { static_cast<void>(ctx.compile("x", {trident::array(with_nul("x"))})); }));
  EXPECT_EQ(TRIDENT_E_INVALID, status_of([&] { static_cast<void>(ctx.build(with_nul("halt"))); }));
  EXPECT_EQ(TRIDENT_E_INVALID, status_of([&] { trident::context(TRIDENT_MODE_INTERP, with_nul("/socket")); }));
  const std::string text = with_nul("fn f(a: i64) -> i64 { return a; }");
  EXPECT_EQ(TRIDENT_E_INVALID, status_of([&] { trident::function(ctx, text); }));
  EXPECT_EQ(TRIDENT_E_INVALID, status_of([&] { trident::library(ctx, with_nul("/folder")); }));
  const trident::library shipped(ctx);
  EXPECT_EQ(TRIDENT_E_INVALID, status_of([&] { static_cast<void>(shipped[with_nul("gcd")]); }));
}

TEST(Cpp, HandlesMove) {
  trident::context a(TRIDENT_MODE_INTERP);
  trident::kernel k = a.compile("x + 1");
  trident::context b = std::move(a);
  trident::kernel l = std::move(k);
  EXPECT_FALSE(k);
  EXPECT_EQ(TRIDENT_E_INVALID, status_of([&] { k(); }));
  EXPECT_EQ(TRIDENT_E_INVALID, status_of([] { trident::kernel()(std::array<double, 1>{}); }));
  EXPECT_TRUE(l);
  l = b.compile("x + 2");
  double y = 0;
  l(trident::out(y), std::array<double, 1>{1.0});  // an array kernel over one element
  EXPECT_EQ(3.0, y);
  EXPECT_TRUE(l.wait(2, 0));
  EXPECT_EQ(1u, l.info().done);
  EXPECT_EQ(2u, b.stats().submitted);
}

TEST(Cpp, ProgramsThatNobodyCanBuild) {
  const trident::context ctx(TRIDENT_MODE_INTERP);
  EXPECT_EQ(TRIDENT_E_UNSUPPORTED, status_of([&] { static_cast<void>(ctx.build("halt")); }));
  trident::program_options how;
  how.public_input = {UINT64_MAX};
  EXPECT_EQ(TRIDENT_E_INVALID, status_of([&] { static_cast<void>(ctx.build("halt", how)); }));
}

TEST(Cpp, FunctionsTakeNumbersAndContainers) {
  const trident::context ctx(TRIDENT_MODE_INTERP);
  const trident::function replaced(ctx,
                                   "fn replaced(s: inout [u8], c: u8, by: u8) -> i64 {\n"
                                   "  let n = 0;\n"
                                   "  for i in 0..len(s) {\n"
                                   "    if s[i] == c { s[i] = by; n = n + 1; }\n"
                                   "  }\n"
                                   "  return n;\n"
                                   "}\n");
  std::string text = "a b c";
  EXPECT_EQ(2, replaced(trident::inout(text), ' ', '-'));
  EXPECT_EQ("a-b-c", text);
  std::vector<std::int64_t> numbers = {3, 1, 2};
  EXPECT_EQ(TRIDENT_E_INVALID, status_of([&] { replaced(text, ' ', '-'); })) << "it writes";
  EXPECT_EQ(TRIDENT_E_INVALID, status_of([&] { replaced(trident::inout(numbers), ' ', '-'); }));
  EXPECT_EQ(TRIDENT_E_INVALID, status_of([&] { replaced(trident::inout(text), ' '); }));
  EXPECT_EQ(TRIDENT_E_INVALID, status_of([&] { replaced(trident::inout(text), 1.5, 1); }));
  const trident::library shipped(ctx);
  shipped["quicksort"](trident::inout(numbers));
  EXPECT_EQ((std::vector<std::int64_t>{1, 2, 3}), numbers);
  EXPECT_GT(shipped.names().size(), 100u);
  EXPECT_EQ(TRIDENT_E_INVALID, status_of([&] { (void)shipped["no such"]; }));
}

TEST(Cpp, FailuresOfFunctionsNameTheLine) {
  const trident::context ctx(TRIDENT_MODE_INTERP);
  const trident::function divide(ctx, "fn divide(a: i64, b: i64) -> i64 {\n  return a / b;\n}\n");
  EXPECT_EQ(-3, divide(7, -2));
  try {
    divide(1, 0);
    FAIL();
  } catch (const trident::failure& e) {
    EXPECT_EQ(TRIDENT_FAILED_DIVISION, e.kind());
    EXPECT_EQ(2u, e.line());
    EXPECT_STREQ("divide: line 2: a division by zero", e.what());
  }
  const trident_returned returned = divide.within(0, 1, 0);
  EXPECT_EQ(TRIDENT_FAILED_DIVISION, returned.failure);
}

}  // namespace
