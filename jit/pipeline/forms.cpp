#include "jit/pipeline/forms.h"

#include <algorithm>
#include <limits>

#include "jit/equiv/compare.h"
#include "jit/expr/rewrite/judge.h"
#include "jit/expr/simplify.h"
#include "runtime/base/limits.h"
#include "runtime/os/cpu.h"

namespace trident::pipeline {
namespace {

bool same_inst(const kir::Inst& a, const kir::Inst& b) {
  return a.op == b.op && a.type == b.type && a.section == b.section && a.flags == b.flags && a.a == b.a && a.b == b.b &&
         a.c == b.c && a.imm == b.imm;
}

// Whether there is one more.
bool add(std::vector<Form>& forms, const char* name, expr::Expr expr, expr::LowerOptions how,
         bool keeps_roundings = false) {
  how.simplify = false;
  auto kernel = expr::lower(expr, how);
  if (!kernel.ok()) return false;  // a form that cannot be lowered is one candidate less
  keep_totals(forms.front().kernel, *kernel);
  for (const Form& form : forms)
    if (same_kernel(form.kernel, *kernel)) return false;
  forms.push_back({name, std::move(kernel).value(), keeps_roundings, std::move(expr), how});
  return true;
}

/// Whether functions with a relative error of 1e-3 can be within the policy: what it allows beside a strict error of
/// half an ulp is at least that much, counted in the least ulps that 1e-3 can be. In f64 no k that a submission may
/// have is.
bool has_room_for_rel3(const expr::Expr& source, const expr::Policy& policy) {
  if (policy.kind != expr::PolicyKind::bounded) return false;
  const bool single = std::none_of(source.nodes.begin(), source.nodes.end(),
                                   [](const expr::Node& node) { return node.type == ir::Type::f64; });
  return policy.k * 0.5 + equiv::kBoundedSlackUlp >= 1e-3 * (single ? 0x1p23 : 0x1p52);
}

// Forms of a search that are made and checked, of those that it is asked for where a judge can tell them apart.
constexpr std::size_t kFormsKept = 3, kFormsAsked = 8;

/// The statically cheapest, and of the others those that the judge thinks fastest. It advises: which one is taken is
/// measured.
std::vector<expr::Expr> chosen(std::vector<expr::Expr> found, const expr::rewrite::Judge& judge,
                               const Options& options) {
  const cost::Table& costs = costs_of(options).table();
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 1; i < found.size(); ++i) {
    double log_ns = std::numeric_limits<double>::infinity();
    const auto kernel =
        expr::lower(found[i], {.policy = options.policy, .simplify = false, .accuracy = kir::math::Accuracy::ulp4});
    if (kernel.ok())
      if (const auto guess = judge.log_ns(found[i], *kernel, costs); guess.ok()) log_ns = *guess;
    order.emplace_back(log_ns, i);
  }
  std::sort(order.begin(), order.end());
  std::vector<expr::Expr> kept;
  if (!found.empty()) kept.push_back(std::move(found.front()));
  for (std::size_t k = 0; k < order.size() && kept.size() < kFormsKept; ++k)
    kept.push_back(std::move(found[order[k].second]));
  return kept;
}

/// What a search makes of the expression, derivatives included: those are the rules' task, and the plain pass's where
/// the rules leave one. `source` is searched where what was submitted is no term.
std::vector<expr::Expr> searched(const expr::Expr& submitted, const expr::Expr& source,
                                 const expr::rewrite::RewriteOptions& how) {
  auto found = expr::rewrite::rewrite(submitted, how);
  if (!found.ok() && has_derivatives(submitted)) found = expr::rewrite::rewrite(source, how);
  return found.ok() ? std::move(found->forms) : std::vector<expr::Expr>();
}

std::vector<expr::Expr> unguided(const expr::Expr& submitted, const expr::Expr& source, const Options& options) {
  expr::rewrite::RewriteOptions how = rewriting(options);
  const bool own = options.weights != nullptr && options.weights->judge() != nullptr;
  const expr::rewrite::Judge* const judge = own ? options.weights->judge() : expr::rewrite::shipped_judge();
  how.keep = judge != nullptr ? kFormsAsked : kFormsKept;
  std::vector<expr::Expr> found = searched(submitted, source, how);
  return judge != nullptr ? chosen(std::move(found), *judge, options) : found;
}

/// The guide needs a part of the rewrites that the unguided search does, which has its whole budget all the same: what
/// the guide makes comes beside it, never in its place.
constexpr egraph::SearchBudget kGuidedBudget{
    .nodes = 4'000, .nanoseconds = 0, .applications = 20'000, .graph_nodes = 5'000};
constexpr std::size_t kGuidedForms = 2;

std::vector<expr::Expr> guided(const expr::Expr& submitted, const expr::Expr& source, const Options& options) {
  static const Result<nn::AccumulatorWeights> shipped = expr::rewrite::guide_weights(std::string());
  CHECK(shipped.ok());  // a part of the program
  const auto guide =
      expr::rewrite::AnyGuide::make(options.guide, options.weights != nullptr ? options.weights->weights() : *shipped);
  expr::rewrite::RewriteOptions how = rewriting(options);
  how.strategy = egraph::Strategy::guided;
  how.guide = guide.get();
  how.budget = kGuidedBudget;
  how.keep = kGuidedForms;
  return searched(submitted, source, how);
}

}  // namespace

bool same_kernel(const kir::Kernel& a, const kir::Kernel& b) {
  const auto same_output = [](const kir::Output& x, const kir::Output& y) {
    return x.value == y.value && x.kind == y.kind;
  };
  const auto same_table = [](const kir::Table& x, const kir::Table& y) {
    return x.type == y.type && x.entries == y.entries;
  };
  return std::equal(a.insts.begin(), a.insts.end(), b.insts.begin(), b.insts.end(), same_inst) &&
         std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), b.outputs.end(), same_output) &&
         std::equal(a.tables.begin(), a.tables.end(), b.tables.begin(), b.tables.end(), same_table);
}

