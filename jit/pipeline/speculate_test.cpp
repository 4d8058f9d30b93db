// Speculation, from assumed ranges to a published image. Oracle of the check as a whole: images that are wrong by
// construction, each in another way, and one that is right.
#include "jit/pipeline/speculate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <functional>
#include <sstream>

#include "jit/codegen/speculative.h"
#include "jit/kir/builder.h"
#include "jit/pipeline/speculative_check.h"
#include "jit/pipeline/speculative_times.h"
#include "runtime/os/cpu.h"

namespace trident::pipeline {
namespace {

codegen::Isa this_isa() {
  return os::cpu_features().avx512 ? codegen::Isa::avx512 : codegen::Isa::avx2;
}

expr::Expr in_f32(const char* text, std::vector<expr::Variable> variables = {}) {
  auto e = expr::parse_infix(text, {.type = ir::Type::f32, .variables = std::move(variables)});
  EXPECT_TRUE(e.ok()) << e.error().message;
  return std::move(e).value();
}

constexpr kir::Assumed kFits{0, 2};

/// Checks code as an image, about which `question` asks.
std::string fault_of_code(const codegen::MachineCode& code, const kir::Kernel& general,
                          const std::function<SpeculativeQuestion(const image::Mapped&)>& question) {
  const auto fd = image::seal(image::build_speculative(code, image::counts_of(general), this_isa(), {}));
  EXPECT_TRUE(fd.ok()) << fd.error().message;
  const auto mapped = image::Mapped::map(*fd);
  EXPECT_TRUE(mapped.ok());
  const auto fault = fault_of_speculative(question(*mapped));
  EXPECT_TRUE(fault.ok()) << fault.error().message;
  return *fault;
}

/// x * y + a, with the ranges that are assumed of x and y.
struct Product {
  expr::Expr source = in_f32("x*y + a", {{.name = "x", .type = ir::Type::f32},
                                         {.name = "y", .type = ir::Type::f32},
                                         {.name = "a", .type = ir::Type::f32, .kind = expr::VariableKind::scalar}});
  expr::Expr narrowed = source;
  kir::Kernel general, fast;

  /// The fast kernel adds what is zero inside the ranges, so that it is another kernel outside.
  Product() {
    for (const std::size_t v : {0, 1}) narrowed.variables[v].lo = kFits.lo, narrowed.variables[v].hi = kFits.hi;
    general.inputs = {{"x", ir::Type::f32}, {"y", ir::Type::f32}};
    general.params = {{"a", ir::Type::f32}};
    kir::Builder b(general);
    general.outputs = {{"z", b.add(b.mul(b.input(0), b.input(1)), b.param(0))}};
    fast = general;
    kir::Builder f(fast);
    const kir::Value zero = f.constant(ir::Type::f32, 0), two = f.constant(ir::Type::f32, 2);
    const kir::Value beyond =
        f.max(f.max(f.sub(f.input(0), two), f.sub(f.input(1), two)), f.max(f.neg(f.input(0)), f.neg(f.input(1))));
    fast.outputs = {{"z", f.add(fast.outputs[0].value, f.max(beyond, zero))}};
  }

  /// Checks an image whose guard tests these ranges.
  [[nodiscard]] std::string fault(kir::Assumed x, kir::Assumed y, const codegen::Division& division = {}) const {
    return fault_of(guarded(x, y), general, division);
  }

  [[nodiscard]] kir::Kernel guarded(kir::Assumed x, kir::Assumed y) const {
    kir::Kernel kernel = fast;
    const kir::Assumed ranges[] = {x, y};
    const kir::Assumed param{};
    EXPECT_TRUE(kir::guard(kernel, ranges, {&param, 1}));
    return kernel;
  }

  [[nodiscard]] std::string fault_of(const kir::Kernel& guarded, const kir::Kernel& other,
                                     const codegen::Division& division = {}) const {
    return fault_of(joined(guarded, other, division), division);
  }

  static codegen::MachineCode joined(const kir::Kernel& guarded, const kir::Kernel& other,
                                     const codegen::Division& division) {
    const codegen::Isa isa = this_isa();
    const auto a = codegen::emit(guarded, isa, {.vectors = 2}), b = codegen::emit(other, isa, {.vectors = 1});
    EXPECT_TRUE(a.ok() && b.ok());
    auto code = codegen::join_speculative(*a, *b, codegen::array_bytes(other), division, isa);
    EXPECT_TRUE(code.ok());
    return std::move(code).value();
  }

