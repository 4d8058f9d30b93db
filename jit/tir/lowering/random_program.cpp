#include "jit/tir/lowering/random_program.h"

#include "jit/tir/language/program.h"

namespace trident::tir::lowering {

using field::Element;
using language::Form;
using language::Op;

Element RandomProgram::element() {
  constexpr std::uint64_t kCorners[] = {0, 1, 2, 31, 32, 0xffff'ffff, 0x1'0000'0000, field::kModulus - 1};
  switch (below(4)) {
    case 0: return Element(kCorners[below(std::size(kCorners))]);
    case 1: return Element(random_());
    case 2: return Element(random_() >> 32);
    default: return Element(below(40));
  }
}

std::vector<Element> RandomProgram::elements(std::size_t count) {
  std::vector<Element> out(count);
  for (Element& e : out) e = element();
  return out;
}

std::vector<field::Digest> RandomProgram::digests(std::size_t count) {
  std::vector<field::Digest> out(count);
  for (field::Digest& digest : out)
    for (Element& e : digest) e = element();
  return out;
}

/// Pushes or drops until the stack has the required height.
void RandomProgram::balance(int from, int to) {
  for (; from < to; ++from) out_ += "push " + std::to_string(element().value()) + "\n";
  if (from > to) out_ += "pop " + std::to_string(from - to) + "\n";
}

void RandomProgram::operations(int count, int depth, int& height) {
  for (int i = 0; i < count; ++i) operation(depth, height);
}

/// Adds an operation. `height`: elements above those at the piece's start; it looks a little below.
void RandomProgram::operation(int depth, int& height) {
  const auto op = static_cast<Op>(below(language::kOpCount));
  const language::OpRow& row = language::row(op);
  const auto body = [&](int change, int given) {
    out_ += " {\n";
    int inner = given;
    operations(static_cast<int>(below(5)), depth + 1, inner);
    balance(inner, given + change);
    out_ += "}";
  };
  if (op == Op::kIfElse || op == Op::kIfOnly || op == Op::kLoop || op == Op::kProofBlock) {
    if (depth >= 3) return;
    out_ += op == Op::kProofBlock ? "" : "push " + std::to_string(below(3)) + "\n";
    out_ += row.text;
    const int change = op == Op::kIfElse ? static_cast<int>(below(3)) : 0;
    if (op == Op::kLoop || op == Op::kProofBlock) out_ += " b" + std::to_string(below(9));
    body(change, 0);
    if (op == Op::kIfElse) out_ += " else", body(change, 0);
    if (op == Op::kLoop) out_ += "\npop 1";
    out_ += "\n";
    height += change;
    return;
  }
  if (row.tier == 0) {
    if (op == Op::kCall && depth < 3) {
      out_ += "call f" + std::to_string(below(2)) + "\n";
      ++height;
    } else if (op == Op::kComment) {
      out_ += "// " + std::to_string(below(100)) + "\n";
    } else if (op == Op::kAsm) {
      out_ += "asm 0 { pick 3 place 2 addi 7 swap 5 }\n";
    }
    return;
  }
  language::Operation made;
  made.op = op;
  std::string operands;
  switch (row.form) {
    case Form::element: operands = std::to_string(element().value()); break;
    case Form::depth: made.number = below(4) == 0 ? below(30) : below(6); break;
    case Form::count: made.number = 1 + below(7); break;
    case Form::words: made.number = 1 + below(6); break;
    case Form::asserted: made.number = below(2) == 0 ? 1 : 5; break;
    case Form::width: operands = "10"; break;
    case Form::event:
      made.number = below(6);
      operands = "E " + std::to_string(element().value()) + " ";
      break;
    case Form::none:
    case Form::label:
    case Form::body:
    case Form::branches:
    case Form::named_body:
    case Form::assembly:
    case Form::line: break;
  }
  // Operations that can fail get operands that let them end well most of the time.
  const bool asserts = op == Op::kAssert;
  if (asserts) {
    balance(height, height + (made.number == 1 ? 0 : 5));
    out_ += made.number == 1 ? "push 1\n" : "dup 4\ndup 4\ndup 4\ndup 4\ndup 4\n";
    height += made.number == 1 ? 1 : 10;
  } else if (row.takes.of(made.number) <= 2 && row.gives.of(made.number) > 0 && op != Op::kDup && below(8) != 0) {
    for (std::uint64_t i = 0; i < row.takes.of(made.number); ++i) {
      out_ += "push " + std::to_string(op == Op::kReadMem || op == Op::kRamRead ? below(30) : 1 + below(31)) + "\n";
      ++height;
    }
  }
  const int change = made.stack_change();
  if (height + change < -3) {
    balance(height, height - change);
    height -= change;
  }
  const bool numbered = row.form == Form::depth || row.form == Form::count || row.form == Form::words ||
                        row.form == Form::asserted || row.form == Form::event;
  if (op == Op::kSpongeAbsorb || op == Op::kSpongeSqueeze || op == Op::kSpongeLoad) out_ += "sponge_init\n";
  if (op == Op::kMerkleStep || op == Op::kMerkleLoad) out_ += "push 6\nswap 6\npop 1\n";
  out_ += std::string(row.text) + (operands.empty() ? "" : " " + operands);
  if (numbered) out_ += (row.form == Form::event ? "" : " ") + std::to_string(made.number);
  out_ += "\n";
  height += change;
}

std::string RandomProgram::text() {
  out_.clear();
  int height = 0;
  operations(3 + static_cast<int>(below(25)), 0, height);
  out_ += "halt\n";
  for (int f = 0; f < 2; ++f) {
    out_ += "fn f" + std::to_string(f) + " {\n";
    int inner = 0;
    operations(static_cast<int>(below(6)), 3, inner);
    balance(inner, 1);
    out_ += "return\n}\n";
  }
  return out_;
}

}  // namespace trident::tir::lowering
