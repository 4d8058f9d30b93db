#include "jit/tir/equiv/trials.h"

#include <algorithm>
#include <bit>

#include "jit/tir/equiv/program_states.h"

namespace trident::tir::equiv {
namespace {

/// Number of states tried however little time there is.
constexpr std::size_t kStatesMin = 6;
constexpr std::size_t kDigestStates = 40;

/// Adds its own lifetime to `sum`.
class Stopwatch {
 public:
  explicit Stopwatch(std::chrono::steady_clock::duration& sum) : sum_(sum) {}
  ~Stopwatch() { sum_ += std::chrono::steady_clock::now() - began_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  std::chrono::steady_clock::duration& sum_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace

Trials::Trials(tasm::Program original, State given, const TrialOptions& options)
    : original_(std::move(original)),
      given_(std::move(given)),
      options_(options),
      source_(options.seed, original_.instructions, original_.instructions, tasm::kRegisters),
      random_(options.seed) {
  if (given_.stack.size() < tasm::kRegisters) given_.stack.resize(tasm::kRegisters);
  if (!vm::load(original_, code_, vm::Hashing::none)) options_.count = 0;
  seen_.assign(code_.steps.size(), 0);
}

/// True if the last run passed a step for the first time, or a number of times with a new power of two.
bool Trials::goes_elsewhere() {
  bool fresh = false;
  const auto executions = machine_.executions();
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    const std::uint32_t bit =
        executions[i] == 0 ? 0 : 1u << std::min<unsigned>(31, static_cast<unsigned>(std::bit_width(executions[i])) - 1);
    fresh |= (bit & ~seen_[i]) != 0;
    seen_[i] |= bit;
  }
  return fresh;
}

/// Adds one more state if the original ends there within its cycles. Returns false when there are no more.
bool Trials::next_state() {
  if (made_ >= options_.count || (made_ >= kStatesMin && !in_time())) return false;
  State state = given_;
  if (made_++ > 0) {
    const std::uint64_t kind = random_.below(8);
    if (kind < 4 && !kept_.empty()) {
      state = changed(states_[kept_[random_.below(kept_.size())]], source_, random_);
    } else if (kind < 5) {
      state = changed(given_, source_, random_);
    } else {
      state = kind < 6 ? made(given_, source_, random_) : of_switches(given_, source_, random_);
    }
  }
  vm::Budget budget;
  budget.cycles = options_.cycles;
  const vm::Failure failure = machine_.run(
      code_, {state.public_input, state.secret_input, state.secret_digests, state.ram, state.stack}, budget);
  if (failure >= vm::Failure::kCycleLimit) return true;
  ended_ += failure == vm::Failure::none ? 1 : 0;
  if (goes_elsewhere()) kept_.push_back(states_.size());
  states_.push_back(std::move(state));
  return true;
}

std::string Trials::difference(const tasm::Program& candidate) {
  const Stopwatch watch(spent_);
  const auto began = std::chrono::steady_clock::now();
  Pair pair(original_.instructions, candidate.instructions, options_.cycles);
  if (!pair.runnable()) return "it is not a valid program";
  for (std::size_t i = 0;; ++i) {
    while (i == states_.size())
      if (!next_state()) return "";
    if (i >= kStatesMin && spent_ + (std::chrono::steady_clock::now() - began) > options_.time) return "";
    if (std::string found = pair.difference(states_[i]); !found.empty()) return found;
  }
}

bool Trials::looks_at_digest() {
  const Stopwatch watch(spent_);
  for (std::size_t i = 0; i < kDigestStates; ++i) {
    while (i == states_.size())
      if (!next_state()) return false;
    if (i >= kStatesMin && !in_time()) return false;
    const State& s = states_[i];
    std::vector<Element> stack = s.stack;
    vm::Budget budget;
    budget.cycles = options_.cycles;
    machine_.run(code_, {s.public_input, s.secret_input, s.secret_digests, s.ram, stack}, budget);
    const bool ended = machine_.failure() == vm::Failure::none;
    const std::vector<Element> output = machine_.output();
    for (std::size_t e = 0; e < field::kDigestWords; ++e) stack[e] = source_.element(0);
    machine_.run(code_, {s.public_input, s.secret_input, s.secret_digests, s.ram, stack}, budget);
    if (ended != (machine_.failure() == vm::Failure::none) || (ended && output != machine_.output())) return true;
  }
  return false;
}

}  // namespace trident::tir::equiv