  [[nodiscard]] std::string fault_of(const codegen::MachineCode& code, const codegen::Division& division,
                                     bool exact = false) const {
    return fault_of_code(code, general, [&](const image::Mapped& image) {
      return SpeculativeQuestion{.source = source,
                                 .narrowed = narrowed,
                                 .fast = fast,
                                 .general = general,
                                 .image = image,
                                 .division = division,
                                 .exact = exact,
                                 .cpu_ns = 300'000'000};
    });
  }
};

TEST(SpeculativeCheck, ARightImagePasses) {
  for (const codegen::Division& division : {codegen::Division{}, {4096, 0}, {0, 256}, {4096, 256}, {4096, 4096}})
    EXPECT_EQ(Product().fault(kFits, kFits, division), "");
}

constexpr kir::Assumed kFitsOrNan{0, 2, true};

/// x * y + a again; NaN may come beside the range of x.
Product product_or_nan() {
  Product product;
  product.narrowed.variables[0].or_nan = true;
  return product;
}

TEST(SpeculativeCheck, NanIsAdmittedWhereTheKernelsAssumeItAndNowhereElse) {
  Product product = product_or_nan();
  for (const codegen::Division& division : {codegen::Division{}, {4096, 0}, {0, 256}, {4096, 256}})
    EXPECT_EQ(product.fault(kFitsOrNan, kFits, division), "");
  EXPECT_NE(product.fault(kFits, kFits), "");            // admits too little
  EXPECT_NE(product.fault(kFitsOrNan, kFitsOrNan), "");  // and too much
  EXPECT_NE(product.fault(kFits, kFitsOrNan), "");
  EXPECT_NE(Product().fault(kFitsOrNan, kFits), "");
  const float above = std::nextafter(2.0F, 3.0F), least = 0x1p-149F;
  for (const kir::Assumed& other : {kir::Assumed{0, above, true}, {least, 2, true}, {0, INFINITY, true}})
    EXPECT_NE(product.fault(other, kFits), "") << other.lo << " " << other.hi;
  // Where both kernels are alike, the counters tell.
  product.fast = product.general;
  EXPECT_EQ(product.fault(kFitsOrNan, kFits), "");
  EXPECT_NE(product.fault(kFits, kFits), "");
  EXPECT_NE(product.fault(kFitsOrNan, kFitsOrNan), "");
}

/// A fast kernel that takes NaN for a number: it was not checked so, and an image of the one that was says so.
TEST(SpeculativeCheck, AKernelThatIsWrongForNanIsFound) {
  Product product = product_or_nan();
  kir::Kernel numbers = product.fast;
  kir::Builder b(numbers);
  const kir::Value zero = b.constant(ir::Type::f32, 0);
  numbers.outputs = {{"z", b.max(numbers.outputs[0].value, zero)}};  // kir's max gives the second of NaN and a number
  const kir::Assumed ranges[] = {kFitsOrNan, kFits}, param{};
  ASSERT_TRUE(kir::guard(numbers, ranges, {&param, 1}));
  EXPECT_NE(product.fault_of(numbers, product.general), "");
}

/// Expects a fault of each kernel in which another comparison or joint stands for one of the guard's; returns how many
/// there are.
std::size_t expect_changes_found(const Product& product, const kir::Kernel& guarded) {
  std::size_t mutants = 0;
  for (std::size_t i = product.fast.insts.size(); i < guarded.insts.size(); ++i)
    for (const kir::Op op : {kir::Op::Le, kir::Op::Lt, kir::Op::Ne, kir::Op::Eq, kir::Op::And, kir::Op::Or}) {
      kir::Kernel mutant = guarded;
      kir::Inst& inst = mutant.insts[i];
      const bool compares = inst.op == kir::Op::Le || inst.op == kir::Op::Lt;
      const bool joins = inst.op == kir::Op::And || inst.op == kir::Op::Or;
      const bool fits = op == kir::Op::And || op == kir::Op::Or ? joins : compares;
      if (!fits || op == inst.op) continue;
      inst.op = op;
      EXPECT_TRUE(kir::check(mutant).ok());
      EXPECT_NE(product.fault_of(mutant, product.general), "") << kir::print(mutant);
      ++mutants;
    }
  return mutants;
}

TEST(SpeculativeCheck, EachChangeOfAGuardThatAdmitsNanIsFound) {
  Product product = product_or_nan();
  for (const bool both : {false, true}) {
    product.narrowed.variables[1].or_nan = both;
    const kir::Kernel guarded = product.guarded(kFitsOrNan, both ? kFitsOrNan : kFits);
    const std::size_t mutants = expect_changes_found(product, guarded);
    EXPECT_GE(mutants, 10u);
  }
}

// A check that is cut off has found neither a fault nor none.
TEST(SpeculativeCheck, EndsWhereverItIsCancelled) {
  const Product product;
  const auto code = Product::joined(product.guarded(kFits, kFits), product.general, {});
  const auto fd = image::seal(image::build_speculative(code, image::counts_of(product.general), this_isa(), {}));
  ASSERT_TRUE(fd.ok());
  const auto mapped = image::Mapped::map(*fd);
  ASSERT_TRUE(mapped.ok());
  SpeculativeQuestion question{product.source, product.narrowed, product.fast, product.general, *mapped};
  int asked = 0;
  for (int left = 0; asked >= left; ++left) {
    asked = 0;
    question.cancelled = [&] { return asked++ >= left; };
    const auto fault = fault_of_speculative(question);
    ASSERT_EQ(fault.ok(), asked <= left) << left;
    if (fault.ok()) break;
    EXPECT_EQ(fault.error().code, ErrorCode::kCancelled);
  }
  EXPECT_EQ(asked, 2) << "with counters of misses, and without";
}

TEST(SpeculativeCheck, GuardsThatTestTooMuchOrTooLittleAreFound) {
  const Product product;
  const float above = std::nextafter(2.0F, 3.0F), below = std::nextafter(2.0F, 1.0F), least = 0x1p-149F;
  EXPECT_NE(product.fault(kFits, {}), "");
  EXPECT_NE(product.fault({}, kFits), "");
  for (const kir::Assumed& other : {kir::Assumed{0, 2.5},
                                    {-0.25, 2},
                                    {0, above},
                                    {0, below},
                                    {least, 2},
                                    {-least, 2},
                                    {0, INFINITY},
                                    {-INFINITY, 2}}) {
    EXPECT_NE(product.fault(other, kFits), "") << other.lo << " " << other.hi;
    EXPECT_NE(product.fault(kFits, other), "") << other.lo << " " << other.hi;
  }
}

/// Inside the ranges both kernels have the same bits, so that only counters tell where a guard is wrong.
TEST(SpeculativeCheck, GuardsOfKernelsThatAreAlikeAreCheckedByTheirCounts) {
  Product product;
  product.fast = product.general;
  EXPECT_EQ(product.fault(kFits, kFits), "");
  EXPECT_NE(product.fault(kFits, {0, std::nextafter(2.0F, 3.0F)}), "");
  EXPECT_NE(product.fault(kFits, {-0x1p-149, 2}), "");
  EXPECT_NE(product.fault(kFits, {}), "");
}

TEST(SpeculativeCheck, EachChangeOfAGuardIsFound) {
  const Product product;
  const kir::Kernel guarded = product.guarded(kFits, kFits);
  const std::size_t mutants = expect_changes_found(product, guarded);
  EXPECT_GE(mutants, 10u);
}

TEST(SpeculativeCheck, AWrongKernelIsFound) {
  Product product;
  const kir::Kernel guarded = product.guarded(kFits, kFits);
  EXPECT_NE(product.fault_of(guarded, product.fast), "");
  // A fast kernel that is not the one that was checked, and, under `exact`, not the general one.
  kir::Kernel other = product.general;
  kir::Builder b(other);
  other.outputs = {{"z", b.add(other.outputs[0].value, b.constant(ir::Type::f32, 1))}};
  const kir::Assumed ranges[] = {kFits, kFits};
  const kir::Assumed param{};
  ASSERT_TRUE(kir::guard(other, ranges, {&param, 1}));
  EXPECT_NE(product.fault_of(other, product.general), "");
  product.fast = other;
  product.fast.exit = {};
  const codegen::MachineCode code = Product::joined(other, product.general, {});
  EXPECT_EQ(product.fault_of(code, {}), "");
  EXPECT_NE(product.fault_of(code, {}, true), "");
}

/// An instruction of a driver, as the disassembler has it.
struct DriverLine {
  std::size_t at = 0, size = 0;
  std::string text;
};

std::vector<DriverLine> driver_lines(const codegen::MachineCode& code) {
  std::vector<DriverLine> lines;
  std::istringstream text(*codegen::disassemble(code, this_isa()));
  for (std::string line; std::getline(text, line);) {
    const std::size_t at = std::stoul(line, nullptr, 16);
    if (!lines.empty()) lines.back().size = at - lines.back().at;
    if (lines.size() > 1 && lines.back().text.starts_with("nop")) break;  // padding in front of the fast kernel
    lines.push_back({at, 0, line.substr(7)});
  }
  lines.pop_back();
  return lines;
}

/// Returns whether a driver without the instruction may pass. Landing pads are for the processor. Calls without
/// elements or without a counter are tested in jit/codegen, and so are the lengths of blocks, which cost time alone.
/// Short calls that do not leave at once are short chunks; zero misses may be added; kernels of few arrays leave r8
/// alone.
std::vector<bool> may_be_missing(const std::vector<DriverLine>& lines) {
  std::vector<bool> may(lines.size());
  bool in_block = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string& text = lines[i].text;
    if (text.starts_with("inc rbx")) in_block = true;
    may[i] = (in_block && !text.starts_with("inc rbx")) || text.starts_with("endbr64") ||
             text.starts_with("mov r14d, 0x") || text.starts_with("ret") || text.starts_with("test rsi, rsi") ||
             text.starts_with("test rbx, rbx") || text.starts_with("test rax, rax") || text == "mov r8, r15";
    if (i > 0 && may[i - 1] && (text.starts_with("j"))) may[i] = true;
    if (text.starts_with("cmp rsi, 0x") || (i > 0 && lines[i - 1].text.starts_with("cmp rsi, 0x"))) may[i] = true;
    if (text.starts_with("mov r14, rbp")) in_block = false;
  }
  may.back() = false;  // the last return
  return may;
}

TEST(SpeculativeCheck, EachInstructionOfTheDriverIsNeeded) {
  const Product product;
  const codegen::Division division{4096, 256};
  const codegen::MachineCode code = Product::joined(product.guarded(kFits, kFits), product.general, division);
  ASSERT_EQ(product.fault_of(code, division), "");
  const std::vector<DriverLine> lines = driver_lines(code);
  const std::vector<bool> may = may_be_missing(lines);
  EXPECT_GE(std::count(may.begin(), may.end(), false), 55);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (may[i]) continue;
    codegen::MachineCode mutant = code;
    std::fill_n(mutant.bytes.begin() + static_cast<std::ptrdiff_t>(lines[i].at), lines[i].size, std::byte{0x90});
    EXPECT_NE(product.fault_of(mutant, division), "") << i << ": " << lines[i].text;
  }
}

