// Arithmetic blocks of Triton VM as machine code over many stacks at once, against the interpreter that runs them one
// after the other: time per execution of the block, in the same rounds.
//
// First every answer is compared, stack by stack: elements where nothing fails, and which stacks fail.
#include <cmath>

#include "bench/ratio.h"
#include "jit/tir/native/native.h"
#include "jit/tir/tasm/program.h"
#include "jit/tir/vm/machine.h"
#include "runtime/base/check.h"
#include "runtime/base/split_mix.h"

namespace trident::bench {
namespace {

using field::Element;
using tir::native::NativeBlock;
using tir::tasm::Instruction;
namespace native = tir::native;
namespace tasm = tir::tasm;
namespace vm = tir::vm;

constexpr std::size_t kStacks = 1024;
constexpr int kRounds = 31, kCalls = 16;

enum class Words { field, u32 };
struct Case {
  const char* name;
  const char* text;
  Words words;  ///< of the stacks
  /// False for chains of some fifty products: the machine loses little there beside its own products.
  bool has_bar = true;
};
const Case kCases[] = {
    {"sums and moves", "dup 3 add swap 1 dup 2 add addi 5 pick 3 add place 2 dup 1 push -3 add swap 2 add dup 0 add",
     Words::field},
    {"a polynomial by Horner's rule",
     "push 7 dup 1 mul push 11 add dup 1 mul push 13 add dup 1 mul push 17 add dup 1 mul push 19 add dup 1 mul "
     "push 23 add swap 1 pop 1",
     Words::field},
    {"products", "dup 1 mul dup 2 mul swap 3 mul dup 0 mul add dup 1 mul swap 2 mul mul", Words::field},
    {"a butterfly", "dup 1 dup 1 add place 2 push -1 mul add push 281474976710656 mul", Words::field},
    {"x^7 and a linear layer",
     "dup 0 dup 0 mul dup 0 dup 2 mul swap 1 dup 0 mul mul swap 1 pop 1 swap 1 dup 0 dup 0 mul dup 0 dup 2 mul swap 1 "
     "dup 0 mul mul swap 1 pop 1 dup 1 dup 1 add place 2 dup 0 add add",
     Words::field},
    {"extension field", "dup 5 dup 5 dup 5 xx_mul dup 8 dup 8 dup 8 xx_add push 9 xb_mul xx_add", Words::field},
    {"split and masks", "split push 255 and swap 1 push 65535 xor add dup 1 split pop 1 and", Words::field},
    {"u32 comparisons", "dup 1 dup 1 lt dup 2 dup 4 lt add dup 2 dup 4 xor pop_count add push 2 pow", Words::u32},
    {"u32 division", "dup 1 dup 1 div_mod add dup 3 push 10 swap 1 div_mod swap 1 mul add log_2_floor", Words::u32},
    {"a mix of 32",
     "dup 3 dup 2 add swap 1 split and push 9 mul addi 3 dup 0 push 4294967295 split pop 1 xor pop_count dup 1 place 2 "
     "pick 3 mul split swap 1 pop 1 dup 5 dup 5 lt add push 10 swap 1 div_mod dup 0 pop 1 mul",
     Words::u32},
    {"an inverse", "dup 1 invert mul", Words::field},
    {"an inverse of the extension", "x_invert", Words::field},
    {"a power, any exponent", "pow", Words::u32, false},
};

std::vector<Instruction> assembled(const std::string& text) {
  auto program = tasm::assemble(ir::SourceText(text));
  CHECK(program.ok());
  return std::move(program->instructions);
}

/// The words of one cell.
struct alignas(64) Column {
  std::uint64_t word[kStacks];
  /// Columns at a distance that is no power of two take different sets of the cache.
  std::uint64_t gap[8];
};

/// A block, the stacks it is run on in both layouts, and the machine that runs them one by one.
struct Contest {
  std::vector<Instruction> block;
  std::vector<std::vector<Element>> stacks;
  std::vector<Column> first, columns, failed{1};  ///< by cell
  std::vector<std::uint64_t*> pointers;
  vm::Code code;
  vm::Machine machine;

  Contest(const Case& c, const native::Translation& t) : block(assembled(c.text)) {
    SplitMix64 random(1);
    const std::size_t below = t.size_min - std::min<std::size_t>(t.size_min, t.reach);
    first.resize(std::max(t.reach, t.height));
    for (std::size_t i = 0; i < kStacks; ++i) {
      auto& stack = stacks.emplace_back(below);
      for (std::size_t cell = 0; cell < t.reach; ++cell) {
        const std::uint64_t raw = random.next();
        stack.emplace_back(c.words == Words::u32 ? 1 + (raw >> 33) : raw);
        first[cell].word[i] = stack.back().value();
      }
    }
    columns = first;
    for (Column& column : columns) pointers.push_back(column.word);
    tasm::Program program;
    program.instructions = block;
    program.instructions.push_back({tasm::Op::kHalt, {}});
    CHECK(vm::load(program, code, vm::Hashing::none).ok());
  }

