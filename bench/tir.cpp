// The costs of our Triton VM: a cycle with all nine heights, a permutation of Tip5, the score of a block of 32
// instructions (loaded, run on a stack, heights), the score of a program of 150 words (loaded, hashed, run, heights).
//
// The real machine takes about 1 us a cycle and 0.7 us a permutation.
#include <set>

#include "bench/ratio.h"
#include "jit/tir/vm/machine.h"
#include "runtime/base/check.h"

namespace trident::bench {
namespace {

using field::Element;
using tir::vm::Code;
using tir::vm::Machine;
using tir::vm::Table;
namespace tasm = tir::tasm;
namespace vm = tir::vm;

tasm::Program program_of(const std::string& text) {
  auto program = tasm::assemble(ir::SourceText(text));
  CHECK(program.ok());
  return *std::move(program);
}
Code code_of(const std::string& text) {
  Code code;
  CHECK(vm::load(program_of(text), code).ok());
  return code;
}

/// A loop of 10,000 turns around `body`, which leaves the counter on top.
std::string loop(const std::string& before, const std::string& body) {
  return before + " push 10000 call loop halt loop: dup 0 push 0 eq skiz return " + body + " addi -1 recurse";
}
struct Loop {
  const char* name;
  std::string text;
};

/// Fibonacci numbers on the stack: what the machine must find.
std::uint64_t fibonacci(unsigned n) {
  Element a, b = field::kOne;
  for (; n > 0; --n) {
    const Element next = a + b;
    a = b;
    b = next;
  }
  return a.value();
}

const Loop kLoops[] = {
    {"field and stack", loop("push 0 push 1", "pick 2 pick 2 dup 0 place 3 add place 1")},
    {"u32, each new", loop("", "dup 0 split pop 1 dup 1 push 255 and add push 7 xor pop 1")},
    {"RAM", loop("", "dup 0 dup 1 write_mem 1 addi -1 read_mem 1 pop 2")},
    {"extension field",
     loop("push 3 push 4 push 5", "place 3 dup 2 dup 2 dup 2 dup 5 dup 5 dup 5 xx_mul xx_add pick 3")},
    {"one in twenty hashes", loop("sponge_init",
                                  "push 1 push 2 push 3 push 4 push 5 push 6 push 7 push 8 push 9 push 10 "
                                  "sponge_absorb nop nop")},
};

void cycles(benchmark::State& state) {
  for (const Loop& l : kLoops) {
    const Code code = code_of(l.text);
    Machine machine;
    CHECK(machine.run(code, {}) == vm::Failure::none);
    const double count = static_cast<double>(machine.cycles());
    if (l.text == kLoops[0].text) {
      const auto stack = machine.stack();
      CHECK(stack[stack.size() - 3].value() == fibonacci(10000) || stack[stack.size() - 2].value() == fibonacci(10000));
    }
    volatile std::uint64_t padded = 0;
    std::vector<double> ns;
    for (int round = 0; round < 51; ++round) {
      const std::uint64_t start = os::cycle_counter();
      machine.run(code, {});
      padded = machine.heights().padded();
      ns.push_back(static_cast<double>(os::cycle_counter() - start) * os::cycle_counter_ns() / count);
    }
    (void)padded;
    print_figure("ns per cycle: " + std::string(l.name), stats::median(ns));
  }
  for (auto _ : state) state.SetIterationTime(1e-9);
}

/// hash_10 of ten zeros, as published with the hash's own library.
constexpr std::uint64_t kZerosHashed = 941080798860502477;

void tip5(benchmark::State& state) {
  std::array<Element, field::kTip5Rate> zeros{};
  CHECK(field::tip5_hash_10(zeros)[0].value() == kZerosHashed);
  constexpr int kCalls = 200;
  std::vector<std::function<void()>> contestants;
  std::vector<std::string> names;
  for (const os::SimdLevel level : os::kSimdLevels) {
    const field::Kernels* const kernels = field::kernels_of(level);
    if (kernels == nullptr) continue;
    names.emplace_back(name_of(level));
    contestants.emplace_back([kernels] {
      struct alignas(64) State {
        std::uint64_t word[field::kTip5Width] = {};
      } s;
      field::Tip5Lookups lookups;
      for (int i = 0; i < kCalls; ++i) kernels->tip5(s.word, lookups);
      benchmark::DoNotOptimize(s);
    });
  }
  const Rounds rounds = run_rounds(state, contestants, kCalls);
  for (std::size_t i = 0; i + 1 < names.size(); ++i)
    std::printf("us per Tip5, %-35s %10.4f\n", names[i].c_str(), rounds.median_ns(i) / 1000);
  print_figure("us per Tip5 at the best level, " + names.back(), rounds.median_ns(names.size() - 1) / 1000);
}

void block(benchmark::State& state) {
  // 32 instructions: arithmetic, stack and u32, as blocks to be optimised have them.
  const tasm::Program program = program_of(
      "dup 3 dup 2 add swap 1 split and push 9 mul addi 3 dup 0 push 4294967295 split pop 1 xor pop_count "
      "dup 1 place 2 pick 3 mul dup 5 dup 5 lt add push 2 pow push 10 swap 1 split pop 1 div_mod dup 0 pop 1");
  CHECK(program.instructions.size() == 32);
  std::vector<Element> stack;
  for (std::uint64_t i = 0; i < 24; ++i) stack.push_back(Element(3 + i % 5));
  vm::Inputs inputs;
  inputs.stack = stack;
  Code code;
  Machine machine;
  const auto score = [&] {
    CHECK(vm::load(program, code, vm::Hashing::none).ok());
    machine.run(code, inputs);
    return machine.heights();
  };
  const vm::Heights heights = score();
  CHECK(machine.step() == 32);
  CHECK(heights.of(Table::processor) == 32);
  constexpr int kCalls = 200;
  const Rounds rounds = run_rounds(state, {[&] {
                                     for (int i = 0; i < kCalls; ++i) benchmark::DoNotOptimize(score());
                                   }},
                                   kCalls);
  print_figure("us to score a block of 32 instructions", rounds.median_ns(0) / 1000);
}

void whole_program(benchmark::State& state) {
  std::string text;
  for (int i = 0; i < 18; ++i) text += "push " + std::to_string(1000003 * i + 12345) + " dup 0 mul split pop 2 ";
  text += "push 5 pop 1 push 7 nop halt";
  const tasm::Program program = program_of(text);
  CHECK(program.words() == 152);
  Code code;
  Machine machine;
  const auto score = [&] {
    CHECK(vm::load(program, code).ok());
    machine.run(code, {});
    return machine.heights();
  };
  const vm::Heights heights = score();
  CHECK(machine.failure() == vm::Failure::none);
  // The digest and the cascade table, counted apart.
  const std::vector<Element> words = tasm::encode(program);
  CHECK(tasm::digest(words) == code.digest);
  std::set<std::uint16_t> pieces;
  field::Tip5 sponge;
  field::each_padded_piece(words, [&](const auto& piece) {
    for (std::size_t i = 0; i < piece.size(); ++i) sponge.set_word(i, piece[i]);
    field::Tip5Lookups lookups;
    sponge.permute(lookups);
    for (const auto& round : lookups.word)
      for (const std::uint64_t word : round)
        for (unsigned shift = 0; shift < 64; shift += 16) pieces.insert(static_cast<std::uint16_t>(word >> shift));
  });
  CHECK(heights.of(Table::cascade) == pieces.size());
  constexpr int kCalls = 20;
  const Rounds rounds = run_rounds(state, {[&] {
                                     for (int i = 0; i < kCalls; ++i) benchmark::DoNotOptimize(score());
                                   }},
                                   kCalls);
  print_figure("us to score a program of 150 words", rounds.median_ns(0) / 1000);
}

BENCHMARK(cycles)->UseManualTime()->Iterations(1);
BENCHMARK(tip5)->UseManualTime()->Iterations(301);
BENCHMARK(block)->UseManualTime()->Iterations(301);
BENCHMARK(whole_program)->UseManualTime()->Iterations(301);

}  // namespace
}  // namespace trident::bench

int main(int argc, char** argv) {
  return trident::bench::run_benchmarks(argc, argv);
}
