#include "tests/differential/exact_bits.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "jit/equiv/checker.h"
#include "tests/support/remainder_operands.h"

namespace trident::testing {
namespace {

constexpr std::uint64_t kPoints = 320;
constexpr std::size_t kVariants = 3;

CallArguments arguments_of(const expr::Expr& source, const equiv::Samples& samples, const equiv::Call& call) {
  CallArguments result{call.n, {}};
  result.arguments.params = equiv::params_of(source, samples, call);
  for (std::size_t v = 0; v < source.variables.size(); ++v) {
    const expr::Variable& variable = source.variables[v];
    if (variable.is_scalar()) continue;
    const std::uint64_t first = variable.is_table() ? 0 : call.first;
    const std::uint64_t count = variable.is_table() ? std::min(call.table_length, samples.n) : call.n;
    const std::size_t bytes = ir::bytes_of(variable.type);
    auto& lanes = result.arguments.inputs.emplace_back(count, 0);
    for (std::uint64_t i = 0; i < count; ++i)
      std::memcpy(&lanes[i], samples.columns[v].data() + static_cast<std::size_t>(first + i) * bytes, bytes);
  }
  return result;
}

}  // namespace

std::vector<CallArguments> drawn_calls(const expr::Expr& source) {
  std::vector<CallArguments> calls;
  for (const equiv::Samples& samples : equiv::make_samples(source, {.points = kPoints, .seed = 3})) {
    calls.push_back(arguments_of(source, samples, samples.calls.front()));
    if (samples.calls.size() > 1) calls.push_back(arguments_of(source, samples, samples.calls.back()));
  }
  return calls;
}

void each_source_of_passes(const std::function<void(const std::string&, const expr::Expr&)>& visit) {
  const auto visit_as = [&](const char* text, ir::Type type) {
    expr::Variable x;
    x.name = "x", x.type = type;
    const auto source = expr::parse(text, {.type = ir::is_int(type) ? ir::Type::f64 : type, .variables = {x}});
    CHECK(source.ok());
    visit(std::string(text) + " of " + std::string(name_of(type)), *source);
  };
  for (const ir::Type type : {ir::Type::f32, ir::Type::f64})
    for (const char* text : {"x - mean(x)", "var(x, 1)", "argmax(x * y) + argmin(x)", "(x - mean(x)) / std(x)",
                             "e = exp(x - maxof(x)); e / sum(e)", "(x * argmin(x), sum(x), argmax(x - mean(x)))"})
      visit_as(text, type);
  for (const ir::Type type : {ir::Type::i32, ir::Type::i64}) visit_as("argmin(x) - argmax(x)", type);
}

expr::Expr remainder_source() {
  auto source = expr::parse("fmod(x, y)", {.type = ir::Type::f64, .variables = {}});
  CHECK(source.ok());
  return std::move(source).value();
}

std::vector<CallArguments> remainder_calls() {
  RemainderOperands operands;
  std::vector<CallArguments> calls = drawn_calls(remainder_source());
  for (const std::uint64_t n : {1, 7, 4000}) {
    CallArguments& call = calls.emplace_back(n);
    call.arguments.inputs.resize(2);
    for (std::uint64_t i = 0; i < n; ++i) {
      const auto [x, y] = operands.next();
      call.arguments.inputs[0].push_back(std::bit_cast<std::uint64_t>(x));
      call.arguments.inputs[1].push_back(std::bit_cast<std::uint64_t>(y));
    }
  }
  return calls;
}

pipeline::Options exact_options(codegen::Isa isa) {
  pipeline::Options options{.target = {.isa = isa, .policy = {expr::PolicyKind::exact, 0}}};
  options.search.costs = &expr::rewrite::default_op_costs(codegen::name_of(isa));  // whatever processor this is
  return options;
}

std::vector<pipeline::Form> exact_forms(const expr::Expr& source, codegen::Isa isa) {
  const pipeline::Options options = exact_options(isa);
  const std::function<void(const pipeline::Progress&)> nobody;
  auto forms = pipeline::forms(source, source, options, pipeline::PassScope(options, nobody));
  CHECK(forms.ok());
  return std::move(forms).value();
}

std::vector<codegen::Variant> some_variants(const kir::Kernel& kernel, codegen::Isa isa) {
  std::vector<codegen::Variant> variants = codegen::variants(kernel, isa);
  variants.resize(std::min(variants.size(), kVariants));
  variants.push_back(pipeline::kBaselineVariant);
  return variants;
}

std::string compare_calls(const kir::Kernel& written, const Run& run, const std::vector<CallArguments>& calls) {
  for (const CallArguments& call : calls) {
    std::string fault = compare_on(written, run, call.arguments.inputs, call.arguments.params, {.n = call.n});
    if (!fault.empty()) return fault;
  }
  return {};
}

}  // namespace trident::testing
