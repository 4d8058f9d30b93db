#include "jit/pipeline/forms.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "jit/equiv/compare.h"
#include "jit/expr/rewrite/regions.h"
#include "jit/expr/rewrite/time_model.h"
#include "jit/expr/shared_divisors.h"
#include "jit/expr/simplify.h"
#include "jit/kir/early_end.h"
#include "runtime/base/limits.h"
#include "runtime/os/cpu.h"

namespace trident::pipeline {
namespace {

bool same_inst(const kir::Inst& a, const kir::Inst& b) {
  return a.op == b.op && a.type == b.type && a.section == b.section && a.flags == b.flags && a.a == b.a && a.b == b.b &&
         a.c == b.c && a.imm == b.imm;
}

/// Returns whether a rewritten kernel takes the passes of the source's. An identity may leave out what makes an output
/// an array, or a pass.
bool same_passes(const kir::Kernel& source, const kir::Kernel& rewritten) {
  const auto same_kind = [](const kir::Output& a, const kir::Output& b) { return a.kind == b.kind; };
  return std::equal(source.outputs.begin(), source.outputs.end(), rewritten.outputs.begin(), rewritten.outputs.end(),
                    same_kind) &&
         std::equal(source.before.begin(), source.before.end(), rewritten.before.begin(), rewritten.before.end(),
                    same_passes);
}

// Adds a form; returns false if an equal one exists, or if it takes other passes. Errors: of lower().
Result<bool> add(std::vector<Form>& forms, const char* name, expr::Expr expr, expr::LowerOptions how,
                 bool keeps_roundings = false) {
  how.simplify = false;
  TRY(kir::Kernel kernel, expr::lower(expr, how));
  if (!forms.front().kernel.before.empty() && !same_passes(forms.front().kernel, kernel)) return false;
  if (!kir::keeps_early_ends(forms.front().kernel, kernel)) return false;
  keep_totals(forms.front().kernel, kernel);
  for (const Form& form : forms)
    if (same_kernel(form.kernel, kernel)) return false;
  forms.push_back({name, std::move(kernel), keeps_roundings, std::move(expr), how});
  return true;
}

/// Adds the source and the rewritten forms with their roots and quotients by estimates, where they have any: equal
/// forms are not added. Beside all quotients, as many as leave the divider work are tried. Where all of both are too
/// many, those may do that no root depends on, or roots alone.
void add_estimated(const expr::Expr& source, std::vector<Form>& list, const Options& options, const PassScope& passes) {
  using Which = expr::Estimates::Which;
  constexpr std::uint8_t kAll = expr::Estimates::kAllQuotients;
  const codegen::Isa isa = options.target.isa;
  for (std::size_t f = 0, count = list.size(); f < count; ++f) {
    if (list[f].in_place_of) continue;
    const auto add_one = [&](Which which, std::uint32_t quotients) {
      expr::LowerOptions how = f == 0 ? unrewritten(options.target.policy) : list[f].how;
      how.narrow = passes.enabled("narrowed");
      how.converts_longs = isa != codegen::Isa::avx2;
      how.estimates = {static_cast<std::uint8_t>(codegen::estimate_bits(isa)), which,
                       static_cast<std::uint8_t>(quotients)};
      const auto added = add(list, "estimated", expr::Expr(f == 0 ? source : list[f].expr), how);
      if (!added.ok()) passes.give_up("estimated", added.error());
      return added.ok() && *added;
    };
    if (!add_one(Which::all, kAll)) continue;
    const std::size_t all = list.size() - 1;
    const std::uint32_t balanced = codegen::balanced_estimates(list[all].kernel, isa, divider_of(isa, options.search));
    if (balanced > 0 && balanced < kAll) add_one(Which::all, balanced);
    for (const auto& [which, quotients] : {std::pair(Which::last, kAll), std::pair(Which::all, std::uint8_t{0}),
                                           std::pair(Which::last, std::uint8_t{0})})
      if (add_one(which, quotients)) list.back().in_place_of = all;
  }
}

/// True if functions with a relative error of 1e-3 can be within the policy: k units, of which one is half an ulp at
/// least, are that much, counted in the least ulps that 1e-3 can be. In f64 no k that a submission may have is enough.
bool has_room_for_rel3(const expr::Expr& source, const expr::Policy& policy) {
  if (policy.kind != expr::PolicyKind::bounded) return false;
  const bool single = std::none_of(source.nodes.begin(), source.nodes.end(),
                                   [](const expr::Node& node) { return node.type == ir::Type::f64; });
  return policy.k * 0.5 + equiv::kBoundedSlackUlp >= 1e-3 * (single ? 0x1p23 : 0x1p52);
}

/// True if the policy allows an operation two roundings in place of one.
bool rounds_twice(const expr::Policy& policy) {
  return policy.kind == expr::PolicyKind::fast || (policy.kind == expr::PolicyKind::bounded && policy.k >= 2);
}

// Number of a search's forms that are made and checked, and number that it is asked for if a judge can rank them.
constexpr std::size_t kFormsKept = 3, kFormsAsked = 8;

/// Returns how forms of a search are lowered.
expr::LowerOptions lowering_of_found(const expr::Policy& policy) {
  return {.policy = policy, .simplify = true, .accuracy = kir::math::Accuracy::ulp4};
}

egraph::SearchBudget with_effort(egraph::SearchBudget budget, std::uint8_t times) {
  const std::uint64_t effort = std::clamp<std::uint8_t>(times, 1, kEffortMax);
  budget.applications *= effort, budget.graph_nodes *= effort;
  return budget;
}

/// A larger expression, which is searched by regions (rewrite/regions.h), gets more in all, and less for each node.
egraph::SearchBudget for_size(egraph::SearchBudget budget, const expr::Expr& e) {
  const double nodes =
      static_cast<double>(expr::rewrite::inner_nodes(e)) / static_cast<double>(expr::rewrite::kWholeNodesMax);
  const auto grown = [&](std::uint64_t n) {
    return static_cast<std::uint64_t>(static_cast<double>(n) * std::sqrt(std::max(1.0, nodes)));
  };
  budget.applications = grown(budget.applications), budget.graph_nodes = grown(budget.graph_nodes);
  return budget;
}

/// A form's code, if it has any, and the logarithm of the nanoseconds that the judge guesses for it, else infinity.
struct Guessed {
  std::optional<kir::Kernel> kernel;
  double log_ns = std::numeric_limits<double>::infinity();
};
Guessed guess_of(const expr::Expr& found, const expr::rewrite::TimeModel& judge, const Options& options) {
  expr::LowerOptions how = lowering_of_found(options.target.policy);
  const expr::Expr simplified = expr::simplify(found, how);
  how.simplify = false;
  auto kernel = expr::lower(simplified, how);
  if (!kernel.ok()) return {};
  const auto guess = judge.log_ns(simplified, *kernel, costs_of(options.target.isa, options.search).table());
  if (!guess.ok()) return {};
  return {std::move(kernel).value(), *guess};
}

/// Searches the expression, derivatives included: rules differentiate, and the plain pass removes the derivatives that
/// the rules leave. Searches `source` if the submitted expression is no term.
Result<expr::rewrite::Rewritten> searched(const expr::Expr& submitted, const expr::Expr& source,
                                          expr::rewrite::RewriteOptions how) {
  how.budget = for_size(how.budget, source);
  auto found = expr::rewrite::rewrite(submitted, how);
  if (!found.ok() && has_derivatives(submitted)) found = expr::rewrite::rewrite(source, how);
  return found;
}

/// Returns the statically cheapest and those that the judge thinks fastest. It only advises: measurements decide.
Result<expr::rewrite::Rewritten> unguided(const expr::Expr& submitted, const expr::Expr& source,
                                          const Options& options) {
  Extraction extraction = extract(submitted, source, options);
  if (extraction.refused) return *extraction.refused;
  expr::rewrite::Rewritten kept;
  for (const std::size_t i : extraction.order) kept.forms.push_back(std::move(extraction.found[i]));
  kept.pieces = std::move(extraction.pieces);
  return kept;
}

/// Budget of the guided search: the guide needs a part of the unguided search's rewrites. That one keeps its whole
/// budget: the guide's forms come in addition, never in its place.
constexpr egraph::SearchBudget kGuidedBudget{
    .nodes = 4'000, .nanoseconds = 0, .applications = 20'000, .graph_nodes = 5'000};
constexpr std::size_t kGuidedForms = 2;

Result<expr::rewrite::Rewritten> guided(const expr::Expr& submitted, const expr::Expr& source, const Options& options) {
  static const Result<nn::AccumulatorWeights> shipped = expr::rewrite::guide_weights(std::string());
  CHECK(shipped.ok());  // built into the program
  const SearchWeights* const own = options.search.weights;
  const auto guide = expr::rewrite::AnyGuide::make(options.search.guide, own != nullptr ? own->weights() : *shipped);
  expr::rewrite::RewriteOptions how = rewriting(options);
  how.strategy = egraph::Strategy::guided;
  how.guide = guide.get();
  how.budget = with_effort(kGuidedBudget, options.budget.effort);
  how.keep = kGuidedForms;
  return searched(submitted, source, how);
}

}  // namespace

Extraction extract(const expr::Expr& submitted, const expr::Expr& source, const Options& options) {
  expr::rewrite::RewriteOptions how = rewriting(options);
  const SearchWeights* const weights = options.search.weights;
  const bool own = weights != nullptr && weights->judge() != nullptr;
  const expr::rewrite::TimeModel* const judge = own ? weights->judge() : expr::rewrite::shipped_time_model();
  how.keep = judge != nullptr ? kFormsAsked : kFormsKept;
  Extraction e;
  auto found = searched(submitted, source, how);
  if (!found.ok()) {
    e.refused = found.error();
    return e;
  }
  e.found = std::move(found->forms), e.pieces = std::move(found->pieces);
  e.order.resize(e.found.size());
  std::iota(e.order.begin(), e.order.end(), std::size_t{0});
  if (judge == nullptr || e.found.empty()) return e;
  std::vector<std::optional<kir::Kernel>> kernels;
  for (const expr::Expr& form : e.found) {
    Guessed guessed = guess_of(form, *judge, options);
    kernels.push_back(std::move(guessed.kernel));
    e.guesses.push_back(guessed.log_ns);
  }
  e.margin = judge->margin();
  const std::vector<std::size_t> all = std::exchange(e.order, {0});
  std::vector<std::size_t> others(all.begin() + 1, all.end());
  std::stable_sort(others.begin(), others.end(),
                   [&](std::size_t a, std::size_t b) { return e.guesses[a] < e.guesses[b]; });
  // Drops forms with the same code as another one.
  for (const std::size_t i : others) {
    const auto is_same = [&](std::size_t j) { return kernels[j] && same_kernel(*kernels[j], *kernels[i]); };
    if (e.order.size() == kFormsKept) break;
    if (kernels[i] && std::none_of(e.order.begin(), e.order.end(), is_same)) e.order.push_back(i);
  }
  if (e.order.size() > 1 && learned_choice(std::array{e.guesses[0], e.guesses[e.order[1]]}, e.margin) != 0)
    std::swap(e.order[0], e.order[1]);
  return e;
}

std::size_t learned_choice(std::span<const double> guesses, double margin) {
  if (guesses.empty()) return 0;
  const auto best = std::min_element(guesses.begin(), guesses.end());
  return *best < guesses.front() - margin ? static_cast<std::size_t>(best - guesses.begin()) : 0;
}

Result<kir::Kernel> lower_found(const expr::Expr& found, const expr::Policy& policy) {
  expr::LowerOptions how = lowering_of_found(policy);
  const expr::Expr simplified = expr::simplify(found, how);
  how.simplify = false;
  return expr::lower(simplified, how);
}

bool same_kernel(const kir::Kernel& a, const kir::Kernel& b) {
  const auto same_output = [](const kir::Output& x, const kir::Output& y) {
    return x.value == y.value && x.kind == y.kind && x.storage == y.storage;
  };
  const auto same_table = [](const kir::Table& x, const kir::Table& y) {
    return x.type == y.type && x.entries == y.entries;
  };
  return std::equal(a.insts.begin(), a.insts.end(), b.insts.begin(), b.insts.end(), same_inst) &&
         std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), b.outputs.end(), same_output) &&
         std::equal(a.tables.begin(), a.tables.end(), b.tables.begin(), b.tables.end(), same_table) &&
         std::equal(a.before.begin(), a.before.end(), b.before.begin(), b.before.end(), same_kernel);
}

