#include "jit/tir/lowering/lowering.h"

#include <algorithm>
#include <deque>
#include <set>
#include <unordered_map>

#include "jit/tir/lowering/spilling.h"
#include "runtime/base/check.h"

namespace trident::tir::lowering {
namespace {

using field::Element;
using language::Operation;
using tasm::Instruction;
using tasm::Op;
using TirOp = language::Op;

std::string label_of(const std::string& function) {
  return "__" + function;
}

class Lowering {
 public:
  explicit Lowering(const language::Program& program)
      : program_(program), stack_(out_.instructions, spill_base(program)) {}

  tasm::Program run() {
    for (const Operation& operation : program_.operations) {
      if (operation.op == TirOp::kFnStart) flush();
      lower(operation);
    }
    end_piece();
    flush();
    link();
    return std::move(out_);
  }

 private:
  // --- emitting ---

  void emit(Op op, std::uint64_t argument = 0) { out_.instructions.push_back({op, Element(argument)}); }
  void emit(std::initializer_list<Instruction> list) {
    out_.instructions.insert(out_.instructions.end(), list.begin(), list.end());
  }
  void push(Element e) { out_.instructions.push_back({Op::kPush, e}); }
  /// Emits an operation on n words; the machine's instruction takes up to five.
  void batches(Op op, std::uint64_t n) {
    for (; n > 0; n -= std::min(n, tasm::kCountMax)) emit(op, std::min(n, tasm::kCountMax));
  }
  void label(const std::string& name) {
    out_.marks.push_back(
        {tasm::Mark::Kind::label, static_cast<std::uint32_t>(out_.instructions.size()), name, "", 0, 0});
  }
  void call(const std::string& name) {
    calls_.emplace_back(out_.instructions.size(), name);
    emit(Op::kCall);
  }
  /// Restores the stack, as the next code expects it in the order of the text and may be reached from elsewhere.
  void end_piece() {
    stack_.restore();
    stack_.forget();
  }

  // --- bodies ---

  enum class Kind : std::uint8_t { first_of_two, plain, loop };
  struct Body {
    Kind kind;
    std::string label;
    const std::vector<Operation>* operations;
    std::uint32_t offset;
  };
  /// Emits a call of a body whose code is placed later.
  void defer(Kind kind, const char* what, const std::string& name, const std::vector<Operation>& body,
             std::uint32_t offset) {
    std::string label = what + (name.empty() ? "" : "_" + name) + "__" + std::to_string(++bodies_);
    call(label);
    deferred_.push_back({kind, std::move(label), &body, offset});
  }
  void flush() {
    while (!deferred_.empty()) {
      const Body body = std::move(deferred_.front());
      deferred_.pop_front();
      put_down(body);
    }
  }
  void put_down(const Body& body);

  // --- operations ---

  void lower(const Operation& operation) {
    if (language::row(operation.op).tier == 0) {
      if (operation.op != TirOp::kComment) end_piece();
    } else if (operation.op != TirOp::kPop && operation.op != TirOp::kDup && operation.op != TirOp::kSwap &&
               operation.op != TirOp::kProofBlock) {
      const language::OpRow& row = language::row(operation.op);
      const std::uint64_t compared = operation.op == TirOp::kAssert && operation.number == 5 ? 10 : 0;
      const std::uint64_t takes = std::max<std::uint64_t>(row.takes.of(operation.number), compared);
      stack_.apply(takes, static_cast<std::uint64_t>(static_cast<int>(takes) + operation.stack_change()));
    }
    lower_by_kind(operation);
    mark_offsets(operation.offset);
  }
  void mark_offsets(std::uint32_t offset) { out_.offsets.resize(out_.instructions.size(), offset); }

  void lower_by_kind(const Operation& operation);

  /// Replaces labels by addresses in calls.
  void link() {
    std::vector<std::uint32_t> addresses{0};
    for (const Instruction& instruction : out_.instructions)
      addresses.push_back(addresses.back() + instruction.words());
    std::unordered_map<std::string, std::uint32_t> labels;
    for (const tasm::Mark& mark : out_.marks) labels.emplace(mark.text, addresses[mark.instruction]);
    for (const auto& [instruction, name] : calls_) out_.instructions[instruction].argument = Element(labels.at(name));
  }