/// Joins kernels that stream, and makes those streaming stores trap that `traps` says.
codegen::MachineCode streaming(const Product& product, const codegen::Division& division, bool fast, bool traps) {
  const codegen::Isa isa = this_isa();
  const codegen::Variant variant{.vectors = 2, .non_temporal = true, .part = true};
  auto a = codegen::emit(product.guarded(kFits, kFits), isa, variant), b = codegen::emit(product.general, isa, variant);
  EXPECT_TRUE(a.ok() && b.ok());
  codegen::MachineCode& part = fast ? *a : *b;
  std::istringstream lines(*codegen::disassemble(part, isa));
  for (std::string line; std::getline(lines, line);)
    if (traps && line.find("vmovnt") != std::string::npos) part.bytes[std::stoul(line, nullptr, 16)] = std::byte{0xCC};
  auto code = codegen::join_speculative(*a, *b, codegen::array_bytes(product.general), division, isa);
  EXPECT_TRUE(code.ok());
  return std::move(code).value();
}

TEST(SpeculativeCheck, CallsAreSoLongThatBothKernelsStream) {
  const Product product;
  for (const codegen::Division& division : {codegen::Division{4096, 0, true}, {0, 256, true}})
    for (const bool fast : {false, true}) {
      EXPECT_EQ(product.fault_of(streaming(product, division, fast, false), division), "");
      EXPECT_NE(product.fault_of(streaming(product, division, fast, true), division), "");
    }
}

