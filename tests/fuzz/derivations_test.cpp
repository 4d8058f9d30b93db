// Derivations of what searches find in the campaign's random expressions, by every strategy and policy, replay: in a
// graph of their own that knows nothing but the steps, the conditions of every rule hold when its turn comes. The
// oracle is that replay, whose own refusals jit/egraph tests. TRIDENT_DERIVATIONS says how many cases.
//
// Replays may fail where numbers cannot tell: both sides of what a tactic says, or two foldings of one constant, at
// 1e16 and more (8 of 10,000 cases).
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/fuzz/search_case.h"

namespace trident::fuzz {
namespace {

TEST(Derivations, OfRandomExpressionsReplay) {
  const char* const wish = std::getenv("TRIDENT_DERIVATIONS");
  const std::uint64_t cases = wish != nullptr ? std::strtoull(wish, nullptr, 10) : 400;
  std::uint64_t steps = 0, faults = 0;
  for (std::uint64_t seed = 1; seed <= cases; ++seed) {
    const SearchCase c = make_search_case(seed, 64);
    const auto found = search_of(c, c.expr, true);
    if (!found.ok()) continue;  // integers, tables: no search takes these
    steps += found->derivation.size();
    if (!found->replay_fault) continue;
    ++faults;
    EXPECT_EQ(found->replay_fault->find("does not hold"), std::string::npos) << *found->replay_fault << "\n"
                                                                             << print(c);
  }
  EXPECT_LE(faults, cases / 200);
  EXPECT_GT(steps, cases) << "most searches find something";
}

}  // namespace
}  // namespace trident::fuzz
