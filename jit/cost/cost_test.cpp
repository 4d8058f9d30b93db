// Oracles: a file written by hand, rows counted from ops.def by hand, sums worked out by hand.
#include "jit/cost/cost.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "jit/kir/builder.h"

namespace trident::cost {
namespace {

using kir::Op;

/// Makes a table in which row i has latency i + 0.5 and throughput i + 0.25, exact in binary.
Table numbered() {
  Table table;
  table.cpu = "AMD EPYC (AuthenticAMD family 26 model 2 stepping 1)";
  table.isa = "avx512";
  table.build = "0123abcd";
  table.date = "2026-11-22";
  table.f32 = {1.25, 0.125};
  table.f64 = {1.5, 0.25};
  for (std::size_t i = 0; i < rows().size(); ++i)
    table.figures.push_back({static_cast<double>(i) + 0.5, static_cast<double>(i) + 0.25});
  return table;
}

/// Returns the lines of a text, each with its end.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = text.find('\n', from) + 1;
    lines.push_back(text.substr(from, end - from));
    from = end;
  }
  return lines;
}

/// Makes a file with every row, word by word, and with `words` in place of the figures of `name`.
std::string file_with(const std::string& name, const std::string& words) {
  std::string text = "trident costs 1\ncpu x\nisa avx2\n";
  for (const Row& row : rows()) text += name_of(row) + (name_of(row) == name ? words : " 1 2") + "\n";
  return text;
}

std::string message_of(const std::string& text) {
  const auto table = parse(text, "f.costs");
  return table.ok() ? "accepted" : table.error().message;
}

TEST(Rows, AreEveryOpForEveryTypeButTheLeaves) {
  std::set<std::string> names;
  for (const Row& row : rows()) EXPECT_TRUE(names.insert(name_of(row)).second) << name_of(row);
  // ops.def: seven numeric ops of four types; div and sqrt in two forms of two; four fused, four roundings and scalef
  // of two; five bitwise ones of two integers and two masks; three shifts of two; four comparisons and select of four;
  // bitcasts 4, conversions 12 + 2, to_int_rint 2, lookup 4; four reductions of four.
  EXPECT_EQ(names.size(), 7u * 4 + 2 * 2 * 2 + (4 + 4 + 1) * 2 + 5 * 4 + 3 * 2 + 5 * 4 + 4 + 14 + 2 + 4 + 4 * 4 + 2);
  for (const char* name : {"add i64", "div.newton f32", "sqrt f64", "not b32", "lt i32", "bitcast f32->i32",
                           "convert b64->b32", "convert i64->f32", "to_int_rint f64->i64", "lookup f32", "sum f64"})
    EXPECT_TRUE(names.contains(name)) << name;
  for (const char* name : {"const f32", "input f32", "param f64", "count i32", "div i32", "add b32", "shl f32",
                           "bitcast f32->f64", "convert f32->b32", "convert f32->f32", "mul.newton f32"})
    EXPECT_FALSE(names.contains(name)) << name;
}

TEST(Text, GoesOutAndComesBack) {
  const Table table = numbered();
  const std::string text = print(table);
  const auto back = parse(text, "f.costs");
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(*back, table);
  EXPECT_EQ(print(*back), text);
  Table odd = table;
  odd.figures[3] = {1.0 / 3, 0x1p-40};
  const auto odd_back = parse(print(odd), "f.costs");
  ASSERT_TRUE(odd_back.ok());
  EXPECT_EQ(*odd_back, odd);
}

TEST(Text, IsReadAsItIsWritten) {
  std::string text = "# mine\n\ntrident costs 1 # title\nisa avx2\nunit f64 2 0.5\ncpu  Some   Core (X family 1)\r\n";
  std::string rest;
  for (const Row& row : rows()) {
    if (name_of(row) == "div f64")
      text += "\tdiv\tf64  1.5e1 8 # first\n";  // out of order
    else
      rest += name_of(row) + " 0 1\n";
  }
  rest.pop_back();  // no newline at the end
  const auto table = parse(text + rest, "f.costs");
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(table->cpu, "Some Core (X family 1)");
  EXPECT_EQ(table->isa, "avx2");
  EXPECT_EQ(table->build, "");
  EXPECT_EQ(table->f64, (FmaTimes{2, 0.5}));
  EXPECT_EQ(table->f32, FmaTimes{});
  EXPECT_EQ(table->at({Op::Div, Type::f64, Type::f64, Form::plain}), (Figures{15, 8}));
  EXPECT_EQ(table->at({Op::Div, Type::f64, Type::f64, Form::newton}), (Figures{0, 1}));
}

