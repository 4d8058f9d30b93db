// Runs the stage that each golden file names and compares with the text that the file expects.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "jit/codegen/codegen.h"
#include "jit/expr/expr.h"
#include "jit/expr/rewrite/rules.h"
#include "jit/expr/simplify.h"
#include "jit/kir/kir.h"
#include "tests/golden/rule_application.h"

namespace trident {
namespace {

constexpr std::string_view kSeparator = "----\n";
constexpr std::string_view kStage = "# stage: ";

// Stages of expressions: "expr <stage> [f32|f64] [exact|bounded|fast]". The text starts after the line that names it.
std::string run_expr_stage(std::istringstream words, const std::string& source) {
  std::string stage;
  words >> stage;
  expr::ParseOptions parse{.type = ir::Type::f64, .variables = {}, .file = "golden"};
  expr::LowerOptions options;
  for (std::string word; words >> word;) {
    if (word == "f32") parse.type = ir::Type::f32;
    if (word == "exact") options.policy.kind = expr::PolicyKind::exact;
    if (word == "fast") options.policy.kind = expr::PolicyKind::fast;
  }
  const std::string text = source.substr(source.find('\n') + 1);
  const auto parsed = expr::parse(text, parse);
  if (!parsed.ok()) return parsed.error().message + "\n";
  if (const auto sound = expr::check(*parsed); !sound.ok()) return sound.error().message + "\n";
  if (stage == "print") return expr::print_infix(*parsed) + "\n";
  if (stage == "sexpr") return expr::print_sexpr(*parsed) + "\n";
  if (stage == "dot") return expr::print_dot(*parsed);
  if (stage == "lower") {
    options.simplify = false;
    const auto kernel = expr::lower(*parsed, options);
    return kernel.ok() ? kir::print(*kernel) : kernel.error().message + "\n";
  }
  const auto plain = expr::eliminate_derivatives(*parsed);
  if (!plain.ok()) return plain.error().message + "\n";
  if (stage == "diff") return expr::print_infix(*plain) + "\n";
  if (stage == "simplify") return expr::print_infix(expr::simplify(*plain, options)) + "\n";
  return "unknown stage\n";
}

std::string run_stage(const std::string& stage, const std::string& source) {
  if (stage.starts_with("expr ")) return run_expr_stage(std::istringstream(stage.substr(5)), source);
  if (stage.starts_with("rules ")) return testing::applications_of(stage.substr(6));
  const auto kernel = kir::parse(source);
  if (!kernel.ok()) return kernel.error().message + "\n";
  if (stage == "print") return kir::print(*kernel);
  if (stage == "dot") return kir::print_dot(*kernel);
  if (stage.starts_with("neon ")) {
    const auto vectors = static_cast<std::uint8_t>(std::stoi(stage.substr(5)));
    const auto code = codegen::emit(*kernel, codegen::Isa::neon, {.vectors = vectors, .schedule = false});
    if (!code.ok()) return code.error().message + "\n";
    const auto listing = codegen::disassemble(*code, codegen::Isa::neon);
    return listing.ok() ? *listing : listing.error().message + "\n";
  }
  return "unknown stage\n";
}

std::vector<std::filesystem::path> golden_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("tests/golden"))
    if (entry.path().extension() == ".golden") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

TEST(RuleApplications, EveryThemeHasItsFile) {
  std::set<std::string> themes, files;
  for (const auto& tags : expr::rewrite::builtin_rules().tags) themes.insert(tags.theme);
  for (const auto& entry : std::filesystem::directory_iterator("tests/golden/rules"))
    files.insert(entry.path().stem().string());
  EXPECT_EQ(files, themes);
}

TEST(RuleApplications, EveryRuleAppliesToItsOwnLeftSide) {
  std::set<std::string> folded;
  for (const egraph::Rule& rule : expr::rewrite::builtin_rules().rules) {
    const auto made = testing::apply_once(rule, true);
    EXPECT_TRUE(made) << rule.name;
    if (made && made->folded) folded.insert(rule.name);
    EXPECT_FALSE(made && made->contradicts) << rule.name << ": " << made->after;
  }
  EXPECT_EQ(folded, (std::set<std::string>{"exp-zero", "log-one"}));
}

// No condition on values holds for a variable that may be anything.
TEST(RuleApplications, ConditionsAreAskedFor) {
  for (const egraph::Rule& rule : expr::rewrite::builtin_rules().rules) {
    const bool on_values = std::ranges::any_of(rule.conditions, [&](const egraph::Condition& c) {
      if (c.kind == egraph::ConditionKind::of_b32) return rule.conditions.size() == 1;  // others have it from select
      return c.kind != egraph::ConditionKind::symbolic && c.kind != egraph::ConditionKind::independent &&
             c.kind != egraph::ConditionKind::of_f64;  // which variables are that say nothing
    });
    EXPECT_EQ(testing::apply_once(rule, false).has_value(), !on_values) << rule.name;
  }
}

class Golden : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(Golden, GivesTheReviewedText) {
  std::ostringstream whole;
  whole << std::ifstream(GetParam()).rdbuf();
  const std::string text = whole.str();
  const std::size_t cut = text.find(kSeparator);
  ASSERT_TRUE(text.starts_with(kStage)) << "the first line names no stage";
  ASSERT_NE(cut, std::string::npos) << "no line ----";
  const std::string source = text.substr(0, cut);
  const std::string stage = source.substr(kStage.size(), source.find('\n') - kStage.size());
  const std::string actual = run_stage(stage, source);
  if (std::getenv("TRIDENT_BLESS") != nullptr)
    std::ofstream(GetParam()) << source << kSeparator << actual;
  else
    EXPECT_EQ(actual, text.substr(cut + kSeparator.size()));
}

INSTANTIATE_TEST_SUITE_P(Files, Golden, ::testing::ValuesIn(golden_files()), [](const auto& p) {
  std::string name = p.param.parent_path().stem().string() + "_" + p.param.stem().string();
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace trident
