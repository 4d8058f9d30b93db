#include "jit/equiv/parts.h"

#include <algorithm>
#include <cmath>

#include "jit/equiv/apart.h"
#include "jit/equiv/elements.h"
#include "jit/equiv/known_values.h"
#include "jit/expr/builder.h"
#include "jit/expr/ranges.h"
#include "jit/expr/shape.h"
#include "runtime/base/limits.h"

namespace trident::equiv {
namespace {

using expr::Expr;
using expr::Node;
using expr::NodeId;
using expr::Op;
using expr::Shape;

/// Bounds of the work for one form: comparisons over the reals (some hundredths of a millisecond each), and checks of
/// parts (some milliseconds each). A form that needs more is refused.
constexpr int kComparisonsMax = 800, kChecksMax = 48;
constexpr std::uint64_t kPartPoints = 2048;
constexpr std::size_t kPartRefinedMax = 64;

bool commutes(Op op) {
  return expr::info(op).commutes == expr::Commutes::in_bits && op != Op::Dot;
}

/// By node of the source: whether a part ends there, at a value that both have.
using Cuts = std::vector<bool>;

Verdict refusal(std::string why) {
  Verdict verdict;
  verdict.kind = Verdict::Kind::differs;
  verdict.counterexample.emplace().why = std::move(why);
  return verdict;
}

/// Kinds of points at which a part is checked. New variables must not be vast or tiny where their values never
/// are.
enum class Sets : std::uint8_t { ordinary, all };

class Parts {
 public:
  /// `explored`: the outputs whose tails are explored too (tail.h).
  Parts(const Expr& source, const Expr& form, const expr::LowerOptions& how, const CheckOptions& options,
        std::vector<bool> explored = {})
      : how_(how), options_(options), explored_(std::move(explored)), builder_(both_) {
    how_.simplify = false;
    both_.variables = source.variables;
    const std::vector<NodeId> in_source = import(source);
    source_nodes_ = builder_.size();
    const std::vector<NodeId> in_form = import(form);
    for (std::size_t k = 0; k < source.outputs.size(); ++k)
      both_.outputs.push_back({source.outputs[k].name, in_source[source.outputs[k].node.index]});
    for (const expr::Output& o : form.outputs) form_outputs_.push_back(in_form[o.node.index]);
    for (const Node& n : both_.nodes)
      narrows_ = narrows_ || (n.op == Op::Cast && n.type == expr::Type::f32 && both_.at(n.a).type == expr::Type::f64);
    shapes_ = expr::shapes_of(both_);
    expr::Ranges ranges(both_, how_);
    for (std::uint32_t i = 0; i < both_.nodes.size(); ++i) facts_.push_back(ranges.at(NodeId(i)));
    alike_.resize(both_.nodes.size());
    for (std::uint32_t i = 0; i < alike_.size(); ++i) alike_[i] = i;
    freed_.assign(both_.nodes.size(), false);
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
      const bool differ = n != m || how_.accuracy != kir::math::Accuracy::ulp1;
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
    if (comparisons_left_ == 0 || checks_left_ == 0) return refusal("the form has more parts than the check's limit");
    return explore();
  }

 private:
  std::vector<NodeId> import(const Expr& expr) {
    std::vector<NodeId> place;
    for (Node n : expr.nodes) {
      for (NodeId* operand : {&n.a, &n.b, &n.c})
        if (operand->valid()) *operand = place[operand->index];
      if (commutes(n.op) && n.b.index < n.a.index) std::swap(n.a, n.b);
      place.push_back(builder_.add(n));
    }
    return place;
  }

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
  }

  // Returns whether a part may end at a node. A mask as a number is 0 or 1: its truth value becomes the variable.
  [[nodiscard]] bool may_end(std::uint32_t c) const {
    const Node& node = both_.nodes[c];
    if (expr::info(node.op).signature == expr::Signature::Leaf) return false;
    return node.op != Op::Cast || both_.at(node.a).type != expr::Type::b32;
  }

