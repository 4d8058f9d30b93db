// Oracle: laws as a textbook writes them.
#include <gtest/gtest.h>

#include "clients/cli/search/rules_report.h"
#include "runtime/base/nearest.h"

namespace trident::cli {
namespace {

std::string law(const std::string& text) {
  const auto set = expr::rewrite::parse_rules("r: " + text + " ;; ieee=round real=ok", "test.rules");
  return set.ok() ? law_of(set->rules[0]) : set.error().message;
}

TEST(Nearest, IsTheWordWithTheFewestOtherLetters) {
  const std::vector<std::string> words = {"list", "show", "check", "chuck"};
  EXPECT_EQ(nearest(words, "lits", 2), "list");
  EXPECT_EQ(nearest(words, "chek", 2), "check");
  EXPECT_EQ(nearest(words, "chck", 2), "check");  // the first of two
  EXPECT_EQ(nearest(words, "shower", 2), "show");
  EXPECT_EQ(nearest(words, "shower", 1), "");
  EXPECT_EQ(nearest(words, "", 2), "");
}

TEST(Law, IsWrittenAsATextbookDoes) {
  EXPECT_EQ(law("(mul ?a (add ?b ?c)) => (add (mul ?a ?b) (mul ?a ?c))"), "a*(b + c) = a*b + a*c");
  EXPECT_EQ(law("(sub ?a (sub ?b ?c)) => (add (sub ?a ?b) ?c)"), "a - (b - c) = a - b + c");
  EXPECT_EQ(law("(div ?a (mul ?b ?c)) => (div (div ?a ?b) ?c)"), "a/(b*c) = a/b/c");
  EXPECT_EQ(law("(recip (recip ?a)) => ?a if nonzero(?a)"), "1/(1/a) = a, where a is never zero");
  EXPECT_EQ(law("(mul -1 (powi (neg ?a) 3)) => (powi ?a 3)"), "-1*(-a)^3 = a^3");
  EXPECT_EQ(law("(select (lt ?a ?b) ?a ?b) => (min ?a ?b) if notnan(?a), le(?a, ?b)"),
            "a < b ? a : b = min(a, b), where a is never NaN and a is never above b");
  EXPECT_EQ(law("(diff (sin ?a) ?x) => (mul (cos ?a) (diff ?a ?x))"), "diff(sin(a), x) = cos(a)*diff(a, x)");
  EXPECT_EQ(law("(log10 ?a) => (mul 0.1 (log ?a))"), "log10(a) = 0.1*log(a)");
}

}  // namespace
}  // namespace trident::cli
