// Every kernel of the corpora keeps its own running error with one unit an operation: no op of the kernel as written
// errs by more than its unit, so what fails here is a fault of the bound. Ranges are those declared, and none. A slice;
// `make campaign NAME=bound` takes a million points. Oracle: the definition of the bound.
#include <gtest/gtest.h>

#include "jit/equiv/checker.h"
#include "tests/differential/corpus_sources.h"

namespace trident::testing {
namespace {

constexpr std::uint64_t kPoints = 512;
/// Instead of the policy's two ulp: only the bound counts.
constexpr double kSlackUlp = 0.001;

void expect_within_bound(const std::string& name, const expr::Expr& source) {
  const expr::Policy policy{expr::PolicyKind::bounded, 1};
  const auto kernel = expr::lower(source, {.policy = policy, .simplify = false});
  ASSERT_TRUE(kernel.ok()) << name;
  for (const equiv::Samples& samples : equiv::make_samples(source, {.points = kPoints, .seed = 9})) {
    auto reference = equiv::Reference::make(source, samples, {}, policy.k);
    ASSERT_TRUE(reference.ok()) << name;
    const equiv::Outputs ours = equiv::interpret_calls(source, *kernel, samples, samples.calls);
    std::vector<equiv::Errors> errors;
    const auto example = equiv::compare_values(source, samples, *reference, ours, policy, errors,
                                               {.refined_max = 256, .allowance = equiv::Allowance{1, kSlackUlp}});
    equiv::Verdict verdict;
    verdict.counterexample = example;
    verdict.kind = equiv::Verdict::Kind::differs;
    EXPECT_FALSE(example.has_value()) << name << ", " << samples.name << ": " << equiv::print(verdict);
  }
}

expr::Expr without_ranges(expr::Expr source) {
  const expr::Variable open;
  for (expr::Variable& variable : source.variables)
    if (ir::is_float(variable.type)) variable.lo = open.lo, variable.hi = open.hi;
  return source;
}

TEST(CorpusBound, SourcesKeepTheirOwn) {
  each_corpus_source(2, [](const std::string& name, const expr::Expr& source) {
    expect_within_bound(name, source);
    expect_within_bound(name + " without ranges", without_ranges(source));
  });
}

}  // namespace
}  // namespace trident::testing
