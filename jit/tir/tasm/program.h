// A program of Triton VM, from text to instructions to words and back.
//
// The text follows the machine's own parser (an error's place is the byte at which that parser would stop):
//
//   program      item*                                 between items blanks and comments
//   item         label ":" | instruction | "break" | hint | "error_id" integer
//   instruction  name [argument]                       instructions.def; blanks, a comment or the end after each word
//   argument     integer in (-p, p) | 0..15 | 1..5 | label
//   label        (letter | "_") (letter | digit | "_" | "-")*     neither an instruction's name nor a keyword
//   hint         "hint" name [":" type] "=" "stack[" integer [".." integer] "]"
//   type         "*"* name ["<" type, ... ">"]
//   comment      "//" and at least one character up to the end of the line, or "/*" ... "*/", not nested
//
// `break`, hints and error numbers do nothing; an error number follows an assertion. That parser uses Unicode's
// letters; here every character outside ASCII that is not a blank is a letter.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "jit/ir/text.h"
#include "jit/tir/tasm/instruction.h"
#include "runtime/base/result.h"
#include "runtime/field/tip5.h"

namespace trident::tir::tasm {

/// A mark between instructions, which is no word of the program.
struct Mark {
  enum class Kind : std::uint8_t { label, breakpoint, hint, error_id };
  Kind kind;
  std::uint32_t instruction;            ///< index of the next instruction; their number if none follows
  std::string text;                     ///< a label's or hint's name; the number of an error
  std::string type;                     ///< of a hint, may be empty
  std::uint64_t start = 0, length = 0;  ///< of a hint, on the stack

  bool operator==(const Mark&) const = default;
};

struct Program {
  std::vector<Instruction> instructions;
  /// Marks, in the order of the text.
  std::vector<Mark> marks;
  /// Byte in the source of each instruction; empty if there is no source.
  std::vector<std::uint32_t> offsets;

  [[nodiscard]] std::uint32_t words() const;
};

/// True if two programs have the same instructions and marks, at whatever places in their texts.
bool same(const Program& a, const Program& b);

/// Parses a program. Errors: SyntaxError with name, line, column and a caret, also for an instruction of another
/// machine; LimitExceeded for a text above limits::kTasmTextBytesMax.
Result<Program> assemble(const ir::SourceText& source, Vm vm = Vm::released);
/// Returns SyntaxError with its place for the first instruction that the machine does not have.
Result<void> check_vm(const Program& program, const ir::SourceText& source, Vm vm);
/// Describes an instruction of the other machine: "of a Triton VM after 7.0.0; ...".
std::string foreign_text(std::string_view name, Vm vm);
/// Returns the machine that a program is for: the released one, unless it has instructions of the next.
Vm vm_of(const Program& program);

/// Prints one item a line; assemble() of the text gives the same program. Call targets without a label get one.
std::string print(const Program& program);
std::string print(const Instruction& instruction);

/// Returns the program in the machine's memory: opcodes, each followed by its argument if it has one.
std::vector<Element> encode(const Program& program);
/// Reads words back. Errors: InvalidArgument for words that are no program, such as calls into an instruction.
Result<Program> decode(std::span<const Element> words, Vm vm = Vm::released);

/// Returns the digest that the machine finds at the bottom of its stack: Tip5 of the words.
field::Digest digest(std::span<const Element> words);

}  // namespace trident::tir::tasm