  const language::Program& program_;
  tasm::Program out_;
  Spilling stack_;
  std::vector<std::pair<std::size_t, std::string>> calls_;
  std::deque<Body> deferred_;
  std::size_t bodies_ = 0;
};

void Lowering::put_down(const Body& body) {
  label(body.label);
  if (body.kind == Kind::first_of_two) emit(Op::kPop, 1);
  if (body.kind == Kind::loop) {
    emit({{Op::kDup, Element(0)}, {Op::kPush, Element(0)}, {Op::kEq, {}}, {Op::kSkiz, {}}, {Op::kReturn, {}}});
    out_.instructions.push_back({Op::kAddI, field::kMinusOne});
  }
  mark_offsets(body.offset);
  for (const Operation& operation : *body.operations) lower(operation);
  end_piece();
  if (body.kind == Kind::first_of_two) emit(Op::kPush, 0);
  emit(body.kind == Kind::loop ? Op::kRecurse : Op::kReturn);
  mark_offsets(body.offset);
}

void Lowering::lower_by_kind(const Operation& operation) {
  const std::uint64_t n = operation.number;
  const Instruction swap{Op::kSwap, Element(1)}, pop{Op::kPop, Element(1)}, two{Op::kPush, Element(2)};
  const Instruction minus_one{Op::kPush, field::kMinusOne};
  switch (operation.op) {
    case TirOp::kCall: call(label_of(operation.name)); return;
    case TirOp::kReturn: emit(Op::kReturn); return;
    case TirOp::kHalt: emit(Op::kHalt); return;
    case TirOp::kIfElse:
      emit({{Op::kPush, Element(1)}, swap, {Op::kSkiz, {}}});
      defer(Kind::first_of_two, "then", "", operation.body, operation.offset);
      emit(Op::kSkiz);
      defer(Kind::plain, "else", "", operation.otherwise, operation.offset);
      return;
    case TirOp::kIfOnly:
      emit(Op::kSkiz);
      defer(Kind::plain, "then", "", operation.body, operation.offset);
      return;
    case TirOp::kLoop: defer(Kind::loop, "loop", operation.name, operation.body, operation.offset); return;
    case TirOp::kFnStart: label(label_of(operation.name)); return;
    case TirOp::kEntry:
      call(label_of(operation.name));
      emit(Op::kHalt);
      return;
    case TirOp::kAsm:
      for (const Instruction& instruction : operation.assembly) emit({instruction});
      return;
    case TirOp::kComment:
    case TirOp::kFnEnd: return;
    case TirOp::kPush: push(operation.element); return;
    case TirOp::kPop: stack_.pop(n); return;
    case TirOp::kDup: stack_.dup(n); return;
    case TirOp::kSwap: stack_.swap(n); return;
    case TirOp::kAdd: emit(Op::kAdd); return;
    case TirOp::kSub: emit({minus_one, {Op::kMul, {}}, {Op::kAdd, {}}}); return;
    case TirOp::kMul: emit(Op::kMul); return;
    case TirOp::kNeg: emit({minus_one, {Op::kMul, {}}}); return;
    case TirOp::kInvert: emit(Op::kInvert); return;
    case TirOp::kEq: emit(Op::kEq); return;
    case TirOp::kLt: emit({swap, {Op::kLt, {}}}); return;
    case TirOp::kAnd: emit(Op::kAnd); return;
    case TirOp::kOr:  // a | b = a + b - (a & b)
      emit({{Op::kDup, Element(1)}, {Op::kDup, Element(1)}, {Op::kAnd, {}}, minus_one, {Op::kMul, {}}});
      emit({{Op::kAdd, {}}, {Op::kAdd, {}}});
      return;
    case TirOp::kXor: emit(Op::kXor); return;
    case TirOp::kPopCount: emit(Op::kPopCount); return;
    case TirOp::kSplit: emit(Op::kSplit); return;
    case TirOp::kDivMod: emit({swap, {Op::kDivMod, {}}}); return;
    case TirOp::kShl: emit({two, {Op::kPow, {}}, {Op::kMul, {}}}); return;
    case TirOp::kShr: emit({two, {Op::kPow, {}}, swap, {Op::kDivMod, {}}, pop}); return;
    case TirOp::kLog2: emit(Op::kLog2Floor); return;
    case TirOp::kPow: emit({swap, {Op::kPow, {}}}); return;
    case TirOp::kReadIo: batches(Op::kReadIo, n); return;
    case TirOp::kWriteIo: batches(Op::kWriteIo, n); return;
    case TirOp::kReadMem: batches(Op::kReadMem, n); return;
    case TirOp::kWriteMem: batches(Op::kWriteMem, n); return;
    case TirOp::kAssert: emit(n == 1 ? Op::kAssert : Op::kAssertVector); return;
    case TirOp::kHash: emit(Op::kHash); return;
    case TirOp::kReveal:
      push(operation.element);
      batches(Op::kWriteIo, n + 1);
      return;
    case TirOp::kSeal:
      for (std::uint64_t i = n; i < language::kSealFieldsMax; ++i) emit(Op::kPush, 0);
      push(operation.element);
      emit({{Op::kHash, {}}, {Op::kWriteIo, Element(field::kDigestWords)}});
      return;
    case TirOp::kRamRead:
      if (n > 1) emit(Op::kAddI, n - 1);
      batches(Op::kReadMem, n);
      emit({pop});
      return;
    case TirOp::kRamWrite:
      emit(n == 1 ? Op::kSwap : Op::kPick, n);
      batches(Op::kWriteMem, n);
      emit({pop});
      return;
    case TirOp::kHint: batches(Op::kDivine, n); return;
    case TirOp::kSpongeInit: emit(Op::kSpongeInit); return;
    case TirOp::kSpongeAbsorb: emit(Op::kSpongeAbsorb); return;
    case TirOp::kSpongeSqueeze: emit(Op::kSpongeSqueeze); return;
    case TirOp::kSpongeLoad: emit(Op::kSpongeAbsorbMem); return;
    case TirOp::kMerkleStep: emit(Op::kMerkleStep); return;
    case TirOp::kMerkleLoad: emit(Op::kMerkleStepMem); return;
    case TirOp::kExtMul: emit(Op::kXxMul); return;
    case TirOp::kExtInvert: emit(Op::kXInvert); return;
    case TirOp::kFoldExt: emit(Op::kXxDotStep); return;
    case TirOp::kFoldBase: emit(Op::kXbDotStep); return;
    case TirOp::kProofBlock:
      for (const Operation& inner : operation.body) lower(inner);
      return;
  }
}

void constants_of(const std::vector<Operation>& operations, std::vector<Element>& out) {
  for (const Operation& operation : operations) {
    if (operation.op == TirOp::kPush) out.push_back(operation.element);
    for (const Instruction& instruction : operation.assembly)
      if (tasm::row(instruction.op).argument == tasm::Argument::element) out.push_back(instruction.argument);
    constants_of(operation.body, out);
    constants_of(operation.otherwise, out);
  }
}

}  // namespace

Element spill_base(const language::Program& program) {
  std::vector<Element> constants;
  constants_of(program.operations, constants);
  constexpr std::uint64_t kStep = std::uint64_t{1} << 32;
  std::set<std::uint64_t> taken;  // k of addresses that have a constant near them
  for (const Element c : constants) {
    const std::uint64_t above = c.value() - (kSpillBase - kSpillMargin);  // wraps to a huge number for small ones
    if (c.value() > kSpillBase - kSpillMargin && above % kStep < 2 * kSpillMargin) taken.insert(above / kStep);
  }
  std::uint64_t k = 0;
  while (taken.contains(k)) ++k;
  return Element(kSpillBase) + Element(k) * Element(kStep);
}

tasm::Program lower(const language::Program& program, const Options& options) {
  return peephole(Lowering(program).run(), options.passes);
}

}  // namespace trident::tir::lowering
