#include <algorithm>
#include <string>

#include "jit/region/region.h"
#include "runtime/base/limits.h"

namespace trident::region {
namespace {

constexpr std::uint32_t kBudgetBytes = sizeof(FrameHead::budget);

class Checker {
 public:
  explicit Checker(const Region& region) : region_(region) {}

  Result<void> run() {
    TRY_VOID(limits());
    for (std::size_t v = 0; v < region_.variables.size(); ++v) TRY_VOID(variable(v));
    std::uint32_t next = 0;
    for (block_ = 0; block_ < region_.blocks.size(); ++block_) {
      const Block& block = region_.blocks[block_];
      if (block.first != next || block.last < block.first || block.last > region_.insts.size())
        return fault("its instructions do not follow those of the block before");
      next = block.last;
      for (inst_ = block.first; inst_ < block.last; ++inst_) TRY_VOID(instruction(region_.insts[inst_]));
      TRY_VOID(terminator(block.end));
    }
    if (next != region_.insts.size()) return make_error(ErrorCode::kInvalidArgument, "instructions outside of blocks");
    return {};
  }

 private:
  [[nodiscard]] Result<void> limits() const {
    if (region_.blocks.empty()) return make_error(ErrorCode::kInvalidArgument, "a region has a block");
    const struct {
      std::size_t count, most;
      const char* what;
    } counts[] = {{region_.insts.size(), limits::kRegionInstsMax, "instructions"},
                  {region_.blocks.size(), limits::kRegionBlocksMax, "blocks"},
                  {region_.variables.size(), limits::kRegionVariablesMax, "variables"},
                  {region_.windows, limits::kRegionWindowsMax, "windows"}};
    for (const auto& [count, most, what] : counts)
      if (count > most) return make_error(ErrorCode::kLimitExceeded, "%zu %s; at most %zu", count, what, most);
    return {};
  }

  [[nodiscard]] Result<void> variable(std::size_t number) const {
    const Variable& v = region_.variables[number];
    const auto wrong = [&](const char* what) {
      return make_error(ErrorCode::kInvalidArgument, "variable %s: %s", v.name.c_str(), what);
    };
    if (v.type == Type::place) return wrong("a place is no value of a variable");
    const std::uint64_t end = std::uint64_t{v.slot} + bytes_of(v.type);
    if (v.slot % bytes_of(v.type) != 0) return wrong("its home is not aligned");
    if (end > limits::kRegionFrameBytesMax) return wrong("its home lies outside of the greatest frame");
    if (end > kBudgetBytes && v.slot < kFrameHeadBytes) return wrong("its home is one of the frame's own words");
    for (std::size_t o = 0; o < number; ++o) {
      const Variable& other = region_.variables[o];
      if (v.slot < other.slot + bytes_of(other.type) && other.slot < end) return wrong("its home is another's too");
      if (v.name == other.name) return wrong("its name is another's too");
    }
    return {};
  }

  Result<void> instruction(const Inst& inst) {
    if (static_cast<std::uint32_t>(inst.op) >= kOpCount) return fault("no such op");
    const Value operands[] = {inst.a, inst.b, inst.c};
    for (std::uint32_t i = 0; i < 3; ++i) {
      const bool wanted = i < info(inst.op).arity;
      if (wanted != operands[i].valid()) return fault("wrong number of operands");
      if (wanted) TRY_VOID(operand(operands[i]));
    }
    const bool has_bytes = inst.op == Op::Load || inst.op == Op::Store;
    if (inst.op != Op::Access && has_bytes != (inst.bytes != 0))
      return fault("a load or store has a number of bytes, and nothing else has");
    if (inst.is_signed && inst.op != Op::Load) return fault("only a load is signed");
    if (inst.op != Op::Access && (inst.window != 0 || inst.otherwise != 0))
      return fault("only an access has a window and a block");
    return types(inst);
  }

  [[nodiscard]] Result<void> operand(Value v) const {
    if (v.index < region_.blocks[block_].first || v.index >= inst_)
      return fault("an operand is no earlier value of this block");
    if (!has_result(region_.insts[v.index].op)) return fault("an operand has no value");
    return {};
  }

  [[nodiscard]] Type type_of(Value v) const { return region_.insts[v.index].type; }

