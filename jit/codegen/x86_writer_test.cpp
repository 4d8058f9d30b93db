// Oracle: the machine IR itself, executed on virtual registers in plain C++. Random functions of blocks, variables,
// branches and memory accesses are allocated with few or many registers, written, run in this process, and must leave
// the same frame and the same memory.
#include "jit/codegen/x86_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "jit/codegen/allocator.h"
#include "jit/codegen/random_mir.h"
#include "runtime/os/memfd.h"

namespace trident::codegen::mir_tests {
namespace {

using Frame = std::array<std::uint64_t, kVariablesMax>;
using Bytes = std::vector<std::uint8_t>;
using Entry = void (*)(std::uint64_t* frame, std::uint8_t* memory);

// --- the oracle ------------------------------------------------------------------------------------------------------

bool holds(std::uint8_t condition, std::uint64_t a, std::uint64_t b, std::uint8_t width) {
  const auto is_it = [&](const Condition& row) { return static_cast<std::uint8_t>(row.code) == condition; };
  const Condition& row = *std::find_if(std::begin(kConditions), std::end(kConditions), is_it);
  if (a == b) return row.if_equal;
  const int shift = 64 - 8 * width;
  const auto x = static_cast<std::int64_t>(a << shift), y = static_cast<std::int64_t>(b << shift);
  return (row.with_sign ? x < y : a < b) ? row.if_less : row.if_greater;
}

class Machine {
 public:
  Machine(const Program& program, Frame& frame, Bytes& memory)
      : program_(program), frame_(frame), memory_(memory), values_(program.function.vregs.size()) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const VRegInfo& info = program.function.vregs[i];
      if (info.home.place == Place::pool) std::memcpy(&values_[i], &program.pool.bytes[info.home.disp], 8);
    }
    for (std::size_t i = 0; i < program.variables.size(); ++i) {
      const VReg v = program.variables[i];
      values_[v.index] = truncated(frame[i], program.function[v].width);
    }
  }

  void run() {
    Target at(0);
    while (at != program_.exit()) at = run_block(at);
    for (std::size_t i = 0; i < program_.variables.size(); ++i) {
      const VReg v = program_.variables[i];
      std::memcpy(&frame_[i], &values_[v.index], program_.function[v].width);
    }
  }

 private:
  Target run_block(Target block) {
    for (const MInst& inst : program_.blocks[block.index].insts)
      if (inst.target.valid()) {
        if (branches(inst)) return inst.target;
      } else if (inst.def.valid()) {
        values_[inst.def.index] = truncated(result(inst), inst.def_width);
      } else {
        const std::uint64_t value = operands(inst)[0];
        std::memcpy(&memory_.at(address(inst)), &value, inst.mem.lane_bytes);
      }
    return Target(block.index + 1);
  }

  [[nodiscard]] std::uint64_t address(const MInst& inst) const {
    const std::uint32_t first = inst.uses - inst.address_uses();
    const std::uint64_t base = values_[inst.use[first].index] + static_cast<std::uint64_t>(inst.mem.disp);
    return inst.mem.scale == 0 ? base : base + inst.mem.scale * values_[inst.use[first + 1].index];
  }

  [[nodiscard]] std::array<std::uint64_t, 4> operands(const MInst& inst) const {
    std::array<std::uint64_t, 4> found{};
    std::size_t n = 0;
    for (; n < inst.uses - std::size_t{inst.address_uses()}; ++n)
      found[n] = truncated(values_[inst.use[n].index], inst.use_width);
    const bool loads = (inst.form & x86_form::kMemory) != 0 && (inst.def.valid() || inst.target.valid());
    if (loads && inst.op != Inst::kIdLea) std::memcpy(&found[n++], &memory_.at(address(inst)), inst.mem.lane_bytes);
    if ((inst.form & x86_form::kImmediate) != 0)
      found[n] = truncated(inst.imm, std::max<std::uint8_t>(inst.use_width, 4));
    return found;
  }

  [[nodiscard]] bool branches(const MInst& inst) const {
    if (inst.op == Inst::kIdJmp) return true;
    const auto [a, b, c, d] = operands(inst);
    if (inst.op == Inst::kIdTest) return holds(inst.condition, a & b, 0, inst.use_width);
    return holds(inst.condition, a, b, inst.use_width);
  }

  [[nodiscard]] std::uint64_t result(const MInst& inst) const {
    const auto [a, b, c, d] = operands(inst);
    switch (inst.op) {
      case Inst::kIdMov:
      case Inst::kIdMovzx: return a;
      case Inst::kIdLea: return address(inst);
      case Inst::kIdAdd: return a + b;
      case Inst::kIdSub: return a - b;
      case Inst::kIdImul: return a * b;
      case Inst::kIdAnd: return a & b;
      case Inst::kIdOr: return a | b;
      case Inst::kIdXor: return a ^ b;
      case Inst::kIdShl: return a << b;
      default: ADD_FAILURE() << "op " << inst.op; return 0;
    }
  }

