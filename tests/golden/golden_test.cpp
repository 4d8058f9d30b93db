// Runs the stage that each golden file names and compares with the text that the file expects.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "jit/codegen/codegen.h"
#include "jit/kir/kir.h"

namespace trident {
namespace {

constexpr std::string_view kSeparator = "----\n";
constexpr std::string_view kStage = "# stage: ";

std::string run_stage(const std::string& stage, const std::string& source) {
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
