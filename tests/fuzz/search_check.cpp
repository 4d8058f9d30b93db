// Checks a case of the campaign: search_case.h.
#include <fmt/format.h>
#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>

#include "jit/equiv/checker.h"
#include "jit/equiv/parts.h"
#include "jit/expr/builder.h"
#include "jit/expr/compact.h"
#include "jit/expr/rewrite/guides.h"
#include "jit/expr/rewrite/rewrite.h"
#include "jit/expr/shape.h"
#include "jit/expr/simplify.h"
#include "jit/kir/interpreter.h"
#include "jit/pipeline/forms.h"
#include "jit/pipeline/second_look.h"
#include "runtime/os/clock.h"
#include "tests/fuzz/search_case.h"
#include "tests/support/mpfr_evaluator.h"
#include "tests/support/native_kernel.h"
#include "tests/support/random_expr.h"

namespace trident::fuzz {
namespace {

using expr::Expr;
using expr::LowerOptions;
using expr::PolicyKind;
using kir::math::Accuracy;
using testing::Random;
using Lanes = std::vector<std::vector<std::uint64_t>>;

constexpr std::uint64_t kFreshPoints = 96, kManyPoints = 16'384, kMostPoints = 16 * kManyPoints;
constexpr std::size_t kFreshRefined = 64, kManyRefined = 1024;
constexpr std::uint64_t kFreshSeed = 0xF4E54, kManySeed = 0x3A9F;
/// One case in so many is put to the optimiser's check, among those whose forms break the policy at fresh points. Such
/// cases are many, since rounding differs, and the check takes as long as hundreds of cases.
constexpr std::uint32_t kAskedOf = 12;
/// Processor time for one question of that check. What takes longer is not answered.
constexpr std::uint64_t kQuestionNs = 4'000'000'000, kManyNs = 60'000'000'000;

struct Form {
  const char* name;
  Expr expr;
  LowerOptions how;
  kir::Kernel kernel{};
  bool keeps_roundings = false;
  bool simplified = false;  ///< constants are folded, each step rounded to its type
};

double odd_cost(const void* seed, const egraph::ENode& node, std::uint8_t) {
  const auto op = static_cast<expr::Op>(node.op);
  if (op == expr::Op::Diff) return 1e5;
  if (expr::info(op).signature == expr::Signature::Leaf) return 0;
  Random random(*static_cast<const std::uint64_t*>(seed) * 131 + node.op * 8 + node.sort);
  return 1 + random.below(64);
}

Result<std::vector<Expr>> search(const SearchCase& c, const Expr& source) {
  TRY(expr::rewrite::Rewritten found, search_of(c, source, false));
  return std::move(found.forms);
}

std::string text_of(const Expr& e) {
  return "\n" + expr::print_infix(e);
}

// --- over the reals -------------------------------------------------------------------------------------------------

bool has_real_value(const Expr& e) {
  return std::all_of(e.nodes.begin(), e.nodes.end(), [](const expr::Node& n) {
    const expr::Signature s = expr::info(n.op).signature;
    const bool reduces = s == expr::Signature::Reduce || s == expr::Signature::Reduce2 || s == expr::Signature::Diff;
    return !ir::is_int(n.type) && !reduces && n.op != expr::Op::Copysign;
  });
}

/// Elements of every variable that keep its promise; scalars have one.
Lanes draw(const Expr& e, std::size_t n, Random& random) {
  Lanes lanes;
  for (const expr::Variable& v : e.variables) lanes.push_back(testing::random_values(v, v.is_scalar() ? 1 : n, random));
  return lanes;
}

struct Values {
  std::vector<std::vector<std::uint64_t>> lanes;  ///< per output; one when it is a scalar
};

Values interpret(const kir::Kernel& kernel, const Expr& e, const Lanes& inputs, std::size_t n) {
  std::vector<std::vector<std::byte>> arrays, results;
  std::vector<std::uint64_t> params;
  for (std::size_t v = 0; v < e.variables.size(); ++v) {
    if (e.variables[v].is_scalar()) {
      params.push_back(inputs[v][0]);
      continue;
    }
    const std::size_t bytes = ir::bytes_of(e.variables[v].type);
    auto& array = arrays.emplace_back(std::max<std::size_t>(n, 1) * bytes);
    for (std::size_t i = 0; i < n; ++i) std::memcpy(&array[i * bytes], &inputs[v][i], bytes);
  }
  params.push_back(0);  // never a null pointer
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const auto& array : arrays) in.push_back(array.data());
  for (const kir::Output& o : kernel.outputs) results.emplace_back((n + 1) * ir::bytes_of(kernel.type_of(o.value)));
  for (auto& result : results) out.push_back(result.data());
  kir::interpret(kernel, n, in.data(), out.data(), params.data());
  Values values;
  for (std::size_t k = 0; k < results.size(); ++k) {
    const bool array = kernel.outputs[k].kind == kir::OutputKind::array;
    const std::size_t bytes = ir::bytes_of(kernel.type_of(kernel.outputs[k].value));
    auto& column = values.lanes.emplace_back(array ? n : 1);
    for (std::size_t i = 0; i < column.size(); ++i) std::memcpy(&column[i], &results[k][i * bytes], bytes);
  }
  return values;
}

/// The rest of the program may need other exponents than the reals of a test.
class ShortExponents {
 public:
  ShortExponents() : emin_(mpfr_get_emin()), emax_(mpfr_get_emax()) {
    mpfr_set_emax(1 << 14);
    mpfr_set_emin(-(1 << 14));
  }
  ShortExponents(const ShortExponents&) = delete;
  ShortExponents& operator=(const ShortExponents&) = delete;
  ~ShortExponents() {
    mpfr_set_emin(emin_);
    mpfr_set_emax(emax_);
  }

