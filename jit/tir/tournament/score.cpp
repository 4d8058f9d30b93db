#include "jit/tir/tournament/score.h"

#include <algorithm>

namespace trident::tir::tournament {

Score Scorer::add_up(const vm::Code& code) const {
  Score out;
  out.words = code.words();
  for (const vm::Heights& h : heights_) {
    out.padded += h.padded();
    out.tallest += h.of(h.tallest());
  }
  return out;
}

void Scorer::run(const vm::Code& code, const vm::Inputs& sample) {
  vm::Inputs inputs = sample;
  if (inputs.stack.empty()) inputs.stack = first_stack_;
  machine_.run(code, inputs, budget_);
  heights_.push_back(machine_.heights());
  for (std::size_t i = 0; i < executions_.size(); ++i) executions_[i] += machine_.executions()[i];
}

Result<Score> Scorer::begin(const tasm::Program& baseline) {
  TRY_VOID(vm::load(baseline, code_));
  // The digest of a program is on its stack; a changed program has another one, which must make no difference.
  first_stack_.assign(tasm::kRegisters, vm::Element());
  std::reverse_copy(code_.digest.begin(), code_.digest.end(), first_stack_.begin());
  heights_.clear();
  executions_.assign(code_.steps.size(), 0);
  for (const vm::Inputs& sample : samples_) {
    run(code_, sample);
    if (machine_.failure() != vm::Failure::none)
      return make_error(ErrorCode::kInvalidArgument, "the program fails on these inputs: %s",
                        machine_.failure_text().c_str());
    ends_.push_back({machine_.output(), {machine_.stack().begin(), machine_.stack().end()}});
  }
  return add_up(code_);
}

std::optional<Score> Scorer::score(const tasm::Program& program) {
  ++scored_;
  if (!vm::load(program, code_)) return {};
  heights_.clear();
  executions_.assign(code_.steps.size(), 0);
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    run(code_, samples_[i]);
    const End& end = ends_[i];
    if (machine_.failure() != vm::Failure::none || machine_.output() != end.output ||
        !std::equal(machine_.stack().begin(), machine_.stack().end(), end.stack.begin(), end.stack.end()))
      return {};
  }
  return add_up(code_);
}

}  // namespace trident::tir::tournament
