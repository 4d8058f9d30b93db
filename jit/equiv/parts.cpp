#include "jit/equiv/parts.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <set>

#include "jit/equiv/apart.h"
#include "jit/equiv/both_forms.h"
#include "jit/equiv/elements.h"
#include "jit/equiv/in_turn.h"
#include "jit/equiv/known_values.h"
#include "jit/expr/shape.h"
#include "runtime/base/limits.h"

namespace trident::equiv {
namespace {

using expr::Expr;
using expr::Node;
using expr::NodeId;
using expr::Op;

/// Bounds of the work for one form: comparisons over the reals (some hundredths of a millisecond each), and checks of
/// parts (some milliseconds each). A form that needs more is refused.
constexpr int kComparisonsMax = 800, kChecksMax = 48;
/// More of both for each node: parts grow in number with the form, not in size. A product of 200 linear factors, each
/// contracted, has a part of three nodes for each of its two steps.
constexpr int kComparisonsPerNode = 4, kNodesPerCheck = 4;
/// Levels of values that both have, below a part's end, where its cuts are sought.
constexpr int kLevelsMax = 6;
constexpr std::uint64_t kPartPoints = 2048;
constexpr std::size_t kPartRefinedMax = 64;

Verdict refusal(std::string why) {
  Verdict verdict;
  verdict.kind = Verdict::Kind::differs;
  verdict.counterexample.emplace().why = std::move(why);
  return verdict;
}

/// Kinds of points at which a part is checked. New variables must not be vast or tiny where their values never are.
enum class Sets : std::uint8_t { ordinary, all };

/// Appends numbers and names to a key.
class KeyWriter {
 public:
  explicit KeyWriter(PartVerdicts::Key& key) : key_(key) {}
  void number(std::uint64_t value) {
    for (int byte = 0; byte < 8; ++byte) key_.push_back(static_cast<std::byte>(value >> (8 * byte)));
  }
  void name(const std::string& text) {
    number(text.size());
    for (const char c : text) key_.push_back(static_cast<std::byte>(c));
  }

 private:
  PartVerdicts::Key& key_;
};

/// Returns all that the verdict of a part follows from, constants of this file aside.
PartVerdicts::Key key_of(const Expr& pair, const expr::LowerOptions& how, Sets sets, Demand demand,
                         std::uint64_t seed) {
  PartVerdicts::Key key = expr::canonical_bytes(pair);
  KeyWriter out(key);
  for (const expr::Variable& variable : pair.variables) out.name(variable.name);
  const auto& [policy, simplify, accuracy, checked, join_divisions, estimates, narrow, share_divisors, converts_longs] =
      how;
  for (const std::uint64_t value :
       {static_cast<std::uint64_t>(policy.kind), std::bit_cast<std::uint64_t>(policy.k), std::uint64_t{simplify},
        static_cast<std::uint64_t>(accuracy), std::uint64_t{checked}, std::uint64_t{join_divisions},
        std::uint64_t{estimates.bits}, static_cast<std::uint64_t>(estimates.which), std::uint64_t{estimates.quotients},
        std::uint64_t{narrow}, std::uint64_t{share_divisors}, std::uint64_t{converts_longs},
        static_cast<std::uint64_t>(sets), static_cast<std::uint64_t>(demand), seed})
    out.number(value);
  return key;
}

expr::LowerOptions as_written(expr::LowerOptions how) {
  how.simplify = false;
  return how;
}

// Compares source and form part by part.
class Parts : private BothForms {
 public:
  /// `explored`: the outputs whose tails are explored too (tail.h).
  Parts(const Expr& source, const Expr& form, const expr::LowerOptions& how, const CheckOptions& options,
        PartVerdicts& verdicts, std::vector<bool> explored = {})
      : BothForms(source, form, as_written(how)),
        how_(as_written(how)),
        options_(options),
        explored_(std::move(explored)),
        verdicts_(verdicts) {
    freed_.assign(both_.nodes.size(), false);
    const int nodes = static_cast<int>(both_.nodes.size());
    comparisons_left_ = kComparisonsMax + kComparisonsPerNode * nodes;
    checks_left_ = kChecksMax + nodes / kNodesPerCheck;
    evaluate();
    unmask();
  }

