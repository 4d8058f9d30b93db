// Drawn expressions through lowering, guard and driver, unsearched, on data inside the assumed ranges, outside them and
// mixed. Oracles: the interpreter on the expression as written, or, under policies that free the bits, on either
// kernel, but on the general one where an element does not fit; and the number of misses, which is 0 where all elements
// that the guard looks at lie in the ranges, by plain comparisons here. `make campaign NAME=speculation` draws a
// million.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>

#include "jit/codegen/speculative.h"
#include "jit/expr/builder.h"
#include "jit/expr/simplify.h"
#include "jit/pipeline/assumed_ranges.h"
#include "jit/pipeline/forms.h"
#include "jit/pipeline/observed.h"
#include "runtime/os/memfd.h"
#include "tests/support/assumption.h"
#include "tests/support/draws.h"
#include "tests/support/fast_variants.h"
#include "tests/support/native_kernel.h"
#include "tests/support/random_expr.h"
#include "tests/support/random_integers.h"

namespace trident::testing {
namespace {

using expr::PolicyKind;
using kir::Assumed;

// --- cases ---

/// An expression with two kernels, a guard, and how they are joined.
struct Case {
  expr::Expr source, tested;  ///< `tested`: with the ranges that the guard tests
  bool exact = false;
  bool whole = false;  ///< a call is one kernel's as a whole
  kir::Kernel general, fast, guarded;
  codegen::Variant fast_variant, general_variant;
  codegen::Division division;

  [[nodiscard]] std::string describe() const {
    return expr::print_sexpr(source) + "\n" + kir::print(general) + kir::print(guarded);
  }
};

std::vector<Assumed> drawn_ranges(const expr::Expr& source, Random& random) {
  constexpr Assumed kSeen[] = {{},           {0, 1},        {-8, 8},      {1, 4},        {-1000, 1000},  {0, 0x1p100},
                               {-4, -1},     {-3, 3},       {0.25, 0.5},  {2, 20},       {0x1p-40, 1},   {-0.5, 3},
                               {0, 1, true}, {-8, 8, true}, {1, 4, true}, {-3, 3, true}, {-4, -1, true}, {0, 0, true}};
  constexpr Assumed kSeenOfIntegers[] = {
      {0, 255}, {-128, 127}, {0, 65535}, {-46341, 46341}, {0, 0x1p29},      {-0x1p31, -1}, {-0x1p40, 0x1p45},
      {3, 3},   {-1, -1},    {0, 0},     {-8, 8},         {0x1p31, 0x1p32}, {1, 0x1p58},   {}};
  std::vector<Assumed> seen(source.variables.size());
  for (std::size_t v = 0; v < seen.size(); ++v)
    seen[v] = ir::is_int(source.variables[v].type) ? kSeenOfIntegers[random.below(std::size(kSeenOfIntegers))]
                                                   : kSeen[random.below(std::size(kSeen))];
  std::vector<Assumed> ranges = pipeline::widened(source, seen);
  for (std::size_t v = 0; v < ranges.size(); ++v)
    if (v < ranges.size() && random.one_in(2)) ranges[v] = seen[v];
  return ranges;
}

/// Not under `fast`, which promises no bits where a value is infinite or NaN, as many here are.
expr::LowerOptions drawn_lowering(Random& random) {
  expr::LowerOptions how;
  how.policy.kind = random.one_in(2) ? PolicyKind::exact : PolicyKind::bounded;
  how.simplify = random.one_in(2);
  how.narrow = true;
  how.converts_longs = random.one_in(2);
  if (how.policy.kind == PolicyKind::bounded && random.one_in(2)) how.accuracy = kir::math::Accuracy::ulp4;
  return how;
}

/// Returns whether an identity has not left out a pass, nor what makes an output an array.
bool writes_alike(const kir::Kernel& a, const kir::Kernel& b) {
  const auto same_kind = [](const kir::Output& x, const kir::Output& y) { return x.kind == y.kind; };
  return std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), b.outputs.end(), same_kind) &&
         std::equal(a.before.begin(), a.before.end(), b.before.begin(), b.before.end(), writes_alike);
}

bool lower_both(Case& c, const expr::Expr& narrow, expr::LowerOptions how) {
  auto general = expr::lower(c.source, pipeline::unrewritten(how.policy));
  const expr::Expr form = how.simplify ? expr::simplify(narrow, how) : narrow;
  how.simplify = false;
  auto fast = expr::lower(form, how);
  if (!general.ok() || !fast.ok()) return false;
  c.general = std::move(general).value(), c.fast = std::move(fast).value();
  pipeline::keep_totals(c.general, c.fast);
  return writes_alike(c.general, c.fast);
}