TEST(Text, ErrorsNameFileLineAndMend) {
  EXPECT_EQ(message_of(file_with("", "")), "accepted");
  EXPECT_EQ(message_of(""), "f.costs: the file is empty; `trident calibrate --ops` writes a whole file");
  EXPECT_EQ(message_of("trident costs 2\n"),
            "f.costs:1: expected 'trident costs 1', not 'trident costs 2'; `trident calibrate --ops` writes a whole "
            "file");
  // "add f32" is the first row, on line 4.
  EXPECT_EQ(message_of(file_with("add f32", " nan 1")), "f.costs:4: 'nan': a figure is finite and from 0 to 1000000");
  EXPECT_EQ(message_of(file_with("add f32", " 1 inf")), "f.costs:4: 'inf': a figure is finite and from 0 to 1000000");
  EXPECT_EQ(message_of(file_with("add f32", " -1 1")), "f.costs:4: '-1': a figure is finite and from 0 to 1000000");
  EXPECT_EQ(message_of(file_with("add f32", " 1 2e6")), "f.costs:4: '2e6': a figure is finite and from 0 to 1000000");
  EXPECT_EQ(message_of(file_with("add f32", " 1 2x")), "f.costs:4: '2x' is not a number");
  EXPECT_EQ(message_of(file_with("add f32", " 1 1e999")), "f.costs:4: '1e999' is not a number");
  EXPECT_EQ(message_of(file_with("add f32", " 1")),
            "f.costs:4: expected an op, its type, latency and throughput (four words), not 'add f32 1'");
  EXPECT_EQ(message_of(file_with("add f32", " 1 1\nadd f32 1 1")), "f.costs:5: 'add f32' is given twice; keep one");
  EXPECT_EQ(message_of(file_with("add f32", " 1 1\nadd f16 1 1")),
            "f.costs:5: op 'add' has no row of type 'f16'; one that it has is 'add f32'");
  EXPECT_EQ(message_of(file_with("add f32", " 1 1\nplus f32 1 1")),
            "f.costs:5: there is no op 'plus' with a cost; jit/kir/ops.def lists the ops (constants and inputs cost "
            "nothing)");
  EXPECT_EQ(message_of(file_with("add f32", " 1 1\ncpu y")), "f.costs:5: 'cpu' is given twice; keep one");
  EXPECT_EQ(message_of(file_with("add f32", " 1 1\ndate")), "f.costs:5: 'date' needs a value");
  EXPECT_EQ(message_of(file_with("add f32", " 1 1\nunit i32 1 1")), "f.costs:5: unit 'i32': expected f32 or f64");
  EXPECT_EQ(message_of(file_with("add f32", " 1 1\nunit f32 0 1")), "f.costs:5: the time of an fma must be above 0 ns");
}

TEST(Text, NoLineMayBeMissing) {
  const std::vector<std::string> lines = lines_of(print(numbered()));
  std::size_t refused = 0;
  for (std::size_t without = 0; without < lines.size(); ++without) {
    std::string text;
    for (std::size_t i = 0; i < lines.size(); ++i) text += i == without ? "" : lines[i];
    refused += parse(text, "f.costs").ok() ? 0 : 1;
  }
  // All but "build", "date", two units and the comment.
  EXPECT_EQ(refused, lines.size() - 5);
  std::string text = file_with("", "");
  const std::size_t at = text.find("mul f64 1 2\n");
  text.erase(at, text.find('\n', at) + 1 - at);
  EXPECT_EQ(message_of(text), "f.costs: no line for 'mul f64'; `trident calibrate --ops` writes a whole file");
  EXPECT_EQ(message_of("trident costs 1\n"), "f.costs: no line for 'cpu' and for " + std::to_string(rows().size() + 1) +
                                                 " more; `trident calibrate --ops` writes a whole file");
}