  bool interpret(std::size_t i) {
    vm::Inputs inputs;
    inputs.stack = stacks[i];
    return machine.run(code, inputs) == vm::Failure::none;
  }
  void run(const NativeBlock& compiled) { compiled.run(kStacks, pointers.data(), failed[0].word); }

  /// How many stacks do not fail.
  std::size_t compare(const NativeBlock& compiled) {
    std::copy(first.begin(), first.end(), columns.begin());
    run(compiled);
    const native::Translation& t = compiled.translation();
    std::size_t alive = 0;
    for (std::size_t i = 0; i < kStacks; ++i) {
      const bool lives = interpret(i);
      CHECK(lives == (failed[0].word[i] == 0));
      if (!lives) continue;
      ++alive;
      const auto after = machine.stack();
      for (std::size_t cell = 0; cell < t.height; ++cell)
        CHECK(after[after.size() - t.height + cell].value() == columns[cell].word[i]);
    }
    return alive;
  }
};

enum Contestant : std::size_t { kFirstCall, kNative, kMachine, kContestants };

/// ns per execution of the block. The first call of a round comes after scalar code, when the processor may have put
/// the wide halves of its vector units to sleep. The time of no instruction depends on the words, so that later calls
/// may go on from what the earlier ones have left.
Rounds measured(Contest& contest, const NativeBlock& compiled) {
  Rounds rounds;
  rounds.ns.resize(kContestants);
  const auto timed = [&](Contestant contestant, int calls, const auto& f) {
    const std::uint64_t from = os::cycle_counter();
    for (int k = 0; k < calls; ++k) f();
    const double ns = static_cast<double>(os::cycle_counter() - from) * os::cycle_counter_ns();
    rounds.ns[contestant].push_back(ns / (calls * static_cast<double>(kStacks)));
  };
  const auto interpret_all = [&] {
    for (std::size_t i = 0; i < kStacks; ++i) benchmark::DoNotOptimize(contest.interpret(i));
  };
  for (int round = 0; round < kRounds; ++round) {
    std::copy(contest.first.begin(), contest.first.end(), contest.columns.begin());
    timed(kFirstCall, 1, [&] { contest.run(compiled); });
    timed(kNative, kCalls, [&] { contest.run(compiled); });
    timed(kMachine, 1, interpret_all);
  }
  return rounds;
}

void blocks_at(codegen::Isa isa, bool has_bar) {
  std::printf("%s, %zu stacks at once; ns per execution of the block\n", std::string(name_of(isa)).c_str(), kStacks);
  double logs = 0, counted = 0;
  std::vector<double> compile_us;
  for (const Case& c : kCases) {
    const auto block = assembled(c.text);
    const std::uint64_t start = os::cycle_counter();
    const auto compiled = NativeBlock::compile(block, isa);
    compile_us.push_back(static_cast<double>(os::cycle_counter() - start) * os::cycle_counter_ns() / 1000);
    CHECK(compiled.ok());
    Contest contest(c, compiled->translation());
    CHECK(contest.compare(*compiled) == kStacks);
    const Rounds rounds = measured(contest, *compiled);
    const double ratio = rounds.ratio(kMachine, kNative);
    if (c.has_bar) logs += std::log(ratio), counted += 1;
    std::printf("%-30s %2zu instructions: machine %6.1f, native %5.2f, its first call %5.2f; ratio %6.1f\n", c.name,
                block.size(), rounds.median_ns(kMachine), rounds.median_ns(kNative), rounds.median_ns(kFirstCall),
                ratio);
    if (has_bar && c.has_bar) print_figure(std::string("times faster: ") + c.name, ratio);
  }
  std::printf("%-48s %10.4f\n", "times faster, geometric mean of those with a bar", std::exp(logs / counted));
  std::printf("%-48s %10.4f\n", "us to compile a block, median", stats::median(compile_us));
}

void blocks(benchmark::State& state) {
  const auto best = native::best_isa();
  CHECK(best.ok());
  if (*best == codegen::Isa::avx512) blocks_at(codegen::Isa::avx2, false);
  blocks_at(*best, true);
  for (auto _ : state) state.SetIterationTime(1e-9);
}

BENCHMARK(blocks)->UseManualTime()->Iterations(1);

}  // namespace
}  // namespace trident::bench

int main(int argc, char** argv) {
  return trident::bench::run_benchmarks(argc, argv);
}
