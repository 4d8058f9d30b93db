// Regions: scalar code over variables and memory, a graph of blocks with one entry (block 0) and exits anywhere.
//
// A *variable* has a home in the frame, a block of bytes that the caller owns. Entering a region reads variables from
// the frame, and leaving it writes back those that it can have set: between the two, a variable lives anywhere. Other
// results are temporaries, which exist inside one block.
//
// Memory is reached through *windows*, ranges of addresses that the caller maps to its own memory. An Access checks
// that bytes at an address lie inside a window and yields their place; where they do not, control goes to another
// block. Load and Store take a place, so that no code can touch memory that was not checked.
//
// `at` numbers the source's instructions (a guest's, a function's lines). Inside one of them every Access stands before
// the first Set or Store. So wherever control goes elsewhere, variables and memory are what the source has there.
//
// A region knows no source: lifters and functions make them. The *interpreter* (interpreter.h) is the meaning of
// regions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/id.h"
#include "runtime/base/result.h"

namespace trident::region {

/// `place` is what an Access yields; no variable and no arithmetic has it. i32 values have no bits above the lowest 32.
enum class Type : std::uint8_t { i32, i64, place, f64 };
std::string_view name_of(Type type);
/// Bytes of a type of variables.
constexpr std::uint32_t bytes_of(Type type) {
  return type == Type::i32 ? 4 : 8;
}

enum class Op : std::uint8_t {
#define X(id, Name, text, arity, signature, meaning) Name = id,
#include "jit/region/ops.def"
#undef X
};
enum class Signature : std::uint8_t {
  Leaf,
  Same,
  Compare,
  Select,
  Widen,
  Narrow,
  Reserve,
  Read,
  Write,
  Assign,
  Float,
  Order,
  Equality,
  FromInt,
  ToInt
};

/// One row of ops.def.
struct OpInfo {
  std::string_view text;
  std::uint8_t arity;
  Signature signature;
  std::string_view meaning;
};
inline constexpr std::uint32_t kOpCount = 0
#define X(...) +1
#include "jit/region/ops.def"
#undef X
    ;
inline constexpr std::array<OpInfo, kOpCount> kOpInfos = {{
#define X(id, Name, text, arity, signature, meaning) {text, arity, Signature::signature, meaning},
#include "jit/region/ops.def"
#undef X
}};
constexpr const OpInfo& info(Op op) {
  return kOpInfos[static_cast<std::size_t>(op)];
}
constexpr bool has_result(Op op) {
  return info(op).signature != Signature::Write && info(op).signature != Signature::Assign;
}

/// Why control left. The values are part of the frame's ABI.
enum class Exit : std::uint32_t {
#define X(id, name, meaning) name = id,
#include "jit/region/exits.def"
#undef X
};
inline constexpr std::uint32_t kExitCount = 0
#define X(...) +1
#include "jit/region/exits.def"
#undef X
    ;
std::string_view name_of(Exit exit);
/// Returns whether `op` gives 1 or 0.
constexpr bool gives_truth(Op op) {
  const Signature signature = info(op).signature;
  return signature == Signature::Compare || signature == Signature::Order || signature == Signature::Equality;
}
/// Returns whether `op` computes on floats.
constexpr bool is_float(Op op) {
  return info(op).signature >= Signature::Float;
}

struct ValueTag;
/// The result of instruction number `index`.
using Value = Id<ValueTag>;

struct Inst {
  Op op = Op::Constant;
  Type type = Type::i64;     ///< of the result; of the stored value; of the variable
  std::uint8_t bytes = 0;    ///< Load and Store: 1, 2, 4 or 8, at most those of the type; Access: 0, or the same as
                             ///< imm where a is the number of an element of so many bytes
  bool is_signed = false;    ///< Load: sign-extends
  Value a{}, b{}, c{};       ///< as many as the arity says; the others are invalid
  std::uint64_t imm = 0;     ///< Constant: bits; Get, Set: variable; Access: bytes; Load, Store: displacement; else 0
  std::uint32_t window = 0;  ///< Access
  std::uint32_t otherwise = 0;  ///< Access: the block where control goes when the bytes lie outside
  std::uint32_t at = 0;         ///< the source's instruction

  friend bool operator==(const Inst&, const Inst&) = default;
};

enum class Flow : std::uint8_t { jump, branch, exit };
/// How a block ends.
struct Terminator {
  Flow flow = Flow::exit;
  Value condition{};            ///< branch: an i32 of this block
  std::uint32_t then = 0;       ///< jump; branch when the condition is not 0
  std::uint32_t otherwise = 0;  ///< branch when the condition is 0
  Exit exit = Exit::left;

  friend bool operator==(const Terminator&, const Terminator&) = default;
};

/// The instructions [first, last) and what follows them.
struct Block {
  std::uint32_t first = 0, last = 0;
  Terminator end;

  friend bool operator==(const Block&, const Block&) = default;
};

struct Variable {
  std::string name;
  Type type = Type::i64;
  std::uint32_t slot = 0;  ///< byte offset of its home in the frame, a multiple of its size
  bool scratch = false;    ///< its home is nobody's to read: it has no value at entry, and none is kept at exits

  friend bool operator==(const Variable&, const Variable&) = default;
};

struct Region {
  std::vector<Variable> variables;
  std::uint32_t windows = 0;  ///< how many the caller passes
  std::vector<Inst> insts;    ///< those of block 0, of block 1, ..
  std::vector<Block> blocks;

  friend bool operator==(const Region&, const Region&) = default;
};

/// The words that every frame begins with. Variables may have homes from kFrameHeadBytes on, and one at the place of
/// `budget`.
struct FrameHead {
  std::uint64_t budget;        ///< for code that counts iterations
  std::uint64_t exit_address;  ///< of the Access that missed last; those of elements note nothing
  std::uint32_t exit;          ///< an Exit, when control has left
  std::uint32_t exit_window;   ///< of the Access that missed last
};
inline constexpr std::uint32_t kFrameHeadBytes = sizeof(FrameHead);

/// Addresses [lo, lo + span) are the caller's memory from lo + delta on, in wrapping arithmetic. The caller sees to it
/// that all of them may be read, and written if the region stores there. Windows may overlap.
struct Window {
  std::uint64_t lo, span, delta;
};

/// Says in an Error why `region` is not well-formed; codegen and the interpreter accept only regions that pass.
Result<void> check(const Region& region);

/// Prints a region (text.cpp shows the form). parse(print(r)) gives r.
std::string print(const Region& region);
/// Parses and checks. Errors: SyntaxError with the line and a caret, or those of check().
Result<Region> parse(std::string_view text);

}  // namespace trident::region
