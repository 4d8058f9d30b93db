#include "jit/tir/native/translate.h"

#include <algorithm>
#include <optional>
#include <string>

#include "jit/tir/native/arithmetic.h"
#include "jit/tir/tasm/program.h"
#include "runtime/base/check.h"

namespace trident::tir::native {

using tasm::Instruction;
using tasm::Op;

namespace {

/// Number of cells that a block reaches down, and of those it leaves.
struct Extent {
  std::uint32_t reach = 0, height = 0;
  std::size_t size_min = tasm::kRegisters;
};

Extent extent_of(std::span<const Instruction> block) {
  Extent extent;
  std::int64_t height = 0, reach = 0, size_min = tasm::kRegisters;
  for (const Instruction& instruction : block) {
    const std::uint64_t n = instruction.argument_of_amounts();
    const std::int64_t change = instruction.stack_change();
    reach = std::max(reach, std::int64_t{tasm::row(instruction.op).takes.of(n)} - height);
    height += change;
    if (change < 0) size_min = std::max(size_min, static_cast<std::int64_t>(tasm::kRegisters) - height);
  }
  extent.reach = static_cast<std::uint32_t>(reach);
  extent.height = static_cast<std::uint32_t>(reach + height);
  extent.size_min = static_cast<std::size_t>(size_min);
  return extent;
}

/// Runs the block on values: an instruction per function, as in vm/machine.cpp.
class Translator {
 public:
  Translator(Translation& out, Target target) : out_(out), arithmetic_(out.kernel, target), inputs_(out.reach) {
    for (std::uint32_t cell = 0; cell < out.reach; ++cell) stack_.push_back({cell, {}});
  }

  void run(const Instruction& instruction);
  void finish();

  // For stages.
  void start_failed() { arithmetic_.fail_where_set(input(kFailedBefore, "failed_before")); }
  /// True if the next inversion is of a constant, which costs nothing.
  bool inverts_constant(Op op) { return op == Op::kInvert && arithmetic_.is_constant(value(0)); }
  /// Leaves the element to invert on top; after_inversion() goes on with its inverse.
  void before_inversion(Op op);
  void after_inversion(Op op);

 private:
  static constexpr std::uint32_t kComputed = ~std::uint32_t{0};
  /// A value, or a cell's word before the block, which is read only when something is computed from it.
  struct Entry {
    std::uint32_t cell;
    Value value;
  };
  using Extension = Arithmetic::Extension;

  Entry& st(std::size_t i) { return stack_[stack_.size() - 1 - i]; }
  Value input(std::uint32_t cell, const std::string& name);
  Value value_of(const Entry& entry);
  Value value(std::size_t i) { return value_of(st(i)); }
  void push(Value v) { stack_.push_back({kComputed, v}); }
  Value pop() {
    const Value v = value(0);
    stack_.pop_back();
    return v;
  }
  Extension pop_extension() { return {pop(), pop(), pop()}; }
  void push(const Extension& x) {
    for (std::size_t i = x.size(); i > 0; --i) push(x[i - 1]);
  }
  void move(const Instruction& instruction);
  void compute(Op op);
  void compute_u32(Op op);