/// a*sum(x) and x - 1, for calls as a whole. The fast kernel adds 1 to the total.
struct Total {
  expr::Expr source = in_f32(
      "(sum(x)*a, x - 1)",
      {{.name = "x", .type = ir::Type::f32}, {.name = "a", .type = ir::Type::f32, .kind = expr::VariableKind::scalar}});
  expr::Expr narrowed = source;
  kir::Kernel general = lowered(0), fast = lowered(1);

  Total() {
    for (expr::Variable& v : narrowed.variables) v.lo = kFits.lo, v.hi = kFits.hi;
  }

  static kir::Kernel lowered(double more) {
    const std::string text = "(sum(x)*a + " + std::to_string(more) + ", x - 1)";
    const auto kernel =
        expr::lower(in_f32(text.c_str(), {{.name = "x", .type = ir::Type::f32},
                                          {.name = "a", .type = ir::Type::f32, .kind = expr::VariableKind::scalar}}),
                    {});
    EXPECT_TRUE(kernel.ok());
    return *kernel;
  }

  /// A scan with a guard of these ranges.
  static kir::Kernel scan(const kir::Kernel& kernel, kir::Assumed x, kir::Assumed a) {
    kir::Kernel scan;
    scan.inputs = kernel.inputs, scan.params = kernel.params;
    EXPECT_TRUE(kir::guard(scan, {&x, 1}, {&a, 1}));
    EXPECT_TRUE(kir::check(scan).ok());
    return scan;
  }