const expr::rewrite::OpCosts& costs_of(codegen::Isa isa, const Search& search) {
  const expr::rewrite::OpCosts* measured = measured_costs(isa, search);
  static const std::string kCpu = os::cpu_model();
  return measured != nullptr ? *measured : expr::rewrite::default_op_costs(codegen::name_of(isa), kCpu);
}

codegen::DividerCycles divider_of(codegen::Isa isa, const Search& search) {
  const cost::Table& table = costs_of(isa, search).table();
  codegen::DividerCycles divider;
  if (table.cpu == cost::kAnyCpu) return divider;
  const double cycles = isa == codegen::Isa::avx2 ? 1 : 0.5;  // of 512 bits
  const auto of = [&](kir::Op op, ir::Type type) {
    return cycles * table.at({op, type, type, cost::Form::plain}).throughput;
  };
  divider.div_f32 = of(kir::Op::Div, ir::Type::f32), divider.div_f64 = of(kir::Op::Div, ir::Type::f64);
  divider.sqrt_f32 = of(kir::Op::Sqrt, ir::Type::f32), divider.sqrt_f64 = of(kir::Op::Sqrt, ir::Type::f64);
  return divider;
}

expr::rewrite::RewriteOptions rewriting(const Options& options) {
  expr::rewrite::RewriteOptions how;
  how.policy = options.target.policy;
  how.seed = options.search.seed;
  how.costs = costs_of(options.target.isa, options.search).model();
  how.rules = options.search.rules != nullptr ? &options.search.rules->compiled() : nullptr;
  how.budget = with_effort(how.budget, options.budget.effort);
  return how;
}

