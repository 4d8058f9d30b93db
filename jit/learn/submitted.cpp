#include "jit/learn/submitted.h"

#include <cmath>
#include <set>

#include "jit/expr/rewrite/guides.h"
#include "jit/expr/rewrite/rewrite.h"
#include "runtime/os/atomic_file.h"
#include "runtime/store/sha256.h"

namespace trident::learn {
namespace {

constexpr std::size_t kJournalBytesMax = std::size_t{1} << 30;
constexpr std::uint8_t kHeldOutOneIn = 5;
constexpr std::uint64_t kComposedSeed = std::uint64_t{1} << 40;

void take_line(std::string_view line, std::set<store::Digest>& seen, Submitted& out) {
  auto parsed = expr::parse_sexpr(line);
  if (!parsed.ok() || !expr::check(*parsed).ok()) {
    ++out.passed_over;
    return;
  }
  const store::Digest digest = store::sha256_of(expr::canonical_bytes(*parsed));
  if (!seen.insert(digest).second) return;
  (digest[0] % kHeldOutOneIn == 0 ? out.held_out : out.train).push_back(std::move(*parsed));
}

}  // namespace

Result<Submitted> read_submitted(std::span<const std::string> files) {
  Submitted out;
  std::set<store::Digest> seen;
  for (const std::string& file : files) {
    const auto bytes = os::read_file(file, kJournalBytesMax);
    if (!bytes.ok() && bytes.error().code == ErrorCode::kNotFound) continue;
    if (!bytes.ok()) return bytes.error();
    const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      if (end > at) take_line(text.substr(at, end - at), seen, out);
      at = end + 1;
    }
  }
  return out;
}

double found_ratio(std::span<const expr::Expr> cases, const nn::AccumulatorWeights& weights,
                   std::uint64_t applications) {
  const auto guide = expr::rewrite::AnyGuide::make(expr::rewrite::GuideKind::network, weights);
  return found_ratio(cases, *guide, applications);
}

double found_ratio(std::span<const expr::Expr> cases, egraph::Guide& guide, std::uint64_t applications,
                   const std::function<void(std::size_t done)>& progress) {
  double sum = 0;
  std::size_t judged = 0;
  for (const expr::Expr& source : cases) {
    if (progress) progress(static_cast<std::size_t>(&source - cases.data()));
    expr::rewrite::RewriteOptions how;
    how.policy.kind = expr::PolicyKind::fast;
    how.strategy = egraph::Strategy::guided;
    how.guide = &guide;
    how.keep = 1;
    how.costs = expr::rewrite::default_costs();
    how.budget = {.nodes = 5'000, .nanoseconds = 0, .applications = applications, .graph_nodes = 10'000};
    const auto plain = expr::eliminate_derivatives(source);
    const auto found = expr::rewrite::rewrite(source, how);
    if (!plain.ok() || !found.ok()) continue;
    const auto before = expr::rewrite::cost_of(*plain, how.costs);
    if (!before.ok()) continue;
    double after = before->dag;
    if (!found->forms.empty())
      if (const auto cost = expr::rewrite::cost_of(found->forms.front(), how.costs); cost.ok())
        after = std::min(after, cost->dag);
    sum += std::log((after + kCostOffset) / (before->dag + kCostOffset));
    ++judged;
  }
  return judged == 0 ? 1 : std::exp(sum / static_cast<double>(judged));
}

std::vector<expr::Expr> composed_cases(std::size_t count, const ScrambleOptions& options) {
  std::vector<expr::Expr> cases;
  for (std::uint64_t seed = kComposedSeed; cases.size() < count; ++seed)
    if (auto one = scrambled(seed, options)) cases.push_back(std::move(one->expr));
  return cases;
}

std::vector<expr::Expr> worsened_cases(std::size_t count, std::span<const expr::Expr> expressions,
                                       const ScrambleOptions& options) {
  std::vector<expr::Expr> cases;
  for (std::uint64_t turn = 0; cases.size() < count && !expressions.empty(); ++turn) {
    const expr::Expr& one = expressions[turn % expressions.size()];
    auto worse = worsened(one, kComposedSeed + turn, options);
    cases.push_back(worse ? std::move(worse->expr) : one);
  }
  return cases;
}

}  // namespace trident::learn
