#include "jit/region/builder.h"

#include <utility>

namespace trident::region {
namespace {

/// Returns the type of what an op makes of operands of type `from`.
Type result_type(Signature signature, Type from) {
  constexpr std::pair<Signature, Type> kOthers[] = {{Signature::Widen, Type::i64},    {Signature::Narrow, Type::i32},
                                                    {Signature::Compare, Type::i32},  {Signature::Order, Type::i32},
                                                    {Signature::Equality, Type::i32}, {Signature::FromInt, Type::f64},
                                                    {Signature::ToInt, Type::i64}};
  for (const auto& [other, type] : kOthers)
    if (other == signature) return type;
  return from;
}

}  // namespace

std::uint32_t Builder::variable(std::string name, Type type, std::uint32_t slot, bool scratch) {
  region_.variables.push_back({std::move(name), type, slot, scratch});
  return static_cast<std::uint32_t>(region_.variables.size() - 1);
}

std::uint32_t Builder::begin_block() {
  const auto first = static_cast<std::uint32_t>(region_.insts.size());
  region_.blocks.push_back({first, first, {}});
  return static_cast<std::uint32_t>(region_.blocks.size() - 1);
}

Value Builder::append(Inst inst) {
  inst.at = at_;
  region_.insts.push_back(inst);
  region_.blocks.back().last = static_cast<std::uint32_t>(region_.insts.size());
  return Value(static_cast<std::uint32_t>(region_.insts.size() - 1));
}

void Builder::end(const Terminator& terminator) {
  region_.blocks.back().end = terminator;
}

Value Builder::constant(Type type, std::uint64_t bits) {
  return append({.op = Op::Constant, .type = type, .imm = type == Type::i32 ? bits & 0xFFFF'FFFF : bits});
}

Value Builder::get(std::uint32_t variable) {
  return append({.op = Op::Get, .type = region_.variables[variable].type, .imm = variable});
}

void Builder::set(std::uint32_t variable, Value value) {
  append({.op = Op::Set, .type = region_.variables[variable].type, .a = value, .imm = variable});
}

Value Builder::op(Op op, Value a, Value b, Value c) {
  const Type type = result_type(info(op).signature, type_of(info(op).signature == Signature::Select ? b : a));
  return append({.op = op, .type = type, .a = a, .b = b, .c = c});
}

Value Builder::access(Value address, std::uint64_t bytes, std::uint32_t window, std::uint32_t otherwise) {
  return append(
      {.op = Op::Access, .type = Type::place, .a = address, .imm = bytes, .window = window, .otherwise = otherwise});
}

Value Builder::element(Value index, std::uint8_t bytes, std::uint32_t window, std::uint32_t otherwise) {
  return append({.op = Op::Access,
                 .type = Type::place,
                 .bytes = bytes,
                 .a = index,
                 .imm = bytes,
                 .window = window,
                 .otherwise = otherwise});
}

Value Builder::load(Type type, std::uint8_t bytes, bool is_signed, Value place, std::uint64_t displacement) {
  return append(
      {.op = Op::Load, .type = type, .bytes = bytes, .is_signed = is_signed, .a = place, .imm = displacement});
}

void Builder::store(std::uint8_t bytes, Value place, Value value, std::uint64_t displacement) {
  append({.op = Op::Store, .type = type_of(value), .bytes = bytes, .a = place, .b = value, .imm = displacement});
}

}  // namespace trident::region
