// kir, the kernel IR: the one form that code generation accepts. A kernel is straight-line SSA code that runs once per
// element, in three sections:
//
//   invariant   depends on parameters and constants only: computed once before the loop
//   body        computed for every element i in [0, n)
//   epilogue    computed once after the loop, from reductions and invariants
//
// A kernel may have an *exit*, a mask: it stops before the first step in which the mask of any lane is set, and returns
// how many elements are done. A step is a few vectors, whose number the host chooses, so the elements that are done end
// at most kExitSpan before the first set lane. No array is written at or behind them. Guards of assumed ranges are
// exits.
//
// The exit of a kernel that only reduces may be a mask of the epilogue: it is computed from the results so far after
// each chunk of elements (reduction.h), and where it is set, the chunks that follow are not read. So searches end early
// (early_end.h). Its reductions are extrema of integers, which may join in any order.
//
// The *interpreter* (interpreter.h) is the meaning of kir; every host backend gives the same bits. Math functions are
// not ops: they are sequences of ops that jit/kir/math appends through the Builder.
//
// A kernel may have a pass that comes *before* it: a kernel over the same elements, whose scalar outputs are parameters
// of this one, behind those of the call. So a value may depend on all elements and on one: x - mean(x).
//
// Reductions have one order, the same on every host: reduction.h defines it. Each joins values by an op, the earlier
// value as its second operand: so minof and maxof leave NaN out, and of two zeros the earlier one stays. A sum starts
// from 0, a product from 1.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jit/ir/storage.h"
#include "jit/ir/type.h"
#include "runtime/base/id.h"
#include "runtime/base/result.h"

namespace trident::kir {

using ir::Storage;
using ir::Type;

enum class Op : std::uint8_t {
#define X(id, Name, text, arity, signature, types, meaning) Name = id,
#include "jit/kir/ops.def"
#undef X
};

enum class Signature : std::uint8_t { Leaf, Same, Compare, Select, Convert, Reduce, Read };
enum class Types : std::uint8_t { N, F, S, I, B, A };
enum class Section : std::uint8_t { invariant, body, epilogue };

/// One row of ops.def.
struct OpInfo {
  std::string_view text;
  std::uint8_t arity;
  Signature signature;
  Types types;
  std::string_view meaning;
};
inline constexpr std::uint32_t kOpCount = 0
#define X(...) +1
#include "jit/kir/ops.def"
#undef X
    ;
inline constexpr std::array<OpInfo, kOpCount> kOpInfos = {{
#define X(id, Name, text, arity, signature, types, meaning) {text, arity, Signature::signature, Types::types, meaning},
#include "jit/kir/ops.def"
#undef X
}};
constexpr const OpInfo& info(Op op) {
  return kOpInfos[static_cast<std::size_t>(op)];
}

/// Ops from this number on begin with an estimate of the processor (estimates.h).
inline constexpr std::uint32_t kFirstEstimate = static_cast<std::uint32_t>(Op::Sqrt14);
constexpr bool is_estimate(Op op) {
  return static_cast<std::uint32_t>(op) >= kFirstEstimate;
}
/// Returns the bits of the estimate that an op begins with: AVX-512 code alone has 14, AVX2 code alone 12; 0 of others.
constexpr std::uint32_t estimate_bits(Op op) {
  if (!is_estimate(op)) return 0;
  return op == Op::Sqrt14 || op == Op::Rsqrt14 || op == Op::Div14 ? 14 : 12;
}

/// Returns whether an op with an estimate gives the exact operation's result for some operands, unless kNormal says
/// that there are none.
constexpr bool has_doubtful_operands(Op op) {
  return op == Op::Div14 || op == Op::Sqrt12 || op == Op::Rsqrt12 || op == Op::Div12;
}

struct ValueTag;
/// The result of instruction number `index`. Operands always have a smaller index than their user.
using Value = Id<ValueTag>;

/// Instruction flags.
inline constexpr std::uint8_t kNormal = 1;   ///< Div, Sqrt: operands, result and 1/b are proven normal and finite and
                                             ///< well inside the range (|exponent| <= 3/4 of the greatest)
inline constexpr std::uint8_t kBounded = 2;  ///< Div: |a| <= 2^(e/2), 2^(-e/4) <= |b| <= 2^(e/4) are proven, e the
                                             ///< greatest exponent (127, 1023); Sqrt: 0 <= a <= 2^(e/2). So only a tiny
                                             ///< or zero a needs care. Not together with kNormal
// Div14, Sqrt12, Rsqrt12, Div12: kNormal as for Div and Sqrt, and divisor and quotient are proven to be middle
// (estimates.h).
// Scalef: b is NaN only where a is, and else kNormal: 2^b is normal and finite; kBounded: |b| <= e + 60; kFalling:
// -(e + 60) <= b <= e/2 - 4. One of them at most.
inline constexpr std::uint8_t kFalling = 4;

/// The greatest |stride| of Strided, so that the elements of one vector are less than 2^31 bytes apart.
inline constexpr std::int64_t kStrideMax = 65'536;

struct Inst {
  Op op = Op::Constant;
  Type type = Type::f32;  ///< type of the result
  Section section = Section::invariant;
  std::uint8_t flags = 0;
  Value a{}, b{}, c{};    ///< as many as the arity says; the others are invalid
  std::uint64_t imm = 0;  ///< Constant: bits; Input, Param, Lookup, Gather, Strided: index; else 0
};

struct Input {
  std::string name;
  Type type = Type::f32;  ///< numeric
  /// For a *table*, an array with its own length: the number of the i64 parameter that holds its number of elements
  /// (none when negative). Only Gather and Strided read tables, and never outside.
  std::optional<std::uint32_t> length{};
  Storage storage =
      Storage::own;  ///< of an array's elements, which Op::Input widens; tables and scalars keep their own
  [[nodiscard]] bool is_table() const { return length.has_value(); }
};

enum class OutputKind : std::uint8_t {
  array,   ///< one element per i, from the body or the invariants (which are stored in every element)
  scalar,  ///< one element, from the epilogue or the invariants
};
struct Output {
  std::string name;
  Value value;
  OutputKind kind = OutputKind::array;
  Storage storage = Storage::own;  ///< of an array's elements, which the store narrows; scalars keep their own
};

/// Passes over the elements that one kernel may be.
inline constexpr std::uint32_t kPassesMax = 8;

/// The done elements of a kernel that stops end fewer than this many before the first element whose exit mask is set.
inline constexpr std::uint32_t kExitSpan = 128;

/// A constant table for Lookup: 2^k entries (2..32), bits of one lane each, of one type.
struct Table {
  Type type = Type::f32;
  std::vector<std::uint64_t> entries;
};

struct Kernel {
  std::vector<Inst> insts;
  std::vector<Input> inputs;  ///< arrays and tables, in the order of the call's `in`
  std::vector<Input>
      params;  ///< scalars, in the order of the call's `params`; each takes 8 bytes there, low bytes used
  std::vector<Output> outputs;
  std::vector<Table> tables;
  /// A mask, or invalid: none. One of the body or the invariants allows no reductions and array outputs only, one of
  /// the epilogue scalar outputs only.
  Value exit{};
  /// The pass before: none or one, with the inputs and params of this kernel and scalar outputs only. Its output number
  /// i is parameter number params.size() + i here.
  std::vector<Kernel> before;

