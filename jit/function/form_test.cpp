// The one form of texts: comments drawn into texts that are in it. Oracle: the order of comments and tokens as it was.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "jit/function/library.h"
#include "jit/function/tokens.h"

namespace trident::function {
namespace {

constexpr std::string_view kComment = "// c";

/// A text as its tokens and, apart from them, its comments, each with the number of tokens before it.
struct Words {
  std::vector<std::string> tokens;
  std::vector<std::pair<std::string, std::size_t>> comments;
};

Words words_of(const std::string& text) {
  Words words;
  Tokens tokens(text);
  for (Token t = tokens.next(); t.kind != Token::Kind::end; t = tokens.next()) {
    std::string word(tokens.text(t));
    const std::size_t comment = t.kind == Token::Kind::comment ? 0 : word.find(kComment);
    const std::string said = comment == std::string::npos ? "" : word.substr(comment);
    word.erase(std::min(comment, word.size()));
    word.erase(word.find_last_not_of(' ') + 1);
    if (!word.empty()) words.tokens.push_back(word);
    if (!said.empty()) words.comments.emplace_back(said, words.tokens.size());
  }
  return words;
}

/// Ends of tokens behind which a comment may stand.
struct Gap {
  std::size_t offset = 0;
  bool takes_line = false;  ///< the words of a prompt and of a parameter go to the end of the line
};

std::vector<Gap> gaps_of(const std::string& text) {
  std::vector<Gap> gaps;
  Tokens tokens(text);
  for (Token t = tokens.next(); t.kind != Token::Kind::end; t = tokens.next()) {
    const std::string_view word = tokens.text(t);
    gaps.push_back({t.offset + t.size, word.starts_with("@prompt") || word.starts_with("@param")});
  }
  return gaps;
}

/// A comment passes no brace but the first, which ends the head, and no semicolon outside of brackets.
bool stays_in_its_statement(const std::vector<std::string>& tokens, std::size_t from, std::size_t to) {
  const auto [first, last] = std::minmax(from, to);
  const auto head_end = static_cast<std::size_t>(std::find(tokens.begin(), tokens.end(), "{") - tokens.begin());
  for (std::size_t i = first; i < last; ++i) {
    const bool is_array_type = i > 1 && tokens[i] == ";" && tokens[i - 2] == "[";
    const bool is_mark = tokens[i] == "{" || tokens[i] == "}" || tokens[i] == ";";
    if (tokens[i][0] == '@' || (is_mark && i != head_end && !is_array_type)) return false;
  }
  return true;
}

void expect_kept(const std::string& text) {
  const auto parsed = parse(text, "f.fn");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  const std::string formed = print(*parsed);
  const Words before = words_of(text), after = words_of(formed);
  ASSERT_EQ(before.tokens, after.tokens) << text << formed;
  ASSERT_EQ(before.comments.size(), after.comments.size()) << text << formed;
  for (std::size_t i = 0; i < before.comments.size(); ++i) {
    const auto& [said, place] = before.comments[i];
    ASSERT_EQ(said, after.comments[i].first) << text << formed;
    ASSERT_TRUE(stays_in_its_statement(before.tokens, place, after.comments[i].second)) << said << text << formed;
  }
  const auto again = parse(formed, "f.fn");
  ASSERT_TRUE(again.ok()) << formed << again.error().message;
  ASSERT_EQ(print(*again), formed) << text;
}

/// Puts comments behind the tokens that `chosen` says, in reverse so that offsets stay true.
template <class Chosen>
std::string commented(std::string text, const std::vector<Gap>& gaps, const Chosen& chosen) {
  for (std::size_t i = gaps.size(); i-- > 0;) {
    const int kind = chosen(i);  // 0: none, 1: on the line, 2: on a line of its own
    const std::string comment = std::string(kComment) + std::to_string(i) + "\n";
    if (kind != 0) text.insert(gaps[i].offset, (kind == 1 && !gaps[i].takes_line ? " " : "\n") + comment);
  }
  return text;
}

std::vector<std::string> texts() {
  std::vector<std::string> list{R"(@param a in [0, 9]
@test f(1, [2]) = 3 : b = [2]
@test f(2, [2]) = error index
fn f(a: i64, b: inout [i64]) -> i64 {
  let t = [u8; 11];
  for i in 0..len(b) {
    if a > 1 && a < 3 {
      b[i] = a + t[0] * 2;
    } else if a < 0 {
      continue;
    } else if a == 7 {
      break;
    }
  }
  while a > 0 {
    a = a - 1;
    if a == 5 {
      return 1;
    } else {
      if a == 4 {
        a = 4;
      }
      g(b);
    }
  }
  return a == 1 ? 2 : 3;
}
)",
                                "fn none() {\n  while true {\n  }\n  return;\n}\n"};
  for (const Function* f : Library::shipped().list()) list.push_back(f->text);
  return list;
}

TEST(Form, KeepsACommentAtEachPlace) {
  const std::vector<std::string> all = texts();
  constexpr std::size_t kStep = 12;
  for (std::size_t k = 0; k < all.size(); k += k < 2 ? 1 : kStep) {
    const std::vector<Gap> gaps = gaps_of(all[k]);
    for (std::size_t at = 0; at < gaps.size(); ++at)
      for (const int kind : {1, 2})
        ASSERT_NO_FATAL_FAILURE(
            expect_kept(commented(all[k], gaps, [&](std::size_t i) { return i == at ? kind : 0; })));
  }
}

TEST(Form, KeepsManyComments) {
  std::mt19937 random(5);
  for (const std::string& text : texts())
    for (const unsigned one_in : {1u, 2u, 4u, 9u}) {
      const auto drawn = [&](std::size_t) { return random() % one_in == 0 ? 1 + static_cast<int>(random() % 2) : 0; };
      ASSERT_NO_FATAL_FAILURE(expect_kept(commented(text, gaps_of(text), drawn)));
    }
}

TEST(Form, CommentsStandWhereTheyStood) {
  const std::pair<const char*, const char*> rows[] = {
      {"@test f(1) = 2  // the reason\nfn f(a: i64) -> i64 {\n  return 2;\n}\n", nullptr},
      {"fn f(a: i64, // first\nb: i64) {\n  return;\n}\n", "fn f(\n  a: i64,  // first\n  b: i64\n) {\n  return;\n}\n"},
      {"fn f(a: i64) {\n  if a > 1 {\n    a = 2;\n  } // after if\n  else {\n    a = 3;\n  }\n}\n",
       "fn f(a: i64) {\n  if a > 1 {\n    a = 2;\n  }\n  // after if\n  else {\n    a = 3;\n  }\n}\n"},
      {"fn f(a: i64) {\n  while a > 1 {\n    a = 2;\n    // at the end\n  }\n}\n", nullptr},
  };
  for (const auto& [text, formed] : rows) EXPECT_EQ(print(*parse(text, "f.fn")), formed == nullptr ? text : formed);
}

TEST(Form, ExponentsHaveNoZerosInFront) {
  const auto formed = [](const std::string& number) {
    const std::string head = "fn f() -> f64 {\n  return ", end = ";\n}\n";
    const std::string text = print(*parse(head + number + end, "f.fn"));
    return text.substr(head.size(), text.size() - head.size() - end.size());
  };
  for (const char* number : {"1e9", "1e-9", "1e100", "5e-324", "1.5e20", "1.0", "1e10", "0.0"})
    EXPECT_EQ(formed(number), number);
  EXPECT_EQ(formed("1e+09"), "1e9");
}

TEST(Form, KeepsCommentsAndMeaning) {
  const std::string text =
      "// First.\n@prompt a  b \n@test f( 0x10 ,[1;3], \"a\\x00\\n\" )=  error   index : b = [ ]\n"
      "fn f(a:i64,b : inout[i64] , c: [u8]) -> i64{ // head\n// inside\nif a>(1) {b[0]=-1 ;} // why\nelse if (a<0) { "
      "return((2)) ; }\n"
      "else{ while true { break; } }\nreturn -(a) - (1 - 2) - -3; // last\n// end\n} // behind\n// more\n";
  const std::string formed =
      "// First.\n@prompt a  b\n@test f(16, [1, 1, 1], \"a\\0\\n\") = error index : b = []\n"
      "fn f(a: i64, b: inout [i64], c: [u8]) -> i64 {\n  // head\n  // inside\n  if a > 1 {\n    b[0] = -1;\n"
      "  }\n  // why\n  else if a < 0 {\n    return 2;\n  } else {\n    while true {\n      break;\n    }\n"
      "  }\n  return -a - (1 - 2) - -3;  // last\n  // end\n}\n// behind\n// more\n";
  const auto parsed = parse(text, "f.fn");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(print(*parsed), formed);
  const auto again = parse(formed, "f.fn");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(print(*again), formed);
}

}  // namespace
}  // namespace trident::function