 private:
  mpfr_exp_t emin_, emax_;
};

/// The expression with every constant that need not be exact moved by an ulp: 3.14159... is no closer to pi than that,
/// and in a form nor is a 1 that its source does not have, which may be what folding has left of 1 + 1e-24.
Expr with_moved_constants(Expr e, const Expr& source, Random& random) {
  const auto in_source = [&](double value) {
    return std::any_of(source.nodes.begin(), source.nodes.end(), [&](const expr::Node& n) {
      return n.op == expr::Op::Constant && ir::is_float(n.type) && expr::value_of(n.type, n.imm) == value;
    });
  };
  for (expr::Node& n : e.nodes) {
    if (n.op != expr::Op::Constant || !ir::is_float(n.type)) continue;
    const double value = expr::value_of(n.type, n.imm);
    const double few_bits = value * 1024;
    if (!std::isfinite(value) || (few_bits == std::trunc(few_bits) && in_source(value))) continue;
    const double towards = random.one_in(2) ? INFINITY : -INFINITY;
    n.imm = expr::bits_of(
        n.type, n.type == expr::Type::f32
                    ? static_cast<double>(std::nextafter(static_cast<float>(value), static_cast<float>(towards)))
                    : std::nextafter(value, towards));
  }
  return e;
}

bool rounds_to_integers(expr::Op op) {
  using expr::Op;
  return op == Op::Floor || op == Op::Ceil || op == Op::Trunc || op == Op::Rint || op == Op::Round;
}

enum class Likeness : std::uint8_t { unknown, like, unlike };

/// Describes how `form` is another function than `source`: it differs at a good part of the points where the source's
/// evaluation is good. Rounding errors of steps explain a few points, never so many. When rounded constants do, the
/// source's or a rule's (1/e as an f32), the answer is empty: errors are a matter of the policy.
std::string unlike(const SearchCase& c, const Expr& source, const kir::Kernel& plain, const Expr& form) {
  constexpr std::size_t kPoints = 16;
  constexpr std::size_t kLeast = 6;
  constexpr int kBits = 200, kBitsWhereAllCancels = 2400;  // (1 + 1e-310) - 1
  if (!has_real_value(source) || !has_real_value(form)) return "";
  const ShortExponents exponents;
  Random random(c.seed ^ 0x4EA1);
  // Nothing is said when a step has no value, or none that these exponents hold.
  const auto with_steps = [](Expr e) {
    for (std::uint32_t i = 0; i < e.nodes.size(); ++i)
      if (ir::is_float(e.nodes[i].type)) e.outputs.push_back({"step", expr::NodeId(i)});
    return e;
  };
  const auto moderate = [](const std::vector<long double>& values) {
    return std::all_of(values.begin(), values.end(), [](long double v) { return std::fabs(v) <= 1e300L; });
  };
  const Expr steps = with_steps(source), form_steps = with_steps(form);
  // Constants may move alike in one try, and their difference stay; so several tries move them.
  constexpr std::size_t kMoves = 4;
  std::array<Expr, kMoves> moved, form_moved;
  for (std::size_t m = 0; m < kMoves; ++m) {
    moved[m] = with_steps(with_moved_constants(source, source, random));
    form_moved[m] = with_steps(with_moved_constants(form, source, random));
  }
  // Where a step is rounded over one of its own edges nothing is said: floor(log1p(expm1(3))). Nor where zero is its
  // own edge: over the reals pow has no value where both operands are zero, though MPFR gives it one, and there and on
  // the cut the value of atan2 is a matter of the zero's sign.
  const auto is_on_a_cut = [](const Expr& e, const std::vector<long double>& values) {
    std::vector<std::size_t> place(e.nodes.size());
    for (std::size_t i = 0, at = e.outputs.size(); i < place.size(); ++i)
      place[i] = ir::is_float(e.nodes[i].type) ? at++ : 0;
    const auto is_exact = [&](expr::NodeId id) {
      const expr::Op op = e.at(id).op;
      return op == expr::Op::Variable || op == expr::Op::Constant || rounds_to_integers(op);
    };
    return std::any_of(e.nodes.begin(), e.nodes.end(), [&](const expr::Node& n) {
      if (!n.a.valid() || !ir::is_float(e.at(n.a).type)) return false;
      const long double a = values[place[n.a.index]];
      if (rounds_to_integers(n.op)) return std::rint(2 * a) == 2 * a && !is_exact(n.a);
      if (n.op == expr::Op::Sign) return a == 0 && !is_exact(n.a);
      if (!n.b.valid() || !ir::is_float(e.at(n.b).type)) return false;
      const long double b = values[place[n.b.index]];
      if (expr::info(n.op).signature == expr::Signature::Compare) return a == b && !(is_exact(n.a) && is_exact(n.b));
      if (n.op == expr::Op::Fmod) return std::rint(a / b) == a / b && !(is_exact(n.a) && is_exact(n.b));
      if (n.op != expr::Op::Atan2 && n.op != expr::Op::Pow) return false;
      return a == 0 && (b == 0 || (b < 0 && n.op == expr::Op::Atan2));
    });
  };
  Expr arrays = source;
  for (expr::Variable& v : arrays.variables) v.kind = expr::VariableKind::array;  // a value of its own at every point
  const Lanes lanes = draw(arrays, kPoints, random);
  for (std::size_t k = 0; k < source.outputs.size(); ++k) {
    const expr::Type type = source.at(source.outputs[k].node).type;
    if (!ir::is_float(type)) continue;
    const double near = type == expr::Type::f32 ? 1e-3 : 1e-6;  // cosh(20) and sinh(20) are one double
    std::size_t good = 0, away = 0;
    std::string example;
    for (std::size_t i = 0; i < kPoints; ++i) {
      std::vector<double> at;
      Lanes point;
      for (std::size_t v = 0; v < source.variables.size(); ++v) {
        at.push_back(expr::value_of(source.variables[v].type, lanes[v][i]));
        point.push_back({lanes[v][i]});
      }
      const auto judge = [&](int bits, std::string& difference) {
        const auto real = testing::evaluate_real(steps, at, bits);
        if (real[k] == 0) return Likeness::unknown;  // rounded constants leave something where terms cancel
        if (!moderate(real) || is_on_a_cut(source, real)) return Likeness::unknown;
        const Values strict = interpret(plain, source, point, 1);
        const double ours = expr::value_of(type, strict.lanes[k][0]);
        const long double scale = std::fabs(real[k]) + 1e-30L;
        const auto is_near = [&](long double a, long double b, double by) { return std::fabs(a - b) <= by * scale; };
        if (!is_near(ours, real[k], near * 0.01)) return Likeness::unknown;
        const auto other = testing::evaluate_real(form_steps, at, bits);
        if (!moderate(other) || is_on_a_cut(form, other)) return Likeness::unknown;
        if (is_near(other[k], real[k], near)) return Likeness::like;
        const auto depends_on_roundings = [&](const Expr& e, long double value) {
          return !is_near(testing::evaluate_real(e, at, bits)[k], value, near * 0.01);
        };
        for (std::size_t m = 0; m < kMoves; ++m)
          if (depends_on_roundings(moved[m], real[k]) || depends_on_roundings(form_moved[m], other[k]))
            return Likeness::unknown;
        difference = fmt::format("output {} is {:.17g} instead of {:.17g} at", k, other[k], real[k]);
        return Likeness::unlike;
      };
      std::string difference;
      Likeness likeness = judge(kBits, difference);
      if (likeness == Likeness::unlike) likeness = judge(kBitsWhereAllCancels, difference);
      if (likeness == Likeness::unknown) continue;
      ++good;
      if (likeness == Likeness::like) continue;
      ++away;
      example = difference;
      for (const double x : at) example += fmt::format(" {:.17g}", x);
    }
    if (good >= kLeast && away * 4 >= good) return example + text_of(form);
  }
  return "";
}

// --- calls of no elements -------------------------------------------------------------------------------------------

/// Compares totals of no elements with the source's, except for rounding.
std::string unlike_when_empty(const SearchCase& c, const Expr& source, const kir::Kernel& plain, const Form& form) {
  Random random(c.seed ^ 0xE0);
  const Lanes lanes = draw(source, 1, random);
  const Values wanted = interpret(plain, source, lanes, 0), got = interpret(form.kernel, source, lanes, 0);
  for (std::size_t k = 0; k < source.outputs.size(); ++k) {
    if (wanted.lanes[k].empty()) continue;
    const expr::Type type = source.at(source.outputs[k].node).type;
    const std::uint64_t a = wanted.lanes[k][0], b = got.lanes[k][0];
    if (a == b) continue;
    char text[160];
    std::snprintf(text, sizeof text, "output %zu of a call of no elements is %016llx instead of %016llx", k,
                  static_cast<unsigned long long>(b), static_cast<unsigned long long>(a));
    if (!ir::is_float(type)) return text + text_of(form.expr);
    const double x = expr::value_of(type, a), y = expr::value_of(type, b);
    if (std::isnan(x) && std::isnan(y)) continue;
    if (!std::isfinite(x) && c.policy.kind == PolicyKind::fast) continue;
    if (c.policy.kind != PolicyKind::exact && std::isfinite(x) && std::fabs(x - y) <= 0.01 * std::fabs(x) + 1e-30)
      continue;
    return text + text_of(form.expr);
  }
  return "";
}

// --- machine code ---------------------------------------------------------------------------------------------------

std::string code_differs(const SearchCase& c, const Expr& e, const kir::Kernel& kernel, Random& random) {
  static const std::vector<codegen::Isa> kIsas = testing::runnable_isas();
  const codegen::Isa isa = kIsas[random.below(static_cast<std::uint32_t>(kIsas.size()))];
  auto variants = codegen::variants(kernel, isa);
  variants.push_back(pipeline::kBaselineVariant);
  codegen::Variant variant = variants[random.below(static_cast<std::uint32_t>(variants.size()))];
  if (isa == codegen::Isa::avx512 && random.one_in(4)) variant.vector_bits = 256;
  const auto native = testing::map_native(kernel, isa, variant);
  if (!native.ok()) {
    const bool known =
        native.error().code == ErrorCode::kUnsupported || native.error().code == ErrorCode::kLimitExceeded;
    return known ? "" : native.error().message;
  }
  constexpr std::array<std::uint64_t, 12> kLengths = {0, 1, 2, 7, 8, 15, 16, 17, 31, 33, 65, 131};
  const std::uint64_t n = kLengths[random.below(kLengths.size())];
  Lanes lanes = draw(e, n, random);
  // Under fast other inputs have any result, on each host another.
  for (std::size_t v = 0; v < lanes.size() && c.policy.kind == PolicyKind::fast; ++v)
    for (std::uint64_t& lane : lanes[v])
      if (ir::is_float(e.variables[v].type) && !std::isfinite(expr::value_of(e.variables[v].type, lane)))
        lane = expr::bits_of(e.variables[v].type, std::clamp(1.0, e.variables[v].lo, e.variables[v].hi));
  Lanes arrays;
  std::vector<std::uint64_t> params;
  for (std::size_t v = 0; v < lanes.size(); ++v) {
    if (e.variables[v].is_scalar())
      params.push_back(lanes[v][0]);
    else
      arrays.push_back(lanes[v]);
  }
  params.push_back(0);  // never a null pointer
  const std::string difference = testing::compare_on(kernel, *native, arrays, params,
                                                     {.n = n,
                                                      .in_place = random.one_in(2),
                                                      .at_front = random.one_in(2),
                                                      .misalign = random.below(8),
                                                      .seed = random.next()});
  if (difference.empty()) return "";
  return std::string(codegen::name_of(isa)) + ", " + std::to_string(variant.vectors) + " vectors of " +
         std::to_string(variant.vector_bits) + " bits, newton " + std::to_string(variant.newton) +
         (variant.underflow_apart ? ", underflow apart" : "") + (variant.schedule ? ", scheduled: " : ": ") +
         difference;
}

// --- meaning --------------------------------------------------------------------------------------------------------

using Checker = std::unique_ptr<equiv::Checker>;

std::function<bool()> too_long(std::uint64_t ns) {
  return [end = os::thread_cpu_ns() + ns] { return os::thread_cpu_ns() > end; };
}

/// Points that the search has not seen, and the source's values there.
struct FreshSet {
  equiv::Samples samples;
  std::optional<equiv::Reference> reference;  ///< not under exact
  equiv::Outputs source;                      ///< the interpreter's of the unrewritten kernel
};

/// Moderate values, and apart from them corners, which would hide errors behind their magnitude.
Result<std::vector<std::unique_ptr<FreshSet>>> fresh_sets(const SearchCase& c, const Expr& source,
                                                          const kir::Kernel& plain) {
  std::vector<std::unique_ptr<FreshSet>> sets;
  Random random(c.seed ^ kFreshSeed);
  for (const bool corners : {false, true}) {
    auto& set = *sets.emplace_back(std::make_unique<FreshSet>());
    set.samples = equiv::draw_set(source, equiv::Way::uniform, kFreshPoints, random.next());
    set.samples.name = corners ? "corners" : "moderate";
    set.samples.calls = {{0, 1}, {1, 17}, {18, 33}, {51, kFreshPoints - 51}};
    for (std::size_t v = 0; v < source.variables.size(); ++v) {
      expr::Variable variable = source.variables[v];
      const bool scalar = variable.is_scalar();
      const std::size_t bytes = ir::bytes_of(variable.type);
      variable.kind = expr::VariableKind::array;
      std::vector<std::uint64_t> values(kFreshPoints);
      for (std::size_t i = 0; i < kFreshPoints; ++i) std::memcpy(&values[i], &set.samples.columns[v][i * bytes], bytes);
      if (corners) values = testing::random_values(variable, kFreshPoints, random);
      for (const equiv::Call& call : set.samples.calls)
        for (std::size_t i = call.first; scalar && i < call.first + call.n; ++i) values[i] = values[call.first];
      for (std::size_t i = 0; i < kFreshPoints; ++i) std::memcpy(&set.samples.columns[v][i * bytes], &values[i], bytes);
    }
    set.source = equiv::interpret_calls(source, plain, set.samples, set.samples.calls);
    if (c.policy.kind == PolicyKind::exact) continue;
    const double units = equiv::allowance_of(c.policy).units;
    TRY(equiv::Reference reference, equiv::Reference::make(source, set.samples, {}, units));
    set.reference.emplace(std::move(reference));
  }
  return sets;
}

std::string differs(const SearchCase& c, const Expr& source, const kir::Kernel& kernel, FreshSet& set,
                    bool unrewritten) {
  const equiv::Outputs ours = equiv::interpret_calls(source, kernel, set.samples, set.samples.calls);
  std::optional<equiv::Counterexample> example;
  if (c.policy.kind == PolicyKind::exact) {
    example = equiv::compare_bits(source, set.samples, set.samples.calls, set.source, ours);
  } else {
    std::vector<equiv::Errors> errors(source.outputs.size());
    example = equiv::compare_values(source, set.samples, *set.reference, ours, c.policy, errors,
                                    {.fallback = unrewritten ? nullptr : &set.source, .refined_max = kFreshRefined});
  }
  if (!example) return "";
  equiv::Verdict verdict;
  verdict.kind = equiv::Verdict::Kind::differs;
  verdict.counterexample = std::move(*example);
  return equiv::print(verdict);
}

Result<Checker> checker_of(const SearchCase& c, const Expr& source, std::uint64_t points, std::uint64_t seed,
                           std::size_t refined, std::uint64_t ns = kQuestionNs) {
  equiv::CheckOptions options;
  options.samples = {.points = points, .seed = seed};
  options.refined_max = refined;
  options.cancelled = too_long(ns);
  return equiv::Checker::make(source, c.policy, options);
}

/// Asks whether the optimiser would let a form win, by the questions of jit/pipeline/optimise.cpp. As there, all forms
/// share the reference, which is most of the work, and the findings about the source's own kernel.
class Acceptance {
 public:
  Acceptance(const SearchCase& c, const Expr& source, const kir::Kernel& plain)
      : c_(c), source_(source), plain_(plain) {}

