#include "tests/fuzz/function_check.h"

#include <cmath>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "jit/function/call.h"
#include "jit/function/to_expr.h"
#include "jit/image/image.h"
#include "jit/kir/interpreter.h"
#include "jit/pipeline/function.h"
#include "runtime/base/check.h"
#include "runtime/os/cpu.h"

namespace trident::fuzz {
namespace {

using function::Argument;

constexpr std::uint64_t kFuzzBudget = 500;
constexpr int kCalls = 4;
constexpr std::size_t kElements = 24;

std::int64_t drawn(std::mt19937_64& random) {
  const std::uint64_t bits = random();
  switch (random() % 4) {
    case 0: return static_cast<std::int64_t>(bits % 17) - 8;
    case 1: return static_cast<std::int64_t>(bits);
    case 2: return static_cast<std::int64_t>((std::uint64_t{1} << bits % 64) - (bits >> 63));
    default: return static_cast<std::int64_t>(bits % 256);
  }
}

std::int64_t drawn_real(std::mt19937_64& random) {
  constexpr double kReals[] = {0.0, -0.0, 0.5, -1.5, 1e300, -1e300, 5e-324, 0x1p63, -INFINITY, NAN};
  switch (random() % 4) {
    case 0: return function::bits_of(kReals[random() % std::size(kReals)]);
    case 1: return static_cast<std::int64_t>(random());
    default: return function::bits_of(static_cast<double>(drawn(random)) / 8);
  }
}

/// A number that the parameter takes: within its range, where it has one.
std::int64_t drawn_for(const function::Parameter& p, std::mt19937_64& random) {
  if (p.type == function::Type::f64 && !p.lo) return drawn_real(random);
  const std::int64_t number = drawn(random);
  if (p.lo && (number < *p.lo || number > *p.hi)) return random() % 2 == 0 ? *p.lo : *p.hi;
  if (p.type == function::Type::u8) return number & 255;
  return p.type == function::Type::boolean ? number & 1 : number;
}

std::vector<Argument> drawn_call(const function::Function& f, std::mt19937_64& random) {
  std::vector<Argument> arguments;
  for (const function::Parameter& p : f.parameters) {
    Argument argument{.is_array = p.is_array(), .is_real = p.type == function::Type::f64};
    if (!argument.is_array) argument.number = drawn_for(p, random);
    const std::uint64_t most = random() % 4 == 0 ? 200 : 20;  // some fill vectors
    for (std::uint64_t i = argument.is_array ? random() % most : 0; i > 0; --i)
      argument.elements.push_back(drawn_for(p, random));
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

std::int64_t result_of(const function::Function& f, const function::Lowered& lowered,
                       const std::vector<std::vector<std::int64_t>>& columns, std::size_t element) {
  std::vector<Argument> arguments;
  for (std::size_t p = 0; p < columns.size(); ++p)
    arguments.push_back({.is_real = f.parameters[p].type == function::Type::f64, .number = columns[p][element]});
  const auto returned = function::call(f, lowered, arguments);
  CHECK(returned.ok() && !returned->fault);
  return returned->result;
}

std::string print(const function::Returned& returned) {
  std::string text = returned.fault ? function::print(*returned.fault) : std::to_string(returned.result);
  for (const Argument& argument : returned.arguments) text += " " + function::print(argument);
  return text;
}

}  // namespace

const function::Library& shipped_functions(const void*) {
  return function::Library::shipped();
}

void check_printing(const function::Function& f) {
  const std::string printed = function::print(f);
  const auto again = function::parse(printed, "printed");
  CHECK(again.ok());
  CHECK(function::print(*again) == printed);
}

void check_code(const function::Program& program, const function::Lowered& lowered, std::optional<codegen::Isa> bulk) {
  const function::Function& f = program.function();
  const auto made = pipeline::compile_function(f, program.library, {.bulk = bulk, .runs_trials = false});
  if (!made.ok()) return;  // too large for an image
  const auto sealed = image::seal(made->image);
  CHECK(sealed.ok());
  const auto mapped = image::Mapped::map(*sealed);
  CHECK(mapped.ok());
  std::mt19937_64 random(f.text.size());
  for (int i = 0; i < kCalls; ++i) {
    const auto arguments = drawn_call(f, random);
    const auto expected = function::call(f, lowered, arguments, kFuzzBudget);
    const auto got = function::call(f, made->lowered, mapped->region_entry(), arguments, kFuzzBudget);
    CHECK(expected.ok() == got.ok());
    if (expected.ok()) CHECK(print(*expected) == print(*got));
  }
}

bool check_expression(const function::Program& program, const function::Lowered& lowered) {
  const function::Function& f = program.function();
  const auto expression = function::to_expr(f, lowered);
  if (!expression || f.parameters.empty()) return false;
  std::mt19937_64 random(f.text.size());
  std::vector<std::vector<std::int64_t>> columns(f.parameters.size(), std::vector<std::int64_t>(kElements));
  std::vector<const void*> in;
  for (std::size_t p = 0; p < columns.size(); ++p) {
    for (std::int64_t& element : columns[p]) element = drawn_for(f.parameters[p], random);
    in.push_back(columns[p].data());
  }
  for (const bool simplify : {false, true}) {
    const auto kernel = expr::lower(*expression, {.policy = {expr::PolicyKind::exact, 0}, .simplify = simplify});
    CHECK(kernel.ok());
    std::vector<std::int64_t> results(kElements);
    void* const out[] = {results.data()};
    kir::interpret(*kernel, kElements, in.data(), out, nullptr);
    for (std::size_t i = 0; i < kElements; ++i)
      CHECK(function::is_same(f.result, results[i], result_of(f, lowered, columns, i)));
  }
  return true;
}

void check_bulk_code(const function::Program& program, const function::Lowered& lowered) {
  if (!os::cpu_features().bmi2) return;
  check_code(program, lowered, codegen::Isa::avx2);
  if (os::cpu_features().avx512) check_code(program, lowered, codegen::Isa::avx512);
}

}  // namespace trident::fuzz
