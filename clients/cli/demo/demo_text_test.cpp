// Lines of the live table as they were meant to look, and what has to hold at every width.
#include "clients/cli/demo/demo_text.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "clients/c/trident.h"
#include "schemas/stages.h"

namespace trident::cli {
namespace {

DemoKernel judged() {
  DemoKernel k;
  k.name = "f01_doppler1";
  k.tiers[0].call_ns = 4096 * 0.416;
  k.tiers[1].call_ns = 4096 * 0.131;
  k.tiers[1].first_ns = 7'430'000;
  k.tiers[1].bound_share = 0.25;
  k.tiers[2].call_ns = 4096 * 0.104;
  k.tiers[2].first_ns = 19'300'000'000;
  k.tier = 1;
  k.stage = "judge 13/40, best 0.79 of the baseline's time";
  return k;
}

std::set<std::string> words(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

TEST(DemoText, TheWholeTable) {
  EXPECT_EQ(demo_heading(0),
            "kernel             interpreter  baseline optimised speed-up baseline at optimised at     error  now");
  EXPECT_EQ(demo_row(judged(), 4096, 0),
            "f01_doppler1             0.416     0.131     0.104     4.0x     7.43 ms       19.3 s       25%  "
            "baseline, judge 13/40, best 0.79 of the baseline's time");
  DemoKernel unseen;
  unseen.name = "unseen";
  EXPECT_EQ(demo_row(unseen, 4096, 0),
            "unseen                       -         -         -        -           -            -         -  "
            "interpreter ...");
}

TEST(DemoText, EightyColumns) {
  EXPECT_EQ(demo_heading(79), "kernel             interpreter  baseline optimised speed-up  now");
  EXPECT_EQ(demo_row(judged(), 4096, 79),
            "f01_doppler1             0.416     0.131     0.104     4.0x  baseline, judge");
}

TEST(DemoText, NoWidthCutsANumberOrMovesAColumn) {
  const std::string heading = demo_heading(0), row = demo_row(judged(), 4096, 0);
  const std::set<std::string> whole = words(row);
  for (std::size_t columns = 20; columns < 170; ++columns) {
    const std::string narrow = demo_row(judged(), 4096, columns), over = demo_heading(columns);
    EXPECT_LE(narrow.size(), columns);
    EXPECT_LE(over.size(), columns);
    for (std::string word : words(narrow))
      EXPECT_TRUE(whole.contains(word) || whole.contains(word + ",")) << columns << ": " << word;
    EXPECT_EQ(words(narrow).contains("25%"), words(over).contains("error")) << columns;
    EXPECT_EQ(words(narrow).contains("19.3"), over.find("optimised at") != std::string::npos) << columns;
  }
  EXPECT_EQ(demo_heading(170), heading);
  EXPECT_EQ(demo_row(judged(), 4096, 170), row);
}

TEST(DemoText, FiguresOfAKernelAndOfAPass) {
  DemoPass pass;
  pass.right_without_daemon = true;
  pass.kernels.resize(3);
  pass.kernels[0].tiers[0].call_ns = 80, pass.kernels[0].tiers[2].call_ns = 10;
  pass.kernels[1].tiers[0].call_ns = 40, pass.kernels[1].tiers[1].call_ns = 20;
  EXPECT_DOUBLE_EQ(pass.kernels[0].speedup(), 8);
  EXPECT_DOUBLE_EQ(pass.kernels[1].speedup(), 2);
  EXPECT_EQ(pass.kernels[2].speedup(), 0);
  EXPECT_DOUBLE_EQ(pass.geomean_speedup(), 4);
  EXPECT_FALSE(pass.failed());
  pass.kernels[2].failure = "wrong";
  EXPECT_TRUE(pass.failed());
  pass.kernels[2].failure.clear(), pass.right_without_daemon = false;
  EXPECT_TRUE(pass.failed());
}

TEST(DemoText, NoAnswerInTimeIsNoWrongAnswer) {
  DemoPass pass;
  pass.right_without_daemon = true;
  pass.kernels = {judged(), judged()};
  pass.kernels[0].done = true;
  pass.kernels[1].late = true;
  EXPECT_EQ(pass.late(), 1u);
  EXPECT_FALSE(pass.failed());
  EXPECT_EQ(state_text(pass.kernels[1]), "baseline, NOT DONE IN TIME");
  EXPECT_EQ(
      demo_summary(pass, 70),
      "f32: 4.0x faster than the interpreter (geomean), every answer right; after kill -9 of the daemon all kernels "
      "still answer right; NOT DONE IN TIME: 1 of 2 kernels after 70 ms (--timeout-ms)");
  pass.kernels[0].failure = "[3] is 1, expected 2";
  EXPECT_EQ(demo_summary(pass, 70).find("every answer right"), std::string::npos);
  EXPECT_NE(demo_summary(pass, 70).find("WRONG ANSWERS OR ERRORS"), std::string::npos);
  pass.kernels[0].failure.clear(), pass.kernels[1].late = false;
  EXPECT_EQ(demo_summary(pass, 70).find("NOT DONE"), std::string::npos);
}

// Oracle: the names of trident.h.
TEST(StageNames, AreThoseOfTheClientsHeader) {
  EXPECT_EQ(name_of_info_stage(TRIDENT_STAGE_JUDGE), "judge");
  EXPECT_EQ(name_of_info_stage(TRIDENT_STAGE_LOWER), "lower");
  EXPECT_EQ(name_of_info_stage(TRIDENT_STAGE_NONE), "");
  EXPECT_EQ(name_of_info_stage(TRIDENT_STAGE_JUDGE + 1), "");
  EXPECT_EQ(name_of_info_stage(UINT32_MAX), "");
}

}  // namespace
}  // namespace trident::cli
