// Oracle: the block itself, executed on symbols. A machine with a handful of registers runs the allocator's result;
// every value that an instruction reads has to be the one that the block says. Outputs lie over the inputs, so an array
// element that is read again too late shows.
#include "jit/codegen/allocator.h"

#include <gtest/gtest.h>

#include <map>

#include "jit/codegen/scheduler.h"
#include "tests/support/draws.h"
#include "tests/support/random_kernel.h"

namespace trident::codegen {
namespace {

using testing::Random;
using Symbol = std::uint64_t;

Symbol mix(Symbol a, Symbol b) {
  a = (a ^ b) * 0x9E37'79B9'7F4A'7C15u;
  return a ^ (a >> 29);
}

Symbol result_of(const MInst& inst, const std::vector<Symbol>& operands) {
  Symbol value = mix(inst.op, 1);
  if (inst.commutes && operands.size() > 1) {
    value = mix(value, operands[0] ^ operands[1]);
    for (std::size_t i = 2; i < operands.size(); ++i) value = mix(value, operands[i]);
    return value;
  }
  for (const Symbol operand : operands) value = mix(value, operand);
  return value;
}

/// Memory contents: arrays (inputs and outputs of one number are the same array), constants, the frame.
class Memory {
 public:
  Symbol& at(const MemRef& ref, std::uint8_t copy) {
    const bool array = ref.place == Place::input || ref.place == Place::output;
    const auto key = array ? std::make_tuple(0, std::uint32_t{ref.index}, std::int32_t{copy})
                           : std::make_tuple(1 + static_cast<int>(ref.place), std::uint32_t{ref.index}, ref.disp);
    const auto [it, fresh] = cells_.try_emplace(key, 0);
    if (fresh) it->second = mix(std::get<0>(key), mix(std::get<1>(key), static_cast<Symbol>(std::get<2>(key))));
    return it->second;
  }
  [[nodiscard]] std::map<std::tuple<int, std::uint32_t, std::int32_t>, Symbol> arrays() const {
    std::map<std::tuple<int, std::uint32_t, std::int32_t>, Symbol> found;
    for (const auto& [key, value] : cells_)
      if (std::get<0>(key) == 0) found.emplace(key, value);
    return found;
  }

 private:
  std::map<std::tuple<int, std::uint32_t, std::int32_t>, Symbol> cells_;
};

/// `disp` of an array place is its copy in these tests.
std::uint8_t copy_of(const MemRef& ref) {
  return static_cast<std::uint8_t>(ref.disp);
}

Memory run_block(const Function& function, const Block& block) {
  Memory memory;
  std::map<std::uint32_t, Symbol> values;
  for (const MInst& inst : block.insts) {
    std::vector<Symbol> operands;
    for (std::size_t u = 0; u < inst.uses; ++u) {
      const VRegInfo& info = function[inst.use[u]];
      const bool in_memory = info.memory_only || (info.global && !values.contains(inst.use[u].index));
      operands.push_back(in_memory ? (info.zero ? 0 : memory.at(info.home, copy_of(info.home)))
                                   : values.at(inst.use[u].index));
    }
    if (inst.mem.place == Place::output)
      memory.at(inst.mem, copy_of(inst.mem)) = operands[0];
    else
      values[inst.def.index] =
          inst.mem.place == Place::input ? memory.at(inst.mem, copy_of(inst.mem)) : result_of(inst, operands);
  }
  return memory;
}

/// Runs placed code on registers; fails when an instruction breaks a constraint of its own.
Memory run_placed(const Block& block, const std::pmr::vector<Placed>& placed,
                  std::array<std::array<Symbol, 32>, 2> regs, const Function& function) {
  Memory memory;
  for (const Placed& p : placed) {
    auto& own = regs[static_cast<std::size_t>(p.reg_class)];
    if (p.kind == Placed::Kind::load) {
      own[p.def] = p.zero ? 0 : memory.at(p.mem, copy_of(p.mem));
    } else if (p.kind == Placed::Kind::store) {
      memory.at(p.mem, copy_of(p.mem)) = own[p.use[0]];
    } else if (p.kind == Placed::Kind::move) {
      own[p.def] = own[p.use[0]];
    } else {
      const MInst& inst = block.insts[p.inst];
      std::vector<Symbol> operands;
      bool tied = inst.ties == 0;
      for (std::uint8_t u = 0; u < inst.uses; ++u) {
        if (u == p.mem_use) {
          EXPECT_NE(inst.folds >> u & 1, 0) << "this operand cannot be memory";
          operands.push_back(memory.at(p.mem, copy_of(p.mem)));
          continue;
        }
        EXPECT_NE(p.use[u], kNoReg);
        if (p.use[u] == kNoReg) return memory;
        operands.push_back(regs[static_cast<std::size_t>(function[inst.use[u]].reg_class)][p.use[u]]);
        tied |= (inst.ties >> u & 1) != 0 && p.use[u] == p.def;
        const bool same_class = inst.def.valid() && function[inst.use[u]].reg_class == function[inst.def].reg_class;
        EXPECT_FALSE(inst.early_def && same_class && p.use[u] == p.def) << "written before it is read";
      }
      EXPECT_TRUE(tied) << "the result is in none of the operands that it has to replace";
      if (inst.mem.place == Place::output)
        memory.at(inst.mem, copy_of(inst.mem)) = operands[0];
      else
        regs[static_cast<std::size_t>(function[inst.def].reg_class)][p.def] =
            inst.mem.place == Place::input ? memory.at(inst.mem, copy_of(inst.mem)) : result_of(inst, operands);
    }
  }
  return memory;
}

class RandomBlock {
 public:
  RandomBlock(std::uint64_t seed, Function& function, Block& block) : random_(seed), f_(function), block_(block) {}