  [[nodiscard]] codegen::MachineCode joined(const kir::Kernel& scan, std::uint32_t shortest) const {
    const codegen::Isa isa = this_isa();
    const auto s = codegen::emit(scan, isa, {.vectors = 4}), f = codegen::emit(fast, isa, {.vectors = 2}),
               g = codegen::emit(general, isa, {.vectors = 1});
    EXPECT_TRUE(s.ok() && f.ok() && g.ok());
    auto code = codegen::join_selected({*s, *f, *g}, shortest, isa);
    EXPECT_TRUE(code.ok());
    return std::move(code).value();
  }

  [[nodiscard]] std::string fault_of(const codegen::MachineCode& code, std::uint32_t shortest,
                                     bool exact = false) const {
    return fault_of_code(code, general, [&](const image::Mapped& image) {
      return SpeculativeQuestion{.source = source,
                                 .narrowed = narrowed,
                                 .fast = fast,
                                 .general = general,
                                 .image = image,
                                 .division = {0, shortest},
                                 .whole = true,
                                 .exact = exact,
                                 .cpu_ns = 300'000'000};
    });
  }
  [[nodiscard]] std::string fault(kir::Assumed x, kir::Assumed a, std::uint32_t shortest = 0) const {
    return fault_of(joined(scan(general, x, a), shortest), shortest);
  }
};

TEST(SpeculativeCheck, WholeCallsAreTheRightKernels) {
  const Total total;
  for (const std::uint32_t shortest : {0u, 256u}) EXPECT_EQ(total.fault(kFits, kFits, shortest), "");
  const float above = std::nextafter(2.0F, 3.0F), below = std::nextafter(2.0F, 1.0F), least = 0x1p-149F;
  for (const kir::Assumed& other : {kir::Assumed{0, above}, {0, below}, {least, 2}, {-least, 2}, {0, INFINITY}, {}}) {
    EXPECT_NE(total.fault(other, kFits), "") << other.lo << " " << other.hi;
    EXPECT_NE(total.fault(kFits, other), "") << other.lo << " " << other.hi;
  }
  EXPECT_NE(total.fault_of(total.joined(total.scan(total.general, kFits, kFits), 256), 0), "");
  EXPECT_NE(total.fault_of(total.joined(total.scan(total.general, kFits, kFits), 0), 0, true), "");
}

TEST(SpeculativeCheck, WholeCallsWithNanAreTheFastKernelsWhereItIsAssumed) {
  Total total;
  for (expr::Variable& v : total.narrowed.variables) v.or_nan = true;
  for (const std::uint32_t shortest : {0u, 256u}) EXPECT_EQ(total.fault(kFitsOrNan, kFitsOrNan, shortest), "");
  EXPECT_NE(total.fault(kFits, kFitsOrNan), "");
  EXPECT_NE(total.fault(kFitsOrNan, kFits), "");
  EXPECT_NE(Total().fault(kFitsOrNan, kFits), "");
  EXPECT_NE(Total().fault(kFits, kFitsOrNan), "");
}

TEST(SpeculativeCheck, EachInstructionOfTheDriverOfWholeCallsIsNeeded) {
  const Total total;
  const codegen::MachineCode code = total.joined(total.scan(total.general, kFits, kFits), 0);
  ASSERT_EQ(total.fault_of(code, 0), "");
  // Landing pads are for the processor; calls without a counter are tested elsewhere; self is the counter's alone;
  // kernels of few arrays leave rcx and r8 alone.
  const auto may_be_missing = [](const std::string& text) {
    return text.starts_with("endbr64") || text.starts_with("test") || text.starts_with("je") ||
           text.starts_with("jz") || text.ends_with(", 0") || text == "mov rdi, rbx" || text == "mov rcx, r14" ||
           text == "mov r8, r15";
  };
  std::size_t needed = 0;
  for (const DriverLine& line : driver_lines(code)) {
    if (may_be_missing(line.text)) continue;
    codegen::MachineCode mutant = code;
    std::fill_n(mutant.bytes.begin() + static_cast<std::ptrdiff_t>(line.at), line.size, std::byte{0x90});
    EXPECT_NE(total.fault_of(mutant, 0), "") << line.text;
    ++needed;
  }
  EXPECT_GE(needed, 30u);
}

