// The text forms: what they accept, how they type it, and how their errors read. The oracle is a tree-walking evaluator
// in this file for values, and reviewed words for errors.
#include <gtest/gtest.h>
#include <pthread.h>

#include <cmath>
#include <string>

#include "jit/expr/builder.h"
#include "jit/expr/expr.h"
#include "jit/kir/interpreter.h"

namespace trident::expr {
namespace {

Expr parsed(std::string_view text, const ParseOptions& options = {}) {
  Result<Expr> expr = parse(text, options);
  EXPECT_TRUE(expr.ok()) << text << "\n" << (expr.ok() ? "" : expr.error().message);
  if (!expr.ok()) return {};
  const Result<void> sound = check(*expr);
  EXPECT_TRUE(sound.ok()) << text << "\n" << (sound.ok() ? "" : sound.error().message);
  return std::move(expr).value();
}

std::string error_of(std::string_view text, const ParseOptions& options = {}) {
  Result<Expr> expr = parse(text, options);
  EXPECT_FALSE(expr.ok()) << text;
  return expr.ok() ? "" : expr.error().message;
}

bool same(std::string_view a, std::string_view b, const ParseOptions& options = {}) {
  return canonical_bytes(parsed(a, options)) == canonical_bytes(parsed(b, options));
}

TEST(Infix, PrecedenceAndAssociativity) {
  EXPECT_TRUE(same("a + b * c", "a + (b * c)"));
  EXPECT_TRUE(same("a - b - c", "(a - b) - c"));
  EXPECT_TRUE(same("a / b / c", "(a / b) / c"));
  EXPECT_TRUE(same("-x^2", "-(x^2)"));
  EXPECT_TRUE(same("2^3^2 + x", "2^(3^2) + x"));
  EXPECT_TRUE(same("a < b && c < d || !(a < d)", "((a < b) && (c < d)) || (!(a < d))"));
  EXPECT_TRUE(same("a < b ? a : b < c ? b : c", "(a < b) ? a : ((b < c) ? b : c)"));
  EXPECT_TRUE(same("a < b < c ? 1 : 0", "(a < b && b < c) ? 1 : 0"));
  EXPECT_FALSE(same("a - (b - c)", "a - b - c"));
  EXPECT_FALSE(same("a - b", "param b; a - b"));
  EXPECT_FALSE(same("x - y", "x in [0, 1]; x - y"));
}

TEST(Infix, SpellingsOfOneThing) {
  EXPECT_TRUE(same("x**3", "x^3"));
  EXPECT_TRUE(same("fabs(x) + ln(y)", "abs(x) + log(y)"));
  EXPECT_TRUE(same("if(a < b, a, b)", "where(a < b, a, b)"));
  EXPECT_TRUE(same("let t = a + b in t * t", "t = a + b; t * t"));
  EXPECT_TRUE(same("let t = a + b, u = t * 2 in u - t", "t = a + b; u = t * 2; u - t"));
  EXPECT_TRUE(same("arctan2(y, x)", "atan2(y, x)"));
  EXPECT_TRUE(same("x ^ 0.5", "pow(x, 0.5)"));
  EXPECT_TRUE(same("min(a, b, c)", "min(min(a, b), c)"));
  EXPECT_TRUE(same("a # a comment\n + b", "a + b"));
}

TEST(Infix, LiteralsTakeTheTypeOfWhatTheyMeet) {
  EXPECT_TRUE(same("x:f32 * (1 / 2.2)", "x:f32 * (1f32 / 2.2f32)"));
  EXPECT_TRUE(same("i:i64 + 9007199254740993", "i:i64 + 9007199254740993i64"));
  EXPECT_TRUE(same("i:i32 + 0.5", "f64(i:i32) + 0.5"));
  EXPECT_TRUE(same("i:i32 & 0xFF", "i:i32 & 255i32"));
  // From 2^63 on: integers take the bits, floats the number.
  EXPECT_TRUE(same("i:i64 & 0xFFFFFFFFFFFFFFFF", "i:i64 & -1"));
  EXPECT_TRUE(same("x * 0xFFFFFFFFFFFFFFFF", "x * 18446744073709551616.0"));
  EXPECT_TRUE(same("x * 0x8000000000000000", "x * 9223372036854775808.0"));
  EXPECT_TRUE(same("x:f32 + 0x9000000000000000", "x:f32 + 10376293541461622784.0"));
  EXPECT_TRUE(same("x * 0x7FFFFFFFFFFFFFFF", "x * 9223372036854775807"));
  EXPECT_TRUE(same("(* x 0x8000000000000000)", "x * 9223372036854775808.0"));
  EXPECT_TRUE(same("(* x -0x9000000000000000)", "x * -10376293541461622784.0"));
  // Among i32 from 2^31 on: hexadecimal numbers are bits, decimal ones would be other numbers than they say.
  EXPECT_TRUE(same("i:i32 ^^ 0x80000000", "i:i32 ^^ -2147483648"));
  EXPECT_TRUE(same("i:i32 & (0xFFFFFFFF + 0)", "i:i32 & (-1 + 0)"));
  EXPECT_TRUE(same("i:i32 < -2147483648", "i:i32 < -0x80000000"));
  EXPECT_TRUE(same("i:i32 + i32(3000000000)", "i:i32 + -1294967296"));
  EXPECT_TRUE(same("i:i64 < 3000000000 + 0", "i:i64 < 3000000000i64 + 0i64"));
  for (const char* text :
       {"i:i32 & 0xFFFFFFFFFFFFFFFF", "i:i32 & 0x100000000", "i:i32 < 3000000000", "i:u8; i < 3000000000",
        "i:i32 + 2147483648", "i:i32 < -2147483649", "i:i32 < (3000000000 + 0)", "max(i:i32, 1, 2147483648)",
        "i:i32 > 0 ? i : -3000000000", "i:i32 < 3000000000^2", "(< i:i32 3000000000)"}) {
    EXPECT_NE(error_of(text).find("does not fit i32"), std::string::npos) << text;
  }
  EXPECT_NE(error_of("x * 0x9000000000000000 + x * -8070450532247928832").find("written both"), std::string::npos);
  const Expr f32 = parsed("x + 0.1", {.type = Type::f32, .variables = {}});
  EXPECT_EQ(f32.nodes.back().type, Type::f32);
  // 0.1 must not go through f32 on its way to an f64 variable.
  EXPECT_TRUE(same("x:f64 * 0.1", "x:f64 * 0.1f64", {.type = Type::f32, .variables = {}}));
}

// Functions from integers to integers stay exact: through f64 an i64 beyond 2^53 would lose its last bits.
TEST(Integers, NothingGoesThroughFloatsUnsaid) {
  for (const char* rounding : {"floor", "ceil", "round", "rint", "trunc"}) {
    const std::string name = rounding;
    EXPECT_TRUE(same("i:i64; " + name + "(i)", "i:i64; i")) << name;
    EXPECT_TRUE(same("i:i32; 3 * " + name + "(i + 1)", "i:i32; 3 * (i + 1)")) << name;
    EXPECT_TRUE(same("(" + name + " i:i64)", "i:i64; i")) << name;
    EXPECT_TRUE(same("i:i64; i + " + name + "(9007199254740993)", "i:i64; i + 9007199254740993")) << name;
    EXPECT_TRUE(same(name + "(x:f32) + 1", "(+ (" + name + " x:f32) 1)")) << name;
  }
  EXPECT_TRUE(same("i:i64, j:i64; fma(i, j, 3)", "i:i64, j:i64; i * j + 3"));
  EXPECT_TRUE(same("i:i64, j:i64; fdim(i, j)", "i:i64, j:i64; i <= j ? 0 : i - j"));
  EXPECT_TRUE(same("i:i64, j:i64; copysign(i, j)", "i:i64, j:i64; j < 0 ? -abs(i) : abs(i)"));
  EXPECT_TRUE(same("i:i64; copysign(i, -2)", "i:i64; -2 < 0 ? -abs(i) : abs(i)"));
  for (const char* text : {"i:i64 % j:i64", "i:i64 % 10", "10 % i:i32", "i:i32 % j:i64", "fmod(i:i64, 10)",
                           "mod(i:i64, 10)", "remainder(i:i64, j:i64)", "(fmod i:i64 j:i64)", "(remainder i:i32 3)"}) {
    EXPECT_NE(error_of(text).find("integers have no remainder: cast an operand with f64(...) first"), std::string::npos)
        << text;
  }
  const ParseOptions integers{.variables = {{.name = "i", .type = Type::i64}, {.name = "j", .type = Type::i64}}};
  EXPECT_NE(error_of("(FPCore () (fmod i j))", integers).find("1:13: integers have no remainder"), std::string::npos);
  EXPECT_NE(error_of("(FPCore () (/ i j))", integers).find("1:13: integers have no division"), std::string::npos);
  // An integer beside a float becomes a float, as in NumPy.
  EXPECT_TRUE(same("i:i64 % 2.5", "fmod(f64(i:i64), 2.5)"));
  EXPECT_TRUE(same("f64(i:i64) % 10", "fmod(f64(i:i64), 10.0)"));
  EXPECT_TRUE(same("x % 10", "fmod(x, 10.0)"));
  EXPECT_TRUE(same("copysign(i:i64, -1.0)", "copysign(f64(i:i64), -1.0)"));
  EXPECT_TRUE(same("sqrt(floor(i:i64))", "sqrt(f64(i:i64))"));
}

double value_at(const Expr& e, double x, double y) {
  const auto kernel = lower(e, {.policy = {PolicyKind::exact, 2}, .simplify = false});
  EXPECT_TRUE(kernel.ok());
  double out = 0;
  const void* const in[] = {&x, &y};
  void* const to[] = {&out};
  kir::interpret(*kernel, 1, in, to, nullptr);
  return out;
}

// Brackets around signs, remainders, quotients and powers (sympy/sympy#17737, #9871): the parser reads back what was
// printed. The values are C++'s own.
TEST(Printers, KeepBracketsInEverySyntax) {
  struct Row {
    const char* text;
    double (*value)(double x, double y);
  };
  const Row rows[] = {
      {"-(x % y)", [](double x, double y) { return -std::fmod(x, y); }},
      {"-x % y", [](double x, double y) { return std::fmod(-x, y); }},
      {"(-(fmod x y))", [](double x, double y) { return -std::fmod(x, y); }},
      {"(FPCore (x y) (- (fmod x y)))", [](double x, double y) { return -std::fmod(x, y); }},
      {"(FPCore (x y) (/ x (sqrt (* y y))))", [](double x, double y) { return x / std::sqrt(y * y); }},
      {"x / sqrt(y * y)", [](double x, double y) { return x / std::sqrt(y * y); }},
      {"-x^2 + y", [](double x, double y) { return -(x * x) + y; }},
      {"(-x)^2 + y", [](double x, double y) { return x * x + y; }},
      {"x - (y - x)", [](double x, double y) { return x - (y - x); }},
      {"x / (y / x)", [](double x, double y) { return x / (y / x); }},
      {"x / y / x", [](double x, double y) { return x / y / x; }},
      {"x % (y % x)", [](double x, double y) { return std::fmod(x, std::fmod(y, x)); }},
      {"(x % y) % x", [](double x, double y) { return std::fmod(std::fmod(x, y), x); }},
      {"-(x * y) % 5", [](double x, double y) { return std::fmod(-(x * y), 5); }},
      {"(x^2)^3 - y", [](double x, double y) { return x * x * (x * x) * (x * x) - y; }},
  };
  const ParseOptions two{.variables = {{.name = "x"}, {.name = "y"}}};
  for (const Row& row : rows) {
    const Expr e = parsed(row.text, two);
    for (const std::string& printed : {print_infix(e), print_sexpr(e)}) {
      const Expr back = parsed(printed, two);
      EXPECT_EQ(canonical_bytes(e), canonical_bytes(back)) << row.text << " became " << printed;
      for (const auto& [x, y] : {std::pair(3.0, 7.0), std::pair(-10.5, 4.0), std::pair(2.0, -0.75)})
        EXPECT_EQ(value_at(back, x, y), row.value(x, y)) << row.text << " at " << x << ", " << y << " as " << printed;
    }
  }
}

// Two integers give an integer power, whichever way it is written; a float beside an integer gives a float.
TEST(Integers, PowersStayIntegers) {
  for (const char* text : {"n:i64, m:i64; n^m", "n:i64; 3^n", "n:i64; pow(2, n)", "n:i64; pow(n, 3)", "n:i64; n**n"})
    EXPECT_EQ(parsed(text).at(parsed(text).outputs[0].node).type, Type::i64) << text;
  EXPECT_EQ(parsed("n:i32; n^n").at(parsed("n:i32; n^n").outputs[0].node).type, Type::i32);
  for (const char* text : {"n:i64; 2.5^n", "n:i64; n^0.5", "n:i64; n^x", "n:i64; pow(2.0, n)", "n:i64; n^-x"})
    EXPECT_EQ(parsed(text).at(parsed(text).outputs[0].node).type, Type::f64) << text;
  EXPECT_TRUE(same("n:i64; pow(n, 5)", "n:i64; n^5"));
  EXPECT_NE(error_of("n:i64; pow(n, -2)").find("an integer has no negative powers"), std::string::npos);
}

TEST(Infix, VariablesAndRanges) {
  const Expr e = parsed("x: f32 in [0, 1], y in [-2.5, inf]; param a; x + f32(y * a)");
  ASSERT_EQ(e.variables.size(), 3u);
  EXPECT_EQ(e.variables[0].type, Type::f32);
  EXPECT_EQ(e.variables[0].hi, 1);
  EXPECT_EQ(e.variables[1].lo, -2.5);
  EXPECT_TRUE(std::isinf(e.variables[1].hi));
  EXPECT_TRUE(e.variables[2].is_scalar());
  // "e" is a variable, pi is a constant unless it is declared.
  EXPECT_EQ(parsed("e * pi").variables.size(), 1u);
  EXPECT_EQ(parsed("e * pi", {.variables = {{.name = "pi"}}}).variables.size(), 2u);
}

TEST(Infix, Outputs) {
  const Expr two = parsed("y = sin(x); dy = diff(y, x); (y, dy)");
  ASSERT_EQ(two.outputs.size(), 2u);
  EXPECT_EQ(two.outputs[0].name, "y");
  EXPECT_EQ(two.outputs[1].name, "dy");
  EXPECT_EQ(parsed("(a + b) * c").outputs.size(), 1u);
  EXPECT_EQ(parsed("(s = a + b, d = a - b)").outputs[1].name, "d");
  EXPECT_EQ(parsed("y = a + b").outputs[0].name, "y");
  EXPECT_EQ(parsed("a + b, a - b").outputs[1].name, "out1");
  const Expr grad = parsed("grad(x * y)");
  ASSERT_EQ(grad.outputs.size(), 2u);
  EXPECT_EQ(grad.outputs[1].name, "d_y");
  EXPECT_EQ(parsed("f = x * y * z; (f, grad(f; z, x))").outputs.size(), 3u);
}

TEST(Infix, Errors) {
  EXPECT_EQ(error_of("a + * b"),
            "<text>:1:5: expected a number, a name or '(', found '*'\n"
            "  a + * b\n"
            "      ^");
  for (const char* text : {"x: u9; x + 1", "x: u9 in [0, 1]; x", "param s: u9; s", "(kernel k :vars ((x:u9)) :body x)",
                           "u9(x)", "bool9(x)"}) {
    for (const char* known : {"f32", "u8", "i16", "u32", "bool8", "9"})
      EXPECT_NE(error_of(text).find(known), std::string::npos) << error_of(text);
  }
  EXPECT_EQ(error_of("i9x(x)").find("bool8"), std::string::npos);
  EXPECT_NE(error_of("t = 1;\nsine(x) + t").find("<text>:2:1: unknown function 'sine'; did you mean 'sin'?"),
            std::string::npos);
  EXPECT_NE(error_of("2x").find("a name runs into a number"), std::string::npos);
  for (const auto& [text, cure] :
       std::initializer_list<std::pair<const char*, const char*>>{{"x and y", "found 'and'; write '&&'"},
                                                                  {"(x > 1 or y)", "write '||'"},
                                                                  {"not x", "found 'x'; write '!'"},
                                                                  {"7 mod 2", "write '%'"},
                                                                  {"if x > 1 then 2 else 3", "write if(c, a, b)"},
                                                                  {"(x > 1) then 2", "write if(c, a, b)"},
                                                                  {"x <> y", "write '!='"},
                                                                  {"x := 3; x", "write '='"},
                                                                  {"x // y", "write floor(a/b)"},
                                                                  {"x /* y */", "with '#'"},
                                                                  {"x + y = 3", "write '==' to compare"},
                                                                  {"sin x", "write sin(...)"},
                                                                  {"2*sin 3", "write sin(...)"}}) {
    EXPECT_NE(error_of(text).find(cure), std::string::npos) << error_of(text);
  }
  for (const char* text : {"x < > y", "x / / y", "x y", "x 3", "x + + ]"})  // as no other language has it
    EXPECT_EQ(error_of(text).find("; write"), std::string::npos) << error_of(text);
  EXPECT_EQ(error_of("foo(x)").find("did you mean"), std::string::npos);
  EXPECT_NE(error_of("sin(x, y)").find("sin takes 1 argument, here 2"), std::string::npos);
  std::string passes = "x";
  for (int i = 0; i < 8; ++i) passes = "x - sum(" + passes + ")";
  EXPECT_NE(error_of(passes).find("more than 8 passes"), std::string::npos);
  EXPECT_NE(error_of("var(x, 1, 2)").find("var takes 1 argument or two, here 3"), std::string::npos);
  EXPECT_NE(error_of("i:i32 / j:i32").find("integers have no division"), std::string::npos);
  EXPECT_NE(error_of("x << 1").find("'shl' needs integers, here f64"), std::string::npos);
  EXPECT_NE(error_of("(a + b").find("the text ends where"), std::string::npos);
  EXPECT_NE(error_of("t = x * 2; diff(t, t)").find("not to a local value"), std::string::npos);
  EXPECT_NE(error_of("").find("the text ends"), std::string::npos);
}

TEST(Infix, LimitsOfDepthAndSize) {
  const std::string deep = std::string(100000, '(') + "x" + std::string(100000, ')');
  EXPECT_NE(error_of(deep).find("nested deeper"), std::string::npos);
  EXPECT_NE(error_of(std::string(100000, '-') + "x").find("nested deeper"), std::string::npos);
  std::string sum = "x";
  for (int i = 0; i < 5000; ++i) sum += "+" + std::to_string(i) + "*x";
  EXPECT_NE(error_of(sum).find("more than 4096 operations, inputs and constants"), std::string::npos);
}

TEST(Infix, DeepTextsAreRefusedWhereTheStackIsSmall) {
  for (const std::size_t stack : {128u << 10, 512u << 10})
    for (const int levels : {60, 400, 3000}) {
      std::string text = std::string(levels, '(') + "x" + std::string(levels, ')'), said;
      std::pair<std::string*, std::string*> both{&text, &said};
      const auto run = [](void* p) -> void* {
        auto& [from, to] = *static_cast<std::pair<std::string*, std::string*>*>(p);
        const auto parsed = parse(*from);
        *to = parsed.ok() ? "" : parsed.error().message;
        return nullptr;
      };
      pthread_attr_t attributes;
      ASSERT_EQ(pthread_attr_init(&attributes), 0);
      ASSERT_EQ(pthread_attr_setstacksize(&attributes, stack), 0);
      pthread_t thread{};
      ASSERT_EQ(pthread_create(&thread, &attributes, run, &both), 0);
      ASSERT_EQ(pthread_join(thread, nullptr), 0);
      pthread_attr_destroy(&attributes);
      EXPECT_EQ(said.empty(), levels < (stack < (512u << 10) ? 100 : 512)) << stack << " " << levels << ": " << said;
      EXPECT_TRUE(said.empty() ||
                  said.find(levels > 512 && stack > (256u << 10) ? "nested deeper" : "deep") != said.npos);
    }
}

TEST(Infix, OperationsInputsAndConstantsCount) {
  std::string sum = "x*2.5";  // each further term has a product, a sum and a constant
  for (int i = 3; i < 1367; ++i) sum += "+x*" + std::to_string(i) + ".5";
  const auto largest = parse(sum);
  ASSERT_TRUE(largest.ok());
  EXPECT_EQ(largest->nodes.size(), 4095u);  // x, 1365 constants, 1365 products, 1364 sums
  EXPECT_TRUE(parse(sum + "+x").ok());
  EXPECT_NE(error_of(sum + "+x*0.5").find("more than 4096 operations, inputs and constants"), std::string::npos);
}

TEST(Infix, ManyStatementsTakeLinearTime) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "a=x;";
  EXPECT_TRUE(parse(text + "a + b").ok());
}

TEST(Sexpr, MeansWhatTheInfixFormMeans) {
  EXPECT_TRUE(same("(let* ((t (+ a b))) (* 2 (sin t)))", "t = a + b; 2 * sin(t)"));
  EXPECT_TRUE(same("(powi (/ (- b a) a) 2)", "((b - a) / a)^2"));
  EXPECT_TRUE(same("(sel (<= x 0.5) (neg x) (fmax x 0))", "x <= 0.5 ? -x : max(x, 0)"));
  EXPECT_TRUE(same("(d x (mul x (sin x)))", "diff(x * sin(x), x)"));
  EXPECT_TRUE(same("(+ a b c)", "a + b + c"));
  EXPECT_TRUE(same("(let ((a b) (b a)) (- a b))", "b - a"));
  EXPECT_TRUE(same("(- a)", "-a"));
  EXPECT_TRUE(same("(kernel k :origin \"a (b\" :vars ((a 0 1) b) :body (outputs (y (+ a b)) (z (* a b))))",
                   "a in [0, 1], b in [-inf, inf]; (y = a + b, z = a * b)"));
}

TEST(Sexpr, IndexIsAnOpOfNoOperands) {
  const ParseOptions table{.variables = {{.name = "t", .kind = VariableKind::table}}};
  EXPECT_TRUE(same("(gather t (index))", "t[index]", table));
  EXPECT_TRUE(same("(gather t (index))", "(gather t index)", table));
  EXPECT_TRUE(same("(gather t (+ (* 2 (index)) 1))", "t[2*index + 1]", table));
  EXPECT_TRUE(same("(f64 (index))", "f64(index)"));
  EXPECT_NE(error_of("(gather t (index 1))", table).find("1:12: unknown function 'index'"), std::string::npos);
  // A variable of that name hides it.
  const ParseOptions hidden{.variables = {{.name = "index"}}};
  EXPECT_NE(error_of("(* 2 (index))", hidden).find("unknown function 'index'"), std::string::npos)
      << error_of("(* 2 (index))", hidden);
}

TEST(Sexpr, OperandsThatAreMissing) {
  EXPECT_EQ(
      error_of("(add)"),
      "<text>:1:2: 'add' is an operation, and has no operands here; a variable of that name has to be declared first\n"
      "  (add)\n"
      "   ^");
  for (const char* text : {"( min )", "(sin)", "(log) + 1", "# a comment\n(fdim)"})
    EXPECT_NE(error_of(text).find("is an operation, and has no operands here"), std::string::npos) << text;
  EXPECT_NE(error_of("(- (+) 2)").find("1:5: + takes 1 operand or more, here 0"), std::string::npos);
  EXPECT_NE(error_of("(* 2 (-))").find("1:7: - takes 1 operand or more, here 0"), std::string::npos);
  EXPECT_TRUE(same("(e) * 2", "e * 2"));
  EXPECT_EQ(parsed("(log) + 1", {.variables = {{.name = "log"}}}).variables.size(), 1u);
  EXPECT_EQ(parsed("log + 1").variables.size(), 1u);
}

TEST(Names, AreUtf8) {
  EXPECT_EQ(error_of("x + \xC3\xA9t\xE9 * 2"),
            "<text>:1:8: a name holds bytes that are not UTF-8\n"
            "  x + \xC3\xA9t? * 2\n"
            "        ^");
  EXPECT_NE(error_of("(+ x\n  y\xFF)").find("<text>:2:4: a name holds bytes that are not UTF-8"), std::string::npos);
  EXPECT_NE(error_of("(FPCore (x\x80) 1)").find("<text>:1:11: a name holds bytes that are not UTF-8"),
            std::string::npos);
  EXPECT_NE(error_of("t\xE2\x82 = 1; t").find("not UTF-8"), std::string::npos);
  EXPECT_EQ(parsed("\xC3\xA9t\xC3\xA9 * 2").variables[0].name, "\xC3\xA9t\xC3\xA9");
}

// Names of other engines: the error says what to write, and that is a text.
TEST(Functions, CuresOfThoseThatOthersHave) {
  const std::pair<const char*, const char*> rows[] = {
#define W(name, text) {#name, text},
#define S(name, sentence)
#include "jit/expr/foreign_functions.def"
#undef W
#undef S
  };
  for (const auto& [name, cure] : rows) {
    EXPECT_NE(error_of(std::string(name) + "(x)").find(std::string("; write ") + cure), std::string::npos) << name;
    const std::string text(cure);
    EXPECT_FALSE(parsed(text.substr(0, text.find(", or"))).outputs.empty()) << name;
  }
  EXPECT_NE(error_of("rand()").find("pass random numbers in"), std::string::npos);
  EXPECT_TRUE(same("i:i64; bitxor(i, 3)", "i:i64; i ^^ 3"));
  EXPECT_TRUE(same("i:i64; bitnot(i)", "i:i64; ~i"));
}

TEST(Names, ThatTextsCanWrite) {
  for (const char* name : {"x", "x1", "_", "été", "let", "pi"}) {
    EXPECT_TRUE(is_name(name, false) && is_name(name, true)) << name;
    for (const std::string& text : {std::string(name) + " * 2", "(* " + std::string(name) + " 2)"})
      EXPECT_EQ(parsed(text, {.variables = {{.name = name}}}).variables.size(), 1u) << text;
  }
  for (const char* name : {"a-b", "x'", "a.b", "-x"}) {
    EXPECT_TRUE(!is_name(name, false) && is_name(name, true)) << name;
    EXPECT_EQ(parsed("(* " + std::string(name) + " 2)", {.variables = {{.name = name}}}).variables.size(), 1u) << name;
  }
  for (const char* name :
       {"", "1x", "0x", "12", "a b", " ", "x\n", "a(b", "b]", "\"q\"", "a;b", "-1", "+2x", "-inf", "\x01", "\xFF"})
    EXPECT_FALSE(is_name(name, false) || is_name(name, true)) << name;
  EXPECT_NE(error_of("(* 1x 2)").find("1:4: '1x' is neither a number nor a name"), std::string::npos);
}

TEST(Sexpr, Errors) {
  EXPECT_NE(error_of("(+ a (sine b))").find("<text>:1:7: unknown function 'sine'; did you mean 'sin'?"),
            std::string::npos);
  EXPECT_NE(error_of("(sin a").find("this bracket is never closed"), std::string::npos);
  EXPECT_NE(error_of("(sin a))").find("this closing bracket has no opening bracket"), std::string::npos);
  const std::string deep = std::string(100000, '(');
  EXPECT_FALSE(parse_sexpr(deep).ok());
}

TEST(Fpcore, PreconditionsBecomeRanges) {
  const Expr e = parsed(
      "(FPCore name (x y z) :name \"a test\" :pre (and (<= 0 x 1) (> y 2) (or (<= -2 z -1) (<= 1 z 2)))\n"
      "  (+ (sqrt x) (* y z)))");
  ASSERT_EQ(e.variables.size(), 3u);
  EXPECT_EQ(e.variables[0].lo, 0);
  EXPECT_EQ(e.variables[0].hi, 1);
  EXPECT_EQ(e.variables[1].lo, 2);
  EXPECT_TRUE(std::isinf(e.variables[1].hi));
  EXPECT_EQ(e.variables[2].lo, -2);
  EXPECT_EQ(e.variables[2].hi, 2);
  EXPECT_EQ(e.outputs[0].name, "name");
}

TEST(Fpcore, Precisions) {
  const Expr single = parsed("(FPCore (x) :precision binary32 (* PI x))");
  EXPECT_EQ(single.variables[0].type, Type::f32);
  EXPECT_EQ(single.nodes.back().type, Type::f32);
  EXPECT_TRUE(same("(FPCore (x) (! :precision binary32 (+ x 1)))", "f32(x + f64(1f32))"));
  EXPECT_TRUE(same("(FPCore ((! :precision binary32 x)) (* x x))", "x:f32; f64(x) * f64(x)"));
  EXPECT_NE(error_of("(FPCore (x) :precision binary80 x)").find("binary32 and binary64"), std::string::npos);
}

// FPCore 2.0 rounds every operation as :round says.
TEST(Fpcore, OtherRoundingsAreRefused) {
  EXPECT_EQ(error_of("(FPCore (x) :round toPositive (/ x 3))"),
            "<text>:1:20: toPositive: kernels round by nearestEven only\n"
            "  (FPCore (x) :round toPositive (/ x 3))\n"
            "                     ^");
  for (const char* mode : {"nearestAway", "toPositive", "toNegative", "toZero", "nonsense", "(a b)"}) {
    const std::string text = mode;
    for (const std::string& core :
         {"(FPCore (x) :round " + text + " (/ x 3))", "(FPCore (x) (! :round " + text + " (/ x 3)))",
          "(FPCore ((! :round " + text + " x)) (/ x 3))",
          "(FPCore (x) (! :precision binary32 :round " + text + " (/ x 3)))"}) {
      const Result<Expr> refused = parse(core);
      ASSERT_FALSE(refused.ok()) << core;
      EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported) << core;
      EXPECT_NE(refused.error().message.find("kernels round by nearestEven only"), std::string::npos) << core;
    }
  }
  EXPECT_TRUE(same("(FPCore (x) :round nearestEven (! :round nearestEven (/ x 3)))", "(FPCore (x) (/ x 3))"));
}