  const Program& program_;
  Frame& frame_;
  Bytes& memory_;
  std::vector<std::uint64_t> values_;
};

// --- native code -----------------------------------------------------------------------------------------------------

class Native {
 public:
  Native(Program& program, std::uint32_t registers) : p_(program), writer_(program.function) {
    const RegSet locals = assign(registers);
    for (const Block& block : p_.blocks) {
      placed_.emplace_back(p_.function.arena);
      counts_.push_back(allocate(p_.function, block, locals, placed_.back()));
    }
    write();
    link();
  }

  void run(Frame& frame, Bytes& memory) const { reinterpret_cast<Entry>(code_.base())(frame.data(), memory.data()); }
  [[nodiscard]] const AllocationCounts& counts(std::size_t block) const { return counts_[block]; }
  [[nodiscard]] const std::pmr::vector<Placed>& placed(std::size_t block) const { return placed_[block]; }

 private:
  static constexpr std::uint8_t kSaved[] = {3, 5, 12, 13, 14, 15};  // rbx, rbp, r12 to r15

  RegSet assign(std::uint32_t registers) {
    std::vector<WeightedBlock> blocks;
    for (const Block& block : p_.blocks) blocks.push_back({&block, 1u << 3 * (blocks.size() % 3)});
    return assign_globals(p_.function, blocks, {0, 0, registers});
  }

  void write() {
    x86::Assembler& a = writer_.assembler();
    const std::uint32_t room = (p_.function.frame_bytes + 15) / 16 * 16 + 8;
    for (const std::uint8_t reg : kSaved) a.push(x86::gpq(reg));
    a.sub(x86::rsp, room);
    move_globals(Placed::Kind::load);
    for (std::uint32_t i = 0; i < p_.blocks.size(); ++i) {
      writer_.bind(Target(i));
      write_block(p_.blocks[i], placed_[i]);
    }
    writer_.bind(p_.exit());
    move_globals(Placed::Kind::store);
    a.add(x86::rsp, room);
    for (std::size_t i = std::size(kSaved); i-- > 0;) a.pop(x86::gpq(kSaved[i]));
    a.ret();
  }

  void write_block(const Block& block, const std::pmr::vector<Placed>& placed) {
    for (const Placed& p : placed) {
      if (p.kind == Placed::Kind::inst)
        writer_.encode(block.insts[p.inst], p, writer_.memory_operand(block.insts[p.inst], p));
      else
        write_added(p);
    }
  }

  void write_added(const Placed& p) {
    writer_.added(p, p.mem.place == Place::none ? x86::Mem() : writer_.memory(p.mem, X86Writer::bytes_moved(p)));
  }

  /// Loads the globals that live in registers, or stores the variables among them.
  void move_globals(Placed::Kind kind) {
    for (const VRegInfo& info : p_.function.vregs) {
      if (!info.global || info.fixed == kNoReg || info.fixed == kMemoryBase) continue;
      if (kind == Placed::Kind::store && info.home.place != Place::frame) continue;
      Placed p{.kind = kind, .reg_class = RegClass::general, .width = info.width, .def = info.fixed};
      p.use[0] = info.fixed;
      p.zero = info.zero;
      p.mem = info.home;
      write_added(p);
    }
  }

  void link() {
    const std::uint32_t size = writer_.offset(), pool = (size + 63) / 64 * 64;
    std::vector<std::byte> bytes(pool + p_.pool.bytes.size());
    std::memcpy(bytes.data(), writer_.assembler().bufferData(), size);
    if (!p_.pool.bytes.empty()) std::memcpy(bytes.data() + pool, p_.pool.bytes.data(), p_.pool.bytes.size());
    ASSERT_TRUE(writer_.link(bytes.data(), pool));
    auto mapping = os::map_code(bytes);
    ASSERT_TRUE(mapping.ok());
    code_ = std::move(*mapping);
  }

  Program& p_;
  X86Writer writer_;
  std::vector<std::pmr::vector<Placed>> placed_;
  std::vector<AllocationCounts> counts_;
  os::Mapping code_;
};

struct State {
  Frame frame{};
  Bytes memory = Bytes(kMemoryBytes);
};

State random_state(std::uint64_t seed) {
  Random random(seed);
  State state;
  for (std::uint64_t& word : state.frame) word = random.next() >> random.below(64);
  for (std::uint8_t& byte : state.memory) byte = static_cast<std::uint8_t>(random.next());
  state.frame[0] = 10 + random.below(40);
  return state;
}

/// Takes the lowest registers away until `count` are left.
std::uint32_t registers(int count) {
  std::uint32_t set = x86_allocated::kRegisters;
  while (std::popcount(set) > count) set &= set - 1;
  return set;
}

