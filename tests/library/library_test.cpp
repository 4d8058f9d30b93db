// The library of functions: each text in its one form, its own tests, and drawn inputs against plain C++ (oracle.cpp).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>

#include "jit/function/call.h"
#include "tests/library/drawing.h"
#include "tests/library/oracle.h"
#include "tests/library/tiers.h"

namespace trident::test {
namespace {

using function::Argument;
using function::Function;
using function::Library;
using function::Parameter;

std::size_t draws() {
  const char* const text = std::getenv("TRIDENT_LIBRARY_DRAWS");
  return text != nullptr ? std::strtoul(text, nullptr, 10) : 300;
}

std::string print(const Function& f, const std::vector<Argument>& arguments) {
  std::string text = f.name + "(";
  for (const Argument& a : arguments) text += function::print(a) + ", ";
  return text + ")";
}

/// Compares a call that failed: its failure with the oracle's; the line and the arrays, which were perhaps written in
/// part, with the interpreter's.
void expect_same_failure(const Function& f, const function::Returned& got, const Tier& interpreter,
                         const Oracle& oracle, const Arguments& arguments) {
  EXPECT_EQ(got.fault->failure, oracle.failure) << print(f, arguments) << print(*got.fault);
  const auto wanted = interpreter.call(f, arguments);
  ASSERT_TRUE(wanted.ok() && wanted->fault) << print(f, arguments);
  EXPECT_EQ(print(*got.fault), print(*wanted->fault)) << print(f, arguments);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool is_read = f.parameters[i].passing == function::Passing::in;
    EXPECT_EQ(got.arguments[i].elements, (is_read ? arguments : wanted->arguments)[i].elements)
        << print(f, arguments) << " argument " << i << " after the failure";
  }
}

void expect_equal(const Function& f, const Tier& tier, const Tier& interpreter, const Oracle& oracle, Random& random,
                  std::optional<std::size_t> length = {}) {
  const Arguments arguments = draw(f, oracle, random, length);
  const auto got = tier.call(f, arguments);
  ASSERT_TRUE(got.ok()) << print(f, arguments) << got.error().message;
  std::vector<Argument> expected = arguments;
  const auto wanted = oracle.call(expected);
  ASSERT_EQ(got->fault.has_value(), !wanted) << print(f, arguments) << (got->fault ? print(*got->fault) : "");
  if (!wanted) return expect_same_failure(f, *got, interpreter, oracle, arguments);
  const std::int64_t result = f.result == function::Type::none ? 0 : *wanted;
  EXPECT_TRUE(function::is_same(f.result, got->result, result))
      << print(f, arguments) << got->result << " is not " << result;
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(got->arguments[i].elements, expected[i].elements) << print(f, arguments) << " argument " << i;
}

/// One less than, as many as, and one more than fill groups of 16, 32 and 64 elements.
std::vector<std::size_t> lengths_near_groups() {
  constexpr std::size_t kGroup = 16, kMost = 256;
  std::vector<std::size_t> lengths;
  for (std::size_t whole = kGroup; whole <= kMost; whole += kGroup)
    for (const std::size_t length : {whole - 1, whole, whole + 1}) lengths.push_back(length);
  return lengths;
}

TEST(Library, EachFunctionDoesWhatItsOracleDoes) {
  for (const Oracle& oracle : oracles()) {
    const Function* const f = Library::shipped().find(oracle.name);
    ASSERT_NE(f, nullptr) << oracle.name;
    const std::vector<Tier> list = tiers(*f);
    for (const Tier& tier : list) {
      SCOPED_TRACE(tier.name);
      Random random(7);
      for (std::size_t i = 0; i < draws() && !::testing::Test::HasFailure(); ++i)
        expect_equal(*f, tier, list[0], oracle, random);
      for (const std::size_t length : lengths_near_groups())
        if (!::testing::Test::HasFailure()) expect_equal(*f, tier, list[0], oracle, random, length);
    }
  }
}

TEST(Library, EachFunctionHasAnOracleAndTestsThatHold) {
  std::set<std::string, std::less<>> known;
  for (const Oracle& oracle : oracles()) known.emplace(oracle.name);
  for (const Function* f : Library::shipped().list()) {
    EXPECT_TRUE(known.contains(f->name)) << f->name;
    EXPECT_GE(f->tests.size(), 5u) << f->name;
    EXPECT_GE(f->prompts.size(), 2u) << f->name;
    const bool told =
        std::all_of(f->parameters.begin(), f->parameters.end(), [](const Parameter& p) { return !p.meaning.empty(); });
    EXPECT_TRUE(told) << f->name << " has a parameter that no @param tells of";
    for (const Tier& tier : tiers(*f)) {
      const auto misses = function::run_tests(*f, tier.lowered, tier.entry());
      ASSERT_TRUE(misses.ok());
      for (const auto& miss : *misses)
        ADD_FAILURE() << f->name << " " << tier.name << " test " << miss.test << ": " << miss.why;
    }
  }
}

TEST(Library, EachTextIsInItsOneForm) {
  for (const Function* f : Library::shipped().list()) EXPECT_EQ(function::print(*f), f->text) << f->file;
}

}  // namespace
}  // namespace trident::test
