#include "jit/tir/language/program.h"

#include <algorithm>

#include "jit/tir/tasm/program.h"

namespace trident::tir::language {
namespace {

constexpr tasm::Amount n{0, 1};
constexpr tasm::Amount operator+(int fixed, tasm::Amount amount) {
  return {static_cast<std::uint8_t>(fixed + amount.fixed), amount.per_argument};
}
constexpr tasm::Amount amount(int fixed) {
  return {static_cast<std::uint8_t>(fixed), 0};
}
constexpr tasm::Amount amount(tasm::Amount given) {
  return given;
}

constexpr OpRow kRows[] = {
#define X(name, code, tier, text, form, takes, gives, meaning) \
  {#name, code, tier, text, Form::form, amount(takes), amount(gives), meaning},
#include "jit/tir/language/ops.def"
#undef X
};

void print_body(const std::vector<Operation>& body, int depth, std::string& out);

void print_operation(const Operation& operation, int depth, std::string& out) {
  const OpRow& r = row(operation.op);
  out.append(static_cast<std::size_t>(2 * depth), ' ');
  out += r.text;
  switch (r.form) {
    case Form::none: break;
    case Form::label: out += " " + operation.name + (operation.op == Op::kFnStart ? " {" : ""); break;
    case Form::element: out += " " + std::to_string(operation.element.value()); break;
    case Form::depth:
    case Form::count:
    case Form::words:
    case Form::asserted:
    case Form::width: out += " " + std::to_string(operation.number); break;
    case Form::event:
      out += " " + operation.name + " " + std::to_string(operation.element.value()) + " " +
             std::to_string(operation.number);
      break;
    case Form::body:
    case Form::branches:
    case Form::named_body:
      if (!operation.name.empty()) out += " " + operation.name;
      out += " {\n";
      print_body(operation.body, depth + 1, out);
      out.append(static_cast<std::size_t>(2 * depth), ' ');
      out += '}';
      if (r.form != Form::branches) break;
      out += " else {\n";
      print_body(operation.otherwise, depth + 1, out);
      out.append(static_cast<std::size_t>(2 * depth), ' ');
      out += '}';
      break;
    case Form::assembly:
      out += " " + std::to_string(operation.stack_change()) + " {";
      for (const tasm::Instruction& instruction : operation.assembly) out += " " + tasm::print(instruction);
      out += " }";
      break;
    case Form::line: out += operation.name; break;
  }
  out += '\n';
}

void print_body(const std::vector<Operation>& body, int depth, std::string& out) {
  for (const Operation& operation : body) {
    if (operation.op == Op::kFnEnd) --depth;
    print_operation(operation, depth, out);
    if (operation.op == Op::kFnStart) ++depth;
  }
}

bool same(const std::vector<Operation>& a, const std::vector<Operation>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Operation& x, const Operation& y) {
    return x.op == y.op && x.number == y.number && x.element == y.element && x.name == y.name &&
           x.assembly == y.assembly && same(x.body, y.body) && same(x.otherwise, y.otherwise);
  });
}

unsigned tier(const std::vector<Operation>& operations) {
  unsigned highest = 0;
  for (const Operation& operation : operations)
    highest = std::max({highest, unsigned{row(operation.op).tier}, tier(operation.body), tier(operation.otherwise)});
  return highest;
}

}  // namespace

const OpRow& row(Op op) {
  return kRows[static_cast<std::size_t>(op)];
}

int Operation::stack_change() const {
  if (op == Op::kAsm) {
    int change = 0;
    for (const tasm::Instruction& instruction : assembly) change += instruction.stack_change();
    return change;
  }
  return static_cast<int>(row(op).gives.of(number)) - static_cast<int>(row(op).takes.of(number));
}

bool same(const Program& a, const Program& b) {
  return same(a.operations, b.operations);
}

std::string print(const Program& program) {
  std::string out;
  print_body(program.operations, 0, out);
  return out;
}

unsigned tier(const Program& program) {
  return tier(program.operations);
}

}  // namespace trident::tir::language
