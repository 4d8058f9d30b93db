// make_cases FILE: writes the cases. make_cases --explain N: the kernel of case N and its disassembly.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>

#include "jit/codegen/codegen.h"
#include "jit/codegen/speculative.h"
#include "jit/expr/expr.h"
#include "jit/kir/interpreter.h"
#include "jit/kir/reduction.h"
#include "tests/aarch64/case_file.h"
#include "tests/support/assumption.h"
#include "tests/support/narrow_kernels.h"
#include "tests/support/random_kernel.h"

namespace trident::testing {
namespace {

using codegen::Variant;
using ir::Type;
using Lanes = std::vector<std::uint64_t>;

std::vector<Lanes> interpreted(const kir::Kernel& kernel, std::uint64_t n, const std::vector<Lanes>& inputs,
                               const Lanes& params) {
  std::vector<std::vector<std::uint8_t>> in, out;
  std::vector<const void*> in_pointers;
  std::vector<void*> out_pointers;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::size_t bytes = kir::element_bytes(kernel.inputs[i]);
    in.emplace_back(inputs[i].size() * bytes);
    for (std::size_t e = 0; e < inputs[i].size(); ++e) std::memcpy(&in[i][e * bytes], &inputs[i][e], bytes);
    in_pointers.push_back(in[i].data());
  }
  for (const kir::Output& output : kernel.outputs) {
    out.emplace_back((output.kind == kir::OutputKind::array ? n : 1) * kir::element_bytes(kernel, output));
    out_pointers.push_back(out.back().data());
  }
  kir::interpret(kernel, n, in_pointers.data(), out_pointers.data(), params.data());
  std::vector<Lanes> result;
  for (std::size_t o = 0; o < out.size(); ++o) {
    const std::size_t bytes = kir::element_bytes(kernel, kernel.outputs[o]);
    Lanes& lanes = result.emplace_back(out[o].size() / bytes);
    for (std::size_t e = 0; e < lanes.size(); ++e) std::memcpy(&lanes[e], &out[o][e * bytes], bytes);
  }
  return result;
}

constexpr std::uint64_t kTableLength = 45;
constexpr std::size_t kFewInputs = 3;  ///< of kernels that are tried on long arrays too

std::vector<Lanes> random_inputs(const kir::Kernel& kernel, std::uint64_t n, Random& random) {
  std::vector<Lanes> inputs;
  for (const kir::Input& input : kernel.inputs) {
    Lanes& lanes = inputs.emplace_back(input.is_table() ? kTableLength : n);
    for (std::uint64_t& lane : lanes) lane = random_lane(random, input.type);
  }
  return inputs;
}

struct GivenInputs {
  std::vector<Lanes> lanes;  ///< none: random ones only
  bool only = false;         ///< no random ones: the kernel relies on ranges
};

/// Calls back with every kernel of the campaign, its name, its variant and given inputs.
class Campaign {
 public:
  using Visit =
      std::function<void(const std::string& what, const kir::Kernel&, const codegen::MachineCode&, const GivenInputs&)>;
  explicit Campaign(Visit visit) : visit_(std::move(visit)) {}

  void run() {
    for (const Type type : {Type::f32, Type::f64, Type::i32, Type::i64}) every_op(type);
    for (std::uint64_t seed = 1; seed <= 400; ++seed) random(seed, {});
    for (std::uint64_t seed = 401; seed <= 500; ++seed) random(seed, {.ops = 40, .narrow_only = true});
    for (std::uint64_t seed = 601; seed <= 800; ++seed) random(seed, {.narrow_only = seed % 4 == 0, .tables = true});
    for (std::uint64_t seed = 801; seed <= 1000; ++seed)
      random(seed, {.narrow_only = seed % 3 == 0, .tables = seed % 4 == 0, .exits = true});
    for (std::uint64_t seed = 1001; seed <= 1150; ++seed) speculative(seed);
    for (std::uint64_t seed = 501; seed <= 505; ++seed) random(seed, {.ops = 600, .inputs_max = 12, .outputs_max = 40});
    for (std::uint64_t seed = 1151; seed <= 1350; ++seed)
      narrow(seed, {.inputs_max = 6, .outputs_max = 5, .narrow_only = seed % 2 == 0, .exits = seed % 5 == 4});
    for (const ir::Storage elements : kConverting) narrow(elements);
    for (const kir::Kernel& kernel : half_product_kernels())
      visit("products of halves", kernel, {.vectors = static_cast<std::uint8_t>(1 + kernel.outputs.size() % 2)}, {});
    many_arrays();
    expressions();
    for (const Type type : {Type::f32, Type::f64}) corpus(type);
    for (const Type type : {Type::f32, Type::f64}) sums(type);
  }
  /// Kernels of the corpus that the front end does not lower yet.
  [[nodiscard]] std::size_t skipped() const { return skipped_; }

