// Narrow casts in texts: their printed forms read back as the same expression, outputs keep their elements through
// every pass, and an output whose last operation is another one has values. Oracle: reviewed rows.
#include "jit/expr/narrow_casts.h"

#include <gtest/gtest.h>

#include "jit/expr/expr.h"

namespace trident::expr {
namespace {

struct Row {
  const char* text;
  std::vector<Storage> outputs;
};
const Row kRows[] = {
    {"x: u8; u8(x)", {Storage::u8}},
    {"x: u8; u8(x + 1)", {Storage::u8}},
    {"x: u8; u8(x + 1) + 0", {Storage::own}},
    {"x: u8; i32(u8(x + 1))", {Storage::own}},
    {"x: i8, y: u16; (i8(x*y), i8_sat(x*y), x*y)", {Storage::i8, Storage::i8, Storage::own}},
    {"x: f32; (u8_sat(x), i16_sat(x*2), u32_sat(x), u32(x), u64(x))",
     {Storage::u8, Storage::i16, Storage::u32, Storage::u32, Storage::u64}},
    {"x: f16; (bool8(x > 1), bool8(x), f16(x*3))", {Storage::boolean, Storage::boolean, Storage::f16}},
    {"x: f16; t = f16(x + 1); t", {Storage::f16}},
    {"x: f16, y: f32; t = f16(x + y); (f16(t*x), t - y, f32(t))", {Storage::f16, Storage::own, Storage::own}},
    {"x: u32, y: i64; (u32(x - y), u16(y), u64(x*y))", {Storage::u32, Storage::u16, Storage::u64}},
    {"x: u8; u8(sum(x))", {Storage::own}},
    {"x: uint8, y: float16; uint16(x + i32(y))", {Storage::u16}},
    {"(kernel k :vars ((x:u8) (y:i16 -5 5)) :body (outputs (a (u8_sat (+ x y))) (b (i16 y))))",
     {Storage::u8, Storage::i16}},
};

void expect_storages(const Expr& expr, const Row& row) {
  ASSERT_EQ(expr.outputs.size(), row.outputs.size()) << row.text;
  for (std::size_t o = 0; o < row.outputs.size(); ++o)
    EXPECT_EQ(static_cast<int>(expr.outputs[o].storage), static_cast<int>(row.outputs[o]))
        << row.text << ", output " << o;
}

TEST(NarrowCasts, OutputsKeepWhatTheirLastOperationSays) {
  for (const Row& row : kRows) {
    const auto parsed = parse(row.text);
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    expect_storages(*parsed, row);
    ASSERT_TRUE(check(*parsed).ok()) << row.text;
    for (const bool simplify : {false, true}) {
      const auto kernel = lower(*parsed, {.policy = {PolicyKind::fast, 16}, .simplify = simplify, .narrow = simplify});
      ASSERT_TRUE(kernel.ok()) << kernel.error().message;
      for (std::size_t o = 0; o < row.outputs.size(); ++o)
        EXPECT_EQ(static_cast<int>(kernel->outputs[o].storage), static_cast<int>(row.outputs[o])) << row.text;
      for (std::size_t i = 0; i < kernel->inputs.size(); ++i)
        EXPECT_EQ(static_cast<int>(kernel->inputs[i].storage), static_cast<int>(parsed->variables[i].storage))
            << row.text;
    }
  }
}

/// The values that an element can have are a range without being declared: nothing is left of these but the load.
TEST(NarrowCasts, ElementsHaveTheRangeOfTheirType) {
  struct Text {
    const char* text;
    Storage storage;
  };
  for (const Text& row : {Text{"u8(max(x, 0))", Storage::u8}, Text{"u8(abs(x))", Storage::u8},
                          Text{"i8(min(x, 127))", Storage::i8}, Text{"u16(select(x < 65536, x, 7))", Storage::u16},
                          Text{"i16(max(x, -32768))", Storage::i16}, Text{"u8(min(x, 255))", Storage::boolean}}) {
    const std::vector<Variable> variables = {
        {.name = "x", .type = ir::facts_of(row.storage).type, .storage = row.storage}};
    const auto parsed = parse(row.text, {.variables = variables});
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    const auto kernel = lower(*parsed, {.policy = {PolicyKind::exact, 0}, .simplify = true, .narrow = true});
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    EXPECT_EQ(kernel->at(kernel->outputs[0].value).op, kir::Op::Input) << row.text << "\n" << kir::print(*kernel);
  }
}

/// An operation on f16(...) sees the rounded value, as it does through f32(...), which is a cast of its own.
TEST(NarrowCasts, OperandsAreRoundedToHalf) {
  for (const char* op : {"t^2", "t^3", "t^(-1)", "t*t", "-t", "sqrt(t)", "t > 1", "i32(t)", "max(t, 1)", "fma(t, t, t)",
                         "t^0.5", "select(x > 1, t, x)", "x^t", "sum(t)", "f64(t)"}) {
    const std::string of = "x: f16; t = f16(x*3); ", settled = "x: f16; t = f32(f16(x*3)); ";
    const auto rounded = parse(of + op), spelled = parse(settled + op);
    ASSERT_TRUE(rounded.ok() && spelled.ok()) << op;
    EXPECT_EQ(canonical_bytes(*rounded), canonical_bytes(*spelled)) << op;
  }
}

TEST(NarrowCasts, ScalarsAreWrappedToTheirType) {
  for (const Storage storage : {Storage::u8, Storage::boolean, Storage::i8, Storage::u16, Storage::i16, Storage::u32}) {
    const ir::StorageFacts& row = ir::facts_of(storage);
    const std::string text = "x: u8, param s: " + std::string(row.name) + "; x + s";
    const std::vector<Variable> declared = {
        {.name = "s", .type = row.type, .kind = VariableKind::scalar, .storage = storage}};
    for (const auto& parsed : {parse(text), parse(text, {.variables = declared})}) {
      ASSERT_TRUE(parsed.ok()) << parsed.error().message;
      const Variable& s = parsed->variables[parsed->variables[0].name == "s" ? 0 : 1];
      EXPECT_EQ(s.name, "s");
      EXPECT_TRUE(s.is_scalar() && s.storage == Storage::own && s.declared == storage && s.type == row.type) << text;
      EXPECT_FALSE(s.has_range()) << text;  // callers may give any bits
      EXPECT_NE(parsed->at(parsed->at(parsed->outputs[0].node).b).op, Op::Variable) << text;
    }
  }
  for (const char* text : {"param s: f16; s", "table t: u8; t[0]"}) {
    const auto refused = parse(text);
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_NE(refused.error().message.find("declare it as"), std::string::npos) << refused.error().message;
  }
  EXPECT_FALSE(parse("x: u8, param s: u8 in [300, 400]; x + s").ok());
  const std::vector<Variable> caller = {
      {.name = "s", .type = Type::i32, .kind = VariableKind::scalar, .storage = Storage::u8}};
  EXPECT_TRUE(parse("param s: u8; x + s", {.variables = caller}).ok());
  EXPECT_FALSE(parse("param s: i8; x + s", {.variables = caller}).ok());
  EXPECT_FALSE(parse("s = s & 3; param s: u8; x + s", {.variables = caller}).ok());
}

TEST(NarrowCasts, PrintedFormsReadBackAsTheSame) {
  for (const Row& row : kRows) {
    const auto parsed = parse(row.text);
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    for (const std::string& text : {print_infix(*parsed), print_sexpr(*parsed)}) {
      const auto again = parse(text);
      ASSERT_TRUE(again.ok()) << text << "\n" << again.error().message;
      expect_storages(*again, row);
      EXPECT_EQ(canonical_bytes(*again), canonical_bytes(*parsed)) << row.text << "\n" << text;
    }
  }
}

TEST(NarrowCasts, ElementsAreWhatExpressionsDifferIn) {
  const auto bytes = [](const char* text) { return canonical_bytes(*parse(text)); };
  EXPECT_NE(bytes("x: u8; x + 1"), bytes("x: i32 in [0, 255]; x + 1"));
  EXPECT_NE(bytes("x: i32 in [0, 255]; u8(x)"), bytes("x: i32 in [0, 255]; x"));
}

TEST(NarrowCasts, ExpressionsFromElsewhereAreChecked) {
  Expr good = *parse("x: u8; u8(x + 1)");
  Expr bad = good;
  bad.variables[0].storage = Storage::u32;
  EXPECT_FALSE(check(bad).ok());
  bad = good;
  bad.variables[0].kind = VariableKind::scalar;
  EXPECT_FALSE(check(bad).ok());
  bad = good;
  bad.outputs[0].storage = Storage::f16;
  EXPECT_FALSE(check(bad).ok());
  bad = *parse("x: u8; sum(x)");
  bad.outputs[0].storage = Storage::u8;
  EXPECT_FALSE(check(bad).ok());
}

}  // namespace
}  // namespace trident::expr
