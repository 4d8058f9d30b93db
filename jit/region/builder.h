// Appends blocks and instructions to a region. Wrong operand types are bugs of the caller, which check() names.
#pragma once

#include <cstdint>

#include "jit/region/region.h"

namespace trident::region {

class Builder {
 public:
  /// Appends to `region`, which must outlive the builder.
  explicit Builder(Region& region) : region_(region) {}

  /// Returns the number of a new variable.
  std::uint32_t variable(std::string name, Type type, std::uint32_t slot, bool scratch = false);

  /// Begins the next block and returns its number. The block before it must have been ended.
  std::uint32_t begin_block();
  /// Sets the number of the source's instruction that what follows belongs to.
  void at(std::uint32_t source) { at_ = source; }

  Value constant(Type type, std::uint64_t bits);
  Value get(std::uint32_t variable);
  void set(std::uint32_t variable, Value value);
  /// Appends an op that computes; the type follows from the operands.
  Value op(Op op, Value a, Value b = {}, Value c = {});
  /// Ops that take a constant as their second operand.
  Value op_with(Op op, Value a, std::uint64_t bits) { return this->op(op, a, constant(type_of(a), bits)); }
  Value access(Value address, std::uint64_t bytes, std::uint32_t window, std::uint32_t otherwise);
  /// The place of element number `index`, of 1, 2, 4 or 8 bytes.
  Value element(Value index, std::uint8_t bytes, std::uint32_t window, std::uint32_t otherwise);
  Value load(Type type, std::uint8_t bytes, bool is_signed, Value place, std::uint64_t displacement = 0);
  void store(std::uint8_t bytes, Value place, Value value, std::uint64_t displacement = 0);

  void jump(std::uint32_t block) { end({.flow = Flow::jump, .then = block}); }
  void branch(Value condition, std::uint32_t then, std::uint32_t otherwise) {
    end({.flow = Flow::branch, .condition = condition, .then = then, .otherwise = otherwise});
  }
  void exit(Exit exit) { end({.flow = Flow::exit, .exit = exit}); }

  [[nodiscard]] Type type_of(Value v) const { return region_.insts[v.index].type; }

 private:
  Value append(Inst inst);
  void end(const Terminator& terminator);

  Region& region_;
  std::uint32_t at_ = 0;
};

}  // namespace trident::region