TEST(Fpcore, Errors) {
  EXPECT_NE(error_of("(FPCore (x) (while (< i 3) ((i 0 (+ i 1))) x))").find("loops and tensors"), std::string::npos);
  EXPECT_NE(error_of("(FPCore (x) (+ x y))").find("'y' is neither an argument nor bound"), std::string::npos);
  EXPECT_TRUE(parse_fpcore("(FPCore (E) (+ E 1))").ok());
}

TEST(Checker, RefusesWhatNoParserMakes) {
  Expr e = parsed("x + 1");
  const Expr good = e;
  e.nodes.back().a = NodeId(99);
  EXPECT_FALSE(check(e).ok());
  e = good;
  e.nodes.back().type = Type::f32;
  EXPECT_FALSE(check(e).ok());
  e = good;
  e.nodes.back().op = static_cast<Op>(200);
  EXPECT_FALSE(check(e).ok());
  e = good;
  e.nodes.back().c = NodeId(0);
  EXPECT_FALSE(check(e).ok());
  e = good;
  e.variables[0].lo = 3;
  e.variables[0].hi = 2;
  EXPECT_FALSE(check(e).ok());
  e = good;
  e.outputs.clear();
  EXPECT_FALSE(check(e).ok());
  e = good;
  e.outputs[0].node = NodeId(77);
  EXPECT_FALSE(check(e).ok());
}

}  // namespace
}  // namespace trident::expr
