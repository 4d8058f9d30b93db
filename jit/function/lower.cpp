#include "jit/function/lower.h"

#include <algorithm>
#include <map>

#include "jit/function/names.h"
#include "jit/ir/text.h"
#include "jit/region/builder.h"
#include "runtime/base/check.h"
#include "runtime/base/limits.h"

namespace trident::function {
namespace {

using EK = Expression::Kind;
using SK = Statement::Kind;
using region::Op;
using region::Value;
using RegionType = region::Type;

constexpr std::size_t kInstsMax = 16384;
/// Every variable has a home of so many bytes.
constexpr std::uint32_t kHomeBytes = 8;
constexpr std::uint64_t kLocalBytesMax = std::uint64_t{1} << 20;

/// Where a name's value lives.
struct Local {
  std::uint32_t variable = 0;  ///< of an array: its length
  std::uint32_t window = 0;
  Type type = Type::i64;
  bool is_byte = false;  ///< it holds a number from 0 to 255 as long as it is known
};
using Names = std::map<std::string, Local, std::less<>>;

/// Returns whether evaluating `e` needs several blocks.
bool has_flow(const Expression& e, const Library& library);

/// Returns whether `e` can be evaluated although its value is not needed: nothing in it can fail.
bool is_plain(const Expression& e, const Library& library) {
  if (e.kind == EK::element || has_flow(e, library)) return false;
  return std::all_of(e.operands.begin(), e.operands.end(), [&](const Expression& o) { return is_plain(o, library); });
}

bool divides(const Expression& e) {
  if (e.kind == EK::binary) return e.type == Type::i64 && (e.op == Operator::Divide || e.op == Operator::Remainder);
  const IntrinsicRow* const row = e.kind == EK::call ? intrinsic_of(e) : nullptr;
  return row != nullptr && (row->id == Intrinsic::UnsignedDivide || row->id == Intrinsic::UnsignedRemainder);
}

bool has_flow(const Expression& e, const Library& library) {
  if (divides(e) && !(e.operands[1].kind == EK::number && e.operands[1].number != 0)) return true;
  if (e.kind == EK::call && intrinsic_of(e) == nullptr) return true;
  if (e.kind == EK::choice && !(is_plain(e.operands[1], library) && is_plain(e.operands[2], library))) return true;
  const bool logic = e.kind == EK::binary && (e.op == Operator::And || e.op == Operator::Or);
  if (logic && !is_plain(e.operands[1], library)) return true;
  return std::any_of(e.operands.begin(), e.operands.end(), [&](const Expression& o) { return has_flow(o, library); });
}

/// Returns whether one of `list` gives `name` a new value.
bool assigns(const std::vector<Statement>& list, std::string_view name) {
  return std::any_of(list.begin(), list.end(), [&](const Statement& s) {
    return (s.kind == SK::assign && s.name == name) || assigns(s.body, name) || assigns(s.otherwise, name);
  });
}

bool has_loop(const std::vector<Statement>& list) {
  return std::any_of(list.begin(), list.end(), [](const Statement& s) {
    return s.kind == SK::loop || s.kind == SK::count || has_loop(s.body) || has_loop(s.otherwise);
  });
}

/// Returns whether a copy of `e` is small: calls in it are of short functions.
bool is_short(const Expression& e, const Library& library) {
  constexpr std::size_t kStatementsMax = 3;
  const Function* const callee = e.kind == EK::call ? library.find(e.name) : nullptr;
  if (callee != nullptr && (callee->body.size() > kStatementsMax || has_loop(callee->body))) return false;
  return std::all_of(e.operands.begin(), e.operands.end(), [&](const Expression& o) { return is_short(o, library); });
}

/// A comparison of a name with a number, as the greatest or the least value for which it holds.
struct Limit {
  std::string_view name;
  bool is_least = false;
  std::int64_t value = 0;
};

std::optional<Limit> limit(const Expression& e) {
  if (e.kind != EK::binary) return {};
  const bool less = e.op == Operator::Less || e.op == Operator::LessEqual;
  if (!less && e.op != Operator::Greater && e.op != Operator::GreaterEqual) return {};
  const bool name_first = e.operands[0].kind == EK::name;
  const Expression &name = e.operands[name_first ? 0 : 1], &number = e.operands[name_first ? 1 : 0];
  if (name.kind != EK::name || number.kind != EK::number) return {};
  const bool is_strict = e.op == Operator::Less || e.op == Operator::Greater, is_least = less != name_first;
  std::int64_t value = number.number;
  if (is_strict && __builtin_add_overflow(value, is_least ? 1 : -1, &value)) return {};
  return Limit{name.name, is_least, value};
}

/// Limits of one name from both sides, joined by &&.
struct Between {
  const Expression* name;
  std::int64_t lo, hi;
};

std::optional<Between> between(const Expression& e) {
  if (e.kind != EK::binary || e.op != Operator::And) return {};
  const auto a = limit(e.operands[0]), b = limit(e.operands[1]);
  if (!a || !b || a->name != b->name || a->is_least == b->is_least) return {};
  const std::int64_t lo = a->is_least ? a->value : b->value, hi = a->is_least ? b->value : a->value;
  if (lo > hi) return {};
  const Expression& first = e.operands[0];
  return Between{&first.operands[first.operands[0].kind == EK::name ? 0 : 1], lo, hi};
}

Op op_of(Operator op) {
  switch (op) {
    case Operator::Or:
    case Operator::BitOr: return Op::Or;
    case Operator::And:
    case Operator::BitAnd: return Op::And;
    case Operator::Equal: return Op::Eq;
    case Operator::NotEqual: return Op::Ne;
    case Operator::Less:
    case Operator::Greater: return Op::SLt;  // the operands change places
    case Operator::LessEqual:
    case Operator::GreaterEqual: return Op::SLe;
    case Operator::BitXor: return Op::Xor;
    case Operator::ShiftLeft: return Op::Shl;
    case Operator::ShiftRight: return Op::Sar;
    case Operator::ShiftLogical: return Op::Shr;
    case Operator::Add: return Op::Add;
    case Operator::Subtract: return Op::Sub;
    case Operator::Multiply: return Op::Mul;
    case Operator::Divide:
    case Operator::Remainder: return Op::SDiv;
    case Operator::Negate: return Op::Neg;
    case Operator::Complement: return Op::Not;
    case Operator::Not: return Op::Xor;  // with 1
  }
  CHECK(false);
}

Op float_op_of(Operator op) {
  switch (op) {
    case Operator::Equal: return Op::FEq;
    case Operator::NotEqual: return Op::FNe;
    case Operator::Less:
    case Operator::Greater: return Op::FLt;  // the operands change places
    case Operator::LessEqual:
    case Operator::GreaterEqual: return Op::FLe;
    case Operator::Add: return Op::FAdd;
    case Operator::Subtract: return Op::FSub;
    case Operator::Multiply: return Op::FMul;
    case Operator::Divide: return Op::FDiv;
    case Operator::Negate: return Op::FNeg;
    case Operator::Or:
    case Operator::And:
    case Operator::BitOr:
    case Operator::BitXor:
    case Operator::BitAnd:
    case Operator::ShiftLeft:
    case Operator::ShiftRight:
    case Operator::ShiftLogical:
    case Operator::Remainder:
    case Operator::Complement:
    case Operator::Not: break;
  }
  CHECK(false);
}

/// Returns the type of variables that hold a value of `type` inside of a function.
RegionType region_type(Type type) {
  if (type == Type::f64) return RegionType::f64;
  return type == Type::boolean ? RegionType::i32 : RegionType::i64;
}

/// Returns the type of homes of parameters and results, where a truth is an i64.
RegionType home_type(Type type) {
  return type == Type::f64 ? RegionType::f64 : RegionType::i64;
}

class Lowering {
 public:
  Lowering(const Function& function, const Library& library) : library_(library), main_(function) {}