  [[nodiscard]] const Inst& at(Value v) const { return insts[v.index]; }
  [[nodiscard]] Type type_of(Value v) const { return insts[v.index].type; }
  /// Returns whether the exit is one before the steps of the loop.
  [[nodiscard]] bool leaves_steps() const { return exit.valid() && at(exit).section != Section::epilogue; }
  /// Returns whether the exit is one behind chunks.
  [[nodiscard]] bool leaves_chunks() const { return exit.valid() && at(exit).section == Section::epilogue; }
  /// Returns the number of parameters, the results of the pass before among them.
  [[nodiscard]] std::size_t param_count() const {
    return params.size() + (before.empty() ? 0 : before.front().outputs.size());
  }
  [[nodiscard]] Type param_type(std::size_t i) const {
    if (i < params.size()) return params[i].type;
    return before.front().type_of(before.front().outputs[i - params.size()].value);
  }
  /// Returns whether an output is written even by a call of no elements.
  [[nodiscard]] bool has_scalar_output() const {
    for (const Output& output : outputs)
      if (output.kind == OutputKind::scalar) return true;
    return false;
  }
};

/// Returns whether an op begins with an estimate of the processor; the pass before is not asked.
inline bool has_estimates(const Kernel& kernel) {
  for (const Inst& inst : kernel.insts)
    if (is_estimate(inst.op)) return true;
  return false;
}
/// Returns whether all such ops, the pass before aside, begin with one of `bits`.
inline bool has_estimates_only_of(std::uint32_t bits, const Kernel& kernel) {
  for (const Inst& inst : kernel.insts)
    if (is_estimate(inst.op) && estimate_bits(inst.op) != bits) return false;
  return true;
}

/// Bytes of one element of an array.
inline std::uint32_t element_bytes(const Input& input) {
  return ir::bytes_of(input.type, input.storage);
}
inline std::uint32_t element_bytes(const Kernel& kernel, const Output& output) {
  return ir::bytes_of(kernel.type_of(output.value), output.storage);
}
/// Returns whether a load or a store converts.
bool converts_elements(const Kernel& kernel);
/// Returns the kernel with arrays of values: no load or store converts.
Kernel without_storage(Kernel kernel);

/// Returns the section of an instruction, from its op and its operands' sections. Leaves but Input and Index are
/// invariant; Input, Index and Strided are body; reductions are epilogue. The others are epilogue if any operand is,
/// else body if any is, else invariant. Returns nothing if body and epilogue operands are mixed or a reduction's
/// operand is itself in the epilogue (a reduction of an invariant is allowed: it counts n times).
inline std::optional<Section> section_for(const Kernel& kernel, Op op, Value a, Value b, Value c) {
  bool any_body = op == Op::Input || op == Op::Index || op == Op::Strided;
  bool any_epilogue = false;
  for (const Value operand : {a, b, c}) {
    if (!operand.valid()) continue;
    any_body |= kernel.at(operand).section == Section::body;
    any_epilogue |= kernel.at(operand).section == Section::epilogue;
  }
  if (info(op).signature == Signature::Reduce) {
    if (any_epilogue) return std::nullopt;
    return Section::epilogue;
  }
  if (any_body && any_epilogue) return std::nullopt;
  return any_epilogue ? Section::epilogue : any_body ? Section::body : Section::invariant;
}
inline std::optional<Section> section_for(const Kernel& kernel, const Inst& inst) {
  return section_for(kernel, inst.op, inst.a, inst.b, inst.c);
}

/// Says in an Error why `kernel` is not well-formed (types, operand order, sections, limits); codegen and the
/// interpreter accept only kernels that pass.
Result<void> check(const Kernel& kernel);

/// Prints one instruction per line: "%3 = fma f32 %0, %1, %2" (text.cpp shows the whole form). parse(print(k)) gives k.
std::string print(const Kernel& kernel);
/// Parses and checks. Errors: SyntaxError with the line and a caret, or those of check().
Result<Kernel> parse(std::string_view text);
/// Graphviz: instructions as nodes in clusters by section; of the last pass.
std::string print_dot(const Kernel& kernel);

}  // namespace trident::kir