  Result<bool> ask(const Form& form) {
    end_ns_ = os::thread_cpu_ns() + kQuestionNs;
    if (!checker_) {
      equiv::CheckOptions options;
      options.samples = {.points = equiv::suggested_points(source_), .seed = 1};
      options.cancelled = [this] { return os::thread_cpu_ns() > end_ns_; };
      TRY(checker_, equiv::Checker::make(source_, c_.policy, options));
    }
    if (checker_->unexplored() && !form.keeps_roundings) return false;
    if (!unrewritten_) {
      TRY(unrewritten_, checker_->check_meaning(plain_, equiv::Demand::policy));
    }
    if (!unrewritten_->meaning.same()) return false;
    TRY(const auto meaning, checker_->check_meaning(form.kernel, equiv::Demand::any_set, &*unrewritten_));
    if (!meaning.meaning.same()) return false;
    if (form.keeps_roundings) return true;
    equiv::CheckOptions options;
    options.cancelled = too_long(kQuestionNs);
    if (!second_looks_) {
      equiv::CheckOptions first;
      first.samples = {.points = equiv::suggested_points(source_), .seed = 1};
      first.cancelled = [this] { return os::thread_cpu_ns() > end_ns_; };
      second_looks_.emplace(source_, c_.policy, first);
    }
    TRY(const equiv::Verdict again, second_looks_->ask(form.kernel, meaning.meaning.risk));
    if (!again.same()) return false;
    TRY(const equiv::Verdict parts, equiv::check_parts(source_, form.expr, form.how, options));
    return parts.same();
  }

