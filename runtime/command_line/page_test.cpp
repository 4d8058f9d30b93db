#include "runtime/command_line/page.h"

#include <gtest/gtest.h>

#include "runtime/command_line/roff.h"

namespace trident::command_line {
namespace {

TEST(Page, HasItsSectionsInOrder) {
  const Page page = parse_page("SUMMARY\nOne line.\n\nAnother.\n\nEXIT STATUS\n\n0 :: success\n");
  ASSERT_EQ(page.sections.size(), 2u);
  EXPECT_EQ(page.text_of("SUMMARY"), "One line.\n\nAnother.");
  EXPECT_EQ(page.text_of("EXIT STATUS"), "0 :: success");
  EXPECT_EQ(page.text_of("FILES"), "");
}

TEST(Page, WordsOfATextAreNoTitle) {
  EXPECT_EQ(parse_page("SUMMARY\n  TEXT\nOF 2 lines\n").text_of("SUMMARY"), "  TEXT\nOF 2 lines");
}

TEST(Roff, LiteralTextHasNoCommands) {
  EXPECT_EQ(roff_line(".x 'a' -n ^2 \\ ~ `"), "\\&.x \\(aqa\\(aq \\-n \\(ha2 \\e \\(ti \\(ga");
}

TEST(Roff, CodeIsBold) {
  EXPECT_EQ(roff_prose("see `trident run`, then"), "see \\fBtrident run\\fR, then");
  EXPECT_EQ(roff_prose("`open"), "\\fBopen\\fR");
}

TEST(Roff, SectionsHaveParagraphsBlocksAndDefinitions) {
  EXPECT_EQ(
      roff_section("A.\nB.\n\nC:\n  x\n    y\nF :: file\n  of it\nD"),
      ".PP\nA.\nB.\n.PP\nC:\n.PP\n.RS 4\n.nf\nx\n  y\n.fi\n.RE\n.TP\n.B F\nfile\n.PP\n.RS 4\n.nf\nof it\n.fi\n.RE\n"
      ".PP\nD\n");
}

}  // namespace
}  // namespace trident::command_line
