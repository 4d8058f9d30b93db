#include "jit/tir/vm/machine.h"

#include <algorithm>

namespace trident::tir::vm {
namespace {

constexpr std::size_t kRegisters = tasm::kRegisters;

struct FailureRow {
  std::string_view text, meaning;
};
constexpr FailureRow kFailures[] = {
    {"", ""},
#define X(name, text, meaning) {text, meaning},
#include "jit/tir/vm/failures.def"
#undef X
};

}  // namespace

std::string_view name_of(Failure failure) {
  return kFailures[static_cast<std::size_t>(failure)].text;
}

void Machine::begin(const Code& code, const Inputs& inputs, const Budget& budget) {
  code_ = &code;
  inputs_ = inputs;
  budget_ = budget;
  const std::size_t size = std::max(inputs.stack.size(), kRegisters);
  if (stack_.size() < size + 2 * kGrowthMax) stack_.resize(std::max<std::size_t>(256, 2 * size + 2 * kGrowthMax));
  size_ = size;
  std::fill_n(stack_.begin(), size, Element());
  if (!inputs.stack.empty()) {
    std::copy(inputs.stack.rbegin(), inputs.stack.rend(),
              std::make_reverse_iterator(stack_.begin() + static_cast<std::ptrdiff_t>(size)));
  } else {
    std::reverse_copy(code.digest.begin(), code.digest.end(), stack_.begin());
  }
  jumps_.clear();
  ram_.clear();
  u32_.clear();
  for (const auto& [address, word] : inputs.ram) *ram_.insert({address.value(), 0}).first = word.value();
  output_.clear();
  sponge_.reset();
  cascade_used_ = false;
  u32_rows_ = cycles_ = 0;
  public_read_ = secret_read_ = digests_read_ = 0;
  ip_ = 0;
  detail_ = {};
  executions_.assign(code.steps.size(), 0);
}

std::uint32_t Machine::address() const {
  return code_->addresses[ip_];
}

std::string Machine::failure_text() const {
  if (failure_ == Failure::none) return "";
  const FailureRow& row = kFailures[static_cast<std::size_t>(failure_)];
  std::string out = std::string(row.text) + ": " + std::string(row.meaning);
  const std::string actual = std::to_string(detail_.actual.value()),
                    expected = std::to_string(detail_.expected.value());
  if (failure_ == Failure::kFailedU32Conversion) out += ": st" + std::to_string(detail_.index) + " is " + actual;
  if (failure_ == Failure::kAssertionFailed) out += ": it is " + actual;
  if (failure_ == Failure::kVectorAssertionFailed)
    out += ": st" + std::to_string(detail_.index) + " is " + expected + ", st" +
           std::to_string(detail_.index + field::kDigestWords) + " is " + actual;
  return out;
}

std::vector<std::pair<Element, Element>> Machine::ram() const {
  std::vector<std::pair<Element, Element>> out;
  ram_.each(
      [&](Map::Key key, std::uint64_t word) { out.emplace_back(Element::canonical(key.a), Element::canonical(word)); });
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first.value() < b.first.value(); });
  return out;
}

Heights Machine::heights() const {
  Heights h = code_->text_rows();
  std::uint64_t stack_rows = 0, ram_rows = 0, hash_rows = 0;
  for (std::size_t i = 0; i < executions_.size(); ++i) {
    const Code::Step& step = code_->steps[i];
    stack_rows += executions_[i] * step.stack_rows;
    ram_rows += executions_[i] * step.ram_rows;
    hash_rows += executions_[i] * step.hash_rows;
  }
  h.of(Table::processor) = h.of(Table::jump_stack) = cycles_;
  h.of(Table::op_stack) = stack_rows;
  h.of(Table::ram) = ram_rows;
  h.of(Table::u32) = u32_rows_;
  if (cascade_used_) h.of(Table::cascade) = cascade_.size();
  h.of(Table::hash) += hash_rows;
  return h;
}

}  // namespace trident::tir::vm