  /// Stores each output of a copy once, after its last load, as selectors do. The order of stores is then free.
  void make_stores_last() {
    stores_last_ = true;
    make();
  }

  void make() {
    for (int g = 0; g < 4; ++g) {
      VRegInfo info{.global = true, .width = 8};
      info.zero = g == 0;
      info.foldable = g != 1;
      if (!info.zero) info.home = {.place = Place::pool, .disp = 8 * g};
      globals_.push_back(f_.add(info));
    }
    const std::uint32_t copies = 1 + random_.below(3);
    for (std::uint8_t copy = 0; copy < copies; ++copy) make_copy(copy);
  }

 private:
  VReg pick(RegClass reg_class) {
    if (reg_class == RegClass::vector && random_.one_in(4))
      return globals_[random_.below(static_cast<std::uint32_t>(globals_.size()))];
    auto& values = values_[static_cast<std::size_t>(reg_class)];
    return values[random_.below(static_cast<std::uint32_t>(values.size()))];
  }

  void make_copy(std::uint8_t copy) {
    values_ = {};
    for (std::uint16_t input = 0; input < 3; ++input) {
      const MemRef home{.place = Place::input, .index = input, .disp = copy};
      MInst load;
      load.op = 1;
      load.copy = copy;
      load.unit = Unit::load;
      load.mem = home;
      load.def = f_.add({.width = 8, .copy = copy, .home = home});
      block_.insts.push_back(load);
      values_[0].push_back(load.def);
    }
    MInst mask;
    mask.op = 2;
    mask.copy = copy;
    mask.uses = 1;
    mask.use[0] = values_[0][0];
    mask.def = f_.add({.reg_class = RegClass::mask, .width = 8});
    block_.insts.push_back(mask);
    values_[1].push_back(mask.def);
    const std::uint32_t ops = 5 + random_.below(30);
    for (std::uint32_t i = 0; i < ops; ++i) {
      if (!stores_last_ && random_.one_in(7))
        store(copy, static_cast<std::uint16_t>(random_.below(3)));
      else
        compute(copy);
    }
    for (std::uint16_t output = 0; output < 3; ++output) store(copy, output);
  }

  void compute(std::uint8_t copy) {
    MInst inst;
    inst.op = static_cast<std::uint16_t>(10 + random_.below(50));
    inst.copy = copy;
    inst.latency = static_cast<std::uint8_t>(1 + random_.below(6));
    const auto reg_class = random_.one_in(6) ? RegClass::mask : RegClass::vector;
    inst.uses = static_cast<std::uint8_t>(1 + random_.below(3));
    for (std::size_t u = 0; u < inst.uses; ++u)
      inst.use[u] = pick(u == 2 && random_.one_in(2) ? RegClass::mask : RegClass::vector);
    for (std::uint8_t u = 0; u < inst.uses; ++u)
      if (f_[inst.use[u]].reg_class == RegClass::vector) {
        if (random_.one_in(2)) inst.folds |= static_cast<std::uint8_t>(1u << u);
        if (reg_class == RegClass::vector && random_.one_in(3)) inst.ties |= static_cast<std::uint8_t>(1u << u);
      }
    inst.commutes =
        inst.uses > 1 && inst.ties == 0 && random_.one_in(3) && f_[inst.use[1]].reg_class == RegClass::vector;
    inst.early_def = inst.ties == 0 && random_.one_in(8);
    inst.def = f_.add({.reg_class = reg_class, .width = 8});
    block_.insts.push_back(inst);
    values_[static_cast<std::size_t>(reg_class)].push_back(inst.def);
  }

  void store(std::uint8_t copy, std::uint16_t output) {
    MInst inst;
    inst.op = 3;
    inst.copy = copy;
    inst.uses = 1;
    inst.unit = Unit::store;
    inst.use[0] = pick(RegClass::vector);
    inst.mem = {.place = Place::output, .index = output, .disp = copy};
    block_.insts.push_back(inst);
  }