  Result<Verdict> run() {
    // Masks found to be alike are freed then, and equalities that depended on them are tested again.
    do {
      for (std::uint32_t m = source_nodes_; m < both_.nodes.size(); ++m)
        if (alike_[m] == m) TRY_VOID(find_alike(m));
    } while (unmask());
    if (const auto mask = mask_of_its_own()) {
      return refusal("the form has a mask of its own that is constant at all sampled points: " + text_of(*mask));
    }
    for (const auto& [n, m] : ends()) {
      // With masks freed the whole form keeps the policy, at vast and tiny values too.
      const bool differ = n != m || !how_.is_as_accurate();
      if (differ && std::count(freed_.begin(), freed_.end(), true) > 0) {
        TRY(Verdict verdict, check(n, m, freed_, Sets::all));
        if (!verdict.same()) return verdict;
      }
      if (alike_[m] == n) continue;
      const auto known = std::find_if(failed_.begin(), failed_.end(),
                                      [&, n = n, m = m](const auto& f) { return f.n == n && f.m == m; });
      if (known != failed_.end()) return known->verdict;
      TRY(Verdict verdict, check(n, m, choose_cuts(n, m), Sets::ordinary));
      if (!verdict.same()) return verdict;
    }
    TRY_VOID(go_on());  // no comparison is left then, either
    if (comparisons_left_ == 0 || checks_left_ == 0) return refusal("the form has more parts than the check's limit");
    return explore();
  }

 private:
  // Computes the values of all nodes at some points, with new variables in place of freed masks.
  void evaluate() {
    Expr expr;
    expr.variables = both_.variables;
    std::vector<NodeId> place, stand_in(both_.nodes.size());
    const auto append = [&](const Node& node) {
      expr.nodes.push_back(node);
      return NodeId(static_cast<std::uint32_t>(expr.nodes.size() - 1));
    };
    for (std::uint32_t i = 0; i < both_.nodes.size(); ++i) {
      Node node = both_.nodes[i];
      for (NodeId* operand : {&node.a, &node.b, &node.c})
        if (operand->valid()) *operand = place[operand->index];
      const std::uint32_t part = alike_[i];
      if (freed_[part] && !stand_in[part].valid()) stand_in[part] = add_variable(part, expr, append);
      place.push_back(freed_[part] ? stand_in[part] : append(node));
    }
    expr.outputs = {{"all", place.back()}};
    values_ = known_values(expr, place, options_.samples.seed);
    varies_.clear();
    for (const Values& values : values_) varies_.push_back(varies(values));
  }

  // Frees masks that both have. A value multiplied by a mask that is 0 at every point looks equal to anything. So masks
  // that both have become variables while both sides are still equal, and the values are taken again. Returns whether
  // there was a new one; then the form's values above masks count as unmatched until they are tested again.
  bool unmask();

  // Returns a value of the form that looks constant, is not known to be, and matches none of the source: a rewritten
  // mask whose other side no point has shown.
  [[nodiscard]] std::optional<std::uint32_t> mask_of_its_own() const {
    for (std::uint32_t m = source_nodes_; m < both_.nodes.size(); ++m) {
      if (alike_[m] != m || !looks_constant(values_[m])) continue;
      if (expr::info(both_.nodes[m].op).signature == expr::Signature::Leaf) continue;
      if (!(facts_[m].lo == facts_[m].hi)) return m;
    }
    return std::nullopt;
  }

  // Explores tails: parts may be careful, yet lose more than the source where a step above multiplies errors.
  Result<Verdict> explore() {
    const auto list = ends();
    for (std::size_t k = 0; k < explored_.size(); ++k) {
      if (!explored_[k] || !ir::is_float(both_.nodes[list[k].first].type)) continue;
      TRY(Verdict verdict,
          check(list[k].first, list[k].second, Cuts(both_.nodes.size(), false), Sets::ordinary, Demand::any_set));
      if (!verdict.same()) return verdict;
    }
    return Verdict{};
  }

  // --- which values of the form are alike ones of the source ---

  Result<void> find_alike(std::uint32_t m);

  [[nodiscard]] bool cancelled() const { return options_.cancelled && options_.cancelled(); }

  [[nodiscard]] Result<void> go_on() const {
    if (cancelled()) return make_error(ErrorCode::kCancelled, "the equivalence check was cancelled");
    return {};
  }

  // Returns whether both outputs are equal over the reals wherever the variables are. Makes no more comparisons once it
  // is cancelled: check() ends then.
  bool still_equal(const Expr& pair) {
    if (cancelled()) return comparisons_left_ = 0, false;
    --comparisons_left_;
    const NodeId source = pair.outputs[0].node, form = pair.outputs[1].node;
    return are_equal_over_the_reals(pair, source, form, options_.samples.seed, tolerance_of(pair.at(source).type));
  }

  bool still_equal(std::uint32_t n, std::uint32_t m, const Cuts& cuts) { return still_equal(cut(n, m, cuts).expr); }

