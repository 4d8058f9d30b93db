// Tokens, the network's output: every instruction with every argument is one or a few of them.
//
//   end                                     the block is complete
//   one token                               an instruction without argument; with a count 1..5; with a register 0..15
//   push, addi: small                       with one of kSmallConstants
//   push, addi: copied                      with the k-th distinct constant of the original block
//   push, addi, call: literal digit+        with any element, in base 16, the highest digit first; ends before a
//                                           token that is no digit
//
// Every instruction of the released machine can be written, also those of control flow, which no block contains.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jit/tir/tasm/instruction.h"

namespace trident::tir::neural {

using field::Element;
using tasm::Instruction;

using Token = std::uint8_t;

inline constexpr std::size_t kCopiedMax = 8;
inline constexpr std::size_t kLiteralDigitsMax = 16;
inline constexpr std::uint64_t kLiteralBase = 16;
/// Constants that compilers of this machine push most: counters, strides, limb sizes, -1 for subtraction.
inline constexpr std::array<std::uint64_t, 12> kSmallConstants = {
    0, 1, 2, 3, 4, 5, 8, 16, 32, 1u << 16, std::uint64_t{1} << 32, field::kModulus - 1};

enum class TokenKind : std::uint8_t { end, instruction, small, copied, literal, digit };

/// Meaning of a token. `argument`: an instruction's count or register, else an index (small, copied) or a digit.
struct TokenRow {
  TokenKind kind = TokenKind::end;
  tasm::Op op = tasm::Op::kNop;
  std::uint8_t argument = 0;
};

inline constexpr std::size_t kTokenCount = 187;
inline constexpr Token kEnd = 0;
const TokenRow& row(Token token);
/// Prints a token: "dup 3", "push copy 0", "addi literal", "digit 7", "end".
std::string print(Token token);

/// Distinct constants of a block that are not small, in the order of their first use: at most
/// kCopiedMax, later ones have no number.
struct ConstantPool {
  std::array<Element, kCopiedMax> values{};
  std::size_t count = 0;
  [[nodiscard]] std::optional<std::size_t> find(Element value) const;
};
ConstantPool constants_of(std::span<const Instruction> block);

/// True if tokens can express the instruction: false if only the next machine has it.
bool has_token(tasm::Op op);
/// Appends the shortest tokens of an instruction that has some and whose argument is legal.
void append_tokens(const Instruction& instruction, const ConstantPool& pool, std::vector<Token>& tokens);
/// Returns the first of these tokens, which represents the instruction where only one token fits.
Token first_token(const Instruction& instruction, const ConstantPool& pool);
/// Returns the tokens of a whole block, with kEnd.
std::vector<Token> tokens_of(std::span<const Instruction> block, const ConstantPool& pool);

/// Reads tokens one at a time.
class TokenReader {
 public:
  explicit TokenReader(const ConstantPool& pool) : pool_(&pool) {}

  /// True if `token` can follow: digits only in a literal, which stays below p and has no leading zero; copies only of
  /// existing constants; no token after the end.
  [[nodiscard]] bool legal(Token token) const;
  /// Takes a legal token and appends the instructions that it completes: a literal before it, its own.
  void take(Token token, std::vector<Instruction>& instructions);
  [[nodiscard]] bool ended() const { return ended_; }
  /// Returns the instruction of an open literal that has digits, as if it ended here.
  [[nodiscard]] std::optional<Instruction> open_literal() const;

 private:
  const ConstantPool* pool_;
  std::optional<tasm::Op> literal_;
  std::uint64_t value_ = 0;
  std::size_t digits_ = 0;
  bool ended_ = false;
};

/// Reads the instructions of tokens up to kEnd; none if a token is not legal or the end is missing.
std::optional<std::vector<Instruction>> instructions_of(std::span<const Token> tokens, const ConstantPool& pool);

/// True if an instruction may stand in a straight-line block.
bool in_block(tasm::Op op);

}  // namespace trident::tir::neural