  // Frees masks that both have. A value multiplied by a mask that is 0 at every point looks equal to anything. So masks
  // that both have become variables while both sides are still equal, and the values are taken again. Returns whether
  // there was a new one; then the form's values above masks count as unmatched until they are tested again.
  bool unmask() {
    bool any = false;
    for (const auto& [n, m] : ends()) {
      std::vector<bool> in_source = met(n, freed_), in_form = met(m, freed_);
      for (std::uint32_t c = 0; c < source_nodes_ && comparisons_left_ > 0; ++c) {
        if (freed_[c] || !may_end(c) || !in_source[c] || !in_form[c] || varies(values_[c])) continue;
        --comparisons_left_;
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

  // Returns the pairs of nodes that must be the same in the end.
  [[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint32_t>> ends() const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> list;
    for (std::size_t k = 0; k < form_outputs_.size(); ++k)
      list.emplace_back(both_.outputs[k].node.index, form_outputs_[k].index);
    return list;
  }

  // --- which values of the form are alike ones of the source ---

  Result<void> find_alike(std::uint32_t m) {
    if (options_.cancelled && options_.cancelled())
      return make_error(ErrorCode::kCancelled, "the equivalence check was cancelled");
    if (const auto same = made_alike(m)) {
      alike_[m] = *same;
      return {};
    }
    const expr::Type type = both_.nodes[m].type;
    if (!varies(values_[m])) return {};
    for (std::uint32_t n = 0; n < source_nodes_; ++n) {
      if (both_.nodes[n].type != type || shapes_[n] != shapes_[m]) continue;
      if (expr::info(both_.nodes[n].op).signature == expr::Signature::Leaf) continue;
      if (!varies(values_[n]) || !equal_over_the_reals(values_[n], values_[m], tolerance_of(type))) continue;
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

  // Returns the source's node with alike operands and the same op. A fused product and sum counts as the two ops.
  [[nodiscard]] std::optional<std::uint32_t> made_alike(std::uint32_t m) const {
    Node node = both_.nodes[m];
    for (NodeId* operand : {&node.a, &node.b, &node.c})
      if (operand->valid()) *operand = NodeId(alike_[operand->index]);
    if (const auto same = find(node)) return same;
    if (const auto other = other_spelling(node)) return find(*other);
    if (node.op != Op::Fma) return std::nullopt;
    const Node& a = both_.at(node.a);
    const Node& c = both_.at(node.c);
    const bool negated = a.op == Op::Neg;
    const auto product = find({Op::Mul, node.type, negated ? NodeId(alike_[a.a.index]) : node.a, node.b, {}, 0});
    if (!product) return std::nullopt;
    if (negated) return find({Op::Sub, node.type, node.c, NodeId(*product), {}, 0});
    if (c.op == Op::Neg) return find({Op::Sub, node.type, NodeId(*product), NodeId(alike_[c.a.index]), {}, 0});
    return find({Op::Add, node.type, NodeId(*product), node.c, {}, 0});
  }

  // Returns another op with the same bits: a + -1 for a - 1, a * a for a^2, 1 / a for recip(a), and back.
  [[nodiscard]] std::optional<Node> other_spelling(Node node) const {
    const auto constant = [&](double value) -> std::optional<NodeId> {
      const auto found = find({Op::Constant, node.type, {}, {}, {}, expr::bits_of(node.type, value)});
      return found ? std::optional(NodeId(*found)) : std::nullopt;
    };
    if (!ir::is_float(node.type)) return std::nullopt;
    if (node.op == Op::Add || node.op == Op::Sub) {
      for (const auto& [number, other] : {std::pair(node.b, node.a), std::pair(node.a, node.b)}) {
        if (both_.at(number).op != Op::Constant || (node.op == Op::Sub && number != node.b)) continue;
        const auto opposite = constant(-expr::value_of(node.type, both_.at(number).imm));
        if (opposite) return Node{node.op == Op::Add ? Op::Sub : Op::Add, node.type, other, *opposite, {}, 0};
      }
    }
    if (node.op == Op::Mul && node.a == node.b) return Node{Op::Powi, node.type, node.a, {}, {}, 2};
    if (node.op == Op::Powi && node.imm == 2) return Node{Op::Mul, node.type, node.a, node.a, {}, 0};
    if (node.op == Op::Recip)
      if (const auto one = constant(1)) return Node{Op::Div, node.type, *one, node.a, {}, 0};
    if (node.op == Op::Div && both_.at(node.a).op == Op::Constant &&
        expr::value_of(node.type, both_.at(node.a).imm) == 1)
      return Node{Op::Recip, node.type, node.b, {}, {}, 0};
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::uint32_t> find(Node node) const {
    if (commutes(node.op) && node.b.index < node.a.index) std::swap(node.a, node.b);
    for (std::uint32_t n = 0; n < source_nodes_; ++n) {
      const Node& like = both_.nodes[n];
      if (like.op == node.op && like.type == node.type && like.a == node.a && like.b == node.b && like.c == node.c &&
          like.imm == node.imm)
        return n;
    }
    return std::nullopt;
  }

  // --- one part: node n of the source against node m of the form ---

  [[nodiscard]] std::vector<bool> reached(std::uint32_t root, const Cuts& cuts) const {
    std::vector<bool> mark(both_.nodes.size(), false);
    mark[root] = true;
    for (std::uint32_t i = root + 1; i-- > 0;) {
      if (!mark[i] || (i != root && cuts[alike_[i]])) continue;
      for (const NodeId operand : {both_.nodes[i].a, both_.nodes[i].b, both_.nodes[i].c})
        if (operand.valid()) mark[operand.index] = true;
    }
    return mark;
  }

  /// Returns the nodes that are alike those reached below `root`.
  [[nodiscard]] std::vector<bool> met(std::uint32_t root, const Cuts& cuts) const {
    const std::vector<bool> mark = reached(root, cuts);
    std::vector<bool> list(mark.size(), false);
    for (std::uint32_t i = 0; i < mark.size(); ++i)
      if (mark[i]) list[alike_[i]] = true;
    return list;
  }

  /// Both parts as one expression: the original variables, one for each cut that either reaches, and two outputs.
  struct Pair {
    Expr expr;
    std::vector<std::uint32_t> parts;  ///< the nodes that the new variables stand for
  };

  [[nodiscard]] Pair cut(std::uint32_t n, std::uint32_t m, const Cuts& cuts) const {
    Pair pair;
    pair.expr.variables = both_.variables;
    expr::Builder b(pair.expr);
    std::vector<NodeId> stand_in(both_.nodes.size());
    for (const std::uint32_t root : {n, m}) {
      const std::vector<bool> mark = reached(root, cuts);
      std::vector<NodeId> place(both_.nodes.size());
      for (std::uint32_t i = 0; i <= root; ++i) {
        if (!mark[i]) continue;
        const std::uint32_t part = alike_[i];
        if (i != root && cuts[part]) {
          if (!stand_in[part].valid()) {
            stand_in[part] = add_variable(part, pair.expr, [&](const Node& node) { return b.add(node); });
            pair.parts.push_back(part);
          }
          place[i] = stand_in[part];
          continue;
        }
        Node node = both_.nodes[i];
        for (NodeId* operand : {&node.a, &node.b, &node.c})
          if (operand->valid()) *operand = place[operand->index];
        place[i] = b.add(node);
      }
      pair.expr.outputs.push_back({root == n ? "source" : "form", place[root]});
    }
    drop_variables(pair.expr);
    return pair;
  }

  // Drops variables that no node reads.
  static void drop_variables(Expr& expr) {
    std::vector<bool> used(expr.variables.size(), false);
    for (const Node& node : expr.nodes)
      if (node.op == Op::Variable) used[static_cast<std::size_t>(node.imm)] = true;
    std::vector<std::uint64_t> place(used.size(), 0);
    std::vector<expr::Variable> kept;
    for (std::size_t v = 0; v < used.size(); ++v) {
      place[v] = kept.size();
      if (used[v]) kept.push_back(std::move(expr.variables[v]));
    }
    for (Node& node : expr.nodes)
      if (node.op == Op::Variable) node.imm = place[static_cast<std::size_t>(node.imm)];
    expr.variables = std::move(kept);
  }

  // Adds a variable to `expr` with the known facts of a node's values; a mask becomes the test of an integer against 0.
  // `append` takes nodes.
  template <class Append>
  NodeId add_variable(std::uint32_t part, Expr& expr, const Append& append) const {
    const expr::Type type = both_.nodes[part].type;
    const std::uint64_t index = expr.variables.size();
    expr::Variable& v = expr.variables.emplace_back();
    v.name = "p" + std::to_string(index - both_.variables.size() + 1);
    v.kind = shapes_[part] == Shape::uniform ? expr::VariableKind::scalar : expr::VariableKind::array;
    if (type == expr::Type::b32) {
      v.type = expr::Type::i32, v.lo = 0, v.hi = 1;
      const NodeId variable = append({Op::Variable, v.type, {}, {}, {}, index});
      return append({Op::Ne, type, variable, append({Op::Constant, v.type, {}, {}, {}, 0}), {}, 0});
    }
    v.type = type, v.lo = facts_[part].lo, v.hi = facts_[part].hi;
    return append({Op::Variable, type, {}, {}, {}, index});
  }

  // Returns whether both outputs are equal over the reals wherever the variables are.
  bool still_equal(const Expr& pair) {
    const auto values = known_values(pair, {pair.outputs[0].node, pair.outputs[1].node}, options_.samples.seed);
    return equal_over_the_reals(values[0], values[1], tolerance_of(pair.at(pair.outputs[0].node).type));
  }

  // A form may round to f32 at other places than its source; the checks say how careful it is there.
  [[nodiscard]] long double tolerance_of(expr::Type type) const {
    return narrows_ && type == expr::Type::f32 ? kNarrowTolerance : kEqualityTolerance;
  }

  // Chooses as many cuts as leave both equal. Values that hardly vary come first, since a value behind a mask looks
  // equal to anything. Goes upwards, so that the values below vary as much as they can when those above are tried.
  Cuts choose_cuts(std::uint32_t n, std::uint32_t m) {
    Cuts cuts(both_.nodes.size(), false);
    std::vector<bool> in_source = met(n, cuts), in_form = met(m, cuts);
    for (const bool varying : {false, true}) {
      for (std::uint32_t c = 0; c < n && comparisons_left_ > 0; ++c) {
        if (!may_end(c) || !in_source[c] || !in_form[c] || varies(values_[c]) != varying) continue;
        --comparisons_left_;
        cuts[c] = true;
        cuts[c] = still_equal(cut(n, m, cuts).expr);
        if (cuts[c] && !varying) in_source = met(n, cuts), in_form = met(m, cuts);
      }
    }
    return cuts;
  }

  Result<Verdict> check(std::uint32_t n, std::uint32_t m, const Cuts& cuts, Sets sets, Demand demand = Demand::policy) {
    if (options_.cancelled && options_.cancelled())
      return make_error(ErrorCode::kCancelled, "the equivalence check was cancelled");
    const Pair pair = cut(n, m, cuts);
    const bool same_steps = pair.expr.outputs[0].node == pair.expr.outputs[1].node;
    // A less accurate function is no better for standing in the same place as the source's.
    const bool as_good = sets == Sets::ordinary && demand == Demand::policy;
    if (same_steps && (as_good || how_.accuracy == kir::math::Accuracy::ulp1)) return Verdict{};
    if (pair.expr.variables.size() > limits::kInputsMax)
      return refusal("the form has more parts than the check's limit");
    checks_left_ -= checks_left_ > 0 ? 1 : 0;
    Expr sides[2] = {pair.expr, pair.expr};
    for (const std::size_t k : {0, 1}) sides[k].outputs = {{"part", pair.expr.outputs[k].node}};
    CheckOptions options = options_;
    options.samples.points = kPartPoints;
    options.samples.ordinary = sets == Sets::ordinary;
    options.refined_max = kPartRefinedMax;
    TRY(const auto checker, Checker::make(sides[0], how_.policy, options));
    TRY(const kir::Kernel plain, expr::lower(sides[0], {.policy = how_.policy, .simplify = false}));
    TRY(const Checker::Prepared unrewritten, checker->check_meaning(plain, Demand::own_steps));
    TRY(const kir::Kernel kernel, expr::lower(sides[1], how_));
    TRY(Checker::Prepared prepared, checker->check_meaning(kernel, demand, &unrewritten));
    if (!prepared.meaning.same()) explain(pair, *prepared.meaning.counterexample);
    return std::move(prepared.meaning);
  }

  [[nodiscard]] std::string text_of(std::uint32_t node) const {
    constexpr std::size_t kTextMax = 60;
    Expr part = both_;
    part.outputs = {{"part", NodeId(node)}};
    std::string text = expr::print_infix(part);
    if (text.size() > kTextMax) text.resize(kTextMax), text += "...";
    return text;
  }

  // Adds the meaning of the new variables to the counterexample.
  void explain(const Pair& pair, Counterexample& e) const {
    for (std::size_t p = 0; p < pair.parts.size(); ++p)
      e.why += (p == 0 ? ", in a part where p" : ", p") + std::to_string(p + 1) + " is " + text_of(pair.parts[p]);
  }

  expr::LowerOptions how_;
  CheckOptions options_;
  std::vector<bool> explored_;
  Expr both_;  ///< source and form over one list of nodes, the source's first; outputs of the source
  expr::Builder builder_;
  std::uint32_t source_nodes_ = 0;
  bool narrows_ = false;  ///< one of them casts f64 to f32
  std::vector<NodeId> form_outputs_;
  std::vector<Shape> shapes_;
  std::vector<expr::Fact> facts_;  ///< per node
  std::vector<Values> values_;     ///< per node: correct values at some points
  Cuts freed_;                     ///< masks that both have
  struct Failed {
    std::uint32_t n, m;
    Verdict verdict;
  };
  std::vector<Failed> failed_;
  std::vector<std::uint32_t> alike_;  ///< per node: the node of the source that it is alike, or itself
  int comparisons_left_ = kComparisonsMax, checks_left_ = kChecksMax;
};

Result<Verdict> compare(const Expr& source, const Expr& form, const expr::LowerOptions& how,
                        const CheckOptions& options, std::vector<bool> explored = {}) {
  auto verdict = Parts(source, form, how, options, std::move(explored)).run();
  if (verdict.ok() || verdict.error().code == ErrorCode::kCancelled) return verdict;
  return refusal("its parts cannot be compared: " + verdict.error().message);
}

/// Compares a form that reduces otherwise than its source in calls of two and of three elements: with two alone a sum
/// would be twice a mean. In calls of one, where no terms of a sum cancel, tails are explored too.
Result<Verdict> compare_calls(const Expr& source, const Expr& form, const expr::LowerOptions& how,
                              const CheckOptions& options) {
  const auto shapes = expr::shapes_of(source), form_shapes = expr::shapes_of(form);
  for (std::size_t k = 0; k < source.outputs.size(); ++k)
    if (shapes[source.outputs[k].node.index] != form_shapes[form.outputs[k].node.index])
      return refusal("output " + source.outputs[k].name + " of the form changed between a scalar and an array");
  for (const std::size_t elements : {2, 3, 1}) {
    const auto few = of_elements(source, elements), few_of_form = of_elements(form, elements);
    if (!few || !few_of_form) return refusal("the form has a reduction that the source lacks, over too many arrays");
    const std::vector<bool> explored(source.outputs.size(), elements == 1);
    TRY(Verdict verdict, compare(*few, *few_of_form, how, options, explored));
    if (verdict.same()) continue;
    verdict.counterexample->why += " (in a call of " + std::to_string(elements) + " elements)";
    return verdict;
  }
  return Verdict{};
}

}  // namespace

Result<Verdict> check_parts(const Expr& source, const Expr& form, const expr::LowerOptions& how,
                            const CheckOptions& options) {
  if (how.policy.kind == expr::PolicyKind::exact) return Verdict{};
  if (!expr::has_reductions(source) && !expr::has_reductions(form)) return compare(source, form, how, options);
  const auto apart = take_apart(source, form, options.samples.seed);
  return apart ? compare(apart->source, apart->form, how, options, apart->unexplored)
               : compare_calls(source, form, how, options);
}

}  // namespace trident::equiv