  Result<Lowered> run();

 private:
  using Label = std::uint32_t;
  /// A call that is being copied in: its names, and where it returns to.
  struct Frame {
    const Function& function;
    Names names{};
    Label end = 0;
    std::uint32_t result = 0;   ///< variable
    Label leave = 0, next = 0;  ///< of the loop around the statement
    std::uint32_t line = 0;
  };

  // --- blocks: targets are labels until patch() ---
  Label label() {
    labels_.push_back(0);
    references_.push_back(0);
    return static_cast<Label>(labels_.size() - 1);
  }
  void bind(Label label);
  /// Binds a label that nothing refers to later on: the block at hand goes on where nothing else leads there.
  void join(Label label);
  void jump(Label label);
  void branch(Value condition, Label then, Label otherwise);
  /// Returns the label of the block that ends with this failure at this line.
  Label failure(Failure failure);
  void failure_blocks();
  void patch();

  // --- variables ---
  std::uint32_t variable(RegionType type);
  void release(std::uint32_t variable) { free_[static_cast<std::size_t>(of(variable))].push_back(variable); }
  [[nodiscard]] RegionType of(std::uint32_t variable) const { return out_.region.variables[variable].type; }
  std::uint32_t home(const char* name, RegionType type, std::uint32_t slot);
  void set(std::uint32_t variable, Value value) {
    build_.set(variable, value);
    build_.at(++step_);
    if (nonzero_ == variable) nonzero_.reset();
  }
  Result<void> within_limits(std::uint32_t offset) const;

