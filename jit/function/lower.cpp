#include "jit/function/lower.h"

#include <algorithm>

#include "jit/function/flow.h"
#include "jit/function/lowering.h"
#include "jit/ir/text.h"
#include "runtime/base/check.h"
#include "runtime/base/limits.h"

namespace trident::function {
namespace {

using SK = Statement::Kind;
using region::Op;
using region::Value;
using RegionType = region::Type;

constexpr std::size_t kInstsMax = 16384;
/// Calls of functions without instructions make labels alone.
constexpr std::size_t kLabelsMax = 4 * kInstsMax;
/// Larger regions get no copies of loops, which would bring them to the limit.
constexpr std::size_t kCopiedInstsMax = 4096;
/// Every variable has a home of so many bytes.
constexpr std::uint32_t kHomeBytes = 8;
/// Larger local arrays are cleared by a loop.
constexpr std::uint64_t kUnrolledClearBytes = 64;
constexpr std::uint64_t kLocalBytesMax = std::uint64_t{1} << 20;

}  // namespace

RegionType region_type(Type type) {
  if (type == Type::f64) return RegionType::f64;
  return type == Type::boolean ? RegionType::i32 : RegionType::i64;
}

RegionType home_type(Type type) {
  return type == Type::f64 ? RegionType::f64 : RegionType::i64;
}

void Lowering::bind(Label label) {
  if (open_) jump(label);
  labels_[label] = build_.begin_block();
  build_.at(++step_);
  open_ = true;
  nonzero_.reset();
}

void Lowering::join(Label label) {
  region::Block* const last = out_.region.blocks.empty() ? nullptr : &out_.region.blocks.back();
  const bool falls_in = open_ && references_[label] == 0;
  const bool jumps_in = last != nullptr && !open_ && references_[label] == 1 && last->end.flow == region::Flow::jump &&
                        last->end.then == label;
  if (!falls_in && !jumps_in) return bind(label);
  last->end = {};
  open_ = true;
  build_.at(++step_);
}

void Lowering::jump(Label label) {
  build_.jump(label);
  ++references_[label];
  open_ = false;
}

void Lowering::branch(Value condition, Label then, Label otherwise) {
  build_.branch(condition, then, otherwise);
  ++references_[then];
  ++references_[otherwise];
  open_ = false;
}

Lowering::Label Lowering::failure(Failure failure) {
  const Place here{frame_->function.name, frame_->line};
  const auto found = std::find(out_.places.begin(), out_.places.end(), here);
  const auto number = static_cast<std::uint32_t>(found - out_.places.begin());
  if (found == out_.places.end()) out_.places.push_back(here);
  const auto [entry, is_new] = failures_.try_emplace({failure, number}, 0);
  if (is_new) entry->second = label();
  return entry->second;
}

void Lowering::failure_blocks() {
  for (const auto& [what, begin] : failures_) {
    bind(begin);
    if (what.first == Failure::budget) build_.set(budget_, build_.constant(RegionType::i64, 0));
    build_.set(place_, build_.constant(RegionType::i32, what.second));
    build_.set(failure_, build_.constant(RegionType::i32, static_cast<std::uint32_t>(what.first) + 1));
    build_.exit(region::Exit::left);
    open_ = false;
  }
}

void Lowering::patch() {
  for (region::Block& block : out_.region.blocks) {
    if (block.end.flow == region::Flow::exit) continue;
    block.end.then = labels_[block.end.then];
    if (block.end.flow == region::Flow::branch) block.end.otherwise = labels_[block.end.otherwise];
  }
  for (region::Inst& inst : out_.region.insts)
    if (inst.op == Op::Access) inst.otherwise = labels_[inst.otherwise];
}

/// Leaves out blocks that only jump on.
void Lowering::thread_jumps() {
  std::vector<region::Block>& blocks = out_.region.blocks;
  const auto is_passed = [&](std::uint32_t b) {
    return b != 0 && blocks[b].first == blocks[b].last && blocks[b].end.flow == region::Flow::jump;
  };
  std::vector<std::uint32_t> number(blocks.size(), 0);
  for (std::uint32_t b = 0; b + 1 < blocks.size(); ++b) number[b + 1] = number[b] + (is_passed(b) ? 0 : 1);
  const auto thread = [&](std::uint32_t& target) {
    while (is_passed(target)) target = blocks[target].end.then;
    target = number[target];
  };
  for (region::Inst& inst : out_.region.insts)
    if (inst.op == Op::Access) thread(inst.otherwise);
  std::vector<region::Block> kept;
  for (std::uint32_t b = 0; b < blocks.size(); ++b) {
    if (is_passed(b)) continue;
    kept.push_back(blocks[b]);
    if (kept.back().end.flow != region::Flow::exit) thread(kept.back().end.then);
    if (kept.back().end.flow == region::Flow::branch) thread(kept.back().end.otherwise);
  }
  blocks = std::move(kept);
}

std::uint32_t Lowering::home(const char* name, RegionType type, std::uint32_t slot) {
  return build_.variable(name, type, slot);
}

std::uint32_t Lowering::variable(RegionType type) {
  auto& free = free_[static_cast<std::size_t>(type)];
  if (!free.empty()) {
    const std::uint32_t reused = free.back();
    free.pop_back();
    return reused;
  }
  slot_ += kHomeBytes;
  return build_.variable("v" + std::to_string(variables_++), type, slot_ - kHomeBytes, true);
}

Result<void> Lowering::within_limits(std::uint32_t offset) const {
  const auto fault = [&](const char* what, std::size_t most, const char* of) {
    const ir::SourceText source(frame_->function.text, frame_->function.file);
    return source.error(offset, std::string(what) + ": at most " + std::to_string(most) + of,
                        ErrorCode::kLimitExceeded);
  };
  if (out_.region.insts.size() > kInstsMax || labels_.size() > kLabelsMax)
    return fault("the function and what it calls are too large", kInstsMax, " instructions");
  if (out_.region.variables.size() > limits::kRegionVariablesMax)
    return fault("too many values at once", limits::kRegionVariablesMax, "");
  if (out_.region.windows > limits::kRegionWindowsMax)
    return fault("too many arrays, those of callees included", limits::kRegionWindowsMax, "");
  if (local_bytes_ > kLocalBytesMax) return fault("local arrays are too large", kLocalBytesMax, " bytes");
  return {};
}

Result<Lowered> Lowering::run() {
  budget_ = home("budget", RegionType::i64, 0);
  const auto own = [&](const char* name, RegionType type, std::uint32_t& slot) {
    slot = slot_;
    slot_ += kHomeBytes;
    return home(name, type, slot);
  };
  failure_ = own("failure", RegionType::i32, out_.failure_slot);
  place_ = own("place", RegionType::i32, out_.place_slot);
  Frame frame{.function = main_};
  frame_ = &frame;
  frame.result = own("result", home_type(main_.result), out_.result_slot);
  parameters();
  frame.end = label();
  bind(label());
  TRY_VOID(statements(main_.body));
  join(frame.end);
  build_.set(failure_, build_.constant(RegionType::i32, 0));
  build_.exit(region::Exit::left);
  open_ = false;
  failure_blocks();
  patch();
  thread_jumps();
  out_.frame_bytes = slot_;
  TRY_VOID(region::check(out_.region));
  return std::move(out_);
}

void Lowering::parameters() {
  for (const Parameter& p : main_.parameters) {
    out_.slots.push_back(slot_);
    const RegionType type = p.is_array() ? RegionType::i64 : home_type(p.type);
    const std::uint32_t number = build_.variable("p" + std::to_string(out_.slots.size()), type, slot_);
    slot_ += kHomeBytes;
    const bool is_byte = p.type == Type::u8 && !assigns(main_.body, p.name);
    frame_->names[p.name] = {number, out_.region.windows, p.type, is_byte};
    if (p.is_array()) ++out_.region.windows;
  }
}

Result<void> Lowering::statements(const std::vector<Statement>& list) {
  std::vector<std::string> declared;
  for (const Statement& s : list) {
    frame_->line = s.line;
    TRY_VOID(statement(s));
    TRY_VOID(within_limits(s.offset));
    if (s.kind == SK::let || s.kind == SK::array) declared.push_back(s.name);
  }
  for (const std::string& name : declared) {
    release(frame_->names[name].variable);
    frame_->names.erase(name);
  }
  return {};
}

Result<void> Lowering::statement(const Statement& s) {
  switch (s.kind) {
    case SK::let: {
      const std::uint32_t number = variable(region_type(s.values[0].type));
      TRY_VOID(into(number, s.values[0]));
      const bool is_constant = !assigns(frame_->function.body, s.name);
      frame_->names[s.name] = {number, 0, s.values[0].type, is_constant && is_byte(s.values[0])};
      return {};
    }
    case SK::array: return local_array(s);
    case SK::assign: return into(frame_->names.find(s.name)->second.variable, s.values[0]);
    case SK::store: return storing(s);
    case SK::call: {
      TRY_VOID(value(s.values[0]));
      return {};
    }
    case SK::branch: return branching(s);
    case SK::loop: return looping(s);
    case SK::count: return counting(s);
    case SK::leave: jump(frame_->leave); return {};
    case SK::next: jump(frame_->next); return {};
    case SK::give: return giving(s);
  }
  CHECK(false);
}

/// Evaluates into a variable; truths in variables of i64 are 0 and 1.
Result<void> Lowering::into(std::uint32_t variable, const Expression& e) {
  TRY(Value v, value(e));
  if (build_.type_of(v) == RegionType::i32 && of(variable) == RegionType::i64) v = build_.op(Op::Zext32, v);
  set(variable, v);
  return {};
}

Result<void> Lowering::branching(const Statement& s) {
  const Label then = label(), end = label(), otherwise = s.otherwise.empty() ? end : label();
  TRY_VOID(decide(s.values[0], then, otherwise));
  join(then);
  TRY_VOID(statements(s.body));
  if (s.otherwise.empty()) return join(end), Result<void>();
  if (open_) jump(end);
  join(otherwise);
  TRY_VOID(statements(s.otherwise));
  join(end);
  return {};
}

/// The budget is taken from before it is asked for, so that the borrow can tell; failure_blocks() puts it back.
void Lowering::spend_budget() {
  const Label go = label();
  const Value left = build_.get(budget_), is_spent = build_.op_with(Op::Eq, left, 0);
  set(budget_, build_.op_with(Op::Sub, left, 1));
  branch(is_spent, failure(Failure::budget), go);
  join(go);
}

Result<void> Lowering::rounds(const Statement& s, Label next, Label leave) {
  const Label outer_leave = std::exchange(frame_->leave, leave), outer_next = std::exchange(frame_->next, next);
  spend_budget();
  TRY_VOID(statements(s.body));
  frame_->leave = outer_leave;
  frame_->next = outer_next;
  frame_->line = s.line;
  return {};
}

/// A short condition is tested again behind the body, which saves a jump a round.
Result<void> Lowering::looping(const Statement& s) {
  const Label next = label(), body = label(), leave = label();
  const bool is_repeated = is_short(s.values[0], library_);
  if (!is_repeated) bind(next);
  TRY_VOID(decide(s.values[0], body, leave));
  bind(body);
  TRY_VOID(rounds(s, next, leave));
  if (is_repeated) {
    join(next);
    TRY_VOID(decide(s.values[0], body, leave));
  } else if (open_) {
    jump(next);
  }
  join(leave);
  return {};
}

/// Elements have numbers that are known then, and values that one round stores and the next one loads stay in
/// registers.
Result<void> Lowering::copies(const Statement& s) {
  const std::uint32_t counter = variable(RegionType::i64);
  for (std::int64_t i = s.values[0].number; i < s.values[1].number; ++i) {
    set(counter, build_.constant(RegionType::i64, static_cast<std::uint64_t>(i)));
    frame_->names[s.name] = {.variable = counter, .number = i};
    spend_budget();
    TRY_VOID(statements(s.body));
    frame_->line = s.line;
  }
  frame_->names.erase(s.name);
  release(counter);
  return {};
}

Result<void> Lowering::counting(const Statement& s) {
  if (has_few_rounds(s) && out_.region.insts.size() < kCopiedInstsMax) return copies(s);
  const std::uint32_t counter = variable(RegionType::i64), end = variable(RegionType::i64);
  TRY_VOID(into(counter, s.values[0]));
  TRY_VOID(into(end, s.values[1]));
  const Label body = label(), next = label(), leave = label();
  branch(build_.op(Op::SLt, build_.get(counter), build_.get(end)), body, leave);
  bind(body);
  frame_->names[s.name] = {counter, 0, Type::i64};
  TRY_VOID(rounds(s, next, leave));
  frame_->names.erase(s.name);
  join(next);
  set(counter, build_.op_with(Op::Add, build_.get(counter), 1));
  branch(build_.op(Op::SLt, build_.get(counter), build_.get(end)), body, leave);
  join(leave);
  release(counter);
  release(end);
  return {};
}

Result<void> Lowering::storing(const Statement& s) {
  TRY(const auto operands, both(s.values[0], s.values[1]));
  const Local& array = frame_->names.find(s.name)->second;
  const Value place = place_of(array, operands.first);
  build_.store(element_bytes(array.type), place, operands.second);
  build_.at(++step_);
  return {};
}

Result<void> Lowering::giving(const Statement& s) {
  if (!s.values.empty()) TRY_VOID(into(frame_->result, s.values[0]));
  jump(frame_->end);
  return {};
}

/// A local array is cleared where control comes to it.
Result<void> Lowering::local_array(const Statement& s) {
  const auto elements = static_cast<std::uint64_t>(s.values[0].number);
  const std::uint64_t bytes = elements * element_bytes(s.element);
  const Local array{variable(RegionType::i64), out_.region.windows++, s.element};
  out_.local_bytes.push_back(bytes);
  local_bytes_ += bytes;
  TRY_VOID(within_limits(s.offset));
  clear(array, bytes);
  set(array.variable, build_.constant(RegionType::i64, elements));
  frame_->names[s.name] = array;
  return {};
}

/// The last bytes come first: where their check holds, those of the others hold.
void Lowering::clear(const Local& array, std::uint64_t bytes) {
  const auto clear_last = [&](std::uint8_t size) {
    bytes -= size;
    const Value number = build_.constant(RegionType::i64, bytes / size);
    const Value place = build_.element(number, size, array.window, failure(Failure::index));
    build_.store(size, place, build_.constant(RegionType::i64, 0));
    build_.at(++step_);
  };
  for (const std::uint8_t size : {std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{4}})
    if (bytes % (2u * size) != 0) clear_last(size);
  if (bytes > kUnrolledClearBytes) return clear_words(array, bytes / 8);
  while (bytes != 0) clear_last(8);
}

void Lowering::clear_words(const Local& array, std::uint64_t words) {
  const std::uint32_t at = variable(RegionType::i64);
  set(at, build_.constant(RegionType::i64, 0));
  const Label head = label(), end = label();
  bind(head);
  const Value place = build_.element(build_.get(at), 8, array.window, failure(Failure::index));
  build_.store(8, place, build_.constant(RegionType::i64, 0));
  build_.at(++step_);
  const Value next = build_.op_with(Op::Add, build_.get(at), 1);
  build_.set(at, next);
  branch(build_.op_with(Op::ULt, next, words), head, end);
  join(end);
  release(at);
}

Result<Lowered> lower(const Function& function, const Library& library) {
  return Lowering(function, library).run();
}

}  // namespace trident::function