void keep_totals(const kir::Kernel& source, kir::Kernel& rewritten) {
  for (std::size_t k = 0; k < source.outputs.size(); ++k)
    if (source.outputs[k].kind == kir::OutputKind::scalar) rewritten.outputs[k].kind = kir::OutputKind::scalar;
}

Result<std::vector<Form>> forms(const expr::Expr& submitted, const expr::Expr& source, const Options& options,
                                const PassScope& passes) {
  using kir::math::Accuracy;
  const expr::Policy& policy = options.target.policy;
  std::vector<Form> list;
  TRY(kir::Kernel plain, expr::lower(source, unrewritten(policy)));
  list.push_back({"source", std::move(plain), true});
  if (options.budget.check_only) return list;
  const bool rounding_may_change = policy.kind != expr::PolicyKind::exact;
  const auto add_form = [&](const char* name, expr::Expr form, expr::LowerOptions how, bool keeps_roundings = false) {
    how.narrow = passes.enabled("narrowed");
    how.converts_longs = options.target.isa != codegen::Isa::avx2;
    const Result<bool> added = add(list, name, std::move(form), how, keeps_roundings);
    if (!added.ok()) passes.give_up(name, added.error());  // one candidate less
    return added.ok() && *added;
  };
  if (passes.enabled("narrowed")) add_form("narrowed", source, unrewritten(policy), true);
  const expr::LowerOptions unrewritten_how = unrewritten(policy);
  const bool drops = rounding_may_change && passes.enabled("identities");
  const expr::Expr identities = drops ? expr::drop_idle_operations(source, unrewritten_how) : source;
  if (drops) add_form("identities", identities, unrewritten_how, true);
  const bool contracts = rounding_may_change && passes.enabled("contracted");
  if (contracts) {
    const std::size_t contracted = list.size();
    const bool all = add_form("contracted", expr::contract(identities), unrewritten_how);
    if (add_form("contracted", expr::contract_carefully(identities), unrewritten_how) && all)
      list.back().in_place_of = contracted;
  }
  const auto add_simplified = [&](const char* name, const expr::Expr& from, Accuracy accuracy, bool join = false) {
    const expr::LowerOptions how{.policy = policy, .simplify = true, .accuracy = accuracy, .join_divisions = join};
    return add_form(name, expr::simplify(from, how), how);
  };
  const auto add_joined = [&](const expr::Expr& from) {
    if (passes.enabled("joined") && rounding_may_change) add_simplified("joined", from, Accuracy::ulp4, true);
  };
  // Shares divisors of a form; true if that is in the list then.
  const bool shares = passes.enabled("shared") && rounds_twice(policy);
  const auto add_shared = [&](expr::Expr from, expr::LowerOptions how) {
    how.share_divisors = true;
    return shares && expr::share_divisors(from, how) && add_form("shared", std::move(from), how);
  };
  const expr::LowerOptions simplest{.policy = policy, .accuracy = Accuracy::ulp4};
  const auto add_less_accurate = [&](const char* name, Accuracy accuracy) {
    if (passes.enabled("simplified")) add_simplified(name, source, accuracy);
    add_form(name, source, {.policy = policy, .simplify = false, .accuracy = accuracy});
  };
  const bool simplifies = passes.enabled("simplified") && add_simplified("simplified", source, Accuracy::ulp1);
  if (rounding_may_change && passes.enabled("multiplied")) {
    const std::size_t simplified = list.size() - 1;
    if (add_form("multiplied", expr::multiply_constant_quotients(identities), unrewritten_how) && simplifies)
      list.back().in_place_of = simplified;
  }
  if (passes.enabled("simplified")) add_joined(source);
  if (shares) {
    std::optional<std::size_t> before;
    if (passes.enabled("simplified") && add_shared(expr::simplify(source, simplest), simplest))
      before = list.size() - 1;
    const expr::Expr quotients = expr::multiply_constant_quotients(identities);
    for (const bool fuse : {true, false}) {
      if (fuse && !contracts) continue;
      if (!add_shared(fuse ? expr::contract_carefully(quotients) : quotients, unrewritten_how)) continue;
      list.back().in_place_of = std::exchange(before, list.size() - 1);
    }
  }
  if (passes.enabled("accuracy4") && rounding_may_change) add_less_accurate("accuracy4", Accuracy::ulp4);
  if (passes.enabled("rel3") && has_room_for_rel3(source, policy)) add_less_accurate("rel3", Accuracy::rel3);
  const auto add_found = [&](const char* name, const Result<expr::rewrite::Rewritten>& found) {
    if (!found.ok()) return passes.give_up(name, found.error());
    for (const expr::Expr& form : found->forms) {
      if (!add_simplified(name, form, Accuracy::ulp4)) continue;
      const std::size_t less_accurate = list.size() - 1;
      list.back().pieces = found->pieces;
      if (!add_simplified(name, form, Accuracy::ulp1)) continue;
      list.back().in_place_of = less_accurate, list.back().pieces = found->pieces;
    }
    if (found->forms.empty()) return;
    add_joined(found->forms.front());
    add_shared(expr::simplify(found->forms.front(), simplest), simplest);
  };
  const bool searches = list[0].kernel.before.empty();  // the search knows no passes
  if (searches && passes.enabled("searched") && rounding_may_change)
    add_found("searched", unguided(submitted, source, options));
  if (searches && passes.enabled("guided") && rounding_may_change)
    add_found("guided", guided(submitted, source, options));
  if (passes.enabled("estimated") && rounding_may_change && codegen::estimate_bits(options.target.isa) != 0)
    add_estimated(source, list, options, passes);
  return list;
}

std::string print(const std::vector<Form>& forms) {
  std::string text;
  for (const Form& form : forms) text += "; " + form.name + "\n" + kir::print(form.kernel) + "\n";
  return text;
}

Result<void> check_size(const image::ImageBytes& image) {
  if (image.bytes.size() <= limits::kImageBytesMax) return {};
  return make_error(ErrorCode::kLimitExceeded, "the kernel takes %zu bytes; at most %zu are allowed",
                    image.bytes.size(), limits::kImageBytesMax);
}

}  // namespace trident::pipeline