void draw_shapes(Case& c, Random& random) {
  c.fast_variant = kFastVariants[random.below(std::size(kFastVariants))];
  if (c.whole) c.fast_variant.non_temporal = c.fast_variant.part = false;
  c.general_variant = {.vectors = static_cast<std::uint8_t>(1 + random.below(2)),
                       .schedule = random.one_in(2),
                       .non_temporal = c.fast_variant.non_temporal,
                       .part = c.fast_variant.part};
  c.division = {.chunk = !c.whole && random.one_in(2) ? 256u : 0,
                .shortest = random.one_in(3) ? 150u : 0,
                .streams = c.fast_variant.part};
}

/// Nothing where there is nothing to guard.
std::optional<Case> drawn_case(std::uint64_t seed) {
  Random random(seed);
  Case c;
  c.source = seed % 3 == 0 ? random_integers(seed)
                           : random_expr(seed, {.nodes_max = 12,
                                                .outputs_max = 2,
                                                .variables_max = 3,
                                                .reductions = seed % 4 == 0,
                                                .passes_max = 2,
                                                .ranged = 0});
  const expr::Expr narrow = pipeline::narrowed(c.source, drawn_ranges(c.source, random));
  const expr::LowerOptions how = drawn_lowering(random);
  c.exact = how.policy.kind == PolicyKind::exact;
  if (!expr::check(narrow).ok() || !lower_both(c, narrow, how)) return std::nullopt;
  c.whole = !codegen::runs_in_parts(c.general) || !codegen::runs_in_parts(c.fast);
  c.tested = pipeline::without_unread(c.source, narrow, c.general, c.fast);
  c.guarded = c.whole ? pipeline::scan_for(c.general) : c.fast;
  if (!pipeline::add_guard(c.guarded, c.source, c.tested).ok()) return std::nullopt;
  draw_shapes(c, random);
  return c;
}

// --- code ---

Result<codegen::MachineCode> joined(const Case& c, codegen::Isa isa) {
  TRY(const codegen::MachineCode general, codegen::emit(c.general, isa, c.general_variant));
  TRY(const codegen::MachineCode guarded, codegen::emit(c.guarded, isa, c.fast_variant));
  if (!c.whole) return codegen::join_speculative(guarded, general, codegen::array_bytes(c.general), c.division, isa);
  TRY(const codegen::MachineCode fast, codegen::emit(c.fast, isa, c.fast_variant));
  return codegen::join_selected({guarded, fast, general}, c.division.shortest, isa);
}

/// Code that was written last, and the misses of its last call.
class Code {
 public:
  void write(const codegen::MachineCode& code) {
    const Result<void> written = file_.write(code.bytes);
    CHECK(written.ok());
  }
  std::uint64_t call(std::uint64_t n, const void* const* in, void* const* out, const std::uint64_t* params) {
    const Self self{nullptr, &misses_};
    misses_ = 0;
    const void* const entry = file_.bytes().data();
    reinterpret_cast<trident_entry>(reinterpret_cast<std::uintptr_t>(entry))(&self, n, in, out, params);
    return n;
  }
  [[nodiscard]] std::uint64_t misses() const { return misses_; }

 private:
  /// A handle as the driver sees it.
  struct Self {
    const void* entry = nullptr;
    std::uint64_t* misses = nullptr;
  };
  os::CodeFile file_ = std::move(os::CodeFile::make(std::size_t{8} << 20)).value();
  std::uint64_t misses_ = 0;
};

// --- data ---

/// one_nan: arrays lie inside, but for one NaN, which may lie inside or not, and scalars as often as not.
enum class Kind : std::uint8_t { inside, outside, mixed, one_nan };
constexpr Kind kKinds[] = {Kind::inside, Kind::outside, Kind::mixed, Kind::one_nan};

struct DrawnCall {
  std::uint64_t n = 0;
  Arguments arguments;
  std::vector<bool> fits;  ///< by element
};

long double value_of(ir::Type type, std::uint64_t lane) {
  if (type == ir::Type::f32) return std::bit_cast<float>(static_cast<std::uint32_t>(lane));
  if (type == ir::Type::f64) return std::bit_cast<double>(lane);
  return type == ir::Type::i32 ? static_cast<std::int32_t>(lane) : static_cast<std::int64_t>(lane);
}

/// Returns the range that is tested; from -inf to inf none is, and NaN fits.
Assumed tested_range(const Case& c, std::size_t v) {
  const expr::Variable &declared = c.source.variables[v], &tested = c.tested.variables[v];
  if (declared.lo == tested.lo && declared.hi == tested.hi) return {};
  return {tested.lo, tested.hi, tested.or_nan};
}

