#include "jit/tir/tournament/score.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "runtime/base/split_mix.h"

namespace trident::tir::tournament {
namespace {

/// Number of other digests that the first program is run with; only one if its samples take more cycles than this.
constexpr unsigned kDigestsTried = 4;
constexpr std::uint64_t kCyclesOfMany = 1'000'000;

std::vector<vm::Element> stack_on(const vm::Digest& digest) {
  std::vector<vm::Element> out(tasm::kRegisters);
  std::reverse_copy(digest.begin(), digest.end(), out.begin());
  return out;
}

Key key_of(const vm::Code& code) {
  Key out;
  std::transform(code.digest.begin(), code.digest.end(), out.begin(), [](vm::Element e) { return e.value(); });
  return out;
}

Cost cost_of(const vm::Code& code, std::vector<vm::Heights> heights) {
  Cost out{{.words = code.words()}, std::move(heights), key_of(code)};
  for (const vm::Heights& h : out.heights) out.score.add(h);
  return out;
}

}  // namespace

void Score::add(const vm::Heights& heights) {
  padded += heights.padded();
  tallest += heights.of(heights.tallest());
  rows = std::accumulate(std::begin(heights.rows), std::end(heights.rows), rows);
}

bool never_taller(const Cost& before, const Cost& after) {
  bool gains = false, taller = false;
  for (std::size_t i = 0; i < before.heights.size(); ++i) {
    const vm::Heights &a = before.heights[i], &b = after.heights[i];
    if (b.padded() > a.padded()) return false;
    gains |= b.padded() < a.padded();
    taller |= b.of(b.tallest()) > a.of(a.tallest());
  }
  return gains || !taller;
}

/// Runs from `stack`, unless the sample has its own.
vm::Failure Scorer::run(const vm::Inputs& sample, std::span<const vm::Element> stack) {
  vm::Inputs inputs = sample;
  if (inputs.stack.empty()) inputs.stack = stack;
  return machine_.run(code_, inputs, budget_);
}

bool Scorer::ended_as(const End& end) const {
  return machine_.failure() == vm::Failure::none && machine_.output() == end.output &&
         std::equal(machine_.stack().begin(), machine_.stack().end(), end.stack.begin(), end.stack.end());
}

Result<Cost> Scorer::begin(const tasm::Program& baseline) {
  TRY_VOID(vm::load(baseline, code_));
  first_stack_ = stack_on(code_.digest);
  std::vector<vm::Heights> heights;
  for (const vm::Inputs& sample : samples_) {
    if (run(sample, first_stack_) != vm::Failure::none)
      return make_error(ErrorCode::kInvalidArgument, "the program fails on these inputs: %s",
                        machine_.failure_text().c_str());
    heights.push_back(machine_.heights());
    ends_.push_back({machine_.output(), {machine_.stack().begin(), machine_.stack().end()}});
  }
  Cost out = cost_of(code_, std::move(heights));
  known_.emplace(out.key, out);
  by_digest_ = costs_by_digest(out);
  return out;
}

/// True if the first program, which is loaded, has other heights or fails with other digests.
bool Scorer::costs_by_digest(const Cost& first) {
  std::uint64_t cycles = 0;
  for (const vm::Heights& h : first.heights) cycles += h.of(vm::Table::processor);
  SplitMix64 random(1);
  for (unsigned i = 0; i < (cycles > kCyclesOfMany ? 1 : kDigestsTried); ++i) {
    vm::Digest other;
    for (vm::Element& e : other) e = vm::Element(random.next());
    const std::vector<vm::Element> stack = stack_on(other);
    for (std::size_t s = 0; s < samples_.size(); ++s)
      if (run(samples_[s], stack) != vm::Failure::none || machine_.heights() != first.heights[s]) return true;
  }
  return false;
}

/// Runs the loaded program from the first one's digest and, if heights depend on it, from its own.
std::optional<Cost> Scorer::compared() {
  std::vector<vm::Heights> heights;
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    run(samples_[i], first_stack_);
    if (!ended_as(ends_[i])) return {};
    heights.push_back(machine_.heights());
  }
  return by_digest_ ? alone() : cost_of(code_, std::move(heights));
}

std::optional<Cost> Scorer::alone() {
  std::vector<vm::Heights> heights;
  for (const vm::Inputs& sample : samples_) {
    if (run(sample, {}) != vm::Failure::none) return {};
    heights.push_back(machine_.heights());
  }
  return cost_of(code_, std::move(heights));
}

std::optional<Cost> Scorer::cost(const tasm::Program& program) {
  if (!vm::load(program, code_)) return {};
  const auto [at, fresh] = known_.try_emplace(key_of(code_));
  if (!fresh) return at->second;
  ++scored_;
  return at->second = compared();
}

std::optional<Cost> Scorer::cost_alone(const tasm::Program& program) {
  return vm::load(program, code_) ? alone() : std::nullopt;
}

std::vector<std::uint64_t> Scorer::executions(const tasm::Program& program) {
  if (!vm::load(program, code_)) return {};
  std::vector<std::uint64_t> out(code_.steps.size());
  for (const vm::Inputs& sample : samples_) {
    run(sample, first_stack_);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += machine_.executions()[i];
  }
  return out;
}

}  // namespace trident::tir::tournament
