#include "jit/ir/text.h"

#include <gtest/gtest.h>

namespace trident::ir {
namespace {

TEST(SourceText, FindsPlacesLikeANaiveWalk) {
  const std::string text = "a\n\nbcd\ne";
  const SourceText source(text);
  std::uint32_t line = 1, column = 1;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    EXPECT_EQ(source.place(i).line, line) << i;
    EXPECT_EQ(source.place(i).column, column) << i;
    column = i < text.size() && text[i] == '\n' ? 1 : column + 1;
    if (i < text.size() && text[i] == '\n') ++line;
  }
  EXPECT_EQ(source.place(100).line, 4u);
  EXPECT_EQ(source.line(0), "a");
  EXPECT_EQ(source.line(1), "a");
  EXPECT_EQ(source.line(2), "");
  EXPECT_EQ(source.line(4), "bcd");
  EXPECT_EQ(source.line(100), "e");
}

TEST(SourceText, ShowsTheCaretUnderTheByte) {
  const SourceText source("x = 1\n\ty = (2\n", "in.txt");
  EXPECT_EQ(source.caret_message(11, "unclosed bracket"), "in.txt:2:6: unclosed bracket\n  \ty = (2\n  \t    ^");
  EXPECT_EQ(source.error(0, "no").code, ErrorCode::kSyntaxError);
}

TEST(SourceText, ShortensLongLinesAndHidesUnprintableBytes) {
  const std::string text = std::string(500, 'a') + "\x1b!" + std::string(500, 'b');
  const std::string message = SourceText(text).caret_message(501, "here");
  EXPECT_LT(message.size(), 300u);
  EXPECT_EQ(message.find('\x1b'), std::string::npos);
  const std::size_t second = message.find('\n') + 1;
  const std::size_t third = message.find('\n', second) + 1;
  EXPECT_EQ(message[second + (message.find('^') - third)], '!');
}

TEST(Dot, QuotesStrings) {
  EXPECT_EQ(dot_quoted("a\"b\\c\nd"), "\"a\\\"b\\\\c\\nd\"");
}

}  // namespace
}  // namespace trident::ir