 private:
  const SearchCase& c_;
  const Expr& source_;
  const kir::Kernel& plain_;
  std::uint64_t end_ns_ = 0;  ///< of the question under way
  Checker checker_;
  std::optional<equiv::Checker::Prepared> unrewritten_;
  std::optional<pipeline::SecondLooks> second_looks_;
};

/// How a form that the optimiser's check has accepted breaks the policy in one set of points, where the source's own
/// evaluation keeps it; empty when it does not.
Result<std::string> breaks_policy_in(const SearchCase& c, const Expr& source, const kir::Kernel& plain,
                                     const Form& form, std::uint64_t points, std::uint64_t seed) {
  TRY(const Checker many, checker_of(c, source, points, seed, kManyRefined, kManyNs));
  TRY(const auto ours, many->check_meaning(form.kernel, equiv::Demand::policy));
  if (ours.meaning.same()) return std::string();
  TRY(const auto strict, many->check_meaning(plain, equiv::Demand::policy));
  if (!strict.meaning.same()) return std::string();
  return equiv::print(ours.meaning) + text_of(form.expr);
}

/// Decides whether the form breaks the policy. The policy compares two maxima over a set, which depend on luck when few
/// points of the set show errors. Example: y cos(y) for y up to 11,663. Its forms have the same greatest error over all
/// floats, yet every eleventh set of 262,144 points breaks the policy. So a form must break it in a set of many times
/// the points too, and in most other sets of that size.
Result<std::string> breaks_policy(const SearchCase& c, const Expr& source, const kir::Kernel& plain, const Form& form) {
  constexpr unsigned kOthers = 8;
  std::string broken;
  for (const std::uint64_t points : {kManyPoints, kMostPoints}) {
    TRY(broken, breaks_policy_in(c, source, plain, form, points, c.seed ^ kManySeed));
    if (broken.empty()) return broken;
  }
  unsigned breaking = 0;
  for (unsigned other = 1; other <= kOthers; ++other) {
    TRY(const std::string again, breaks_policy_in(c, source, plain, form, kMostPoints, (c.seed ^ kManySeed) + other));
    breaking += !again.empty();
  }
  return 2 * breaking > kOthers ? broken : std::string();
}

// --- a case ---------------------------------------------------------------------------------------------------------

std::optional<Form> lowered(const char* name, const Expr& e, LowerOptions how, const kir::Kernel& plain,
                            Finding& finding) {
  const bool simplified = how.simplify;
  how.simplify = false;
  how.narrow = true;
  if (const auto well = expr::check(e); !well.ok()) {
    finding = {"malformed form", std::string(name) + ": " + well.error().message};
    return std::nullopt;
  }
  auto kernel = expr::lower(e, how);
  if (kernel.ok()) {
    pipeline::keep_totals(plain, *kernel);
    if (const auto well = kir::check(*kernel); !well.ok()) {
      finding = {"malformed kernel", std::string(name) + ": " + well.error().message + text_of(e)};
      return std::nullopt;
    }
    return Form{.name = name, .expr = e, .how = how, .kernel = std::move(*kernel), .simplified = simplified};
  }
  if (kernel.error().code != ErrorCode::kLimitExceeded)
    finding = {"lowering", std::string(name) + ": " + kernel.error().message + text_of(e)};
  return std::nullopt;
}

/// The forms that the optimiser would try, and the search's results as they are. Of several with one kernel the first
/// is taken, and none with the source's own kernel.
std::vector<Form> forms_of(const SearchCase& c, const Expr& source, const kir::Kernel& unrewritten,
                           const std::vector<Expr>& found, Finding& finding) {
  std::vector<Form> forms;
  const auto add = [&](const char* name, const Expr& e, const LowerOptions& how, bool keeps_roundings = false) {
    if (auto form = lowered(name, e, how, unrewritten, finding)) {
      const auto same = [&](const Form& other) { return pipeline::same_kernel(other.kernel, form->kernel); };
      if (pipeline::same_kernel(unrewritten, form->kernel) || std::any_of(forms.begin(), forms.end(), same)) return;
      form->keeps_roundings = keeps_roundings;
      forms.push_back(std::move(*form));
    }
  };
  const LowerOptions plain = pipeline::unrewritten(c.policy);
  const LowerOptions simple{.policy = c.policy, .simplify = true, .accuracy = Accuracy::ulp1};
  LowerOptions less = simple;
  less.accuracy = Accuracy::ulp4;
  add("narrowed", source, plain, true);
  add("simplified", expr::simplify(source, simple), simple);
  for (const Expr& e : found) add("search", e, plain);
  if (c.policy.kind == PolicyKind::exact) return forms;
  const Expr identities = expr::drop_idle_operations(source, plain);
  add("identities", identities, plain, true);
  add("contracted", expr::contract(identities), plain);
  for (const Expr& e : found) add("search, simplified", expr::simplify(e, less), less);
  return forms;
}

Finding check_form(const SearchCase& c, const Expr& source, const kir::Kernel& plain,
                   std::vector<std::unique_ptr<FreshSet>>& fresh, const Form& form, Acceptance& acceptance,
                   SearchCounts& counts) {
  const std::string name = std::string(form.name) + ": ";
  ++counts.forms;
  std::string difference = unlike_when_empty(c, source, plain, form);
  const bool rare = !difference.empty();
  for (auto& set : fresh)
    if (difference.empty()) difference = differs(c, source, form.kernel, *set, false);
  if (difference.empty()) {
    ++counts.kept;
    return {};
  }
  if (c.policy.kind == PolicyKind::exact) return {"exact bits", name + difference + text_of(form.expr)};
  if (std::string why = unlike(c, source, plain, form.expr); !why.empty()) {
    // A form without folded constants shows a wrong rule, even if the optimiser's check refuses it. Folding may leave
    // no digit of a value that is small beside its steps: then the check must decide.
    const auto passes = acceptance.ask(form);
    if (!passes.ok() && passes.error().code != ErrorCode::kCancelled) return {"check", passes.error().message};
    if (passes.ok() && *passes) return {"accepted, and another function", name + why};
    if (!form.simplified) return {"another function", name + why};
    passes.ok() ? ++counts.refused : ++counts.unasked;
    return {};
  }
  if (!rare && !Random(c.seed ^ 0xA5).one_in(kAskedOf)) {
    ++counts.unasked;
    return {};
  }
  const auto passes = acceptance.ask(form);
  if (!passes.ok() && passes.error().code == ErrorCode::kCancelled) return ++counts.unasked, Finding{};
  if (!passes.ok()) return {"check", passes.error().message};
  if (!*passes) {
    ++counts.refused;
    return {};
  }
  ++counts.accepted;
  const auto broken = breaks_policy(c, source, plain, form);
  if (!broken.ok() && broken.error().code == ErrorCode::kCancelled) return {};
  if (!broken.ok()) return {"check", broken.error().message};
  return broken->empty() ? Finding{} : Finding{"accepted, and breaks the policy", name + *broken};
}

/// Describes bits of the source that change when ranges decide ops. Not for fast, which takes inputs for finite.
std::string bits_lost(const SearchCase& c, const Expr& source, const std::vector<std::unique_ptr<FreshSet>>& sets) {
  if (c.policy.kind == PolicyKind::fast) return "";
  LowerOptions how = pipeline::unrewritten(c.policy);
  how.narrow = true;
  auto narrowed = expr::lower(source, how);
  if (!narrowed.ok()) return narrowed.error().message;
  for (const auto& set : sets) {
    const equiv::Outputs ours = equiv::interpret_calls(source, *narrowed, set->samples, set->samples.calls);
    auto example = equiv::compare_bits(source, set->samples, set->samples.calls, set->source, ours);
    if (!example) continue;
    equiv::Verdict verdict;
    verdict.kind = equiv::Verdict::Kind::differs;
    verdict.counterexample = std::move(*example);
    return equiv::print(verdict);
  }
  return "";
}

}  // namespace

