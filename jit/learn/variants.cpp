#include "jit/learn/variants.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "jit/egraph/neighbours.h"
#include "jit/expr/compact.h"
#include "jit/expr/rewrite/rewrite.h"
#include "jit/expr/simplify.h"
#include "jit/learn/reassociate.h"
#include "jit/pipeline/forms.h"
#include "runtime/os/cpu.h"

namespace trident::learn {
namespace {

using egraph::Strategy;
using expr::Expr;

/// Limits instructions: longer kernels take more time to compile than all others of a family together.
constexpr std::size_t kInstsMax = 8'000;
constexpr std::size_t kTriesPerKernel = 4;
constexpr std::uint64_t kVariantMatchSteps = 20'000;
/// Limits random steps, which copy the whole term for each match.
constexpr std::size_t kWalkedNodesMax = 160;

const expr::LowerOptions kLowered{.policy = {}, .simplify = false, .accuracy = kir::math::Accuracy::ulp4};

/// Costs bent by up to a factor of four either way per op: a search by them ends in another form of its graph.
struct BentCosts {
  egraph::CostModel straight;
  std::uint64_t seed = 0;
  static double of(const void* self, const egraph::ENode& node, std::uint8_t stage) {
    const auto& bent = *static_cast<const BentCosts*>(self);
    std::uint64_t x = bent.seed + (std::uint64_t{node.op} << 8 | node.sort);
    x = (x ^ x >> 30) * 0xBF58'476D'1CE4'E5B9u;
    x = (x ^ x >> 27) * 0x94D0'49BB'1331'11EBu;
    return bent.straight.of(node, stage) * std::exp2(static_cast<double>(x >> 11) * 0x1p-51 - 2);
  }
  [[nodiscard]] egraph::CostModel model() const { return {this, &of, straight.stage}; }
};

class Family {
 public:
  Family(const Expr& source, const VariantOptions& options)
      : source_(source), options_(options), random_(options.seed * 0x9E37'79B9'7F4A'7C15u + 3) {
    static const std::string kCpu = os::cpu_model();
    straight_ = expr::rewrite::default_op_costs(codegen::name_of(options.isa), kCpu).model();
  }

  Result<std::vector<KernelVariant>> make() {
    for (const expr::Variable& v : source_.variables)
      if (v.is_table()) return make_error(ErrorCode::kUnsupported, "the kernel reads tables");
    const std::string text = expr::print_infix(source_);
    TRY(kir::Kernel kernel, kernel_of(text));
    if (kernel.insts.size() > kInstsMax)
      return make_error(ErrorCode::kUnsupported, "the kernel is too long to be compiled often");
    variants_.push_back({text, "source", std::move(kernel)});
    TRY_VOID(best());
    // Makers in turn, from another first one in every family, until there are enough.
    constexpr std::array kMakers = {&Family::wandering, &Family::reordered, &Family::bent,   &Family::hostile,
                                    &Family::plain,     &Family::walked,    &Family::random, &Family::guided};
    const std::size_t first = random_() % kMakers.size();
    for (std::size_t tries = 0; !full() && tries < kTriesPerKernel * kMakers.size(); ++tries)
      (this->*kMakers[(first + tries) % kMakers.size()])();
    return std::move(variants_);
  }

 private:
  [[nodiscard]] bool full() const { return variants_.size() >= options_.wanted; }

  /// Adds an expression if it is new, can be lowered, and has the source's outputs.
  void add(const Expr& expr, const char* how) {
    if (full() || !expr::check(expr).ok()) return;
    std::string text = expr::print_infix(expr);
    auto kernel = kernel_of(text);
    if (!kernel.ok() || kernel->insts.size() > kInstsMax) return;
    const auto same_kind = [](const kir::Output& a, const kir::Output& b) { return a.kind == b.kind; };
    const std::vector<kir::Output>& outputs = variants_[0].kernel.outputs;
    if (!std::equal(outputs.begin(), outputs.end(), kernel->outputs.begin(), kernel->outputs.end(), same_kind)) return;
    for (const KernelVariant& v : variants_)
      if (pipeline::same_kernel(v.kernel, *kernel)) return;
    variants_.push_back({std::move(text), how, *std::move(kernel)});
  }
  /// Adds a form as the pipeline lowers a search's result: simplified; now and then unchanged.
  void add_found(const Expr& expr, const char* how) { add(random_() % 4 == 0 ? expr : simplified(expr), how); }

  static Expr simplified(const Expr& expr) {
    expr::LowerOptions how = kLowered;
    how.simplify = true;
    return expr::simplify(expr, how);
  }

