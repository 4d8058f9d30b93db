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

TEST(SourceText, ShowsCharactersAsTheyAreWithTheCaretBelow) {
  const auto shown = [](std::string_view text, std::size_t offset) {
    const std::string message = SourceText(text).caret_message(offset, "m");
    return message.substr(message.find('\n') + 1);
  };
  EXPECT_EQ(shown("\xC3\xA9 + sin(x", 10), "  \xC3\xA9 + sin(x\n           ^");
  EXPECT_EQ(shown("a\xCF\x80!", 1), "  a\xCF\x80!\n   ^");
  EXPECT_EQ(shown("a\xCF\x80!", 3), "  a\xCF\x80!\n    ^");
  EXPECT_EQ(shown("\xE6\xBC\xA2!", 3), "  \xE6\xBC\xA2!\n    ^");  // two columns
  EXPECT_EQ(shown("e\xCC\x81!", 3), "  e\xCC\x81!\n   ^");         // an accent of its own
  EXPECT_EQ(shown("\xFF\xC3\x1b\xC2\x9B\xE2\x80\xAE!", 8), "  " + std::string(5, '?') + "!\n       ^");
  EXPECT_EQ(shown("x\xC3", 2), "  x?\n    ^");
  std::string greek;
  for (int i = 0; i < 300; ++i) greek += "\xCF\x80";
  for (const std::size_t offset : {0, 120, 122, 300, 598, 600}) {
    const std::string text = shown(greek, offset);
    EXPECT_EQ(utf8_bytes(text), text.size());
    EXPECT_EQ(text.find('?'), std::string::npos) << text;
  }
}

TEST(Utf8, CountsTheBytesThatAreWellFormed) {
  // RFC 3629 and the Unicode Standard's table 3-7, ends of every row.
  for (const char* good :
       {"", "abc", "\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80", "\xEF\xBF\xBF",
        "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF", "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z"})
    EXPECT_EQ(utf8_bytes(good), std::string_view(good).size()) << good;
  for (const char* bad :
       {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xC2", "\xC2\x41", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xE2\x82",
        "\xE2\x82\xC0", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xF0\x9F\x98", "\xFF"}) {
    EXPECT_EQ(utf8_bytes(bad), 0u);
    EXPECT_EQ(utf8_bytes(std::string("a\xC3\xA9") + bad), 3u);
  }
}

TEST(Dot, QuotesStrings) {
  EXPECT_EQ(dot_quoted("a\"b\\c\nd"), "\"a\\\"b\\\\c\\nd\"");
}

}  // namespace
}  // namespace trident::ir