judge::Timings rounds(std::vector<double> general, std::vector<double> speculative) {
  return {.ns = {std::move(general), std::move(speculative)}, .ends = {}};
}

/// A busy machine takes turns from whoever runs: from the speculative kernel in most rounds, from the general one, from
/// both. Neither is a kernel refused for that nor is one let through.
TEST(SpeculativeTimes, DisturbedRoundsAreNoLossAndHideNone) {
  LeastTimes least;
  least.take(rounds({1, 1, 1, 1, 1}, {2.81, 1.02, 12, 2.9, 2.81}));
  EXPECT_DOUBLE_EQ(least.ratio(), 1.02);
  LeastTimes loser;
  loser.take(rounds({1, 3, 3, 3, 3}, {1.2, 1.2, 1.3, 1.2, 1.2}));
  EXPECT_DOUBLE_EQ(loser.ratio(), 1.2);
  LeastTimes both;
  both.take(rounds({7, 8, 1}, {3, 5, 4}));
  EXPECT_DOUBLE_EQ(both.ratio(), 3);
  both.take(rounds({2, 2, 2}, {1.5, 1.5, 1.01}));
  EXPECT_DOUBLE_EQ(both.ratio(), 1.01);
}

TEST(SpeculativeTimes, AKernelThatWasNotTimedTakesInfinitelyLong) {
  LeastTimes least;
  EXPECT_EQ(least.ratio(), INFINITY);
  least.take(rounds({1, 1}, {}));
  EXPECT_EQ(least.ratio(), INFINITY);
  least = {};
  least.take(rounds({}, {1, 1}));
  EXPECT_EQ(least.ratio(), INFINITY);
}

Options assuming(std::vector<kir::Assumed> ranges, expr::PolicyKind policy = expr::PolicyKind::exact) {
  Options options;
  options.target = {.isa = this_isa(), .policy = {.kind = policy}, .assumed = std::move(ranges)};
  return options;
}

/// Times decide, so that a busy machine may refuse. What is published has the image that was checked.
TEST(Speculate, NestedTrigonometryIsFasterInObservedRanges) {
  const auto result =
      optimise(in_f32("sin(3*sin(x) + cos(y))"), assuming({{-4, 4}, {-4, 4}}, expr::PolicyKind::bounded));
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_TRUE(result->speculation.has_value());
  const Speculation& s = *result->speculation;
  std::vector<std::uint64_t> lengths;
  for (const SpeculationTime& time : s.times) lengths.push_back(time.elements);
  EXPECT_EQ(lengths, (std::vector<std::uint64_t>{16, 256, 1024, 4096, 1'000'000}));
  const bool speculates = result->winner.image.bytes.size() != 0 &&
                          result->winner.image.header().version == TRIDENT_SPECULATIVE_IMAGE_VERSION;
  EXPECT_EQ(speculates, s.published);
  EXPECT_EQ(s.refused.empty(), s.published);
  if (!s.published) {
    EXPECT_NE(s.refused.find("it loses too much"), std::string::npos) << s.refused;
    return;
  }
  EXPECT_NE(s.guard.find("exit"), std::string::npos) << s.guard;
  for (const SpeculationTime& time : s.times) {
    EXPECT_TRUE(time.elements != 4096 || time.matching <= kSpeculationGain) << time.matching;
    EXPECT_TRUE(time.elements < s.shortest || time.missing <= kSpeculationLoss) << time.elements;
  }
}

