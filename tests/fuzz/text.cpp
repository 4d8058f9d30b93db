// Fuzz target: bytes as expression text in every syntax and both float types. Whatever parses must check, survive being
// printed and parsed again in both printable forms, lower under every policy to kir that checks, run even on values
// outside the declared ranges, and give the right value (value_oracle.h): the compiled baseline the interpreter's bits,
// and for one in kMeaningEvery the interpreter what MPFR says under the policy. Under the exact policy simplification
// must not change a bit (NaN aside).

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "jit/expr/builder.h"
#include "jit/expr/expr.h"
#include "jit/kir/interpreter.h"
#include "runtime/base/check.h"
#include "runtime/base/limits.h"
#include "tests/fuzz/value_oracle.h"

extern "C" {
extern const bool fuzz_is_text = true;
std::uint64_t fuzz_accepted = 0;
}
extern "C" const char* const fuzz_dictionary[] = {
#define X(id, Name, text, ...) text, text "(", "(" text " ",
#include "jit/expr/ops.def"
#undef X
    "let ",
    " in ",
    "let*",
    "diff(",
    "grad(",
    "(FPCore (x) ",
    ":pre ",
    "(<= 0 x 1)",
    ":precision binary32",
    "powi",
    "sel",
    "**",
    "^",
    "&&",
    "||",
    "<<",
    ">>",
    "!=",
    "==",
    "<=",
    ">=",
    "?",
    ":",
    ",",
    ";",
    "=",
    "(",
    ")",
    "((((((((",
    "))))))))",
    "x",
    "y",
    "x:f32",
    "i:i64",
    "1e999",
    "-0.0",
    "0x1p-1074",
    "nan",
    "inf",
    "9223372036854775808",
    "1e-6",
    "f32(",
    "i32(",
    nullptr};

namespace {

using namespace trident;

constexpr std::uint64_t kElements = 5;
constexpr std::uint64_t kMeaningEvery = 64;

using Results = std::vector<std::array<std::uint64_t, kElements>>;

/// The outputs of `kernel` over a few corner values, promised or not.
Results run(const kir::Kernel& kernel) {
  constexpr std::array<double, kElements> kValues = {0.0, -1.5, 1e30, 0.5, 3.0};
  std::vector<std::array<std::uint64_t, kElements>> arrays(kernel.inputs.size());
  std::vector<const void*> in;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    for (std::size_t j = 0; j < kElements; ++j) {
      const double value = kValues[(i + j) % kElements];
      const auto narrow = static_cast<float>(value);
      char* at = reinterpret_cast<char*>(arrays[i].data());
      if (kernel.inputs[i].type == ir::Type::f64)
        std::memcpy(at + 8 * j, &value, 8);
      else if (kernel.inputs[i].type == ir::Type::f32)
        std::memcpy(at + 4 * j, &narrow, 4);
      else
        arrays[i][j] = (i + j) * 0x9E3779B97F4A7C15u;
    }
    in.push_back(arrays[i].data());
  }
  std::vector<std::uint64_t> params(kernel.params.size() + 1, 0x3FF8000000000000u);
  for (const kir::Input& input : kernel.inputs)
    if (input.is_table()) params[*input.length] = kElements;
  Results results(kernel.outputs.size());
  std::vector<void*> out;
  for (auto& each : results) out.push_back(each.data());
  kir::interpret(kir::without_storage(kernel), kElements, in.data(), out.data(), params.data());  // the arrays hold values
  return results;
}

bool is_nan(expr::Type type, std::uint64_t bits) {
  return ir::is_float(type) && std::isnan(expr::value_of(type, bits));
}

void check_same_bits(const expr::Expr& expr, const Results& a, const Results& b) {
  CHECK(a.size() == b.size());
  for (std::size_t o = 0; o < a.size(); ++o) {
    const expr::Type type = expr.at(expr.outputs[o].node).type;
    const std::size_t bytes = ir::bytes_of(type);
    for (std::size_t i = 0; i < kElements; ++i) {
      std::uint64_t x = 0;
      std::uint64_t y = 0;
      std::memcpy(&x, reinterpret_cast<const char*>(a[o].data()) + bytes * i, bytes);
      std::memcpy(&y, reinterpret_cast<const char*>(b[o].data()) + bytes * i, bytes);
      CHECK(x == y || (is_nan(type, x) && is_nan(type, y)));
    }
  }
}

/// For inputs outside of a declared range nothing is promised.
bool any_ranged(const expr::Expr& expr) {
  return std::any_of(expr.variables.begin(), expr.variables.end(),
                     [](const expr::Variable& v) { return v.has_range(); });
}

/// The kernel that a client gets first.
void check_values(const expr::Expr& plain, std::uint64_t seed) {
  const Result<kir::Kernel> kernel = expr::lower(plain, {.policy = {expr::PolicyKind::exact}, .simplify = false});
  if (!kernel.ok()) return;
  fuzz::check_code(plain, *kernel, seed);
  static std::uint64_t meanings = 0;
  if (fuzz::has_real_meaning(plain) && meanings++ % kMeaningEvery == 0) fuzz::check_meaning(plain, *kernel, seed);
}

void check_expression(const expr::Expr& parsed, expr::Type type) {
  CHECK(expr::check(parsed).ok());
  const std::vector<std::byte> canonical = expr::canonical_bytes(parsed);
  for (const std::string& text : {expr::print_infix(parsed), expr::print_sexpr(parsed)}) {
    if (text.size() > limits::kTextBytesMax) continue;  // a DAG may print much larger than it is
    expr::ParseOptions options;
    options.type = type;
    const Result<expr::Expr> again = expr::parse(text, options);
    CHECK(again.ok());
    CHECK(expr::canonical_bytes(*again) == canonical);
  }
  const Result<expr::Expr> plain = expr::eliminate_derivatives(parsed);
  if (!plain.ok()) return;  // too large, or no derivative exists: an error with a reason
  CHECK(expr::check(*plain).ok());
  const auto results_of = [&](expr::PolicyKind kind, bool simplify) -> std::optional<Results> {
    expr::LowerOptions options;
    options.policy.kind = kind;
    options.simplify = simplify;
    const Result<kir::Kernel> kernel = expr::lower(*plain, options);
    if (!kernel.ok()) return std::nullopt;
    CHECK(kir::check(*kernel).ok());
    return run(*kernel);
  };
  const auto source = results_of(expr::PolicyKind::exact, false);
  const auto simplified = results_of(expr::PolicyKind::exact, true);
  if (source && simplified && !any_ranged(*plain)) check_same_bits(*plain, *source, *simplified);
  results_of(expr::PolicyKind::bounded, true);
  results_of(expr::PolicyKind::fast, true);
  check_values(*plain, canonical.size() * 0x9E3779B97F4A7C15u + fuzz_accepted);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  bool accepted = false;
  for (const expr::Type type : {expr::Type::f32, expr::Type::f64}) {
    expr::ParseOptions options;
    options.type = type;
    for (const auto parser : {expr::parse_infix, expr::parse_sexpr, expr::parse_fpcore}) {
      const Result<expr::Expr> parsed = parser(text, options);
      accepted = accepted || parsed.ok();
      if (parsed.ok())
        check_expression(*parsed, type);
      else
        CHECK(!parsed.error().message.empty());
    }
  }
  if (accepted) ++fuzz_accepted;
  return 0;
}
