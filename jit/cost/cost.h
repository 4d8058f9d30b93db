// Costs of kir ops on a kind of processor: latency and reciprocal throughput, measured by `trident calibrate --ops`, or
// shipped where nothing was measured. The search uses them to weigh the instructions that an op lowers to
// (jit/expr/rewrite/costs.h).
//
// Figures are ratios to one fma of the float type whose lanes are as wide as the widest that the op handles. Ratios
// hold at every clock and for related processors, nanoseconds do not. A table is for one instruction set, because the
// same op is one instruction in one and ten in another.
//
// Rows: every op of jit/kir/ops.def, for every type that it allows, but no leaves: constants, parameters and the count
// are made outside the loop, and no rewriting changes the inputs that an expression loads. Div and Sqrt have a row for
// each of their two forms.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jit/kir/kir.h"
#include "runtime/base/result.h"

namespace trident::cost {

using ir::Type;

/// Div and Sqrt whose flags allow it can go without the divider.
enum class Form : std::uint8_t { plain, newton };

struct Row {
  kir::Op op = kir::Op::Add;
  Type type = Type::f32;  ///< of the result; of the operands where the op compares
  Type from = Type::f32;  ///< of the operand of Convert, Bitcast and ToIntRint; else the same as `type`
  Form form = Form::plain;
  friend bool operator==(const Row&, const Row&) = default;
};

/// Returns all rows that a table has, in the order of its file.
std::span<const Row> rows();
/// Names a row: "div.newton f32", "convert f32->i32".
std::string name_of(const Row& row);

/// One row's figures, as ratios to those of an fma: neither negative nor infinite.
struct Figures {
  double latency = 0;     ///< from operand to result, in latencies of an fma
  double throughput = 0;  ///< the time of one op among many independent ones, in that of an fma
  friend bool operator==(const Figures&, const Figures&) = default;
};

/// Time of one fma, in nanoseconds per vector; 0: unknown.
struct FmaTimes {
  double latency_ns = 0, throughput_ns = 0;
  friend bool operator==(const FmaTimes&, const FmaTimes&) = default;
};

/// The processor name of a table for any processor.
inline constexpr std::string_view kAnyCpu = "any";

struct Table {
  std::string cpu{kAnyCpu};  ///< os::cpu_model() of the measured processor; in a shipped table its family alone
  std::string isa;           ///< codegen::name_of()
  std::string build;         ///< build id of the program that measured it
  std::string date;          ///< "2026-11-22"
  FmaTimes f32, f64;
  std::vector<Figures> figures;  ///< one for each of rows(), in that order

  [[nodiscard]] const Figures& at(const Row& row) const;
  /// Returns the reciprocal throughput of one instruction of `kernel`, in fmas; 0 for leaves. A division or a root with
  /// both forms available counts as the cheaper one.
  [[nodiscard]] double throughput(const kir::Kernel& kernel, const kir::Inst& inst) const;
  friend bool operator==(const Table&, const Table&) = default;
};

/// Returns the row of one instruction in its plain form; nothing for leaves, which cost nothing.
std::optional<Row> row_of(const kir::Kernel& kernel, const kir::Inst& inst);

/// Prints a table, with the shortest figures that read back exactly. parse(print(t)) gives back t.
std::string print(const Table& table);
/// Parses a table. Errors: SyntaxError naming `file`, the line and the remedy: unknown keys, ops and types, rows given
/// twice or missing, figures that are not finite or negative, another version.
Result<Table> parse(std::string_view text, const std::string& file);

/// Returns the shipped table for a processor (as os::cpu_model() names it) and an instruction set, by its name: that of
/// the processor's family, else the one for any; avx2's if the instruction set has none.
const Table& shipped(std::string_view isa, std::string_view cpu = kAnyCpu);

/// Returns whether `table` was measured on a processor like this one or is that of its family, or is for any, and for
/// this instruction set.
bool fits(const Table& table, std::string_view cpu, std::string_view isa);

}  // namespace trident::cost