/// Oracle: the interpreter on the source's own kernel. Times decide whether there is an image at all.
TEST(Speculate, MissingDataGetFastCodeAndStayMissing) {
  const auto source = in_f32("sin(3*sin(x) + cos(y)) + (x < 0 ? min(x, y) : max(y, x))");
  const kir::Assumed fits{-4, 4, true};
  const auto result = optimise(source, assuming({fits, fits}));
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_TRUE(result->speculation.has_value());
  EXPECT_EQ(result->speculation->refused.find("fault"), std::string::npos) << result->speculation->refused;
  if (!result->speculation->published) return;
  const auto written = expr::lower(source, {.policy = {.kind = expr::PolicyKind::exact}, .simplify = false});
  const auto fd = image::seal(result->winner.image);
  const auto mapped = image::Mapped::map(*fd);
  ASSERT_TRUE(written.ok() && mapped.ok());
  constexpr std::size_t kN = 5000;
  std::vector<float> x(kN), y(kN), wanted(kN), have(kN);
  for (std::size_t i = 0; i < kN; ++i) {
    x[i] = i % 3 == 0 ? NAN : 3 * std::sin(static_cast<float>(i));
    y[i] = i % 5 == 0 ? NAN : 3 * std::cos(static_cast<float>(i));
  }
  const void* const in[] = {x.data(), y.data()};
  void* out = wanted.data();
  kir::interpret(*written, kN, in, &out, nullptr);
  out = have.data();
  std::uint64_t misses = 0;
  const struct {
    const void* entry;
    std::uint64_t* misses;
  } self{nullptr, &misses};
  mapped->entry()(&self, kN, in, &out, nullptr);
  EXPECT_EQ(misses, 0u);
  for (std::size_t i = 0; i < kN; ++i)
    ASSERT_TRUE(std::bit_cast<std::uint32_t>(wanted[i]) == std::bit_cast<std::uint32_t>(have[i]) ||
                (std::isnan(wanted[i]) && std::isnan(have[i])))
        << i << " " << x[i] << " " << y[i];
}

TEST(Speculate, VariablesThatNoKernelReadsAreNotGuarded) {
  const auto expr =
      in_f32("sin(3*sin(x) + cos(y))", {{.name = "z", .type = ir::Type::f32},
                                        {.name = "x", .type = ir::Type::f32},
                                        {.name = "s", .type = ir::Type::f32, .kind = expr::VariableKind::scalar},
                                        {.name = "y", .type = ir::Type::f32}});
  const auto result = optimise(expr, assuming({{-4, 4}, {-4, 4}, {-4, 4}, {-4, 4}}));
  ASSERT_TRUE(result.ok() && result->speculation.has_value());
  const std::string& guard = result->speculation->guard;
  EXPECT_NE(guard.find("exit"), std::string::npos) << guard << result->speculation->refused;
  EXPECT_NE(guard.find("= input f32 1"), std::string::npos) << guard;
  EXPECT_NE(guard.find("= input f32 2"), std::string::npos) << guard;
  EXPECT_EQ(guard.find("= input f32 0"), std::string::npos) << guard;
  EXPECT_EQ(guard.find("= param"), std::string::npos) << guard;
}