  void parameters();
  Result<void> statements(const std::vector<Statement>& list);
  Result<void> statement(const Statement& s);
  Result<void> branching(const Statement& s);
  Result<void> looping(const Statement& s);
  Result<void> counting(const Statement& s);
  /// Copies the body of a loop in.
  Result<void> rounds(const Statement& s, Label next, Label leave);
  Result<void> storing(const Statement& s);
  Result<void> giving(const Statement& s);
  Result<void> local_array(const Statement& s);
  void clear_words(const Local& array, std::uint64_t words);
  void spend_budget();

  Result<Value> value(const Expression& e);
  Result<Value> element(const Expression& e);
  Value place_of(const Local& array, Value index);
  Result<Value> unary(const Expression& e);
  Result<Value> binary(const Expression& e);
  Result<Value> logic(const Expression& e);
  Result<Value> choice(const Expression& e);
  /// Goes to `then` where `e` holds, else to `otherwise`.
  Result<void> decide(const Expression& e, Label then, Label otherwise);
  Value in_range(Value x, std::int64_t lo, std::int64_t hi);
  /// Returns the value that was set last, if that was `variable` in the block at hand, and takes the setting back.
  std::optional<Value> take_back(std::uint32_t variable);
  [[nodiscard]] bool is_byte(const Expression& e) const;
  Result<Value> divided(const Expression& e, Op divide, bool is_remainder);
  Result<Value> intrinsic_call(const Expression& e, Intrinsic id);
  Value real(double value);
  Value sign(Value a);
  Value rounded(Value a);
  Result<Value> fused(const Expression& e);
  Result<Value> call(const Expression& e, const Function& callee);
  Result<void> pass(const Expression& e, const Function& callee, std::size_t number, Names& names);
  void check_range(std::uint32_t variable, std::int64_t lo, std::int64_t hi);
  void check_real_range(std::uint32_t variable, std::int64_t lo, std::int64_t hi);
  /// Evaluates two operands; the first is kept where the second needs blocks of its own.
  Result<std::pair<Value, Value>> both(const Expression& a, const Expression& b);
  Result<void> into(std::uint32_t variable, const Expression& e);

