// A program of TIR, from text to operations and back.
//
//   program     (operation | function)*
//   function    "fn" name "{" operation* "}"       ends with return or halt
//   operation   name-of-operation [operands]       ops.def, by Form:
//
//     none        add                              label       call NAME, entry NAME
//     element     push INTEGER in (-p, p)          depth       dup N, N from 0 to 255: beyond 15 what lies above is
//     spilled count       pop N, N from 1 to 255           words       ram_read N, N from 1 to 15 asserted    assert 1,
//     assert 5               width       hash [N] event       reveal NAME TAG FIELDS: at most 255 fields, 9 of seal
//     body        if { operation* }                branches    if { operation* } else { operation* }
//     named_body  loop [NAME] { operation* }, proof [NAME] { operation* }
//     assembly    asm CHANGE { TASM without labels and control flow }
//     line        // up to the end of the line
//
//   name        (letter | "_") (letter | digit | "_")*
//
// Between words stand blanks. A comment is an operation, so that printing keeps it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jit/ir/text.h"
#include "jit/tir/tasm/instruction.h"
#include "runtime/base/result.h"
#include "runtime/field/element.h"

namespace trident::tir::language {

using field::Element;

/// Operations, in the order of ops.def.
enum class Op : std::uint8_t {
#define X(name, ...) k##name,
#include "jit/tir/language/ops.def"
#undef X
};
inline constexpr std::size_t kOpCount =
#define X(...) 1 +
#include "jit/tir/language/ops.def"
#undef X
    0;
static_assert(kOpCount == 54);

enum class Form : std::uint8_t {
  none,
  label,
  element,
  depth,
  count,
  words,
  asserted,
  width,
  event,
  body,
  branches,
  named_body,
  assembly,
  line
};

/// A row of ops.def.
struct OpRow {
  std::string_view name;
  std::uint8_t code, tier;
  std::string_view text;
  Form form;
  tasm::Amount takes, gives;
  std::string_view meaning;
};
const OpRow& row(Op op);

inline constexpr std::uint64_t kNumberMax = 255;  ///< for Form::depth, count and event
inline constexpr std::uint64_t kWordsMax = 15;    ///< for Form::words
inline constexpr std::uint64_t kSealFieldsMax = 9;
inline constexpr std::uint64_t kHashWidth = 10;
inline constexpr unsigned kNestingMax = 64;

struct Operation {
  Op op = Op::kHalt;
  std::uint64_t number = 0;  ///< depth, count, words, fields or width
  Element element;           ///< argument of push; tag of reveal and seal
  std::string name;          ///< label, name or text of a comment
  std::vector<Operation> body, otherwise;
  std::vector<tasm::Instruction> assembly;
  std::uint32_t offset = 0;  ///< byte in the source

  /// Returns the change of the stack's height, without bodies and functions that the operation runs.
  [[nodiscard]] int stack_change() const;
};

/// Operations at the top of the text; a function is FnStart, its operations and FnEnd.
struct Program {
  std::vector<Operation> operations;
};

/// True if two programs have the same operations, at whatever offsets in their texts.
bool same(const Program& a, const Program& b);

/// Parses and checks. Errors: SyntaxError with name, line, column and a caret; LimitExceeded for a text above
/// limits::kTasmTextBytesMax or bodies deeper than kNestingMax.
Result<Program> parse(const ir::SourceText& source, tasm::Vm vm = tasm::Vm::released);

/// Checks the rules beyond syntax: functions exist once and end, nothing follows an end, bodies change the height as
/// their operation requires. The change of a recursive function is unknown, and not checked.
std::optional<Error> check(const Program& program, const ir::SourceText& source);

/// Prints one operation a line; parse() of the text gives the same program.
std::string print(const Program& program);

/// Returns the highest tier of its operations, 0 to 3.
unsigned tier(const Program& program);

}  // namespace trident::tir::language
