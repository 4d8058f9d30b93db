// Random functions of general registers, for the tests of the allocator and the writer: blocks over variables, branches
// from their middles and their ends, loads and stores at computed addresses. They end, because each block burns fuel.
#pragma once

#include <initializer_list>
#include <iterator>
#include <vector>

#include "jit/codegen/x86_writer.h"
#include "tests/support/random.h"

namespace trident::codegen::mir_tests {

namespace x86 = asmjit::x86;
namespace Inst = asmjit::x86::Inst;
using testing::Random;
using x86::CondCode;

inline constexpr std::size_t kMemoryBytes = 8192;
inline constexpr std::uint32_t kVariablesMax = 14;
inline constexpr std::uint8_t kMemoryBase = x86_allocated::kWindows;

inline std::uint64_t truncated(std::uint64_t value, std::uint8_t width) {
  return width == 8 ? value : value & ((std::uint64_t{1} << 8 * width) - 1);
}

/// Blocks over variables, which live in the frame, and over one array of bytes. The target after the last block is the
/// exit.
struct Program {
  explicit Program(std::pmr::memory_resource* arena) : function(arena), pool(arena) {
    memory = function.add({.reg_class = RegClass::general, .global = true, .width = 8, .fixed = kMemoryBase});
  }
  VReg add_variable(std::uint8_t width) {
    const MemRef home{.place = Place::frame, .disp = static_cast<std::int32_t>(8 * variables.size())};
    variables.push_back(function.add({.reg_class = RegClass::general, .global = true, .width = width, .home = home}));
    return variables.back();
  }
  VReg add_constant(std::uint64_t bits) {
    VRegInfo info{.reg_class = RegClass::general, .global = true, .zero = bits == 0, .width = 8};
    if (!info.zero) info.home = {.place = Place::pool, .disp = pool.add_repeated(bits, 8, 1)};
    return function.add(info);
  }
  VReg add_local(std::uint8_t width) { return function.add({.reg_class = RegClass::general, .width = width}); }
  [[nodiscard]] Target exit() const { return Target(static_cast<std::uint32_t>(blocks.size())); }

  Function function;
  ConstantPool pool;
  std::vector<Block> blocks;
  std::vector<VReg> variables;
  VReg memory;
};

/// A condition of branches, and the outcomes of the comparison under which it holds.
struct Condition {
  CondCode code;
  bool with_sign, if_less, if_equal, if_greater;
};
inline constexpr Condition kConditions[] = {
    {CondCode::kEqual, false, false, true, false},      {CondCode::kNotEqual, false, true, false, true},
    {CondCode::kSignedLT, true, true, false, false},    {CondCode::kSignedLE, true, true, true, false},
    {CondCode::kSignedGT, true, false, false, true},    {CondCode::kSignedGE, true, false, true, true},
    {CondCode::kUnsignedLT, false, true, false, false}, {CondCode::kUnsignedLE, false, true, true, false},
    {CondCode::kUnsignedGT, false, false, false, true}, {CondCode::kUnsignedGE, false, false, true, true},
};
inline constexpr std::uint32_t kEqualities = 2;  ///< first of them

class RandomProgram {
 public:
  RandomProgram(std::uint64_t seed, Program& program) : random_(seed), p_(program) {}

  void make() {
    fuel_ = p_.add_variable(8);
    const std::uint32_t variables = 2 + random_.below(kVariablesMax - 2);
    while (p_.variables.size() < variables) p_.add_variable(random_.one_in(3) ? 4 : 8);
    for (const std::uint64_t bits : {std::uint64_t{0}, random_.next(), random_.next() >> 40})
      constants_.push_back(p_.add_constant(bits));
    const std::uint32_t count = 1 + random_.below(5);
    for (std::uint32_t i = 0; i < count; ++i) p_.blocks.emplace_back(p_.function.arena);
    for (Block& block : p_.blocks) make_block(block);
  }