TEST(Text, AnyBytesAreRefusedWithoutHarm) {
  const std::string whole = print(numbered());
  for (std::size_t length = 0; length < whole.size(); length += 7) (void)parse(whole.substr(0, length), "f").ok();
  for (std::size_t at = 0; at < whole.size(); at += 5) {
    std::string text = whole;
    for (const char byte : {'\0', '\n', '\xff', '#', '{', '-'}) {
      text[at] = byte;
      (void)parse(text, "f").ok();
    }
  }
  const std::string long_word(100'000, 'x');
  const std::string message = message_of("trident costs 1\n" + long_word + " f32 1 1\n");
  EXPECT_LT(message.size(), 300u);
}

TEST(Throughput, IsTheRowOfTheInstruction) {
  const Table table = numbered();
  const auto row = [&](Op op, Type type, Type from, Form form = Form::plain) {
    return table.at({op, type, from, form}).throughput;
  };
  kir::Kernel kernel;
  kernel.inputs = {{"x", Type::f64}, {"y", Type::f64}};
  kir::Builder b(kernel);
  const kir::Value x = b.input(0), y = b.input(1);
  const auto of = [&](kir::Value v) { return table.throughput(kernel, kernel.at(v)); };
  EXPECT_EQ(of(x), 0);
  EXPECT_EQ(of(b.constant(Type::f64, 2)), 0);
  EXPECT_EQ(of(b.mul(x, y)), row(Op::Mul, Type::f64, Type::f64));
  const kir::Value less = b.lt(x, y);
  EXPECT_EQ(of(less), row(Op::Lt, Type::f64, Type::f64));
  EXPECT_EQ(of(b.select(less, x, y)), row(Op::Select, Type::f64, Type::f64));
  EXPECT_EQ(of(b.as_int(x)), row(Op::Bitcast, Type::i64, Type::f64));
  EXPECT_EQ(of(b.convert(Op::Convert, Type::f32, x)), row(Op::Convert, Type::f32, Type::f64));
  EXPECT_EQ(of(b.convert(Op::Convert, Type::b32, less)), row(Op::Convert, Type::b32, Type::b64));
  EXPECT_EQ(of(b.convert(Op::ToIntRint, Type::i64, x)), row(Op::ToIntRint, Type::i64, Type::f64));
  EXPECT_EQ(of(b.reduce(Op::Sum, x)), row(Op::Sum, Type::f64, Type::f64));
}

TEST(Throughput, DivisionsThatMayGoEitherWayTakeTheCheaper) {
  Table table = numbered();
  kir::Kernel kernel;
  kernel.inputs = {{"x", Type::f32}, {"y", Type::f32}};
  kir::Builder b(kernel);
  const kir::Value x = b.input(0), y = b.input(1);
  const kir::Value strict = b.div(x, y), normal = b.div(y, x, kir::kNormal), bounded = b.sqrt(x, kir::kBounded);
  const auto set = [&](Op op, double plain, double newton) {
    for (std::size_t i = 0; i < rows().size(); ++i)
      if (rows()[i].op == op && rows()[i].type == Type::f32)
        table.figures[i].throughput = rows()[i].form == Form::newton ? newton : plain;
  };
  set(Op::Div, 10, 6);
  set(Op::Sqrt, 12, 20);
  EXPECT_EQ(table.throughput(kernel, kernel.at(strict)), 10);
  EXPECT_EQ(table.throughput(kernel, kernel.at(normal)), 6);
  EXPECT_EQ(table.throughput(kernel, kernel.at(bounded)), 12);
}

TEST(Shipped, TablesHoldForAnyProcessorAndAreSane) {
  for (const char* isa : {"avx2", "avx512"}) {
    const Table& table = shipped(isa);
    EXPECT_EQ(table.isa, isa);
    EXPECT_TRUE(fits(table, "whatever", isa));
    for (const Type type : {Type::f32, Type::f64}) {
      const auto of = [&](Op op) { return table.at({op, type, type, Form::plain}); };
      for (const Op one : {Op::Fma, Op::Fms, Op::Fnma, Op::Fnms, Op::Add, Op::Mul}) EXPECT_EQ(of(one).throughput, 1);
      EXPECT_EQ(of(Op::Fma).latency, 1);
      EXPECT_LT(of(Op::Neg).throughput, of(Op::Fma).throughput);
      EXPECT_GT(of(Op::Div).throughput, 5 * of(Op::Mul).throughput);
      EXPECT_GT(of(Op::Sqrt).throughput, of(Op::Div).throughput);
    }
  }
  EXPECT_EQ(shipped("neon"), shipped("avx2"));
}

TEST(Shipped, AFamilyHasTablesOfItsOwn) {
  const std::string zen5 = "AMD EPYC (AuthenticAMD family 26 model 2 stepping 1)";
  for (const char* isa : {"avx2", "avx512"}) {
    const Table& table = shipped(isa, zen5);
    EXPECT_EQ(table.cpu, "AuthenticAMD family 26");
    EXPECT_EQ(table.isa, isa);
    EXPECT_TRUE(fits(table, zen5, isa));
    for (const char* other : {"AMD EPYC (AuthenticAMD family 25 model 2 stepping 1)", "whatever", kAnyCpu.data(),
                              "AMD EPYC (AuthenticAMD family 261 model 2 stepping 1)"}) {
      EXPECT_EQ(shipped(isa, other), shipped(isa)) << other;
      EXPECT_FALSE(fits(table, other, isa)) << other;
    }
    // Zen 5 begins two products and two sums in a cycle.
    EXPECT_LT(table.at({Op::Add, Type::f32, Type::f32, Form::plain}).throughput,
              table.at({Op::Mul, Type::f32, Type::f32, Form::plain}).throughput);
  }
  EXPECT_EQ(shipped("neon", zen5), shipped("avx2"));
}

TEST(Fits, WhereProcessorAndInstructionSetAreTheSame) {
  const Table table = numbered();
  EXPECT_TRUE(fits(table, table.cpu, "avx512"));
  EXPECT_FALSE(fits(table, table.cpu, "avx2"));
  EXPECT_FALSE(fits(table, "AMD EPYC (AuthenticAMD family 26 model 2 stepping 2)", "avx512"));
}

}  // namespace
}  // namespace trident::cost
