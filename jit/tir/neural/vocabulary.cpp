#include "jit/tir/neural/vocabulary.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace trident::tir::neural {
namespace {

using tasm::Argument;
using tasm::Op;

struct Vocabulary {
  std::array<TokenRow, kTokenCount> rows{};
  /// Tokens of an instruction whose argument is 0, and of the first small, copied and literal constant.
  std::array<Token, tasm::kOpCount> instruction{}, small{}, copied{}, literal{};
  Token digits = 0;
};

Vocabulary build() {
  Vocabulary v;
  std::size_t count = 1;  // the end is token 0
  const auto add = [&](TokenKind kind, Op op, std::uint64_t argument) {
    CHECK(count < kTokenCount);
    v.rows[count] = {kind, op, static_cast<std::uint8_t>(argument)};
    return static_cast<Token>(count++);
  };
  const auto add_range = [&](TokenKind kind, Op op, std::uint64_t from, std::uint64_t to) {
    const Token first = add(kind, op, from);
    for (std::uint64_t a = from + 1; a <= to; ++a) add(kind, op, a);
    return static_cast<Token>(first - from);
  };
  for (std::size_t i = 0; i < tasm::kOpCount; ++i) {
    const Op op = static_cast<Op>(i);
    if (!has_token(op)) continue;
    const Argument argument = tasm::row(op).argument;
    if (argument == Argument::none) v.instruction[i] = add(TokenKind::instruction, op, 0);
    if (argument == Argument::count)
      v.instruction[i] = add_range(TokenKind::instruction, op, tasm::kCountMin, tasm::kCountMax);
    if (argument == Argument::index) v.instruction[i] = add_range(TokenKind::instruction, op, 0, tasm::kIndexMax);
    if (argument == Argument::element) {
      v.small[i] = add_range(TokenKind::small, op, 0, kSmallConstants.size() - 1);
      v.copied[i] = add_range(TokenKind::copied, op, 0, kCopiedMax - 1);
    }
    if (argument == Argument::element || argument == Argument::label) v.literal[i] = add(TokenKind::literal, op, 0);
  }
  v.digits = add_range(TokenKind::digit, Op::kNop, 0, kLiteralBase - 1);
  CHECK(count == kTokenCount);
  return v;
}

/// Built when the program is loaded: a thread that built it later could leave it half done in a forked child.
const Vocabulary kVocabulary = build();

const Vocabulary& vocabulary() {
  return kVocabulary;
}

std::optional<std::size_t> small_index(Element value) {
  const auto* found = std::find(kSmallConstants.begin(), kSmallConstants.end(), value.value());
  if (found == kSmallConstants.end()) return {};
  return static_cast<std::size_t>(found - kSmallConstants.begin());
}

}  // namespace

const TokenRow& row(Token token) {
  CHECK(token < kTokenCount);
  return vocabulary().rows[token];
}

std::string print(Token token) {
  const TokenRow& r = row(token);
  const std::string argument = std::to_string(r.argument);
  if (r.kind == TokenKind::end) return "end";
  if (r.kind == TokenKind::digit) return "digit " + argument;
  const tasm::InstructionRow& instruction = tasm::row(r.op);
  std::string text(instruction.text);
  if (r.kind == TokenKind::small) return text + " " + std::to_string(kSmallConstants[r.argument]);
  if (r.kind == TokenKind::copied) return text + " copy " + argument;
  if (r.kind == TokenKind::literal) return text + " literal";
  return instruction.argument == Argument::none ? text : text + " " + argument;
}

std::optional<std::size_t> ConstantPool::find(Element value) const {
  for (std::size_t k = 0; k < count; ++k)
    if (values[k] == value) return k;
  return {};
}

ConstantPool constants_of(std::span<const Instruction> block) {
  ConstantPool pool;
  for (const Instruction& i : block) {
    if (tasm::row(i.op).argument != Argument::element || small_index(i.argument) || pool.find(i.argument)) continue;
    if (pool.count < kCopiedMax) pool.values[pool.count++] = i.argument;
  }
  return pool;
}