TEST(X86Writer, RandomFunctionsDoAsTheOracle) {
  std::uint32_t spills = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    std::pmr::monotonic_buffer_resource arena;
    Program program(&arena);
    RandomProgram(seed, program).make();
    const State start = random_state(seed);
    State expected = start, found = start;
    Machine(program, expected.frame, expected.memory).run();
    const Native native(program, registers(static_cast<int>(4 + seed % 8)));
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
    native.run(found.frame, found.memory);
    ASSERT_EQ(found.frame, expected.frame) << "seed " << seed;
    ASSERT_EQ(found.memory, expected.memory) << "seed " << seed;
    for (std::size_t i = 0; i < program.blocks.size(); ++i) spills += native.counts(i).spills;
  }
  EXPECT_GT(spills, 1000u);
}

/// Builds: for (; i != n; ++i) if (memory[i] < limit) sum += memory[i].
class SumBelow {
 public:
  SumBelow() : program_(&arena_) {
    for (VReg* variable : {&i_, &n_, &limit_, &sum_}) *variable = program_.add_variable(8);
    for (int b = 0; b < 3; ++b) program_.blocks.emplace_back(&arena_);
    branch(0, {i_, n_}, CondCode::kEqual, program_.exit());
    MInst& load = push(1, Inst::kIdMovzx, {program_.memory, i_});
    load.form = x86_form::kMemory;
    load.mem = {.place = Place::based, .lane_bytes = 1, .scale = 1};
    const VReg element = load.def = program_.add_local(8);
    branch(1, {element, limit_}, CondCode::kUnsignedGE, Target(2));
    add(1, sum_, {sum_, element});
    add(2, i_, {i_});
    branch(2, {i_, n_}, CondCode::kNotEqual, Target(1));
  }
  Program& program() { return program_; }

 private:
  MInst& push(std::size_t block, std::uint32_t op, std::initializer_list<VReg> uses) {
    MInst& inst = program_.blocks[block].insts.emplace_back();
    inst.op = static_cast<std::uint16_t>(op);
    inst.def_width = inst.use_width = 8;
    for (const VReg use : uses) inst.use[inst.uses++] = use;
    return inst;
  }
  void branch(std::size_t block, std::initializer_list<VReg> uses, CondCode condition, Target target) {
    MInst& inst = push(block, Inst::kIdCmp, uses);
    inst.condition = static_cast<std::uint8_t>(condition);
    inst.target = target;
  }
  /// Adds both uses, or one and 1.
  void add(std::size_t block, VReg def, std::initializer_list<VReg> uses) {
    MInst& inst = push(block, Inst::kIdAdd, uses);
    inst.form = uses.size() == 2 ? x86_form::kTied : x86_form::kTied | x86_form::kImmediate;
    inst.ties = 1;
    inst.imm = 1;
    inst.def = def;
  }

  std::pmr::monotonic_buffer_resource arena_;
  Program program_;
  VReg i_, n_, limit_, sum_;
};

TEST(X86Writer, LoopOfBytes) {
  SumBelow loop;
  const Native native(loop.program(), x86_allocated::kRegisters);
  for (std::size_t b = 0; b < 3; ++b)
    for (const Placed& placed : native.placed(b)) EXPECT_EQ(placed.kind, Placed::Kind::inst) << "nothing is in memory";
  State state = random_state(1);
  for (const std::uint64_t n : {0u, 1u, 2u, 1000u}) {
    std::uint64_t sum = 5;
    for (std::size_t i = 0; i < n; ++i)
      if (state.memory[i] < 100) sum += state.memory[i];
    state.frame = {0, n, 100, 5};
    native.run(state.frame, state.memory);
    EXPECT_EQ(state.frame, (Frame{n, n, 100, sum}));
  }
}

TEST(X86Writer, BranchesNeedTheirTargets) {
  SumBelow loop;
  X86Writer writer(loop.program().function);
  const MInst& branch = loop.program().blocks[0].insts[0];
  Placed placed;
  placed.use = {1, 3};
  writer.encode(branch, placed, {});
  std::vector<std::byte> code(writer.offset());
  EXPECT_FALSE(writer.link(code.data(), 64));
  writer.bind(branch.target);
  EXPECT_TRUE(writer.link(code.data(), 64));
}

/// A register that is dropped is loaded from its home again. Memory that the program stores to is no home.
TEST(AllocatorDeathTest, HomesThatStoresMayReach) {
  std::pmr::monotonic_buffer_resource arena;
  for (const MemRef& home : {MemRef{.place = Place::based}, MemRef{.place = Place::frame}}) {
    Program program(&arena);
    Block& block = program.blocks.emplace_back(&arena);
    MInst& load = block.insts.emplace_back();
    load.mem = home;
    load.def = program.function.add({.reg_class = RegClass::general, .width = 8, .home = home});
    std::pmr::vector<Placed> placed(&arena);
    EXPECT_DEATH(allocate(program.function, block, {0, 0, x86_allocated::kRegisters}, placed), "is_home");
  }
}

}  // namespace
}  // namespace trident::codegen::mir_tests