bool fits_range(const Assumed& range, ir::Type type, std::uint64_t lane) {
  const long double x = value_of(type, lane);
  return range.is_anything() || (x >= range.lo && x <= range.hi) || (range.or_nan && x != x);
}

/// Draws a lane in the range, whose ends need not be whole for integers, or around it.
std::uint64_t drawn_lane(const Assumed& range, ir::Type type, std::uint32_t one_outside_in, Random& random) {
  const Assumed whole = ir::is_int(type) ? Assumed{std::ceil(range.lo), std::floor(range.hi)} : range;
  return lane_around(random, type, whole, one_outside_in);
}

/// Makes one element of a variable NaN, or a scalar, if one that is drawn has floats.
void put_nan(const Case& c, DrawnCall& data, Random& random) {
  const std::size_t at = random.below(static_cast<std::uint32_t>(c.source.variables.size()));
  const expr::Variable& variable = c.source.variables[at];
  if (!ir::is_float(variable.type) || data.n == 0) return;
  const std::uint64_t nan = expr::bits_of(variable.type, std::nan(""));
  const bool fits = fits_range(tested_range(c, at), variable.type, nan);
  std::size_t place = 0;
  for (std::size_t v = 0; v < at; ++v) place += c.source.variables[v].is_scalar() == variable.is_scalar() ? 1 : 0;
  if (variable.is_scalar()) {
    if (fits) return;  // the scalar that was drawn may lie outside, or be NaN
    data.arguments.params[place] = nan;
    data.fits.assign(data.n, false);
    return;
  }
  const std::size_t element = random.below(static_cast<std::uint32_t>(data.n));
  data.arguments.inputs[place][element] = nan;
  if (!fits) data.fits[element] = false;
}

DrawnCall drawn_call(const Case& c, Kind kind, Random& random) {
  constexpr std::uint64_t kLengths[] = {0, 1, 16, 64, 130, 257, 700, 1500};
  constexpr std::uint32_t kMixed[] = {3, 40, 400};
  const std::uint32_t one_in = kind == Kind::outside ? 1
                               : kind == Kind::mixed ? kMixed[random.below(std::size(kMixed))]
                                                     : 0;
  DrawnCall data;
  data.n = kLengths[random.below(std::size(kLengths))];
  data.fits.assign(data.n, true);
  for (std::size_t v = 0; v < c.source.variables.size(); ++v) {
    const expr::Variable& variable = c.source.variables[v];
    const Assumed range = tested_range(c, v);
    if (variable.is_scalar()) {
      const std::uint64_t lane = drawn_lane(range, variable.type, kind == Kind::one_nan ? 2 : one_in, random);
      data.arguments.params.push_back(lane);
      if (!fits_range(range, variable.type, lane)) data.fits.assign(data.n, false);
      continue;
    }
    auto& lanes = data.arguments.inputs.emplace_back(data.n);
    for (std::uint64_t e = 0; e < data.n; ++e) {
      lanes[e] = stored_lane(variable, drawn_lane(range, variable.type, one_in, random));
      if (!fits_range(range, variable.type, lanes[e])) data.fits[e] = false;
    }
  }
  if (kind == Kind::one_nan) put_nan(c, data, random);
  return data;
}

/// Returns whether an element that the driver has tested lies outside: those of short chunks are not tested.
bool must_miss(const Case& c, const DrawnCall& data) {
  const std::uint64_t chunk = c.division.chunk == 0 ? data.n : c.division.chunk;
  for (std::uint64_t e = 0; e < data.n; ++e) {
    const std::uint64_t elements = std::min(chunk, data.n - e / chunk * chunk);
    if (!data.fits[e] && elements >= c.division.shortest) return true;
  }
  return false;
}

// --- comparing ---

/// Calls the code and returns what is wrong with its answers or its misses.
std::string fault_of(const Case& c, Code& code, const DrawnCall& data, Random& random) {
  const auto run = [&](std::uint64_t n, const void* const* in, void* const* out, const std::uint64_t* params) {
    return code.call(n, in, out, params);
  };
  const Arrangement arrangement = {.n = data.n,
                                   .in_place = random.one_in(2),
                                   .at_front = random.one_in(2),
                                   .misalign = random.below(4),
                                   .seed = random.below(4)};
  const Alternative fast{c.fast, data.fits};
  std::string fault =
      compare_on(c.general, run, data.arguments.inputs, data.arguments.params, arrangement, c.exact ? nullptr : &fast);
  if (fault.empty() && (code.misses() != 0) != must_miss(c, data))
    fault = std::to_string(code.misses()) + " misses, although " + (must_miss(c, data) ? "some" : "no") +
            " element lies outside";
  return fault;
}