bool has_token(Op op) {
  return tasm::row(op).is_of(tasm::Vm::released);
}

Token first_token(const Instruction& instruction, const ConstantPool& pool) {
  const Vocabulary& v = vocabulary();
  const auto op = static_cast<std::size_t>(instruction.op);
  const Argument argument = tasm::row(instruction.op).argument;
  CHECK(has_token(instruction.op) && tasm::legal_argument(argument, instruction.argument));
  if (argument == Argument::label) return v.literal[op];
  if (argument != Argument::element) return static_cast<Token>(v.instruction[op] + instruction.argument.value());
  if (const auto small = small_index(instruction.argument)) return static_cast<Token>(v.small[op] + *small);
  if (const auto copied = pool.find(instruction.argument)) return static_cast<Token>(v.copied[op] + *copied);
  return v.literal[op];
}

void append_tokens(const Instruction& instruction, const ConstantPool& pool, std::vector<Token>& tokens) {
  const Token first = first_token(instruction, pool);
  tokens.push_back(first);
  if (row(first).kind != TokenKind::literal) return;
  const std::uint64_t value = instruction.argument.value();
  std::size_t digits = 1;
  while (digits < kLiteralDigitsMax && value >> (4 * digits) != 0) ++digits;
  for (std::size_t d = digits; d-- > 0;)
    tokens.push_back(static_cast<Token>(vocabulary().digits + (value >> (4 * d)) % kLiteralBase));
}

std::vector<Token> tokens_of(std::span<const Instruction> block, const ConstantPool& pool) {
  std::vector<Token> tokens;
  for (const Instruction& i : block) append_tokens(i, pool, tokens);
  tokens.push_back(kEnd);
  return tokens;
}

bool TokenReader::legal(Token token) const {
  if (ended_ || token >= kTokenCount) return false;
  const TokenRow& r = row(token);
  if (r.kind == TokenKind::digit) {
    if (!literal_) return false;
    if (digits_ == 0) return true;
    constexpr std::uint64_t kLast = field::kModulus - 1;
    if (value_ == 0 || value_ > kLast / kLiteralBase) return false;
    return value_ * kLiteralBase <= kLast - r.argument;
  }
  if (literal_ && digits_ == 0) return false;
  return r.kind != TokenKind::copied || r.argument < pool_->count;
}

std::optional<Instruction> TokenReader::open_literal() const {
  if (!literal_ || digits_ == 0) return {};
  return Instruction{*literal_, Element(value_)};
}

void TokenReader::take(Token token, std::vector<Instruction>& instructions) {
  CHECK(legal(token));
  const TokenRow& r = row(token);
  if (r.kind == TokenKind::digit) {
    value_ = value_ * kLiteralBase + r.argument;
    ++digits_;
    return;
  }
  if (const auto complete = open_literal()) instructions.push_back(*complete);
  literal_.reset();
  value_ = digits_ = 0;
  switch (r.kind) {
    case TokenKind::end: ended_ = true; break;
    case TokenKind::instruction: instructions.push_back({r.op, Element(r.argument)}); break;
    case TokenKind::small: instructions.push_back({r.op, Element(kSmallConstants[r.argument])}); break;
    case TokenKind::copied: instructions.push_back({r.op, pool_->values[r.argument]}); break;
    case TokenKind::literal: literal_ = r.op; break;
    case TokenKind::digit: CHECK(false);
  }
}

std::optional<std::vector<Instruction>> instructions_of(std::span<const Token> tokens, const ConstantPool& pool) {
  TokenReader reader(pool);
  std::vector<Instruction> instructions;
  for (const Token token : tokens) {
    if (!reader.legal(token)) return {};
    reader.take(token, instructions);
  }
  if (!reader.ended()) return {};
  return instructions;
}

bool in_block(tasm::Op op) {
  return (tasm::row(op).effects & tasm::kControl) == 0;
}

}  // namespace trident::tir::neural