  // Chooses as many cuts as leave both equal. Mostly the two are equal whatever the values just below are that both
  // have: then only the steps between are looked at, however much is below. Else cuts go down, level by level.
  Cuts choose_cuts(std::uint32_t n, std::uint32_t m) {
    Cuts cuts(both_.nodes.size(), false), open(cuts.size(), false);
    const std::vector<bool> in_source = met(n, cuts), in_form = met(m, cuts);
    for (std::uint32_t c = 0; c < n; ++c) cuts[c] = may_end(c) && in_source[c] && in_form[c];
    for (int level = 0; level < kLevelsMax && comparisons_left_ > 0; ++level) {
      if (still_equal(n, m, cuts)) return with_more_cuts(n, m, std::move(cuts), open);
      for (const std::uint32_t part : cut(n, m, cuts).parts) cuts[part] = false, open[part] = true;
    }
    return with_more_cuts(n, m, Cuts(both_.nodes.size(), false), Cuts(both_.nodes.size(), true));
  }

  // Adds those of `open` to the cuts that leave both equal. Values that hardly vary come first, since a value behind a
  // mask looks equal to anything. Goes upwards, so that the values below vary as much as they can when those above are
  // tried. What is equal with several values free is equal with each of them.
  Cuts with_more_cuts(std::uint32_t n, std::uint32_t m, Cuts cuts, const Cuts& open) {
    std::vector<bool> in_source = met(n, cuts), in_form = met(m, cuts);
    const auto may_add = [&](std::uint32_t c) { return open[c] && may_end(c) && in_source[c] && in_form[c]; };
    for (std::uint32_t c = 0; c < n && comparisons_left_ > 0; ++c) {
      if (varies_[c] || !may_add(c)) continue;
      cuts[c] = true;
      cuts[c] = still_equal(n, m, cuts);
      if (cuts[c]) in_source = met(n, cuts), in_form = met(m, cuts);
    }
    std::vector<std::uint32_t> varying;
    for (std::uint32_t c = 0; c < n; ++c)
      if (varies_[c] && may_add(c)) varying.push_back(c);
    set_in_turn(varying, cuts, [&] { return comparisons_left_ > 0 && still_equal(n, m, cuts); });
    return cuts;
  }

  Result<Verdict> check(std::uint32_t n, std::uint32_t m, const Cuts& cuts, Sets sets, Demand demand = Demand::policy);
  [[nodiscard]] Result<Verdict> judge(const Pair& pair, Sets sets, Demand demand) const;