  Random random_;
  Function& f_;
  Block& block_;
  bool stores_last_ = false;
  std::vector<VReg> globals_;
  std::array<std::vector<VReg>, 2> values_;
};

TEST(Allocator, RandomBlocksComputeTheSame) {
  for (std::uint64_t seed = 1; seed <= testing::draws(1000); ++seed) {
    std::pmr::monotonic_buffer_resource arena;
    Function function(&arena);
    Block block(&arena);
    RandomBlock(seed, function, block).make();
    const Memory expected = run_block(function, block);
    // Registers from just enough for one instruction to plenty.
    const auto vectors = static_cast<std::uint32_t>(4 + seed % 9), masks = static_cast<std::uint32_t>(3 + seed % 3);
    std::pmr::vector<Placed> placed(&arena);
    allocate(function, block, {(1u << vectors) - 1, ((1u << masks) - 1) << 1}, placed);
    ASSERT_EQ(run_placed(block, placed, {}, function).arrays(), expected.arrays()) << "seed " << seed;
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
  }
}

TEST(Allocator, GlobalsInRegistersComputeTheSame) {
  for (std::uint64_t seed = 1; seed <= testing::draws(125); ++seed) {
    std::pmr::monotonic_buffer_resource arena;
    Function function(&arena);
    Block block(&arena);
    RandomBlock(seed, function, block).make();
    const Memory expected = run_block(function, block);
    const WeightedBlock whole{&block};
    const RegSet locals = assign_globals(function, {&whole, 1}, {0xFFFFu, 0xFEu});
    std::array<std::array<Symbol, 32>, 2> registers{};
    Memory constants;
    for (const VRegInfo& info : function.vregs)
      if (info.global && info.fixed != kNoReg)
        registers[0][info.fixed] = info.zero ? 0 : constants.at(info.home, copy_of(info.home));
    std::pmr::vector<Placed> placed(&arena);
    allocate(function, block, locals, placed);
    ASSERT_EQ(run_placed(block, placed, registers, function).arrays(), expected.arrays()) << "seed " << seed;
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
  }
}

/// Appends an instruction that reads `uses` to `block`.
MInst& read(Block& block, std::initializer_list<VReg> uses) {
  MInst& inst = block.insts.emplace_back();
  for (const VReg use : uses) inst.use[inst.uses++] = use;
  return inst;
}

TEST(Allocator, BlocksThatRunOftenDecideWhichGlobalsHaveRegisters) {
  std::pmr::monotonic_buffer_resource arena;
  Function function(&arena);
  const auto add = [&](std::uint8_t fixed) {
    return function.add({.reg_class = RegClass::general, .global = true, .width = 8, .fixed = fixed});
  };
  const VReg own = add(7), often = add(kNoReg), rarely = add(kNoReg), never = add(kNoReg);
  Block hot(&arena), cold(&arena);
  read(hot, {own, often});
  for (int i = 0; i < 5; ++i) read(cold, {rarely, rarely});
  std::vector<VReg> locals;  // all alive at once, where it does not matter
  for (int i = 0; i < 5; ++i) {
    locals.push_back(function.add({.reg_class = RegClass::general, .width = 8}));
    read(cold, {}).def = locals.back();
  }
  for (const VReg local : locals) read(cold, {local});
  const WeightedBlock blocks[] = {{&cold, 1}, {&hot, 100}};
  // The operands of an instruction need two of the three.
  const RegSet left = assign_globals(function, blocks, {0, 0, 0b111});
  EXPECT_EQ(function[own].fixed, 7);
  EXPECT_EQ(function[often].fixed, 2);
  EXPECT_EQ(function[rarely].fixed, kNoReg);
  EXPECT_EQ(function[rarely].home.place, Place::slot);
  EXPECT_EQ(function[never].fixed, kNoReg);
  EXPECT_EQ(left[2], 0b011u);
  const WeightedBlock alike[] = {{&cold, 1}, {&hot, 1}};
  EXPECT_EQ(assign_globals(function, alike, {0, 0, 0b11111})[2], 0b11111u) << "the locals of both blocks come first";
}

TEST(Scheduler, RandomBlocksComputeTheSame) {
  for (std::uint64_t seed = 1; seed <= testing::draws(750); ++seed) {
    std::pmr::monotonic_buffer_resource arena;
    Function function(&arena);
    Block block(&arena);
    RandomBlock(seed, function, block).make_stores_last();
    const std::size_t count = block.insts.size();
    const Memory expected = run_block(function, block);
    schedule(function, block, {.registers = {static_cast<std::uint32_t>(3 + seed % 20), 2}});
    ASSERT_EQ(block.insts.size(), count);
    ASSERT_EQ(run_block(function, block).arrays(), expected.arrays()) << "seed " << seed;
    std::pmr::vector<Placed> placed(&arena);
    allocate(function, block, {0x3Fu, 0xEu}, placed);
    ASSERT_EQ(run_placed(block, placed, {}, function).arrays(), expected.arrays()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace trident::codegen