 private:
  static constexpr std::uint32_t kIndexMask = 0x1FF;  // times 8, and a displacement: inside the memory

  void make_block(Block& block) {
    block_ = &block;
    locals_.clear();
    burn_fuel();
    const std::uint32_t insts = 3 + random_.below(30);
    for (std::uint32_t i = 0; i < insts; ++i) {
      switch (random_.below(8)) {
        case 0: make_load(); break;
        case 1: make_store(); break;
        case 2: make_move(); break;
        case 3: make_lea(); break;
        default: make_arithmetic(); break;
      }
      if (random_.one_in(8)) make_branch();
    }
    make_branch();
    if (random_.one_in(2)) push(Inst::kIdJmp, {}, 8).target = any_target();
  }

  void burn_fuel() {
    MInst& less = push(Inst::kIdSub, {fuel_}, 8);
    less.form = x86_form::kTied | x86_form::kImmediate;
    less.ties = 1;
    less.imm = 1;
    less.def = fuel_;
    MInst& out = push(Inst::kIdCmp, {fuel_}, 8);
    out.form = x86_form::kImmediate;
    out.folds = 1;
    out.condition = static_cast<std::uint8_t>(CondCode::kSignedLT);
    out.target = p_.exit();
  }

  MInst& push(std::uint32_t op, std::initializer_list<VReg> uses, std::uint8_t width) {
    MInst& inst = block_->insts.emplace_back();
    inst.op = static_cast<std::uint16_t>(op);
    inst.def_width = inst.use_width = width;
    for (const VReg use : uses) inst.use[inst.uses++] = use;
    return inst;
  }

  Target any_target() { return Target(random_.below(static_cast<std::uint32_t>(p_.blocks.size() + 1))); }
  std::uint8_t any_width() { return random_.one_in(3) ? 4 : 8; }

  VReg any() {
    if (random_.one_in(6)) return constants_[random_.below(static_cast<std::uint32_t>(constants_.size()))];
    if (locals_.empty() || random_.one_in(2))
      return p_.variables[random_.below(static_cast<std::uint32_t>(p_.variables.size()))];
    return locals_[random_.below(static_cast<std::uint32_t>(locals_.size()))];
  }

  /// Sets the result: a new local, or a variable that has room for it. The fuel is no one's result.
  void define(MInst& inst) {
    const VReg v = p_.variables[random_.below(static_cast<std::uint32_t>(p_.variables.size()))];
    if (random_.one_in(3) && v != fuel_ && p_.function[v].width >= inst.def_width) {
      inst.def = v;
    } else {
      inst.def = p_.add_local(inst.def_width);
      locals_.push_back(inst.def);
    }
  }

  /// Lets uses be memory operands where they are as wide as they are read.
  void fold(MInst& inst, std::uint32_t uses) {
    for (std::uint32_t u = 0; u < inst.uses; ++u)
      if ((uses >> u & 1) != 0 && p_.function[inst.use[u]].width >= inst.use_width)
        inst.folds |= static_cast<std::uint8_t>(1u << u);
  }

  void make_arithmetic() {
    constexpr std::uint32_t kOps[] = {Inst::kIdAdd, Inst::kIdSub, Inst::kIdImul,
                                      Inst::kIdAnd, Inst::kIdOr,  Inst::kIdXor};
    const std::uint32_t op = kOps[random_.below(std::size(kOps))];
    if (op != Inst::kIdImul && random_.one_in(4)) return make_immediate(op);
    if (random_.one_in(5)) return make_load_and(op);
    MInst& inst = push(op, {any(), any()}, any_width());
    inst.form = x86_form::kTied;
    inst.commutes = op != Inst::kIdSub;
    inst.ties = inst.commutes ? 3 : 1;
    fold(inst, inst.ties ^ (inst.commutes ? 0u : 3u));
    define(inst);
  }