  const Library& library_;
  const Function& main_;
  Lowered out_;
  region::Builder build_{out_.region};
  std::vector<std::uint32_t> labels_;      ///< their blocks
  std::vector<std::uint32_t> references_;  ///< to each label, so far
  bool open_ = false;                      ///< the last block has no end yet
  std::vector<std::uint32_t> free_[4];     ///< variables by type
  std::map<std::pair<Failure, std::uint32_t>, Label> failures_;
  std::uint32_t step_ = 0, slot_ = region::kFrameHeadBytes, variables_ = 0;
  std::uint32_t budget_ = 0, failure_ = 0, place_ = 0;
  std::uint64_t local_bytes_ = 0;
  std::optional<std::uint32_t> nonzero_;  ///< a variable that is not 0 here: a division by it was let pass
  Frame* frame_ = nullptr;
};

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
  const auto fault = [&](const char* what) {
    const ir::SourceText source(frame_->function.text, frame_->function.file);
    return source.error(offset, what, ErrorCode::kLimitExceeded);
  };
  if (out_.region.insts.size() > kInstsMax) return fault("the function and what it calls are too large");
  if (out_.region.variables.size() > limits::kRegionVariablesMax) return fault("too many values at once");
  if (out_.region.windows > limits::kRegionWindowsMax) return fault("too many arrays, those of callees included");
  if (local_bytes_ > kLocalBytesMax) return fault("local arrays need more than a mebibyte");
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

void Lowering::spend_budget() {
  const Label go = label();
  const Value left = build_.get(budget_);
  branch(build_.op_with(Op::Eq, left, 0), failure(Failure::budget), go);
  join(go);
  set(budget_, build_.op_with(Op::Sub, build_.get(budget_), 1));
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

Result<void> Lowering::counting(const Statement& s) {
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
  if (bytes >= 8) clear_words(array, bytes / 8);
  for (std::uint64_t at = bytes / 8 * 8; at < bytes; ++at) {
    const Value place = build_.element(build_.constant(RegionType::i64, at), 1, array.window, failure(Failure::index));
    build_.store(1, place, build_.constant(RegionType::i64, 0));
    build_.at(++step_);
  }
  set(array.variable, build_.constant(RegionType::i64, elements));
  frame_->names[s.name] = array;
  return {};
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

Result<std::pair<Value, Value>> Lowering::both(const Expression& a, const Expression& b) {
  TRY(Value left, value(a));
  if (!has_flow(b, library_)) {
    TRY(const Value right, value(b));
    return std::pair(left, right);
  }
  const std::uint32_t kept = variable(build_.type_of(left));
  set(kept, left);
  TRY(const Value right, value(b));
  left = build_.get(kept);
  release(kept);
  return std::pair(left, right);
}

Result<Value> Lowering::value(const Expression& e) {
  switch (e.kind) {
    case EK::number: return build_.constant(RegionType::i64, static_cast<std::uint64_t>(e.number));
    case EK::real: return build_.constant(RegionType::f64, static_cast<std::uint64_t>(e.number));
    case EK::truth: return build_.constant(RegionType::i32, static_cast<std::uint64_t>(e.number));
    case EK::name: {
      const Value got = build_.get(frame_->names.find(e.name)->second.variable);
      const bool is_truth = e.type == Type::boolean && build_.type_of(got) == RegionType::i64;  // a parameter
      return is_truth ? build_.op_with(Op::Ne, got, 0) : got;
    }
    case EK::length: return build_.get(frame_->names.find(e.name)->second.variable);
    case EK::element: return element(e);
    case EK::unary: return unary(e);
    case EK::binary: return binary(e);
    case EK::choice: return choice(e);
    case EK::call: break;
  }
  const IntrinsicRow* const row = intrinsic_of(e);
  return row != nullptr ? intrinsic_call(e, row->id) : call(e, *library_.find(e.name));
}

Value Lowering::place_of(const Local& array, Value index) {
  return build_.element(index, element_bytes(array.type), array.window, failure(Failure::index));
}

Result<Value> Lowering::element(const Expression& e) {
  TRY(const Value index, value(e.operands[0]));
  const Local& array = frame_->names.find(e.name)->second;
  const Value place = place_of(array, index);
  return build_.load(home_type(array.type), element_bytes(array.type), false, place);
}

Result<Value> Lowering::unary(const Expression& e) {
  TRY(const Value a, value(e.operands[0]));
  if (e.op == Operator::Not) return build_.op_with(Op::Xor, a, 1);
  return build_.op(e.type == Type::f64 ? float_op_of(e.op) : op_of(e.op), a);
}

Result<Value> Lowering::binary(const Expression& e) {
  const bool is_logic = e.op == Operator::And || e.op == Operator::Or;
  if (is_logic && !is_plain(e.operands[1], library_)) return logic(e);
  if (const auto limits = between(e)) {
    TRY(const Value x, value(*limits->name));
    return in_range(x, limits->lo, limits->hi);
  }
  if (divides(e)) return divided(e, Op::SDiv, e.op == Operator::Remainder);
  TRY(const auto operands, both(e.operands[0], e.operands[1]));
  auto [a, b] = operands;
  if (e.op == Operator::Greater || e.op == Operator::GreaterEqual) std::swap(a, b);
  return build_.op(e.operands[0].type == Type::f64 ? float_op_of(e.op) : op_of(e.op), a, b);
}

/// One comparison: numbers below `lo` wrap around to great ones.
Value Lowering::in_range(Value x, std::int64_t lo, std::int64_t hi) {
  const Value above = lo == 0 ? x : build_.op_with(Op::Sub, x, static_cast<std::uint64_t>(lo));
  return build_.op_with(Op::ULe, above, static_cast<std::uint64_t>(hi) - static_cast<std::uint64_t>(lo));
}

/// The right operand is evaluated only where it decides.
Result<Value> Lowering::logic(const Expression& e) {
  const std::uint32_t result = variable(RegionType::i32);
  const Label yes = label(), no = label(), end = label();
  TRY_VOID(decide(e, yes, no));
  bind(yes);
  set(result, build_.constant(RegionType::i32, 1));
  jump(end);
  bind(no);
  set(result, build_.constant(RegionType::i32, 0));
  bind(end);
  release(result);
  return build_.get(result);
}

Result<void> Lowering::decide(const Expression& e, Label then, Label otherwise) {
  if (e.kind == EK::truth) return jump(e.number != 0 ? then : otherwise), Result<void>();
  if (e.kind == EK::unary) return decide(e.operands[0], otherwise, then);
  const bool is_and = e.kind == EK::binary && e.op == Operator::And;
  if (!between(e) && (is_and || (e.kind == EK::binary && e.op == Operator::Or))) {
    const Label more = label();
    TRY_VOID(is_and ? decide(e.operands[0], more, otherwise) : decide(e.operands[0], then, more));
    join(more);
    return decide(e.operands[1], then, otherwise);
  }
  TRY(const Value condition, value(e));
  branch(condition, then, otherwise);
  return {};
}

Result<Value> Lowering::choice(const Expression& e) {
  if (is_plain(e.operands[1], library_) && is_plain(e.operands[2], library_) && !has_flow(e.operands[0], library_)) {
    TRY(const Value condition, value(e.operands[0]));
    TRY(const Value yes, value(e.operands[1]));
    TRY(const Value no, value(e.operands[2]));
    return build_.op(Op::Select, condition, yes, no);
  }
  const std::uint32_t result = variable(region_type(e.type));
  const Label then = label(), otherwise = label(), end = label();
  TRY_VOID(decide(e.operands[0], then, otherwise));
  join(then);
  TRY_VOID(into(result, e.operands[1]));
  jump(end);
  join(otherwise);
  TRY_VOID(into(result, e.operands[2]));
  join(end);
  release(result);
  return build_.get(result);
}

Result<Value> Lowering::divided(const Expression& e, Op divide, bool is_remainder) {
  TRY(const auto operands, both(e.operands[0], e.operands[1]));
  auto [a, b] = operands;
  const Expression& divisor = e.operands[1];
  const auto named =
      divisor.kind == EK::name ? std::optional(frame_->names.find(divisor.name)->second.variable) : std::nullopt;
  const bool is_checked = named && named == nonzero_;
  if (has_flow(e, library_) && !is_checked) {
    const std::uint32_t kept = variable(RegionType::i64), by = variable(RegionType::i64);
    const Label go = label();
    set(kept, a);
    set(by, b);
    branch(build_.op_with(Op::Eq, build_.get(by), 0), failure(Failure::division), go);
    join(go);
    a = build_.get(kept);
    b = build_.get(by);
    release(kept);
    release(by);
    nonzero_ = named;
  }
  const Value quotient = build_.op(divide, a, b);
  return is_remainder ? build_.op(Op::Sub, a, build_.op(Op::Mul, quotient, b)) : quotient;
}

Result<Value> Lowering::intrinsic_call(const Expression& e, Intrinsic id) {
  if (divides(e)) return divided(e, Op::UDiv, id == Intrinsic::UnsignedRemainder);
  Value a, b;
  if (id == Intrinsic::FusedMultiply) return fused(e);
  if (e.operands.size() == 1) {
    TRY(a, value(e.operands[0]));
  } else {
    TRY(const auto operands, both(e.operands[0], e.operands[1]));
    a = operands.first;
    b = operands.second;
  }
  switch (id) {
    case Intrinsic::Abs:
      if (e.type == Type::f64) return build_.op(Op::FAbs, a);
      return build_.op(Op::Select, build_.op_with(Op::SLt, a, 0), build_.op(Op::Neg, a), a);
    case Intrinsic::LeadingZeros: return build_.op(Op::Clz, a);
    case Intrinsic::ReversedBits: return build_.op(Op::BitSwap, a);
    case Intrinsic::ReversedBytes: return build_.op(Op::ByteSwap, a);
    case Intrinsic::RotatedRight: return build_.op(Op::Rotr, a, b);
    case Intrinsic::HighProduct: return build_.op(Op::UMulHigh, a, b);
    case Intrinsic::UnsignedLess: return build_.op(Op::ULt, a, b);
    case Intrinsic::UnsignedLessEqual: return build_.op(Op::ULe, a, b);
    case Intrinsic::Minimum: return build_.op(Op::FMin, a, b);
    case Intrinsic::Maximum: return build_.op(Op::FMax, a, b);
    case Intrinsic::Sign: return sign(a);
    case Intrinsic::SquareRoot: return build_.op(Op::FSqrt, a);
    case Intrinsic::Floor: return build_.op(Op::FFloor, a);
    case Intrinsic::Ceiling: return build_.op(Op::FCeil, a);
    case Intrinsic::Truncated: return build_.op(Op::FTrunc, a);
    case Intrinsic::Round: return rounded(a);
    case Intrinsic::RoundToEven: return build_.op(Op::FRint, a);
    case Intrinsic::Copysign:
      return build_.op(Op::Select, build_.op(Op::FEq, b, b), build_.op(Op::FCopysign, a, b), build_.op(Op::FAbs, a));
    case Intrinsic::Integer: return build_.op(e.operands[0].type == Type::f64 ? Op::FloatToInt : Op::Zext32, a);
    case Intrinsic::Real: return build_.op(Op::IntToFloat, a);
    case Intrinsic::ToBits: return build_.op(Op::FloatToBits, a);
    case Intrinsic::FromBits: return build_.op(Op::BitsToFloat, a);
    case Intrinsic::FusedMultiply:
    case Intrinsic::UnsignedDivide:
    case Intrinsic::UnsignedRemainder: break;
  }
  CHECK(false);
}

Value Lowering::real(double value) {
  return build_.constant(RegionType::f64, static_cast<std::uint64_t>(bits_of(value)));
}

Value Lowering::sign(Value a) {
  const Value zero = real(0), below = build_.op(Op::FLt, a, zero), above = build_.op(Op::FLt, zero, a);
  return build_.op(Op::Select, above, real(1), build_.op(Op::Select, below, real(-1), a));
}

/// The greatest number below a half, added to one just below a half, gives less than 1; a half with it gives 1.
Value Lowering::rounded(Value a) {
  constexpr double kBelowHalf = 0x1.fffffffffffffp-2;
  return build_.op(Op::FTrunc, build_.op(Op::FAdd, a, build_.op(Op::FCopysign, real(kBelowHalf), a)));
}

Result<Value> Lowering::fused(const Expression& e) {
  std::uint32_t kept[3];
  for (std::size_t i = 0; i < 3; ++i) {
    kept[i] = variable(RegionType::f64);
    TRY_VOID(into(kept[i], e.operands[i]));
  }
  for (const std::uint32_t v : kept) release(v);
  return build_.op(Op::FFma, build_.get(kept[0]), build_.get(kept[1]), build_.get(kept[2]));
}

/// Copies the callee in.
Result<Value> Lowering::call(const Expression& e, const Function& callee) {
  TRY_VOID(within_limits(e.offset));
  Frame frame{.function = callee};
  for (std::size_t i = 0; i < e.operands.size(); ++i) TRY_VOID(pass(e.operands[i], callee, i, frame.names));
  frame.end = label();
  frame.result = variable(region_type(callee.result));
  Frame* const caller = std::exchange(frame_, &frame);
  const auto copied = statements(callee.body);
  frame_ = caller;
  if (!copied.ok()) return copied.error();
  join(frame.end);
  for (std::size_t i = 0; i < e.operands.size(); ++i)
    if (!callee.parameters[i].is_array()) release(frame.names[callee.parameters[i].name].variable);
  release(frame.result);
  if (callee.result == Type::none) return Value{};
  if (const auto result = take_back(frame.result)) return *result;
  return build_.get(frame.result);
}

std::optional<Value> Lowering::take_back(std::uint32_t variable) {
  region::Block& block = out_.region.blocks.back();
  if (block.first == block.last) return {};
  const region::Inst last = out_.region.insts.back();
  if (last.op != Op::Set || last.imm != variable) return {};
  out_.region.insts.pop_back();
  --block.last;
  return last.a;
}

bool Lowering::is_byte(const Expression& e) const {
  if (e.kind == EK::number) return e.number >= 0 && e.number <= 255;
  if (e.kind != EK::element && e.kind != EK::name) return false;
  const Local& local = frame_->names.find(e.name)->second;
  return e.kind == EK::element ? local.type == Type::u8 : local.is_byte;
}

Result<void> Lowering::pass(const Expression& e, const Function& callee, std::size_t number, Names& names) {
  const Parameter& parameter = callee.parameters[number];
  if (parameter.is_array()) {
    names[parameter.name] = frame_->names.find(e.name)->second;
    return {};
  }
  const bool is_real = parameter.type == Type::f64;
  const std::uint32_t kept = variable(home_type(parameter.type));
  TRY_VOID(into(kept, e));
  const bool stays = !assigns(callee.body, parameter.name);
  names[parameter.name] = {kept, 0, parameter.type, stays && (parameter.type == Type::u8 || is_byte(e))};
  if (parameter.lo && is_real) check_real_range(kept, *parameter.lo, *parameter.hi);
  if (parameter.lo && !is_real) check_range(kept, *parameter.lo, *parameter.hi);
  if (parameter.type == Type::u8 && !is_byte(e)) check_range(kept, 0, 255);
  return {};
}

void Lowering::check_range(std::uint32_t variable, std::int64_t lo, std::int64_t hi) {
  const Label go = label();
  branch(in_range(build_.get(variable), lo, hi), go, failure(Failure::range));
  join(go);
}

/// NaN lies in no range.
void Lowering::check_real_range(std::uint32_t variable, std::int64_t lo, std::int64_t hi) {
  const Label go = label();
  const Value x = build_.get(variable);
  const Value above = build_.op(Op::FLe, real(real_of(lo)), x), below = build_.op(Op::FLe, x, real(real_of(hi)));
  branch(build_.op(Op::And, above, below), go, failure(Failure::range));
  join(go);
}

}  // namespace

Result<Lowered> lower(const Function& function, const Library& library) {
  return Lowering(function, library).run();
}

}  // namespace trident::function
