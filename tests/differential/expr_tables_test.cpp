// Tables from text to numbers: what a kernel gives against loops in C++ that say what each expression means, in the
// interpreter and in native code at every level of this machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

#include "jit/equiv/checker.h"
#include "jit/expr/expr.h"
#include "jit/expr/rewrite/rewrite.h"
#include "jit/kir/interpreter.h"
#include "tests/support/native_kernel.h"

namespace trident::expr {
namespace {

Expr parsed(const std::string& text, Type type = Type::f64) {
  ParseOptions options;
  options.type = type;
  const auto e = parse(text, options);
  EXPECT_TRUE(e.ok()) << text << ": " << e.error().message;
  return e.ok() ? *e : Expr{};
}

std::string fault_of(const std::string& text) {
  const auto e = parse(text);
  return e.ok() ? "" : e.error().message;
}

/// The element of `table` at `number`, 0 outside.
template <class T>
T element(const std::vector<T>& table, std::int64_t number) {
  return number >= 0 && number < static_cast<std::int64_t>(table.size()) ? table[static_cast<std::size_t>(number)]
                                                                         : T{};
}

template <class T>
std::vector<std::uint64_t> lanes_of(const std::vector<T>& values) {
  std::vector<std::uint64_t> lanes(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) std::memcpy(&lanes[i], &values[i], sizeof(T));
  return lanes;
}

/// Interprets `e` (one f64 array output) over `n` elements.
std::vector<double> interpreted(const Expr& e, std::size_t n, const std::vector<const void*>& in,
                                const std::vector<std::uint64_t>& params) {
  const auto kernel = lower(e, {.policy = {PolicyKind::exact}, .simplify = false});
  EXPECT_TRUE(kernel.ok()) << kernel.error().message;
  std::vector<double> y(n);
  void* out[] = {y.data()};
  if (kernel.ok()) kir::interpret(*kernel, n, in.data(), out, params.data());
  return y;
}

TEST(Tables, MeanWhatLoopsSay) {
  std::mt19937_64 random(3);
  std::vector<double> t(37), x(101);
  std::vector<std::int64_t> j(101);
  for (double& v : t) v = static_cast<double>(random() % 1000) / 8;
  for (double& v : x) v = static_cast<double>(random() % 1000) / 8;
  for (std::int64_t& v : j) v = static_cast<std::int64_t>(random() % 50) - 6;
  j[5] = std::numeric_limits<std::int64_t>::min();
  j[6] = std::numeric_limits<std::int64_t>::max();
  const auto expect = [&](const std::string& text, const std::vector<const void*>& in,
                          const std::vector<std::uint64_t>& params, const std::function<double(std::int64_t)>& wanted) {
    const auto y = interpreted(parsed(text), x.size(), in, params);
    for (std::size_t i = 0; i < y.size(); ++i)
      ASSERT_EQ(y[i], wanted(static_cast<std::int64_t>(i))) << text << " at " << i;
  };
  const std::uint64_t length = t.size();
  expect("t[2*index + 1]", {t.data()}, {length}, [&](auto i) { return element(t, 2 * i + 1); });
  expect("table t; gather(t, index)", {t.data()}, {0}, [&](auto) { return 0.0; });
  expect("table t; x * gather(t, 30 - index)", {t.data(), x.data()}, {length},
         [&](auto i) { return x[static_cast<std::size_t>(i)] * element(t, 30 - i); });
  expect("j: i64; t[j] + j", {j.data(), t.data()}, {length}, [&](auto i) {
    const auto at = static_cast<std::size_t>(i);
    return element(t, j[at]) + static_cast<double>(j[at]);
  });
  expect("param k: i64; table t; strided(t, 3, k) - t[k]", {t.data()}, {4, length},
         [&](auto i) { return element(t, 3 * i + 4) - element(t, 4); });
  expect("param o: i64; table t; strided(t, -2, o)", {t.data()}, {static_cast<std::uint64_t>(-3), length},
         [&](auto i) { return element(t, -2 * i - 3); });
  expect("t[index] + u[index]", {t.data(), x.data()}, {length, x.size()},
         [&](auto i) { return element(t, i) + element(x, i); });
  expect("index * x", {x.data()}, {}, [&](auto i) { return static_cast<double>(i) * x[static_cast<std::size_t>(i)]; });
  expect("(kernel k :vars ((table t) x) :body (* x (gather t (+ index 1))))", {t.data(), x.data()}, {length},
         [&](auto i) { return x[static_cast<std::size_t>(i)] * element(t, i + 1); });
  expect("t[i64(floor(x))]", {t.data(), x.data()}, {length},
         [&](auto i) { return element(t, static_cast<std::int64_t>(std::floor(x[static_cast<std::size_t>(i)]))); });
}

TEST(Tables, TextsComeBack) {
  for (const char* text :
       {"t[2*index + 1]", "table t: f32 in [0, 1]; j: i32; t[j] * t[j + 1]", "param k: i64; table t; strided(t, -3, k)",
        "t[5] + t[index]", "j: i32; t[j < 0 ? j : 7]", "sum(t[index]) + t[3]"}) {
    const Expr e = parsed(text);
    for (const std::string& again : {print_infix(e), print_sexpr(e)}) {
      const Expr back = parsed(again);
      EXPECT_EQ(canonical_bytes(back), canonical_bytes(e)) << again;
    }
  }
  // A variable of that name hides the element's number.
  EXPECT_EQ(parsed("index * 2").variables.size(), 0u);
  EXPECT_EQ(parsed("index: f64; index * 2").variables.size(), 1u);
}

TEST(Tables, FaultsAreSaid) {
  const auto says = [](const std::string& text, const std::string& what) {
    EXPECT_NE(fault_of(text).find(what), std::string::npos) << text << ": " << fault_of(text);
  };
  says("x[1] + x", "'x' is a table");
  says("table t; t + 1", "'t' is a table");
  says("table t; t", "an output cannot be a table");
  says("x + x[1]", "reads a table, which this is not");
  says("gather(x, 1)", "declare it as 'table t'");
  says("t[0.5]", "the number of an element is an integer");
  says("t[x]", "the number of an element is an integer");
  says("t[1", "']'");
  says("table t; strided(t, 0, 1)", "a stride is a literal other than 0");
  says("table t; strided(t, 65537, 1)", "a stride is a literal other than 0");
  says("table t; strided(t, 1, index)", "an offset is the same for all elements");
  says("table t; diff(t[index] * x, t)", "table");
}

TEST(Tables, DerivativesTakeThemForConstants) {
  const auto e = eliminate_derivatives(parsed("diff(x * x * t[index], x)"));
  ASSERT_TRUE(e.ok()) << e.error().message;
  const std::vector<double> x = {1, 2, 3}, t = {10, 20, 30};
  std::vector<const void*> in;
  for (const Variable& v : e->variables) in.push_back(v.is_table() ? t.data() : x.data());
  EXPECT_EQ(interpreted(*e, 3, in, {3}), (std::vector<double>{20, 80, 180}));
}

/// Every form at every level against the interpreter, arrays and tables at guard pages.
void expect_native(const Expr& e, const std::vector<std::vector<std::uint64_t>>& inputs,
                   const std::vector<std::uint64_t>& params, std::uint64_t n) {
  const auto kernel = lower(e, {});
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  for (const codegen::Isa isa : testing::runnable_isas())
    for (const codegen::Variant& variant : {codegen::Variant{.vectors = 2}, codegen::Variant{.schedule = false}}) {
      auto native = testing::map_native(*kernel, isa, variant);
      ASSERT_TRUE(native.ok()) << native.error().message;
      ASSERT_EQ(testing::compare_on(*kernel, *native, inputs, params, {.n = n}), "") << print_infix(e);
    }
}

TEST(Tables, NativeCodeAgrees) {
  for (const Type type : {Type::f32, Type::f64})
    for (const std::uint64_t length : {0, 1, 15, 100})
      for (const std::uint64_t n : {0, 1, 33, 64}) {
        std::vector<std::uint64_t> t, j;
        for (std::uint64_t i = 0; i < length; ++i)
          t.push_back(type == Type::f32 ? std::bit_cast<std::uint32_t>(static_cast<float>(i) + 0.5f)
                                        : std::bit_cast<std::uint64_t>(static_cast<double>(i) + 0.5));
        for (std::uint64_t i = 0; i < n; ++i) j.push_back(i % 9 == 0 ? ~std::uint64_t{0} << 63 : 3 * i - 5);
        expect_native(parsed("j: i64; exp(-t[j]) + t[2*index + 1] + strided(t, -1, 20)", type), {j, t}, {length}, n);
        expect_native(parsed("sum(t[index] * t[index + 1])", type), {t}, {length}, n);
      }
}

// Gathers whose numbers follow the element's become strided loads, and mean the same by the judgement of equiv.
TEST(Tables, TheSearchFindsStridedLoads) {
  for (const char* text : {"t[2*index + 1] * x", "param o: i64; t[index + o] + x", "t[7 - index] - x",
                           "param o: i64; t[3*(index + o) + 2] / x", "t[index] * t[index + 1] + x"}) {
    const Expr e = parsed(text);
    rewrite::RewriteOptions options;
    options.policy = {PolicyKind::exact};
    const auto found = rewrite::rewrite(e, options);
    ASSERT_TRUE(found.ok()) << found.error().message;
    ASSERT_FALSE(found->forms.empty()) << text;
    const Expr& best = found->forms.front();
    ASSERT_TRUE(check(best).ok()) << text << ": " << check(best).error().message;
    const auto has = [&](Op op) {
      return std::any_of(best.nodes.begin(), best.nodes.end(), [&](const Node& n) { return n.op == op; });
    };
    EXPECT_TRUE(has(Op::Strided)) << text << ": " << print_infix(best);
    EXPECT_FALSE(has(Op::Gather)) << text << ": " << print_infix(best);
    auto checker = equiv::Checker::make(e, options.policy, {});
    ASSERT_TRUE(checker.ok()) << checker.error().message;
    const auto kernel = lower(best, {.policy = options.policy});
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    auto prepared = (*checker)->check_meaning(*kernel, equiv::Demand::any_set);
    ASSERT_TRUE(prepared.ok()) << prepared.error().message;
    EXPECT_TRUE(prepared->meaning.same()) << text;
  }
}

// A form that reads the wrong elements is found out, whichever way it is wrong.
TEST(Tables, TheCheckerTellsOtherElements) {
  const Expr e = parsed("j: i64; t[2*index + 1] * x + t[j]");
  for (const char* wrong : {"j: i64; t[2*index] * x + t[j]", "j: i64; table t; strided(t, 3, 1) * x + t[j]",
                            "j: i64; t[2*index + 1] * x + t[j + 1]", "j: i64; t[2*index + 1] * x + t[j < 0 ? 0 : j]",
                            "j: i64; t[2*index + 1] * x + t[index]"}) {
    for (const PolicyKind kind : {PolicyKind::exact, PolicyKind::bounded}) {
      auto checker = equiv::Checker::make(e, {kind}, {});
      ASSERT_TRUE(checker.ok()) << checker.error().message;
      const auto kernel = lower(parsed(wrong), {.policy = {kind}});
      ASSERT_TRUE(kernel.ok()) << kernel.error().message;
      ASSERT_EQ(kernel->inputs.size(), 3u);
      auto prepared = (*checker)->check_meaning(*kernel, equiv::Demand::any_set);
      ASSERT_TRUE(prepared.ok()) << prepared.error().message;
      EXPECT_FALSE(prepared->meaning.same()) << wrong;
    }
  }
}

}  // namespace
}  // namespace trident::expr