 private:
  /// Sums and products of numbers near 1 show the order in which they are made; those of random bits are infinite.
  void sums(Type type) {
    const std::string name(name_of(type));
    const auto kernel = kir::parse("input x " + name + "\n%0 = input " + name + " 0\n%1 = sum " + name +
                                   " %0\n%2 = prod " + name + " %0\noutput scalar s %1\noutput scalar p %2\n");
    CHECK(kernel.ok());
    Random random(23);
    for (const std::size_t n : {37u, 100u, 4177u, 12'345u}) {
      Lanes lanes(n);
      for (std::uint64_t& lane : lanes) {
        const double value = 1 + (static_cast<double>(random.below(2'000'001)) - 1e6) * 1e-8;
        lane = type == Type::f32 ? std::bit_cast<std::uint32_t>(static_cast<float>(value))
                                 : std::bit_cast<std::uint64_t>(value);
      }
      for (const Variant& variant : {Variant{.vectors = 1}, Variant{.vectors = 4}})
        visit("sums of " + name, *kernel, variant, {{lanes}});
    }
  }

  void every_op(Type type) {
    const kir::Kernel kernel = every_op_kernel(type);
    std::vector<Lanes> corners(3);
    Random random(17);
    for (const std::uint64_t a : corner_lanes(type))
      for (const std::uint64_t b : corner_lanes(type)) {
        corners[0].push_back(a);
        corners[1].push_back(b);
        corners[2].push_back(random_lane(random, type));
      }
    for (const Variant& variant : {Variant{.vectors = 1}, Variant{.vectors = 2}})
      visit("every op of " + std::string(name_of(type)), kernel, variant, {corners});
  }

  void random(std::uint64_t seed, const RandomKernelOptions& options) {
    const Variant variant{.vectors = static_cast<std::uint8_t>(1 + seed % 4), .schedule = seed % 3 != 0};
    visit("random kernel " + std::to_string(seed), random_kernel(seed, options), variant, {});
  }

  void narrow(std::uint64_t seed, const RandomKernelOptions& options) {
    Random random(seed);
    visit("narrow random kernel " + std::to_string(seed), with_random_storage(random_kernel(seed, options), random),
          {.vectors = static_cast<std::uint8_t>(1 + seed % 4)}, {});
  }

  void narrow(ir::Storage elements) {
    const std::string name(ir::facts_of(elements).name);
    for (const Variant& variant : {Variant{.vectors = 1}, Variant{.vectors = 2}}) {
      for (const Type beside : {Type::f32, Type::f64})
        visit(name + " beside " + std::string(name_of(beside)), narrow_kernel(elements, beside), variant, {});
      visit("all " + name, doubling_kernel(elements), variant, {.lanes = {all_elements(elements)}});
    }
  }

  void many_arrays() {
    kir::Kernel kernel;
    std::string text;
    for (int i = 0; i < 40; ++i) text += "input a" + std::to_string(i) + (i % 3 == 0 ? " f64\n" : " f32\n");
    std::string outputs;
    int next = 0, sum = -1;
    for (int i = 0; i < 40; ++i) {
      const bool wide = i % 3 == 0;
      text += "%" + std::to_string(next) + " = input " + (wide ? "f64 " : "f32 ") + std::to_string(i) + "\n";
      int value = next++;
      if (!wide) {
        text += "%" + std::to_string(next) + " = convert f64 %" + std::to_string(value) + "\n";
        value = next++;
      }
      if (sum >= 0) {
        text +=
            "%" + std::to_string(next) + " = add f64 %" + std::to_string(sum) + ", %" + std::to_string(value) + "\n";
        value = next++;
      }
      sum = value;
      outputs += "output o" + std::to_string(i) + " %" + std::to_string(sum) + "\n";
    }
    auto parsed = kir::parse(text + outputs);
    CHECK(parsed.ok());
    for (const Variant& variant : {Variant{.vectors = 1}, Variant{.vectors = 2}})
      visit("forty arrays", *parsed, variant, {});
  }

  /// Expressions through the front end, those with math functions included: they lower to the same ops.
  void expressions() {
    const char* const kTexts[] = {
        "((-(331.4 + 0.6 * T)) * v) / ((331.4 + 0.6 * T + u) * (331.4 + 0.6 * T + u))",
        "t = (3 * x1 * x1 + 2 * x2) - x1; d = x1 * x1 + 1; s = t / d; x1 + (2 * x1 * s * (s - 3) + x1^2 * (4 * s - 6)) "
        "* d",
        "sph = sqrt(x * x + y * y + z * z) - 1.0; q = sqrt(x * x + z * z) - 1.2; min(sph, sqrt(q * q + y * y) - 0.3)",
        "select(x < y, sqrt(abs(x)), floor(y) * 0.5 + max(x, z))",
        "sum(x * y)",
        "x^5 - 3 * x^3 + 2.5 * x^2 - 1",
        "exp(-x * x) * sin(y) + cos(y)",
        "log(abs(x) + 1) / pow(abs(y), 0.3)",
        "(x - mean(x)) / sqrt(mean((y - mean(y))^2))",
        "argmax(x) + argmin(y)",
    };
    for (const Type type : {Type::f32, Type::f64})
      for (const char* text : kTexts) {
        const auto parsed = expr::parse_infix(text, {.type = type, .variables = {}});
        CHECK(parsed.ok());
        const auto kernel = expr::lower(*parsed, {});
        CHECK(kernel.ok());
        for (const Variant& variant : {Variant{.vectors = 1}, Variant{.vectors = 3}})
          visit(std::string(name_of(type)) + " " + text, *kernel, variant, {});
      }
  }

  /// bench/corpus/kernels.tsv: name, variables as "x:low:high,...", definition. Inputs are drawn from the ranges.
  void corpus(Type type) {
    std::ifstream file("bench/corpus/kernels.tsv");
    CHECK(file.good());
    for (std::string line; std::getline(file, line);) {
      if (line.empty() || line[0] == '#') continue;
      std::istringstream fields(line);
      std::string name, ranges, definition;
      std::getline(fields, name, '\t');
      std::getline(fields, ranges, '\t');
      std::getline(fields, definition);
      const auto parsed = expr::parse_infix(definition, {.type = type, .variables = variables(type, ranges)});
      CHECK(parsed.ok());
      const auto kernel = expr::lower(*parsed, {});
      if (!kernel.ok()) {
        CHECK(kernel.error().code == ErrorCode::kUnsupported);
        ++skipped_;
        continue;
      }
      std::vector<Lanes> inputs;
      Random random(skipped_ + 5);
      for (const expr::Variable& v : parsed->variables)
        for (Lanes& lanes = inputs.emplace_back(300); std::uint64_t & lane : lanes) {
          const double value = v.lo + (v.hi - v.lo) * (double(random.next() >> 11) * 0x1p-53);
          lane = type == Type::f32 ? std::bit_cast<std::uint32_t>(static_cast<float>(value))
                                   : std::bit_cast<std::uint64_t>(value);
        }
      visit(std::string(name_of(type)) + " " + name, *kernel, {.vectors = 2}, {inputs, true});
    }
  }

  static std::vector<expr::Variable> variables(Type type, const std::string& ranges) {
    std::vector<expr::Variable> out;
    std::istringstream list(ranges);
    for (std::string item; std::getline(list, item, ',');) {
      std::istringstream parts(item);
      expr::Variable v;
      v.type = type;
      std::getline(parts, v.name, ':');
      char colon = 0;
      parts >> v.lo >> colon >> v.hi;
      out.push_back(v);
    }
    return out;
  }

  void visit(const std::string& what, const kir::Kernel& kernel, const Variant& variant, const GivenInputs& given) {
    visit_(what, kernel, emitted(what, kernel, variant), given);
  }

  /// Kernels that are fast inside assumed ranges, in front of general ones.
  void speculative(std::uint64_t seed) {
    const kir::Kernel general =
        random_kernel(seed, {.reductions = false, .narrow_only = seed % 3 == 0, .tables = seed % 4 == 0});
    Random random(seed);
    Assumption assumption = assume(general, random);
    if (!codegen::runs_in_parts(general) || !kir::guard(assumption.fast, assumption.inputs, assumption.params)) return;
    const std::string what = "speculative kernel " + std::to_string(seed);
    const auto code = codegen::join_speculative(
        emitted(what, assumption.fast, {.vectors = static_cast<std::uint8_t>(1 + seed % 4)}),
        emitted(what, general, {.vectors = 2}), codegen::array_bytes(general),
        {.chunk = seed % 2 == 0 ? 64u : 0, .shortest = seed % 3 == 0 ? 40u : 0}, codegen::Isa::neon);
    CHECK(code.ok());
    GivenInputs given;
    for (std::size_t i = 0; i < general.inputs.size(); ++i) {
      Lanes& lanes = given.lanes.emplace_back(general.inputs[i].is_table() ? kTableLength : 900);
      for (std::uint64_t& lane : lanes)
        lane = lane_around(random, general.inputs[i].type, assumption.inputs[i], seed % 5 == 0 ? 0 : 60);
    }
    visit_(what, general, *code, given);
  }

  static codegen::MachineCode emitted(const std::string& what, const kir::Kernel& kernel, const Variant& variant) {
    const auto checked = kir::check(kernel);
    if (!checked.ok()) std::fprintf(stderr, "%s: %s\n", what.c_str(), checked.error().message.c_str());
    CHECK(checked.ok());
    auto code = codegen::emit(kernel, codegen::Isa::neon, variant);
    if (!code.ok()) std::fprintf(stderr, "%s: %s\n", what.c_str(), code.error().message.c_str());
    CHECK(code.ok());
    return std::move(code).value();
  }

  Visit visit_;
  std::size_t skipped_ = 0;
};

Case make_case(const std::string& what, const kir::Kernel& kernel, const codegen::MachineCode& code,
               const GivenInputs& given, std::uint64_t number) {
  Case c;
  c.what = "case " + std::to_string(number) + ": " + what;
  c.code.resize(code.bytes.size());
  std::memcpy(c.code.data(), code.bytes.data(), c.code.size());
  Random random(number);
  for (const kir::Input& x : kernel.params) c.params.push_back(random_lane(random, x.type));
  for (const kir::Input& x : kernel.inputs) {
    c.input_types.push_back(ir::element_number(x.type, x.storage));
    c.table_inputs.push_back(x.is_table() ? 1 : 0);
    if (x.is_table()) c.params[*x.length] = kTableLength;
  }
  for (const kir::Output& x : kernel.outputs) {
    c.output_types.push_back(ir::element_number(kernel.type_of(x.value), x.storage));
    c.scalar_outputs.push_back(x.kind == kir::OutputKind::scalar ? 1 : 0);
  }
  std::vector<std::uint64_t> lengths = {0, 1, 2, 7, 16, 17, 33, 67};
  if (kernel.leaves_steps()) lengths.push_back(250);
  const bool reduces =
      !kernel.before.empty() || std::any_of(kernel.insts.begin(), kernel.insts.end(), kir::is_reduction);
  if (reduces && kernel.inputs.size() <= kFewInputs) lengths.insert(lengths.end(), {4095, 4096, 8229});  // chunks
  for (const std::uint64_t n : lengths) {
    if (given.only) break;
    CaseRun run;
    run.n = n;
    run.in_place = random.one_in(2) ? ~std::uint64_t{0} : 0;
    run.at_front = random.below(2);
    run.inputs = random_inputs(kernel, n, random);
    c.runs.push_back(std::move(run));
  }
  if (!given.lanes.empty()) {
    CaseRun run;
    run.n = given.lanes[0].size();
    run.inputs = given.lanes;
    c.runs.push_back(std::move(run));
  }
  c.exits = kernel.leaves_steps() ? 1 : 0;
  const kir::Kernel oracle = c.exits != 0 ? without_exit(kernel) : kernel;
  for (CaseRun& run : c.runs) {
    run.expected = interpreted(oracle, run.n, run.inputs, c.params);
    if (c.exits == 0) continue;
    const Lanes mask = std::move(run.expected.back());
    run.expected.pop_back();
    const auto set = [](std::uint64_t lane) { return lane != 0; };
    run.first_exit = static_cast<std::uint64_t>(std::find_if(mask.begin(), mask.end(), set) - mask.begin());
  }
  return c;
}

int write_cases(const char* path) {
  std::FILE* file = std::fopen(path, "wb");
  if (file == nullptr) return 1;
  CaseStream stream(file, true);
  std::uint64_t number = 0;
  Campaign campaign([&](const std::string& what, const kir::Kernel& kernel, const codegen::MachineCode& code,
                        const GivenInputs& given) {
    Case c = make_case(what, kernel, code, given, number++);
    stream.transfer(c);
  });
  campaign.run();
  const bool good = stream.good() && std::fclose(file) == 0;
  std::printf("%llu kernels written; %zu of the corpus are not lowered yet\n", static_cast<unsigned long long>(number),
              campaign.skipped());
  return good ? 0 : 1;
}

int explain(std::uint64_t wanted) {
  std::uint64_t number = 0;
  Campaign([&](const std::string& what, const kir::Kernel& kernel, const codegen::MachineCode& code,
               const GivenInputs&) {
    if (number++ != wanted) return;
    std::printf("%s\n%s", what.c_str(), kir::print(kernel).c_str());
    std::printf("%s", codegen::disassemble(code, codegen::Isa::neon)->c_str());
  }).run();
  return 0;
}

}  // namespace
}  // namespace trident::testing

int main(int argc, char** argv) {
  if (argc == 2) return trident::testing::write_cases(argv[1]);
  if (argc == 3 && std::string(argv[1]) == "--explain")
    return trident::testing::explain(std::strtoull(argv[2], nullptr, 10));
  std::fprintf(stderr, "usage: make_cases FILE | make_cases --explain N\n");
  return 2;
}