  Result<void> types(const Inst& inst) const {
    const Type type = inst.type;
    const auto must = [&](bool holds) { return holds ? Result<void>() : fault("wrong types"); };
    if ((type == Type::place) != (inst.op == Op::Access)) return fault("an access alone yields a place");
    switch (info(inst.op).signature) {
      case Signature::Leaf: return leaf(inst);
      case Signature::Same:
        return must(type != Type::f64 && type_of(inst.a) == type && (!inst.b.valid() || type_of(inst.b) == type));
      case Signature::Compare:
        return must(type == Type::i32 && type_of(inst.a) == type_of(inst.b) && type_of(inst.a) <= Type::i64);
      case Signature::Select:
        return must(type_of(inst.a) == Type::i32 && type_of(inst.b) == type && type_of(inst.c) == type);
      case Signature::Widen: return must(type == Type::i64 && type_of(inst.a) == Type::i32);
      case Signature::Narrow: return must(type == Type::i32 && type_of(inst.a) == Type::i64);
      case Signature::Assign: TRY_VOID(must(type_of(inst.a) == type)); return variable_of(inst);
      case Signature::Reserve: return access(inst);
      case Signature::Read:
      case Signature::Write: return memory(inst);
      case Signature::Float: return must(type == Type::f64 && takes_floats(inst));
      case Signature::Order:
      case Signature::Equality: return must(type == Type::i32 && takes_floats(inst));
      case Signature::FromInt: return must(type == Type::f64 && type_of(inst.a) == Type::i64);
      case Signature::ToInt: return must(type == Type::i64 && type_of(inst.a) == Type::f64);
    }
    return fault("no such signature");
  }

  [[nodiscard]] bool takes_floats(const Inst& inst) const {
    for (const Value v : {inst.a, inst.b, inst.c})
      if (v.valid() && type_of(v) != Type::f64) return false;
    return true;
  }

  [[nodiscard]] Result<void> leaf(const Inst& inst) const {
    if (inst.op == Op::Get) return variable_of(inst);
    if (inst.type == Type::i32 && inst.imm >> 32 != 0) return fault("a constant has bits above its type's");
    return {};
  }

  [[nodiscard]] Result<void> variable_of(const Inst& inst) const {
    if (inst.imm >= region_.variables.size()) return fault("no such variable");
    if (region_.variables[inst.imm].type != inst.type) return fault("the variable has another type");
    return {};
  }

  [[nodiscard]] Result<void> access(const Inst& inst) const {
    if (type_of(inst.a) != Type::i64) return fault("an address is an i64");
    if (inst.imm == 0 || inst.imm > limits::kRegionAccessBytesMax) return fault("too few or too many bytes");
    const bool is_size = inst.bytes <= sizeof(std::uint64_t) && (inst.bytes & (inst.bytes - 1)) == 0;
    if (inst.bytes != 0 && (!is_size || inst.bytes != inst.imm)) return fault("elements have 1, 2, 4 or 8 bytes");
    if (inst.window >= region_.windows) return fault("no such window");
    TRY_VOID(target(inst.otherwise));
    for (std::uint32_t i = inst_; i-- > region_.blocks[block_].first && region_.insts[i].at == inst.at;)
      if (!has_result(region_.insts[i].op)) return fault("an access follows an effect of the same source instruction");
    return {};
  }

  [[nodiscard]] Result<void> memory(const Inst& inst) const {
    if (type_of(inst.a) != Type::place) return fault("the first operand is no place");
    if (inst.op == Op::Store && type_of(inst.b) != inst.type) return fault("wrong types");
    const bool is_power = inst.bytes != 0 && (inst.bytes & (inst.bytes - 1)) == 0;
    if (!is_power || inst.bytes > bytes_of(inst.type)) return fault("a number of bytes that the type has not");
    if (inst.type == Type::f64 && (inst.bytes != bytes_of(Type::f64) || inst.is_signed))
      return fault("a load or store of f64 has 8 bytes, unsigned");
    const std::uint64_t reserved = region_.insts[inst.a.index].imm;
    if (inst.imm > reserved || inst.bytes > reserved - inst.imm) return fault("outside of its place");
    return {};
  }

  [[nodiscard]] Result<void> target(std::uint32_t block) const {
    return block < region_.blocks.size() ? Result<void>() : fault("no such block to go to");
  }

  Result<void> terminator(const Terminator& end) {
    switch (end.flow) {
      case Flow::jump: return target(end.then);
      case Flow::branch:
        TRY_VOID(operand(end.condition));
        if (type_of(end.condition) != Type::i32) return fault("a condition is an i32");
        TRY_VOID(target(end.then));
        return target(end.otherwise);
      case Flow::exit:
        return static_cast<std::uint32_t>(end.exit) < kExitCount ? Result<void>() : fault("no such exit");
    }
    return fault("no such end");
  }

  [[nodiscard]] Error fault(const char* what) const {
    return make_error(ErrorCode::kInvalidArgument, "block %u, instruction %u: %s", block_, inst_, what);
  }

  const Region& region_;
  std::uint32_t block_ = 0;
  std::uint32_t inst_ = 0;
};

}  // namespace

Result<void> check(const Region& region) {
  return Checker(region).run();
}

}  // namespace trident::region
