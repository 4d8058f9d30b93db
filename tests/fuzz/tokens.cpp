#include "tests/fuzz/tokens.h"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace trident::fuzz {
namespace {

bool is_word_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '%';
}

bool is_pair(std::string_view two) {
  constexpr std::string_view kPairs[] = {"<=", ">=", "==", "!=", "&&", "||", "<<", ">>", "**", "^^"};
  return std::find(std::begin(kPairs), std::end(kPairs), two) != std::end(kPairs);
}

std::size_t word_length(std::string_view text) {
  const bool number = std::isdigit(static_cast<unsigned char>(text[0])) != 0;
  std::size_t length = 1;
  while (length < text.size()) {
    // 1e-6 is one token; in x-6 the sign stands alone.
    const bool exponent_sign =
        number && (text[length] == '-' || text[length] == '+') && std::tolower(text[length - 1]) == 'e';
    if (!is_word_char(text[length]) && !exponent_sign) break;
    ++length;
  }
  return length;
}

TokenKind kind_of(char first) {
  if (std::isdigit(static_cast<unsigned char>(first)) != 0) return TokenKind::number;
  if (is_word_char(first)) return TokenKind::word;
  if (first == '(' || first == '[') return TokenKind::open;
  if (first == ')' || first == ']') return TokenKind::close;
  return TokenKind::sign;
}

/// One past the end of the operand that starts at `at`: a group up to its closing bracket, with the word in front of
/// it.
std::size_t operand_end(const Tokens& tokens, std::size_t at) {
  if (tokens[at].kind == TokenKind::word && at + 1 < tokens.size() && tokens[at + 1].kind == TokenKind::open) ++at;
  if (tokens[at].kind != TokenKind::open) return at + 1;
  std::size_t depth = 0;
  for (std::size_t i = at; i < tokens.size(); ++i) {
    if (tokens[i].kind == TokenKind::open) ++depth;
    if (tokens[i].kind == TokenKind::close && --depth == 0) return i + 1;
  }
  return tokens.size();
}

bool starts_operand(const Token& token) {
  return token.kind == TokenKind::word || token.kind == TokenKind::number || token.kind == TokenKind::open;
}

/// A random place that starts an operand; tokens.size() when there is none.
std::size_t operand_start(const Tokens& tokens, Random& random) {
  for (int tries = 0; tries < 8 && !tokens.empty(); ++tries)
    if (const std::size_t at = random.below(tokens.size()); starts_operand(tokens[at])) return at;
  return tokens.size();
}

auto place(Tokens& tokens, std::size_t at) {
  return tokens.begin() + static_cast<std::ptrdiff_t>(at);
}

}  // namespace

Tokens tokenise(std::string_view text) {
  Tokens tokens;
  while (!text.empty()) {
    std::size_t length = 1;
    if (is_word_char(text[0])) {
      length = word_length(text);
    } else if (is_pair(text.substr(0, 2))) {
      length = 2;
    }
    const TokenKind kind = kind_of(text[0]);
    while (length < text.size() && std::isspace(static_cast<unsigned char>(text[length])) != 0) ++length;
    tokens.push_back({std::string(text.substr(0, length)), kind});
    text.remove_prefix(length);
  }
  return tokens;
}

std::string join(const Tokens& tokens) {
  std::string text;
  for (const Token& token : tokens) text += token.text;
  return text;
}

void TokenPool::add_words(std::string_view text) {
  for (Token& token : tokenise(text)) by_kind_[static_cast<int>(token.kind)].push_back(std::move(token));
}

void TokenPool::add_seed(std::string_view text) {
  add_words(text);
  if (Tokens tokens = tokenise(text); !tokens.empty()) seeds_.push_back(std::move(tokens));
}

const Token& TokenPool::token(TokenKind kind, Random& random) const {
  const auto& tokens = by_kind_[static_cast<int>(kind)];
  static const Token kNothing;
  return tokens.empty() ? kNothing : tokens[random.below(tokens.size())];
}

Tokens TokenPool::operand(Random& random) const {
  const Tokens& seed = seeds_[random.below(seeds_.size())];
  const std::size_t at = operand_start(seed, random);
  if (at == seed.size()) return {token(TokenKind::number, random)};
  return {seed.begin() + static_cast<std::ptrdiff_t>(at),
          seed.begin() + static_cast<std::ptrdiff_t>(operand_end(seed, at))};
}

void TokenPool::mutate(Tokens& tokens, Random& random) const {
  if (tokens.empty()) return;
  const std::size_t at = random.below(tokens.size());
  switch (random.below(16)) {
    case 0: tokens.insert(place(tokens, at), token(static_cast<TokenKind>(random.below(5)), random)); break;
    case 1: tokens.erase(place(tokens, at)); break;
    case 2: std::swap(tokens[at], tokens[random.below(tokens.size())]); break;
    case 3:
    case 4:
    case 5: tokens[at] = token(tokens[at].kind, random); break;
    default: {  // an operand for an operand
      const std::size_t from = operand_start(tokens, random);
      if (from == tokens.size()) break;
      const Tokens other = operand(random);
      tokens.erase(place(tokens, from), place(tokens, operand_end(tokens, from)));
      tokens.insert(place(tokens, from), other.begin(), other.end());
    }
  }
}

std::string TokenPool::mutant(Random& random) const {
  Tokens tokens = seeds_[random.below(seeds_.size())];
  for (std::size_t rounds = 1 + random.below(4); rounds > 0; --rounds) mutate(tokens, random);
  return join(tokens);
}

}  // namespace trident::fuzz