  void make_immediate(std::uint32_t op) {
    MInst& inst = push(op, {any()}, any_width());
    inst.form = x86_form::kTied | x86_form::kImmediate;
    inst.ties = 1;
    inst.imm = static_cast<std::uint64_t>(static_cast<std::int32_t>(random_.next()) >> random_.below(32));
    define(inst);
  }

  /// Returns an index whose multiples lie inside the memory.
  VReg any_index() {
    MInst& inst = push(Inst::kIdAnd, {any()}, any_width());
    inst.form = x86_form::kTied | x86_form::kImmediate;
    inst.ties = 1;
    inst.imm = kIndexMask;
    return inst.def = p_.add_local(inst.def_width);
  }

  void address(MInst& inst, VReg base, VReg index, std::uint8_t bytes) {
    inst.form |= x86_form::kMemory;
    inst.use[inst.uses++] = base;
    inst.mem = {.place = Place::based, .lane_bytes = bytes, .disp = static_cast<std::int32_t>(random_.below(200))};
    if (!index.valid()) return;
    inst.use[inst.uses++] = index;
    inst.mem.scale = static_cast<std::uint8_t>(1u << random_.below(4));
  }

  void make_load() {
    const VReg index = random_.one_in(4) ? VReg{} : any_index();
    const auto bytes = static_cast<std::uint8_t>(1u << random_.below(4));
    MInst& inst = push(bytes < 4 ? Inst::kIdMovzx : Inst::kIdMov, {}, bytes < 4 ? 4 : bytes);
    inst.unit = Unit::load;
    address(inst, p_.memory, index, bytes);
    define(inst);
  }

  void make_load_and(std::uint32_t op) {
    const VReg index = any_index();
    MInst& inst = push(op, {any()}, any_width());
    inst.form = x86_form::kTied;
    inst.ties = 1;
    address(inst, p_.memory, index, inst.use_width);
    define(inst);
  }

  void make_store() {
    const VReg index = random_.one_in(4) ? VReg{} : any_index();
    const auto bytes = static_cast<std::uint8_t>(1u << random_.below(4));
    const bool immediate = random_.one_in(4);
    MInst& inst = immediate ? push(Inst::kIdMov, {}, bytes) : push(Inst::kIdMov, {any()}, bytes);
    inst.unit = Unit::store;
    if (immediate) {
      inst.form = x86_form::kImmediate;
      inst.imm = random_.below(128);
    }
    address(inst, p_.memory, index, bytes);
  }

  /// Copies, or makes a constant of up to 64 bits.
  void make_move() {
    const bool immediate = random_.one_in(2);
    MInst& inst = immediate ? push(Inst::kIdMov, {}, any_width()) : push(Inst::kIdMov, {any()}, any_width());
    if (immediate) {
      inst.form = x86_form::kImmediate;
      inst.imm = truncated(random_.next() >> random_.below(64), inst.def_width);
    }
    fold(inst, 1);
    define(inst);
  }

  void make_lea() {
    MInst& inst = push(Inst::kIdLea, {}, any_width());
    address(inst, any(), random_.one_in(3) ? VReg{} : any(), 8);
    define(inst);
  }

  void make_branch() {
    const bool test = random_.one_in(4), loads = !test && random_.one_in(4);
    const VReg index = loads ? any_index() : VReg{};
    const std::uint8_t width = any_width();
    MInst& inst =
        loads ? push(Inst::kIdCmp, {any()}, width) : push(test ? Inst::kIdTest : Inst::kIdCmp, {any(), any()}, width);
    inst.condition =
        static_cast<std::uint8_t>(kConditions[random_.below(test ? kEqualities : std::size(kConditions))].code);
    inst.target = any_target();
    if (loads)
      address(inst, p_.memory, index, width);
    else
      fold(inst, test ? 1 : 3);
  }

  Random random_;
  Program& p_;
  Block* block_ = nullptr;
  VReg fuel_;
  std::vector<VReg> constants_, locals_;
};

}  // namespace trident::codegen::mir_tests
