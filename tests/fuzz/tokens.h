// Mutation of text that knows what a text is made of: words, numbers, operators and bracketed groups, taken from the
// seeds. Most byte mutations of a text give a syntax error in its first line; these give a share of texts that parse,
// check and run, so that the stages behind the parser see something too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trident::fuzz {

struct Random {
  std::uint64_t state;
  std::uint64_t next() {  // splitmix64
    std::uint64_t z = (state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  std::size_t below(std::size_t bound) { return bound == 0 ? 0 : static_cast<std::size_t>(next() % bound); }
};

enum class TokenKind : std::uint8_t { word, number, open, close, sign };

/// A token with the space that follows it.
struct Token {
  std::string text;
  TokenKind kind = TokenKind::sign;
};
using Tokens = std::vector<Token>;

Tokens tokenise(std::string_view text);
std::string join(const Tokens& tokens);

/// Tokens of the seeds and of a dictionary.
class TokenPool {
 public:
  void add_seed(std::string_view text);
  void add_words(std::string_view text);
  [[nodiscard]] bool empty() const { return seeds_.empty(); }
  /// A seed with a few of its tokens and groups replaced by others.
  [[nodiscard]] std::string mutant(Random& random) const;

 private:
  void mutate(Tokens& tokens, Random& random) const;
  /// An operand from any seed: a number, a word, a group in brackets, or a call.
  [[nodiscard]] Tokens operand(Random& random) const;
  [[nodiscard]] const Token& token(TokenKind kind, Random& random) const;

  std::vector<Tokens> seeds_;
  std::vector<Token> by_kind_[5];
};

}  // namespace trident::fuzz