/// Returns whether there was anything to compare.
bool compare_case(std::uint64_t seed, Code& code) {
  const std::optional<Case> c = drawn_case(seed);
  if (!c) return false;
  Random random(~seed);
  for (const codegen::Isa isa : runnable_isas()) {
    const auto machine_code = joined(*c, isa);
    EXPECT_TRUE(machine_code.ok()) << "seed " << seed << " " << machine_code.error().message;
    if (!machine_code.ok()) return true;
    code.write(*machine_code);
    for (const Kind kind : kKinds)
      EXPECT_EQ(fault_of(*c, code, drawn_call(*c, kind, random), random), "")
          << "seed " << seed << " " << name_of(isa) << "\n"
          << c->describe();
  }
  return true;
}

/// Long runs tell how far they are, so that one which was ended can go on.
void tell(std::uint64_t compared, std::uint64_t seed) {
  std::printf("%llu expressions right, up to seed %llu\n", static_cast<unsigned long long>(compared),
              static_cast<unsigned long long>(seed));
  std::fflush(stdout);
}

TEST(SpeculativeExpressions, GuardedCodeGivesTheBitsOfTheInterpreter) {
  constexpr std::uint64_t kSeeds = 250, kTellEvery = 100'000;
  Code code;
  const std::uint64_t first = first_seed(), seeds = draws(kSeeds);
  std::uint64_t compared = 0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    compared += compare_case(seed, code) ? 1 : 0;
    ASSERT_FALSE(HasFailure());
    if (seed % kTellEvery == 0) tell(compared, seed);
  }
  tell(compared, first + seeds - 1);
  EXPECT_GT(compared, seeds / 2);
}

// --- mutations ---

/// Adds the guards that admit NaN beside one range where the case's does not, or do not where it does.
void add_other_admissions(const Case& c, std::vector<kir::Kernel>& mutants) {
  for (std::size_t v = 0; v < c.source.variables.size(); ++v) {
    if (!ir::is_float(c.source.variables[v].type) || tested_range(c, v).is_anything()) continue;
    expr::Expr other = c.tested;
    other.variables[v].or_nan = !other.variables[v].or_nan;
    mutants.push_back(c.whole ? pipeline::scan_for(c.general) : c.fast);
    CHECK(pipeline::add_guard(mutants.back(), c.source, other).ok());
  }
}

/// Returns the guards that differ from the case's in one comparison or one junction, or in where NaN passes.
std::vector<kir::Kernel> mutated_guards(const Case& c) {
  using kir::Op;
  constexpr std::pair<Op, Op> kChanges[] = {{Op::Le, Op::Lt}, {Op::Lt, Op::Le}, {Op::And, Op::Or}, {Op::Or, Op::And}};
  std::vector<kir::Kernel> mutants;
  for (std::size_t i = c.whole ? 0 : c.fast.insts.size(); i < c.guarded.insts.size(); ++i)
    for (const auto& [from, to] : kChanges) {
      if (c.guarded.insts[i].op != from) continue;
      mutants.push_back(c.guarded);
      mutants.back().insts[i].op = to;
    }
  add_other_admissions(c, mutants);
  return mutants;
}

/// Returns whether some hundred calls at most show that a guard is wrong.
bool is_noticed(const Case& mutant, Code& code, Random& random) {
  const auto machine_code = joined(mutant, runnable_isas().front());
  EXPECT_TRUE(machine_code.ok());
  code.write(*machine_code);
  for (int call = 0; call < 600; ++call)
    if (!fault_of(mutant, code, drawn_call(mutant, kKinds[call % std::size(kKinds)], random), random).empty())
      return true;
  return false;
}

TEST(SpeculativeExpressions, EachMutationOfAGuardIsNoticed) {
  Code code;
  Random random(1);
  std::size_t mutants = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const std::optional<Case> c = drawn_case(seed);
    if (!c) continue;
    for (kir::Kernel& guard : mutated_guards(*c)) {
      ASSERT_TRUE(kir::check(guard).ok());
      Case mutant = *c;
      mutant.guarded = std::move(guard);
      EXPECT_TRUE(is_noticed(mutant, code, random)) << "seed " << seed << "\n" << mutant.describe();
      ++mutants;
    }
  }
  EXPECT_GT(mutants, 60u);
}

}  // namespace
}  // namespace trident::testing
