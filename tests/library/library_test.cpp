// The library of functions: each text in its one form, its own tests, and drawn inputs against plain C++ (oracle.cpp).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>

#include "jit/function/call.h"
#include "jit/pipeline/function.h"
#include "runtime/os/cpu.h"
#include "tests/library/drawing.h"
#include "tests/library/oracle.h"

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

/// A function in a tier: by the interpreter where it has no machine code.
struct Tier {
  std::string name = "interpreted";
  function::Lowered lowered{};
  std::optional<image::Mapped> code{};

  [[nodiscard]] function::Entry entry() const { return code ? code->region_entry() : nullptr; }
  [[nodiscard]] Result<function::Returned> call(const Function& f, const std::vector<Argument>& arguments) const {
    constexpr std::uint64_t kBudget = 10'000'000;
    return code ? function::call(f, lowered, entry(), arguments, kBudget)
                : function::call(f, lowered, arguments, kBudget);
  }
};

Result<Tier> native(const Function& f, const char* name, std::optional<codegen::Isa> bulk) {
  TRY(pipeline::CompiledFunction made, pipeline::compile_function(f, Library::shipped(), {.bulk = bulk}));
  TRY(const os::Fd fd, image::seal(made.image));
  TRY(image::Mapped mapped, image::Mapped::map(fd));
  return Tier{name, std::move(made.lowered), std::move(mapped)};
}

/// The interpreter, and where it can run machine code that has passed its trials.
std::vector<Tier> tiers(const Function& f) {
  auto lowered = function::lower(f, Library::shipped());
  EXPECT_TRUE(lowered.ok()) << lowered.error().message;
  std::vector<Tier> list;
  list.push_back({.lowered = std::move(*lowered)});
  if (!os::cpu_features().bmi2) return list;
  const auto add = [&](const char* name, std::optional<codegen::Isa> bulk) {
    auto code = native(f, name, bulk);
    EXPECT_TRUE(code.ok()) << f.name << " " << name << ": " << code.error().message;
    if (code.ok()) list.push_back(std::move(*code));
  };
  add("native", {});
  add("bulk, AVX2", codegen::Isa::avx2);
  if (os::cpu_features().avx512) add("bulk, AVX-512", codegen::Isa::avx512);
  return list;
}

void expect_equal(const Function& f, const Tier& tier, const Oracle& oracle, Random& random,
                  std::optional<std::size_t> length = {}) {
  const Arguments arguments = draw(f, oracle, random, length);
  const auto got = tier.call(f, arguments);
  ASSERT_TRUE(got.ok()) << print(f, arguments) << got.error().message;
  std::vector<Argument> expected = arguments;
  const auto wanted = oracle.call(expected);
  ASSERT_EQ(got->fault.has_value(), !wanted) << print(f, arguments) << (got->fault ? print(*got->fault) : "");
  if (!wanted) return;
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
    for (const Tier& tier : tiers(*f)) {
      SCOPED_TRACE(tier.name);
      Random random(7);
      for (std::size_t i = 0; i < draws() && !::testing::Test::HasFailure(); ++i)
        expect_equal(*f, tier, oracle, random);
      for (const std::size_t length : lengths_near_groups())
        if (!::testing::Test::HasFailure()) expect_equal(*f, tier, oracle, random, length);
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
