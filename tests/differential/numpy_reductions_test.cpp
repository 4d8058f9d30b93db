// argmin, argmax, var and std in the interpreter and in machine code. Oracle: NumPy, whose answers numpy_reductions.tsv
// holds (numpy_reductions.py makes it). Numbers of elements are equal; variances are as near as two orders of
// summation.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>

#include "jit/expr/expr.h"
#include "jit/kir/interpreter.h"
#include "tests/support/native_kernel.h"

namespace trident::testing {
namespace {

using ir::Type;

struct Row {
  std::string op, type, pattern, answer;
  std::uint64_t n = 0;
};

std::vector<Row> rows() {
  std::ifstream file("tests/differential/numpy_reductions.tsv");
  EXPECT_TRUE(file.good());
  std::vector<Row> list;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream fields(line);
    Row row;
    fields >> row.op >> row.type >> row.pattern >> row.n >> row.answer;
    list.push_back(row);
  }
  return list;
}

/// The array as numpy_reductions.py makes it.
std::vector<double> values(const Row& row) {
  const bool integers = row.type.starts_with("int");
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> list;
  std::uint64_t state = 1;
  for (std::uint64_t i = 0; i < row.n; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto drawn = static_cast<double>(state >> 40);
    double x = integers ? drawn - 0x1p23 : drawn * 0x1p-23 - 1;
    if (row.pattern == "ties") x = std::floor(integers ? x * 0x1p-21 : x * 4);
    if (row.pattern == "nans" && i % 71 == 70) x = std::numeric_limits<double>::quiet_NaN();
    if (row.pattern == "infinities" && i % 50 == 40) x = -infinity;
    if ((row.pattern == "infinities" || row.pattern == "high") && i % 50 == 20) x = infinity;
    if (row.pattern == "low") x = -infinity;
    if (row.pattern == "zeros") x = i % 2 == 0 ? -0.0 : 0.0;
    if (row.pattern == "near") x = 1000 + x * 0x1p-6;
    if (row.pattern == "constant") x = 3;
    list.push_back(x);
  }
  return list;
}

template <class T>
std::vector<std::byte> packed(const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<T>(values[i]);
    std::memcpy(&bytes[i * sizeof value], &value, sizeof value);
  }
  return bytes;
}

const std::map<std::string, Type> kTypes = {
    {"float32", Type::f32}, {"float64", Type::f64}, {"int32", Type::i32}, {"int64", Type::i64}};

std::vector<std::byte> packed(Type type, const std::vector<double>& values) {
  if (type == Type::f32) return packed<float>(values);
  if (type == Type::f64) return packed<double>(values);
  return type == Type::i32 ? packed<std::int32_t>(values) : packed<std::int64_t>(values);
}

kir::Kernel kernel_of(const std::string& op, Type type) {
  const bool has_ddof = op.back() >= '1' && op.back() <= '9', digit = op.back() == '0' || has_ddof;
  const std::string name = digit ? op.substr(0, op.size() - 1) : op;
  const std::string text = name + "(x" + (has_ddof ? std::string(", ") + op.back() : "") + ")";
  expr::Variable x;
  x.name = "x", x.type = type;
  const auto parsed = expr::parse(text, {.type = Type::f64, .variables = {x}});
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  auto kernel = expr::lower(*parsed, {.policy = {expr::PolicyKind::exact, 0}, .simplify = false});
  EXPECT_TRUE(kernel.ok()) << kernel.error().message;
  EXPECT_TRUE(kir::check(*kernel).ok()) << kir::check(*kernel).error().message;
  return std::move(kernel).value();
}

void expect_answer(const Row& row, Type result, std::uint64_t bits) {
  const std::string what = row.op + " " + row.type + " " + row.pattern + " " + std::to_string(row.n);
  if (result == Type::i64) {
    EXPECT_EQ(std::to_string(static_cast<std::int64_t>(bits)), row.answer) << what;
    return;
  }
  const double want = std::strtod(row.answer.c_str(), nullptr);
  const double got =
      result == Type::f32 ? std::bit_cast<float>(static_cast<std::uint32_t>(bits)) : std::bit_cast<double>(bits);
  if (!std::isfinite(want) || want == 0) {
    EXPECT_TRUE(std::isnan(want) ? std::isnan(got) : got == want) << what << " " << got << " " << want;
    return;
  }
  // Sums of terms of one size err by a few roundings; a mean near 1000 by as many of its own, which then are squared.
  const double unit = result == Type::f32 ? 0x1p-24 : 0x1p-53, large = row.pattern == "near" ? 1000 * 0x1p6 : 1;
  EXPECT_NEAR(got / want, 1, 40 * unit + 100 * unit * large * unit * large) << what;
}

using Call = std::function<void(std::uint64_t, const void* const*, void* const*)>;

std::map<std::string, Call> ways_to_run(const kir::Kernel& kernel, std::vector<image::Mapped>& mapped) {
  std::map<std::string, Call> ways;
  ways["interpreter"] = [plan = kir::Plan::prepare(kernel)](std::uint64_t n, const void* const* in, void* const* out) {
    plan.run(n, in, out, nullptr);
  };
  for (const codegen::Isa isa : runnable_isas())
    for (const codegen::Variant& variant : {codegen::Variant{.schedule = false}, codegen::Variant{.vectors = 4}}) {
      auto native = map_native(kernel, isa, variant);
      EXPECT_TRUE(native.ok());
      mapped.push_back(std::move(native).value());
      ways[std::string(name_of(isa)) + std::to_string(variant.vectors)] =
          [entry = mapped.back().entry()](std::uint64_t n, const void* const* in, void* const* out) {
            entry(nullptr, n, in, out, nullptr);
          };
    }
  return ways;
}

TEST(NumpyReductions, AnswersAreNumpys) {
  std::map<std::pair<std::string, std::string>, std::vector<Row>> groups;
  for (const Row& row : rows()) groups[{row.op, row.type}].push_back(row);
  EXPECT_EQ(groups.size(), 16u);
  for (const auto& [key, list] : groups) {
    const Type type = kTypes.at(key.second);
    const kir::Kernel kernel = kernel_of(key.first, type);
    const Type result = kernel.type_of(kernel.outputs[0].value);
    std::vector<image::Mapped> mapped;
    for (const auto& [way, run] : ways_to_run(kernel, mapped))
      for (const Row& row : list) {
        SCOPED_TRACE(way);
        const std::vector<std::byte> x = packed(type, values(row));
        std::uint64_t bits = 0;
        const void* in[] = {x.data()};
        void* out[] = {&bits};
        run(row.n, in, out);
        expect_answer(row, result, bits);
      }
  }
}

// NumPy refuses to answer.
TEST(NumpyReductions, NoElementHasNumberMinusOne) {
  for (const char* op : {"argmin", "argmax"})
    for (const Type type : {Type::f32, Type::f64, Type::i32, Type::i64}) {
      std::vector<image::Mapped> mapped;
      const kir::Kernel kernel = kernel_of(op, type);
      for (const auto& [way, run] : ways_to_run(kernel, mapped)) {
        std::int64_t answer = 0;
        const void* in[] = {nullptr};
        void* out[] = {&answer};
        run(0, in, out);
        EXPECT_EQ(answer, -1) << op << " " << way;
      }
    }
}

}  // namespace
}  // namespace trident::testing