Result<expr::rewrite::Rewritten> search_of(const SearchCase& c, const Expr& source, bool explain) {
  expr::rewrite::RewriteOptions options;
  options.policy = c.policy;
  options.strategy = c.strategy;
  options.explain = explain;
  if (c.strategy == egraph::Strategy::guided) {
    thread_local auto guide = expr::rewrite::AnyGuide::make(expr::rewrite::GuideKind::network);
    CHECK(guide.ok());
    options.guide = guide->get();
  }
  options.seed = c.seed;
  options.budget = {.nodes = c.graph_nodes, .nanoseconds = 0, .applications = 8'000, .graph_nodes = 3 * c.graph_nodes};
  if (c.odd_costs) options.costs = {.context = &c.seed, .cost = &odd_cost};
  return expr::rewrite::rewrite(source, options);
}

Finding check_search_case(const SearchCase& c, SearchCounts& counts) {
  ++counts.cases;
  if (const auto well = expr::check(c.expr); !well.ok()) return {"generator", well.error().message};
  const auto differentiated = expr::eliminate_derivatives(c.expr);
  if (!differentiated.ok()) return {};  // there is none, or it is too large
  const Expr& source = *differentiated;
  auto plain = expr::lower(source, pipeline::unrewritten(c.policy));
  if (!plain.ok())
    return plain.error().code == ErrorCode::kLimitExceeded ? Finding{} : Finding{"lowering", plain.error().message};

  Random random(c.seed ^ 0xC0DE);
  if (std::string why = code_differs(c, source, *plain, random); !why.empty()) return {"code", "source: " + why};
  const auto found = search(c, source);
  if (!found.ok() && found.error().code == ErrorCode::kUnsupported) return {};
  if (!found.ok()) return {"search", found.error().message};
  if (random.one_in(16)) {
    const auto again = search(c, source);
    bool same = again.ok() && again->size() == found->size();
    for (std::size_t i = 0; same && i < found->size(); ++i)
      same = expr::canonical_bytes((*found)[i]) == expr::canonical_bytes((*again)[i]);
    if (!same) return {"determinism", "the search found other forms the second time"};
  }
  Finding finding;
  const std::vector<Form> forms = forms_of(c, source, *plain, *found, finding);
  if (!finding.kind.empty()) return finding;
  auto fresh = fresh_sets(c, source, *plain);
  if (!fresh.ok()) return {"check", fresh.error().message};
  for (auto& set : *fresh)
    if (std::string why = differs(c, source, *plain, *set, true); !why.empty()) return {"source", why};
  if (std::string why = bits_lost(c, source, *fresh); !why.empty()) return {"narrowed", why};
  Acceptance acceptance(c, source, *plain);
  for (const Form& form : forms) {
    finding = check_form(c, source, *plain, *fresh, form, acceptance, counts);
    if (!finding.kind.empty()) return finding;
    ++counts.codes;
    if (std::string why = code_differs(c, source, form.kernel, random); !why.empty())
      return {"code", std::string(form.name) + ": " + why + text_of(form.expr)};
  }
  return {};
}

SearchCase minimise(const SearchCase& c, const std::string& kind, unsigned tries) {
  SearchCase best = c;
  const auto shows = [&](const SearchCase& smaller) {
    SearchCounts ignored;
    --tries;
    return expr::check(smaller.expr).ok() && check_search_case(smaller, ignored).kind == kind;
  };
  const auto weight = [](const Expr& e) { return e.nodes.size() + e.outputs.size() + e.variables.size(); };
  const auto attempt = [&](Expr e) {
    expr::drop_unused(e);
    if (tries == 0 || weight(e) >= weight(best.expr)) return false;
    SearchCase smaller = best;
    smaller.expr = std::move(e);
    if (!shows(smaller)) return false;
    best = std::move(smaller);
    return true;
  };
  for (bool smaller = true; smaller && tries > 0;) {
    smaller = false;
    for (std::size_t o = 0; best.expr.outputs.size() > 1 && o < best.expr.outputs.size(); ++o) {
      Expr e = best.expr;
      e.outputs.erase(e.outputs.begin() + static_cast<std::ptrdiff_t>(o));
      smaller = attempt(std::move(e)) || smaller;
    }
    for (std::size_t i = best.expr.nodes.size(); i-- > 0;) {
      if (i >= best.expr.nodes.size()) continue;
      const expr::Node node = best.expr.nodes[i];
      std::vector<expr::NodeId> in_place;
      for (const expr::NodeId operand : {node.a, node.b, node.c})
        if (operand.valid() && best.expr.at(operand).type == node.type) in_place.push_back(operand);
      for (std::uint32_t v = 0; v < i; ++v)
        if (best.expr.nodes[v].op == expr::Op::Variable && best.expr.nodes[v].type == node.type)
          in_place.emplace_back(v);
      for (const expr::NodeId other : in_place) {
        Expr e = best.expr;
        const auto put = [&](expr::NodeId& id) { id = id.valid() && id.index == i ? other : id; };
        for (expr::Node& n : e.nodes) put(n.a), put(n.b), put(n.c);
        for (expr::Output& o : e.outputs) put(o.node);
        if (attempt(std::move(e))) {
          smaller = true;
          break;
        }
      }
    }
  }
  return best;
}

}  // namespace trident::fuzz