  expr::LowerOptions how_;
  CheckOptions options_;
  std::vector<bool> explored_;
  std::vector<Values> values_;  ///< per node: correct values at some points
  std::vector<bool> varies_;    ///< per node: varies(values_[i])
  Cuts freed_;                  ///< masks that both have
  struct Failed {
    std::uint32_t n, m;
    Verdict verdict;
  };
  std::vector<Failed> failed_;
  PartVerdicts& verdicts_;             ///< those of other forms among them
  std::set<PartVerdicts::Key> asked_;  ///< by this form: the limits count them, whoever checked them first
  int comparisons_left_ = 0, checks_left_ = 0;
};

bool Parts::unmask() {
  bool any = false;
  for (const auto& [n, m] : ends()) {
    std::vector<bool> in_source = met(n, freed_), in_form = met(m, freed_);
    for (std::uint32_t c = 0; c < source_nodes_ && comparisons_left_ > 0; ++c) {
      if (freed_[c] || !may_end(c) || !in_source[c] || !in_form[c] || varies_[c]) continue;
      freed_[c] = true;
      freed_[c] = still_equal(cut(n, m, freed_).expr);
      if (!freed_[c]) continue;
      any = true;
      evaluate();  // values above it vary now
    }
  }
  if (!any) return false;
  std::vector<bool> below(both_.nodes.size(), false);
  for (auto i = static_cast<std::uint32_t>(below.size()); i-- > 0;) {
    below[i] = below[i] || freed_[alike_[i]];
    if (!below[i] && i >= source_nodes_) alike_[i] = i;
    for (const NodeId operand : {both_.nodes[i].a, both_.nodes[i].b, both_.nodes[i].c})
      if (operand.valid() && below[i]) below[operand.index] = true;
  }
  return true;
}

Result<void> Parts::find_alike(std::uint32_t m) {
  TRY_VOID(go_on());
  if (const auto same = made_alike(m)) {
    alike_[m] = *same;
    return {};
  }
  const expr::Type type = both_.nodes[m].type;
  if (!varies_[m]) return {};
  for (std::uint32_t n = 0; n < source_nodes_; ++n) {
    if (both_.nodes[n].type != type || shapes_[n] != shapes_[m]) continue;
    if (expr::info(both_.nodes[n].op).signature == expr::Signature::Leaf) continue;
    if (!varies_[n] || !equal_over_the_reals(values_[n], values_[m], tolerance_of(type))) continue;
    if (!ir::is_float(type)) {  // no rounding: equal values are alike
      alike_[m] = n;
      return {};
    }
    if (checks_left_ == 0) return {};
    TRY(Verdict verdict, check(n, m, choose_cuts(n, m), Sets::ordinary));
    if (verdict.same())
      alike_[m] = n;
    else
      failed_.push_back({n, m, std::move(verdict)});
    return {};
  }
  return {};
}

Result<Verdict> Parts::check(std::uint32_t n, std::uint32_t m, const Cuts& cuts, Sets sets, Demand demand) {
  TRY_VOID(go_on());
  const Pair pair = cut(n, m, cuts);
  const bool same_steps = pair.expr.outputs[0].node == pair.expr.outputs[1].node;
  // A less accurate function is no better for standing in the same place as the source's.
  const bool as_good = sets == Sets::ordinary && demand == Demand::policy;
  if (same_steps && (as_good || how_.is_as_accurate())) return Verdict{};
  if (pair.expr.variables.size() > limits::kInputsMax) return refusal("the form has more parts than the check's limit");
  PartVerdicts::Key key = key_of(pair.expr, how_, sets, demand, options_.samples.seed);
  if (asked_.insert(key).second) checks_left_ -= checks_left_ > 0 ? 1 : 0;
  const Verdict* known = verdicts_.find(key);
  if (known == nullptr) {
    TRY(Verdict made, judge(pair, sets, demand));
    known = &verdicts_.add(std::move(key), std::move(made));
  }
  Verdict verdict = *known;
  if (!verdict.same()) explain(pair, *verdict.counterexample);
  return verdict;
}

Result<Verdict> Parts::judge(const Pair& pair, Sets sets, Demand demand) const {
  Expr sides[2] = {pair.expr, pair.expr};
  for (const std::size_t k : {0, 1}) sides[k].outputs = {{"part", pair.expr.outputs[k].node}};
  CheckOptions options = options_;
  options.samples.points = kPartPoints;
  options.samples.ordinary = sets == Sets::ordinary;
  options.refined_max = kPartRefinedMax;
  options.late_references = true;
  TRY(const auto checker, Checker::make(sides[0], how_.policy, options));
  TRY(const kir::Kernel plain, expr::lower(sides[0], {.policy = how_.policy, .simplify = false}));
  const Checker::Prepared unrewritten = checker->run(plain);
  TRY(const kir::Kernel kernel, expr::lower(sides[1], how_));
  TRY(Checker::Prepared prepared, checker->check_meaning(kernel, demand, &unrewritten));
  return std::move(prepared.meaning);
}

Result<Verdict> compare(const Expr& source, const Expr& form, const expr::LowerOptions& how,
                        const CheckOptions& options, PartVerdicts& known, std::vector<bool> explored = {}) {
  auto verdict = Parts(source, form, how, options, known, std::move(explored)).run();
  if (verdict.ok() || verdict.error().code == ErrorCode::kCancelled) return verdict;
  return refusal("its parts cannot be compared: " + verdict.error().message);
}

/// Compares a form that reduces otherwise than its source in calls of two and of three elements: with two alone a sum
/// would be twice a mean. In calls of one, where no terms of a sum cancel, tails are explored too.
Result<Verdict> compare_calls(const Expr& source, const Expr& form, const expr::LowerOptions& how,
                              const CheckOptions& options, PartVerdicts& known) {
  const auto shapes = expr::shapes_of(source), form_shapes = expr::shapes_of(form);
  for (std::size_t k = 0; k < source.outputs.size(); ++k)
    if (shapes[source.outputs[k].node.index] != form_shapes[form.outputs[k].node.index])
      return refusal("output " + source.outputs[k].name + " of the form changed between a scalar and an array");
  for (const std::size_t elements : {2, 3, 1}) {
    const auto few = of_elements(source, elements), few_of_form = of_elements(form, elements);
    if (!few || !few_of_form) return refusal("the form has a reduction that the source lacks, over too many arrays");
    const std::vector<bool> explored(source.outputs.size(), elements == 1);
    TRY(Verdict verdict, compare(*few, *few_of_form, how, options, known, explored));
    if (verdict.same()) continue;
    verdict.counterexample->why += " (in a call of " + std::to_string(elements) + " elements)";
    return verdict;
  }
  return Verdict{};
}

}  // namespace

Result<Verdict> check_parts(const Expr& source, const Expr& form, const expr::LowerOptions& how,
                            const CheckOptions& options, PartVerdicts& known) {
  if (how.policy.kind == expr::PolicyKind::exact) return Verdict{};
  if (!expr::has_reductions(source) && !expr::has_reductions(form)) return compare(source, form, how, options, known);
  const auto apart = take_apart(source, form, options.samples.seed);
  return apart ? compare(apart->source, apart->form, how, options, known, apart->unexplored)
               : compare_calls(source, form, how, options, known);
}

}  // namespace trident::equiv