/// AVX2 has no product of 64-bit integers. Oracle: C++, on data inside the ranges and outside.
TEST(Speculate, SmallLongsAreMultipliedByHalves) {
  const auto expr = expr::parse("x: i64; y: i64; x*x*y + x*3");
  ASSERT_TRUE(expr.ok()) << expr.error().message;
  Options options = assuming({{-64, 64}, {-128, 128}});
  options.target.isa = codegen::Isa::avx2;
  const auto result = optimise(*expr, options);
  ASSERT_TRUE(result.ok() && result->speculation.has_value());
  const Speculation& s = *result->speculation;
  if (!s.published) {
    EXPECT_NE(s.refused.find("it loses too much"), std::string::npos) << s.refused;
    return;
  }
  EXPECT_NE(s.guard.find("convert i32"), std::string::npos) << s.guard;
  const auto fd = image::seal(result->winner.image);
  ASSERT_TRUE(fd.ok());
  const auto mapped = image::Mapped::map(*fd);
  ASSERT_TRUE(mapped.ok());
  for (const std::uint64_t every : {1, 2, 100, 5000}) {
    std::vector<std::uint64_t> x(5000), y(5000), z(5000);
    for (std::uint64_t i = 0; i < x.size(); ++i) {
      x[i] = i % 129 - 64, y[i] = i % 257 - 128;
      if (i % every == every - 1) (i % 3 == 0 ? x : y)[i] = std::uint64_t{0x9E37'79B9'7F4A'7C15} * (i + 1);
    }
    const void* in[] = {x.data(), y.data()};
    void* out[] = {z.data()};
    mapped->entry()(nullptr, z.size(), in, out, nullptr);
    for (std::size_t i = 0; i < z.size(); ++i) ASSERT_EQ(z[i], x[i] * x[i] * y[i] + x[i] * 3) << x[i] << " " << y[i];
  }
}

/// The constant is no argument of the fast kernel's values, but the guard tests it.
TEST(Speculate, AnExponentThatIsOneNumberMakesProducts) {
  const auto expr = in_f32("x^p", {{.name = "x", .type = ir::Type::f32},
                                   {.name = "p", .type = ir::Type::f32, .kind = expr::VariableKind::scalar}});
  const auto result = optimise(expr, assuming({{}, {3, 3}}, expr::PolicyKind::bounded));
  ASSERT_TRUE(result.ok() && result->speculation.has_value());
  const Speculation& s = *result->speculation;
  EXPECT_TRUE(s.published) << s.refused;
  EXPECT_NE(s.guard.find("= param f32 0"), std::string::npos) << s.guard;
  EXPECT_LE(std::count(s.guard.begin(), s.guard.end(), '='), 14) << s.guard;
}

TEST(Speculate, CodeThatRangesDoNotChangeNeedsNone) {
  const auto compiled = [](const char* text, std::vector<expr::Variable> variables, const codegen::Variant& variant) {
    const Options options = assuming({});
    auto made = compile_baseline(in_f32(text, std::move(variables)), options);
    EXPECT_TRUE(made.ok()) << made.error().message;
    made->variant = variant;
    made->code = *codegen::emit(made->kernel, options.target.isa, variant);
    return std::move(made).value();
  };
  const std::vector<expr::Variable> ranged = {{.name = "x", .type = ir::Type::f32, .lo = 0, .hi = 1}};
  for (const codegen::Variant& variant : {kBaselineVariant, codegen::Variant{.vectors = 4}}) {
    for (const char* text : {"x + 1", "x*x", "x < 0.5"}) {
      const Compiled fast = compiled(text, ranged, variant), general = compiled(text, {}, kBaselineVariant);
      EXPECT_TRUE(needs_no_ranges(fast, general.kernel, this_isa())) << text;
    }
    // Ranges make x of abs(x); of the sums, only the pools of constants differ.
    const Compiled narrowed = compiled("x", ranged, variant), general = compiled("abs(x)", {}, kBaselineVariant);
    EXPECT_FALSE(needs_no_ranges(narrowed, general.kernel, this_isa()));
    const Compiled constant = compiled("x + 2", ranged, variant), sum = compiled("x + 1", {}, kBaselineVariant);
    EXPECT_FALSE(needs_no_ranges(constant, sum.kernel, this_isa()));
  }
}

/// Oracle: the search in the ranges ends well before its limit, and joining takes longer than what is left then.
TEST(Speculate, AFastKernelIsJoinedWhateverTimeIsLeft) {
  if (!os::cpu_features().avx2_fma) GTEST_SKIP() << "this machine does not run AVX2 code";
  const expr::Expr e = in_f32("sin(3*sin(x) + cos(y))");
  const Options options = assuming({{-4, 4}, {-4, 4}}, expr::PolicyKind::bounded);
  std::optional<FastKernel> fast;
  const auto speculation = [&](const Options& how, std::uint64_t left_ns) {
    Optimised general;
    general.baseline_checked = true;
    speculate(e, how, left_ns, general, fast);
    return std::move(*general.speculation);
  };
  const Speculation first = speculation(options, 10 * kDefaultBudgetNs);
  if (!fast) GTEST_SKIP() << "nothing faster was measured in the ranges; the machine may be busy: " << first.refused;
  const auto ends_early = [](const Speculation& s) {
    return s.refused.find("limit of processor time") != std::string::npos ||
           s.refused.find("cut off") != std::string::npos;
  };
  const Speculation second = speculation(options, 1);
  EXPECT_FALSE(ends_early(second)) << second.refused;
  EXPECT_FALSE(second.times.empty());

  // There is an end all the same, which a small budget brings near, and a caller brings at once.
  Options small = options;
  small.budget.cpu_ns = 1'000;
  EXPECT_TRUE(ends_early(speculation(small, 1)));
  const std::atomic<bool> enough = true;
  Options cancelled = options;
  cancelled.budget.cancelled = &enough;
  EXPECT_TRUE(ends_early(speculation(cancelled, 1)));
}

TEST(Speculate, SaysWhyThereIsNone) {
  const auto refused = [](const char* text, const Options& options) {
    const auto result = optimise(in_f32(text), options);
    EXPECT_TRUE(result.ok()) << result.error().message;
    EXPECT_TRUE(result->speculation.has_value());
    EXPECT_FALSE(result->speculation->published);
    return result->speculation->refused;
  };
  EXPECT_NE(refused("sum(x)", assuming({{0, 1}})), "");
  EXPECT_NE(refused("x + 1", assuming({{0, 1}})), "");
  const auto nothing = optimise(in_f32("sin(x)"), assuming({{}}));
  ASSERT_TRUE(nothing.ok()) << nothing.error().message;
  EXPECT_FALSE(nothing->speculation.has_value());
}

}  // namespace
}  // namespace trident::pipeline