  Result<std::vector<Expr>> search(Strategy strategy, std::uint32_t nodes, std::size_t keep,
                                   const egraph::CostModel& costs) {
    expr::rewrite::RewriteOptions how;
    how.policy.kind = strategy == Strategy::best_first ? expr::PolicyKind::bounded : expr::PolicyKind::fast;
    how.strategy = strategy;
    how.guide = strategy == Strategy::guided ? options_.guide : nullptr;
    how.costs = costs;
    how.seed = random_();
    how.keep = keep;
    how.records = random_() % 2 == 0;
    nodes += static_cast<std::uint32_t>(source_.nodes.size()) * 2;
    how.budget = {.nodes = nodes, .nanoseconds = 0, .applications = 4 * std::uint64_t{nodes}, .graph_nodes = 2 * nodes};
    TRY(expr::rewrite::Rewritten found, expr::rewrite::rewrite(source_, how));
    return std::move(found.forms);
  }
  void search_and_add(Strategy strategy, std::uint32_t nodes, const egraph::CostModel& costs, const char* how) {
    const auto found = search(strategy, nodes, 3, costs);
    if (!found.ok()) return;
    for (const Expr& form : *found) add_found(form, how);
  }

  Result<void> best() {
    TRY(const std::vector<Expr> found, search(Strategy::best_first, 800, 4, straight_));
    best_ = found.empty() ? simplified(source_) : simplified(found[0]);
    add(best_, "best");
    for (std::size_t i = 1; i < found.size(); ++i)
      if (random_() % 2 == 0) add_found(found[i], "good");
    return {};
  }

  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  // --- makers ---

  void wandering() { search_and_add(Strategy::random, 40 + below(300), straight_, "random"); }
  void random() { search_and_add(Strategy::random, 20 + below(60), straight_, "random"); }
  void hostile() { search_and_add(Strategy::hostile, 20 + below(200), straight_, "hostile"); }
  void guided() {
    if (options_.guide != nullptr) search_and_add(Strategy::guided, 20 + below(200), straight_, "guided");
  }
  void bent() {
    const BentCosts costs{straight_, random_()};
    search_and_add(random_() % 2 == 0 ? Strategy::random : Strategy::pulse, 60 + below(300), costs.model(), "bent");
  }
  void reordered() {
    constexpr std::array kShapes = {SumShape::chain, SumShape::tree, SumShape::random};
    Expr again = reassociated(any(), kShapes[random_() % kShapes.size()], random_());
    add(random_() % 2 == 0 ? expr::contract(again) : again, "reordered");
  }
  void plain() {
    switch (random_() % 4) {
      case 0: return add(expr::contract(source_), "contracted");
      case 1: return add(without_fma(any()), "no fma");
      case 2: return add(simplified(source_), "simplified");
      default: return add(without_fma(best_), "no fma");
    }
  }
  /// Applies random rewrites to the source, or to a result: mostly for the worse.
  void walked() {
    auto term = expr::rewrite::to_term(any());
    if (!term.ok() || term->nodes.size() > kWalkedNodesMax) return;
    expr::rewrite::RewriteOptions how;
    how.policy.kind = expr::PolicyKind::fast;
    const expr::rewrite::Rules rules(source_, how);
    const std::size_t nodes_max = 2 * term->nodes.size() + 20;
    egraph::Term at = *std::move(term);
    for (std::uint64_t steps = 1 + random_() % 6; steps > 0; --steps) {
      std::vector<egraph::Term> next = egraph::neighbours(rules.space(), at, kVariantMatchSteps);
      std::erase_if(next, [&](const egraph::Term& t) { return t.nodes.size() > nodes_max; });
      if (next.empty()) break;
      at = std::move(next[random_() % next.size()]);
    }
    Expr expr = expr::rewrite::to_expr(at, source_);
    expr::drop_unused(expr);
    add(expr, "walked");
  }

  /// Returns the source, the best, or any variant.
  Expr any() {
    switch (random_() % 3) {
      case 0: return source_;
      case 1: return best_;
      default: {
        auto parsed = expr::parse(variants_[random_() % variants_.size()].text);
        return parsed.ok() ? *std::move(parsed) : source_;
      }
    }
  }

  const Expr& source_;
  const VariantOptions& options_;
  std::mt19937_64 random_;
  egraph::CostModel straight_;
  Expr best_;
  std::vector<KernelVariant> variants_;
};

}  // namespace

Result<kir::Kernel> kernel_of(const std::string& text) {
  TRY(const Expr expr, expr::parse(text));
  return expr::lower(expr, kLowered);
}

Result<std::vector<KernelVariant>> variants_of(const Expr& source, const VariantOptions& options) {
  return Family(source, options).make();
}

}  // namespace trident::learn