  Translation& out_;
  Arithmetic arithmetic_;
  std::vector<Entry> stack_;  ///< bottom first
  std::vector<Value> inputs_;
};

Value Translator::input(std::uint32_t cell, const std::string& name) {
  const auto index = static_cast<std::uint32_t>(out_.reads.size());
  out_.reads.push_back(cell);
  out_.kernel.inputs.push_back({name, ir::Type::i64, {}});
  return arithmetic_.input(index);
}

Value Translator::value_of(const Entry& entry) {
  if (entry.cell == kComputed) return entry.value;
  Value& read = inputs_[entry.cell];
  return read.valid() ? read : read = input(entry.cell, "cell" + std::to_string(entry.cell));
}

/// Executes instructions that compute nothing.
void Translator::move(const Instruction& instruction) {
  const auto n = static_cast<std::ptrdiff_t>(instruction.argument.value());
  if (instruction.op == Op::kPop) stack_.resize(stack_.size() - static_cast<std::size_t>(n));
  if (instruction.op == Op::kDup) stack_.push_back(Entry(st(static_cast<std::size_t>(n))));
  if (instruction.op == Op::kSwap) std::swap(st(0), st(static_cast<std::size_t>(n)));
  if (instruction.op == Op::kPick) std::rotate(stack_.end() - n - 1, stack_.end() - n, stack_.end());
  if (instruction.op == Op::kPlace) std::rotate(stack_.end() - n - 1, stack_.end() - 1, stack_.end());
}

void Translator::compute_u32(Op op) {
  const Value a = pop();
  if (op == Op::kLog2Floor) return push(arithmetic_.log_2_floor(a));
  if (op == Op::kPopCount) return push(arithmetic_.pop_count(a));
  const Value b = pop();
  if (op == Op::kLt) return push(arithmetic_.less(a, b));
  if (op == Op::kPow) return push(arithmetic_.power(a, b));
  if (op == Op::kAnd) return push(arithmetic_.bitwise(kir::Op::And, a, b));
  if (op == Op::kXor) return push(arithmetic_.bitwise(kir::Op::Xor, a, b));
  CHECK(op == Op::kDivMod);
  const auto [quotient, remainder] = arithmetic_.divide(a, b);
  push(quotient);
  push(remainder);
}

void Translator::compute(Op op) {
  if (op == Op::kXxAdd || op == Op::kXxMul) {
    const Extension a = pop_extension(), b = pop_extension();
    return push(op == Op::kXxAdd ? arithmetic_.sum(a, b) : arithmetic_.product(a, b));
  }
  if (op == Op::kXInvert) return push(arithmetic_.inverse(pop_extension()));
  const Value a = pop();
  if (op == Op::kInvert) return push(arithmetic_.inverse(a));
  if (op == Op::kSplit) {
    const auto [high, low] = arithmetic_.split(a);
    push(high);
    return push(low);
  }
  if (op == Op::kXbMul) return push(arithmetic_.product(a, pop_extension()));
  const Value b = pop();
  if (op == Op::kAdd) return push(arithmetic_.sum(a, b));
  if (op == Op::kMul) return push(arithmetic_.product(a, b));
  CHECK(op == Op::kEq);
  push(arithmetic_.equal(a, b));
}

void Translator::run(const Instruction& instruction) {
  const std::uint64_t argument = instruction.argument.value();
  switch (instruction.op) {
    case Op::kNop: return;
    case Op::kPop:
    case Op::kDup:
    case Op::kSwap:
    case Op::kPick:
    case Op::kPlace: return move(instruction);
    case Op::kPush: return push(arithmetic_.constant(argument));
    case Op::kAddI: return push(arithmetic_.sum(pop(), arithmetic_.constant(argument)));
    case Op::kAssert: return arithmetic_.fail_unless_equal(pop(), arithmetic_.constant(1));
    case Op::kAssertVector:
      for (std::size_t i = 0; i < field::kDigestWords; ++i)
        arithmetic_.fail_unless_equal(value(i), value(i + field::kDigestWords));
      stack_.resize(stack_.size() - field::kDigestWords);
      return;
    case Op::kAdd:
    case Op::kMul:
    case Op::kEq:
    case Op::kInvert:
    case Op::kSplit:
    case Op::kXxAdd:
    case Op::kXxMul:
    case Op::kXInvert:
    case Op::kXbMul: return compute(instruction.op);
    case Op::kLt:
    case Op::kAnd:
    case Op::kXor:
    case Op::kLog2Floor:
    case Op::kPow:
    case Op::kDivMod:
    case Op::kPopCount: return compute_u32(instruction.op);
    case Op::kDivine:
    case Op::kHalt:
    case Op::kSkiz:
    case Op::kCall:
    case Op::kReturn:
    case Op::kRecurse:
    case Op::kRecurseOrReturn:
    case Op::kReadMem:
    case Op::kWriteMem:
    case Op::kHash:
    case Op::kSpongeInit:
    case Op::kSpongeAbsorb:
    case Op::kSpongeAbsorbMem:
    case Op::kSpongeSqueeze:
    case Op::kReadIo:
    case Op::kWriteIo:
    case Op::kMerkleStep:
    case Op::kMerkleStepMem:
    case Op::kXxDotStep:
    case Op::kXbDotStep:
    case Op::kBHornerStep:
    case Op::kXHornerStep: break;
  }
  CHECK(false);
}

void Translator::before_inversion(Op op) {
  if (op == Op::kInvert) return;
  const auto [column, norm] = arithmetic_.adjugate(pop_extension());
  push(column);
  push(norm);
}

void Translator::after_inversion(Op op) {
  if (op == Op::kInvert) return;
  const Value factor = pop();
  push(arithmetic_.product(factor, pop_extension()));
}

void Translator::finish() {
  out_.height = static_cast<std::uint32_t>(stack_.size());
  for (std::uint32_t cell = 0; cell < stack_.size(); ++cell) {
    const Entry& entry = stack_[cell];
    if (entry.cell == cell) continue;
    const Value v = value_of(entry);
    if (cell < out_.reach && v == inputs_[cell]) continue;
    out_.writes.push_back(cell);
    out_.kernel.outputs.push_back({"cell" + std::to_string(cell), v});
  }
  out_.kernel.outputs.push_back({"failed", arithmetic_.failed()});
}

}  // namespace

bool is_supported(Op op) {
  const tasm::InstructionRow& row = tasm::row(op);
  return (row.effects & ~(tasm::kAsserts | tasm::kMayFail)) == 0 && row.hash_rows == 0;
}

namespace {

Result<void> check(std::span<const Instruction> block) {
  for (const Instruction& instruction : block) {
    const tasm::InstructionRow& row = tasm::row(instruction.op);
    if (!is_supported(instruction.op))
      return make_error(ErrorCode::kUnsupported, "'%.*s' touches more than the stack",
                        static_cast<int>(row.text.size()), row.text.data());
    if (!tasm::legal_argument(row.argument, instruction.argument))
      return make_error(ErrorCode::kInvalidArgument, "'%s' has an argument out of range",
                        tasm::print(instruction).c_str());
  }
  return {};
}

}  // namespace

Result<Translation> translate(std::span<const Instruction> block, Target target) {
  TRY_VOID(check(block));
  Translation out;
  const Extent extent = extent_of(block);
  out.reach = extent.reach;
  out.size_min = extent.size_min;
  Translator translator(out, target);
  for (const Instruction& instruction : block) translator.run(instruction);
  translator.finish();
  CHECK(out.height == extent.height);
  TRY_VOID(kir::check(out.kernel));
  return out;
}

Result<std::vector<Translation>> translate_stages(std::span<const Instruction> block, Target target) {
  TRY_VOID(check(block));
  std::vector<Translation> stages;
  std::uint32_t reach = extent_of(block).reach;
  std::optional<Op> inverts;
  std::size_t at = 0;
  do {
    Translation stage;
    stage.reach = reach;
    Translator translator(stage, target);
    if (inverts) {
      translator.start_failed();
      translator.after_inversion(*inverts);
    }
    for (inverts.reset(); at < block.size() && !inverts; ++at) {
      const Op op = block[at].op;
      const bool is_inversion = op == Op::kInvert || op == Op::kXInvert;
      if (!is_inversion || translator.inverts_constant(op)) {
        translator.run(block[at]);
        continue;
      }
      translator.before_inversion(op);
      inverts = op;
    }
    translator.finish();
    TRY_VOID(kir::check(stage.kernel));
    reach = stage.height;
    stages.push_back(std::move(stage));
  } while (inverts);
  if (stages.size() == 1) stages.clear();
  return stages;
}

}  // namespace trident::tir::native