const expr::rewrite::OpCosts& costs_of(const Options& options) {
  const expr::rewrite::OpCosts* measured = measured_costs(options);
  static const std::string kCpu = os::cpu_model();
  return measured != nullptr ? *measured : expr::rewrite::default_op_costs(codegen::name_of(options.isa), kCpu);
}

codegen::DividerCycles divider_of(const Options& options) {
  const cost::Table& table = costs_of(options).table();
  codegen::DividerCycles divider;
  if (table.cpu == cost::kAnyCpu) return divider;
  const double cycles = options.isa == codegen::Isa::avx2 ? 1 : 0.5;  // of 512 bits
  const auto of = [&](kir::Op op, ir::Type type) {
    return cycles * table.at({op, type, type, cost::Form::plain}).throughput;
  };
  divider.div_f32 = of(kir::Op::Div, ir::Type::f32), divider.div_f64 = of(kir::Op::Div, ir::Type::f64);
  divider.sqrt_f32 = of(kir::Op::Sqrt, ir::Type::f32), divider.sqrt_f64 = of(kir::Op::Sqrt, ir::Type::f64);
  return divider;
}

expr::rewrite::RewriteOptions rewriting(const Options& options) {
  expr::rewrite::RewriteOptions how;
  how.policy = options.policy;
  how.seed = options.seed;
  how.costs = costs_of(options).model();
  how.rules = options.rules != nullptr ? &options.rules->compiled() : nullptr;
  return how;
}

void keep_totals(const kir::Kernel& source, kir::Kernel& rewritten) {
  for (std::size_t k = 0; k < source.outputs.size(); ++k)
    if (source.outputs[k].kind == kir::OutputKind::scalar) rewritten.outputs[k].kind = kir::OutputKind::scalar;
}

Result<std::vector<Form>> forms(const expr::Expr& submitted, const expr::Expr& source, const Options& options,
                                const PassScope& passes) {
  using kir::math::Accuracy;
  std::vector<Form> list;
  TRY(kir::Kernel plain, expr::lower(source, unrewritten(options.policy)));
  list.push_back({"source", std::move(plain), true});
  if (options.check_only) return list;
  const bool rounding_may_change = options.policy.kind != expr::PolicyKind::exact;
  if (rounding_may_change) {
    const expr::LowerOptions how = unrewritten(options.policy);
    const bool drop = passes.enabled("identities");
    const expr::Expr identities = drop ? expr::drop_idle_operations(source, how) : source;
    if (drop) add(list, "identities", identities, how, true);
    if (passes.enabled("contracted")) add(list, "contracted", expr::contract(identities), how);
  }
  const auto add_simplified = [&](const char* name, const expr::Expr& from, Accuracy accuracy) {
    const expr::LowerOptions how{.policy = options.policy, .simplify = true, .accuracy = accuracy};
    return add(list, name, expr::simplify(from, how), how);
  };
  const auto add_less_accurate = [&](const char* name, Accuracy accuracy) {
    if (passes.enabled("simplified")) add_simplified(name, source, accuracy);
    add(list, name, source, {.policy = options.policy, .simplify = false, .accuracy = accuracy});
  };
  if (passes.enabled("simplified")) add_simplified("simplified", source, Accuracy::ulp1);
  if (passes.enabled("accuracy4") && rounding_may_change) add_less_accurate("accuracy4", Accuracy::ulp4);
  if (passes.enabled("rel3") && has_room_for_rel3(source, options.policy)) add_less_accurate("rel3", Accuracy::rel3);
  const auto add_found = [&](const char* name, const std::vector<expr::Expr>& found) {
    for (const expr::Expr& form : found) {
      if (!add_simplified(name, form, Accuracy::ulp4)) continue;
      const std::size_t less_accurate = list.size() - 1;
      if (add_simplified(name, form, Accuracy::ulp1)) list.back().in_place_of = less_accurate;
    }
  };
  if (passes.enabled("searched") && rounding_may_change) add_found("searched", unguided(submitted, source, options));
  if (passes.enabled("guided") && rounding_may_change) add_found("guided", guided(submitted, source, options));
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
