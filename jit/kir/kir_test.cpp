// Builder, checker, text form and section rules of kir.
#include "jit/kir/kir.h"

#include <gtest/gtest.h>

#include "jit/kir/builder.h"

namespace trident::kir {
namespace {

Kernel polynomial() {
  Kernel k;
  k.inputs = {{"x", Type::f64}, {"y", Type::f64}};
  k.params = {{"s", Type::f64}};
  Builder b(k);
  const Value x = b.input(0), y = b.input(1), s = b.param(0);
  const Value scale = b.mul(s, b.constant(Type::f64, 0.5));
  const Value p = b.fma(x, scale, y);
  const Value q = b.select(b.lt(p, x), b.div(p, y, kNormal), p);
  const Value total = b.reduce(Op::Sum, q);
  k.outputs = {{"q", q, OutputKind::array}, {"mean", b.div(total, b.count(Type::f64)), OutputKind::scalar}};
  return k;
}

TEST(Builder, SharesEqualInstructionsWhateverTheOrderOfCommutingOperands) {
  Kernel k;
  k.inputs = {{"x", Type::f32}, {"y", Type::f32}};
  Builder b(k);
  const Value x = b.input(0), y = b.input(1);
  EXPECT_EQ(b.add(x, y), b.add(y, x));
  EXPECT_NE(b.sub(x, y), b.sub(y, x));
  EXPECT_NE(b.min(x, y), b.min(y, x));  // min(a, b) and min(b, a) differ on zeros and NaN
  EXPECT_EQ(b.constant(Type::f32, 0.1), b.constant(Type::f32, 0.1));
  EXPECT_NE(b.constant(Type::f32, 0.0), b.constant(Type::f32, -0.0));
  EXPECT_NE(b.div(x, y), b.div(x, y, kNormal));
}

TEST(Builder, SharesWithAKernelThatAlreadyHasInstructionsAndBeyondItsFirstTableSize) {
  Kernel k;
  k.inputs = {{"x", Type::i64}};
  std::vector<Value> sums;
  {
    Builder b(k);
    for (int i = 0; i < 5000; ++i) sums.push_back(b.add(b.input(0), b.constant_int(Type::i64, i)));
  }
  Builder again(k);
  for (int i = 0; i < 5000; ++i) EXPECT_EQ(again.add(again.input(0), again.constant_int(Type::i64, i)), sums[i]);
  EXPECT_EQ(k.insts.size(), 10001u);
}

TEST(Builder, FoldsConstantsWithOneRounding) {
  Kernel k;
  Builder b(k);
  const Value third = b.constant(Type::f32, 1.0 / 3);
  const Value r = b.fma(third, third, b.constant(Type::f32, -1.0 / 9));
  ASSERT_TRUE(b.is_constant(r));
  // 2^-25-sized residue that two roundings would lose: computed here in double, where the product is exact.
  const float t = 1.0f / 3, n = -1.0f / 9;
  EXPECT_EQ(std::bit_cast<float>(static_cast<std::uint32_t>(b.bits_of(r))), static_cast<float>(double(t) * t + n));
  EXPECT_EQ(b.bits_of(b.constant(Type::i32, -3.0)), 0xFFFF'FFFDu);
  EXPECT_EQ(b.bits_of(b.constant_int(Type::f32, -2)), 0xC000'0000u);
}

TEST(Builder, PlacesInstructionsInSections) {
  const Kernel k = polynomial();
  ASSERT_TRUE(check(k).ok()) << check(k).error().message;
  for (const Inst& inst : k.insts) {
    if (inst.op == Op::Count || inst.op == Op::Param || inst.op == Op::Mul || inst.op == Op::Constant)
      EXPECT_EQ(inst.section, Section::invariant);
    else if (inst.op == Op::Sum || &inst == &k.insts.back())
      EXPECT_EQ(inst.section, Section::epilogue);
    else
      EXPECT_EQ(inst.section, Section::body);
  }
}

TEST(Builder, FoldsLookupsAndSharesTables) {
  Kernel k;
  Builder b(k);
  const std::uint32_t t = b.add_table({Type::i32, {7, 8, 9, 10}});
  EXPECT_EQ(b.add_table({Type::i32, {7, 8, 9, 10}}), t);
  EXPECT_NE(b.add_table({Type::i32, {7, 8}}), t);
  EXPECT_EQ(b.bits_of(b.lookup(t, b.constant_int(Type::i32, 2))), 9u);
}

TEST(Text, PrintsTables) {
  const std::string text =
      "input x f64\n"
      "input t f32 length 1\n"
      "param s f64\n"
      "param t.length i64\n"
      "%0 = index i64\n"
      "%1 = gather f32 %0, 1\n"
      "%2 = const i64 -3\n"
      "%3 = const i64 7\n"
      "%4 = strided f32 %2, %3, 1\n"
      "output y %1\n"
      "output z %4\n";
  const auto kernel = parse(text);
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  EXPECT_EQ(print(*kernel), text);
}

TEST(Check, TablesHaveALengthAndAreReadAsSuch) {
  const auto fault_of = [](const std::string& declarations, const std::string& inst) {
    const auto kernel =
        parse(declarations + "%0 = index i64\n%1 = const i64 1\n%2 = const i64 0\n" + inst + "output y %3\n");
    return kernel.ok() ? std::string() : kernel.error().message;
  };
  const std::string table = "input t f32 length 0\nparam n i64\n";
  EXPECT_EQ(fault_of(table, "%3 = gather f32 %0, 0\n"), "");
  EXPECT_EQ(fault_of(table, "%3 = strided f32 %1, %2, 0\n"), "");
  const auto says = [&](const std::string& declarations, const std::string& inst, const std::string& what) {
    EXPECT_NE(fault_of(declarations, inst).find(what), std::string::npos) << fault_of(declarations, inst);
  };
  says("input t f32 length 0\nparam n f64\n", "%3 = gather f32 %0, 0\n", "no i64 parameter");
  says("input t f32 length 1\nparam n i64\n", "%3 = gather f32 %0, 0\n", "no i64 parameter");
  says("input t f32\nparam n i64\n", "%3 = gather f32 %0, 0\n", "tables are read by");
  says(table, "%3 = input f32 0\n", "tables are read by");
  says(table, "%3 = gather f64 %0, 0\n", "type differs");
  says(table, "%3 = gather f32 %0, 1\n", "no such input");
  says(table, "%3 = strided f32 %2, %1, 0\n", "the stride is 0");
  says(table, "%3 = strided f32 %0, %1, 0\n", "must be an i64 constant");
  says(table, "%3 = strided f32 %1, %0, 0\n", "invariant i64");
}

TEST(Text, PrintsWhatItParses) {
  const std::string text =
      "input x f64\n"
      "param s i32\n"
      "table f64 0.5 -0 0x7ff8000000000001 1e+300\n"
      "%0 = input f64 0\n"
      "%1 = const f64 0.1\n"
      "%2 = fma f64 %0, %1, %1\n"
      "%3 = lt b64 %2, %0\n"
      "%4 = const b64 true\n"
      "%5 = andnot b64 %3, %4\n"
      "%6 = select f64 %5, %2, %0\n"
      "%7 = div f64 %6, %0 normal\n"
      "%8 = bitcast i64 %7\n"
      "%9 = const i64 3\n"
      "%10 = and i64 %8, %9\n"
      "%11 = lookup f64 %10, 0\n"
      "%12 = sum f64 %11\n"
      "%13 = param i32 0\n"
      "%14 = const f32 0xffc00000\n"
      "output y %11\n"
      "output scalar total %12\n"
      "output scalar seed %13\n"
      "output n %14\n";
  const auto kernel = parse(text);
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  EXPECT_EQ(print(*kernel), text);
  EXPECT_EQ(kernel->insts[12].section, Section::epilogue);
  const auto spaced = parse("# a comment\n\n  output   y  # none\n");
  EXPECT_FALSE(spaced.ok());
}

TEST(Text, BuiltKernelsSurviveTheRoundTrip) {
  const Kernel k = polynomial();
  const auto again = parse(print(k));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(print(*again), print(k));
  for (std::size_t i = 0; i < k.insts.size(); ++i) {
    EXPECT_EQ(again->insts[i].section, k.insts[i].section);
    EXPECT_EQ(again->insts[i].imm, k.insts[i].imm);
    EXPECT_EQ(again->insts[i].flags, k.insts[i].flags);
  }
}

TEST(Text, ErrorsShowTheLineAndACaret) {
  const auto kernel = parse("input x f64\n%0 = input f64 0\n%1 = sine f64 %0\n");
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.error().code, ErrorCode::kSyntaxError);
  EXPECT_EQ(kernel.error().message, "<kir>:3:6: unknown op\n  %1 = sine f64 %0\n       ^");
}

TEST(Text, DotNamesEveryInstructionOnce) {
  const Kernel k = polynomial();
  const std::string dot = print_dot(k);
  for (std::size_t i = 0; i < k.insts.size(); ++i) {
    const std::string node = "v" + std::to_string(i) + " [label=";
    EXPECT_NE(dot.find(node), std::string::npos);
    EXPECT_EQ(dot.find(node), dot.rfind(node));
  }
}

struct BadCase {
  const char* text;
  const char* reason;
};

class CheckRefuses : public ::testing::TestWithParam<BadCase> {};

TEST_P(CheckRefuses, WithAReason) {
  const auto kernel = parse(GetParam().text);
  ASSERT_FALSE(kernel.ok());
  EXPECT_NE(kernel.error().message.find(GetParam().reason), std::string::npos) << kernel.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    All, CheckRefuses,
    ::testing::Values(
        BadCase{"%0 = const f64 1\n", "needs an output"},
        BadCase{"%0 = const f64 1\n%1 = const f32 1\n%2 = add f64 %0, %1\noutput y %2\n", "operand type differs"},
        BadCase{"%0 = const i32 1\n%1 = sqrt i32 %0\noutput y %1\n", "does not exist for this type"},
        BadCase{"%0 = const f64 1\n%1 = and f64 %0, %0\noutput y %1\n", "does not exist for this type"},
        BadCase{"%0 = const b64 true\n%1 = lt b64 %0, %0\noutput y %1\n", "does not exist for this type"},
        BadCase{"%0 = const f64 1\n%1 = lt b32 %0, %0\noutput y %0\n", "mask of the operands' width"},
        BadCase{"%0 = const f64 1\n%1 = lt b64 %0, %0\noutput y %1\n", "is a mask"},
        BadCase{"%0 = const f64 1\n%1 = const b32 true\n%2 = select f64 %1, %0, %0\noutput y %2\n",
                "mask of this width"},
        BadCase{"%0 = const b32 true\n%1 = convert f32 %0\noutput y %1\n", "masks convert to masks only"},
        BadCase{"%0 = const f64 1\n%1 = bitcast i32 %0\noutput y %1\n", "different widths"},
        BadCase{"%0 = const f64 1\n%1 = to_int_rint i32 %0\noutput y %1\n", "of one width"},
        BadCase{"%0 = const f32 0x100000000\noutput y %0\n", "wider than its type"},
        BadCase{"%0 = const b32 0x1\n%1 = const f32 0\noutput y %1\n", "all zeros or all ones"},
        BadCase{"%0 = input f32 0\noutput y %0\n", "no such input"},
        BadCase{"param s f64\n%0 = param f32 0\noutput y %0\n", "type differs from the parameter's"},
        BadCase{"%0 = const i32 0\n%1 = lookup f32 %0, 0\noutput y %1\n", "no such table"},
        BadCase{"table f32 1 2 3\n%0 = const i32 0\noutput y %0\n", "2, 4, 8, 16 or 32"},
        BadCase{"table f32 1 2\n%0 = const i64 0\n%1 = lookup f32 %0, 0\noutput y %1\n", "as wide as the result"},
        BadCase{"input x f32\n%0 = input f32 0\n%1 = sum f32 %0\n%2 = add f32 %0, %1\noutput y %2\n", "mixed"},
        BadCase{"input x f32\n%0 = input f32 0\n%1 = sum f32 %0\n%2 = sum f32 %1\noutput scalar y %2\n", "mixed"},
        BadCase{"input x f32\n%0 = input f32 0\n%1 = sum f32 %0\noutput y %1\n", "comes from the epilogue"},
        BadCase{"input x f32\n%0 = input f32 0\noutput scalar y %0\n", "comes from the body"},
        BadCase{"%0 = const f32 1\n%1 = add f32 %0, %0 normal\noutput y %1\n", "flag on an op"}));

TEST(Text, ExitsSurviveTheRoundTripAndAreDrawn) {
  Kernel k = polynomial();
  k.outputs = {{"x", Value(0)}};
  k.insts.resize(3);
  Builder b(k);
  k.exit = b.lt(b.input(0), b.input(1));
  ASSERT_TRUE(check(k).ok()) << check(k).error().message;
  const std::string text = print(k);
  EXPECT_NE(text.find("exit %3\n"), std::string::npos) << text;
  const auto again = parse(text);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->exit, k.exit);
  EXPECT_EQ(print(*again), text);
  EXPECT_NE(print_dot(k).find("v3 -> exit"), std::string::npos);
}

TEST(Check, ExitsAreMasksOfKernelsThatReduceNothing) {
  const char* const kLines = "input x f32\n%0 = input f32 0\n%1 = lt b32 %0, %0\n";
  const auto fault = [&](const std::string& rest) {
    const auto kernel = parse(kLines + rest);
    return kernel.ok() ? std::string() : kernel.error().message;
  };
  EXPECT_EQ(fault("output y %0\nexit %1\n"), "");
  EXPECT_NE(fault("output y %0\nexit %0\n").find("no mask"), std::string::npos);
  EXPECT_NE(fault("output y %0\nexit %1\nexit %1\n").find("one exit"), std::string::npos);
  EXPECT_NE(fault("%2 = sum f32 %0\noutput y %0\nexit %1\n").find("reductions"), std::string::npos);
  EXPECT_NE(fault("%2 = const f32 1\noutput scalar y %2\nexit %1\n").find("scalar"), std::string::npos);
}

constexpr const char* kFirstPass = "input x f32\nparam s f64\n%0 = input f32 0\n%1 = sum f32 %0\noutput scalar m %1\n";

TEST(Text, PassesSurviveTheRoundTrip) {
  const std::string text = std::string(kFirstPass) +
                           "then\n"
                           "%0 = param f32 1\n"
                           "%1 = param f64 0\n"
                           "%2 = convert f64 %0\n"
                           "%3 = add f64 %1, %2\n"
                           "output scalar t %3\n"
                           "then\n"
                           "%0 = input f32 0\n"
                           "%1 = convert f64 %0\n"
                           "%2 = param f64 1\n"
                           "%3 = sub f64 %1, %2\n"
                           "output y %3\n";
  const auto kernel = parse(text);
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  ASSERT_EQ(kernel->before.size(), 1u);
  EXPECT_EQ(kernel->before.front().before.size(), 1u);
  EXPECT_EQ(kernel->params.size(), 1u);
  EXPECT_EQ(kernel->param_count(), 2u);
  EXPECT_EQ(kernel->param_type(1), Type::f64);
  EXPECT_EQ(print(*kernel), text);
}

TEST(Check, PassesFitEachOther) {
  const auto fault = [](const std::string& text) {
    const auto kernel = parse(text);
    return kernel.ok() ? std::string() : kernel.error().message;
  };
  const std::string last = "then\n%0 = input f32 0\noutput y %0\n";
  EXPECT_EQ(fault(kFirstPass + last), "");
  EXPECT_NE(fault(kFirstPass + std::string("then\n%0 = param f64 1\noutput y %0\n")).find("type differs"),
            std::string::npos);
  EXPECT_NE(fault(kFirstPass + std::string("then\n%0 = param f32 2\noutput y %0\n")).find("no such parameter"),
            std::string::npos);
  EXPECT_NE(fault("input x f32\n%0 = input f32 0\noutput y %0\n" + last).find("array output"), std::string::npos);
  EXPECT_NE(fault(kFirstPass + std::string("then\ninput z f32\n%0 = input f32 1\noutput y %0\n")).find("other inputs"),
            std::string::npos);
  EXPECT_NE(fault(kFirstPass + std::string("then\n%0 = input f32 0\n%1 = lt b32 %0, %0\noutput y %0\nexit %1\n"))
                .find("has one pass"),
            std::string::npos);
  std::string passes = kFirstPass;
  for (std::uint32_t i = 1; i < kPassesMax; ++i) passes += "then\n%0 = param f32 1\noutput scalar m %0\n";
  EXPECT_EQ(fault(passes), "");
  EXPECT_NE(fault(passes + last).find("too many passes"), std::string::npos);
}

TEST(Check, RefusesWrongSectionsAndForwardOperands) {
  Kernel k = polynomial();
  k.insts[0].section = Section::invariant;
  EXPECT_FALSE(check(k).ok());
  k = polynomial();
  k.insts.back().a = Value(static_cast<std::uint32_t>(k.insts.size() - 1));
  EXPECT_FALSE(check(k).ok());
  k = polynomial();
  k.insts[0].imm = 2;
  EXPECT_FALSE(check(k).ok());
  k = polynomial();
  k.outputs[0].value = {};
  EXPECT_FALSE(check(k).ok());
}

}  // namespace
}  // namespace trident::kir
