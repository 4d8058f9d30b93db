#include "jit/expr/composer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <limits>
#include <numbers>

#include "jit/expr/integer_power.h"
#include "runtime/base/limits.h"

namespace trident::expr {
namespace {

constexpr std::size_t kFirstNameSlots = 32;
// Distinct names in one text: bounded so that 16-bit slots do.
constexpr std::size_t kNamesMax = 16384;

constexpr Type promote(Type a, Type b) {
  if (a == b) return a;
  if (ir::is_mask(a)) return b;
  if (ir::is_mask(b)) return a;
  if (ir::is_int(a) && ir::is_int(b)) return Type::i64;
  return Type::f64;  // f32 with f64, or an integer with a float
}

// Names that are constants unless the text binds them. Plain "e" is not among them: texts use it as a variable.
constexpr NamedConstant kConstants[] = {
    {"pi", std::numbers::pi},
    {"M_PI", std::numbers::pi},
    {"inf", std::numeric_limits<double>::infinity()},
    {"INFINITY", std::numeric_limits<double>::infinity()},
    {"nan", std::numeric_limits<double>::quiet_NaN()},
    {"NAN", std::numeric_limits<double>::quiet_NaN()},
};

}  // namespace

Composer::Composer(Expr& expr, const ParseOptions& options, const ir::SourceText& source)
    : builder_(expr), source_(source), default_type_(options.type), name_slots_(kFirstNameSlots, 0) {
  const std::size_t guess = std::min<std::size_t>(source.text().size() / 3 + 8, 256);
  expr.nodes.reserve(guess);
  names_.reserve(16);
  shadowed_.reserve(8);
  expr.variables.reserve(options.variables.size() + 4);
  for (const Variable& v : options.variables) declare(v, v.name, 0);
  declared_count_ = static_cast<std::uint32_t>(expr.variables.size());
  for (const Variable& v : expr.variables) has_tables_ = has_tables_ || v.is_table();
}

Value Composer::fail(std::size_t offset, ErrorCode code, const char* format, ...) {
  if (failed_) return {};
  failed_ = true;
  std::array<char, 512> message{};
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(message.data(), message.size(), format, arguments);
  va_end(arguments);
  error_ = source_.error(offset, message.data(), code);
  return {};
}

// --- names ---------------------------------------------------------------------------------------------------------

Composer::Name& Composer::name(std::string_view text, std::uint32_t hash) {
  std::size_t mask = name_slots_.size() - 1;
  std::size_t slot = hash & mask;
  for (; name_slots_[slot] != 0; slot = (slot + 1) & mask) {
    Name& n = names_[name_slots_[slot] - 1u];
    if (n.hash == hash && n.text == text) return n;
  }
  if (names_.size() >= kNamesMax) {
    fail(0, ErrorCode::kLimitExceeded, "more than %zu names", kNamesMax);
    return names_.back();
  }
  names_.push_back({text, hash, {}});
  name_slots_[slot] = static_cast<std::uint16_t>(names_.size());
  if (2 * names_.size() > name_slots_.size()) {
    name_slots_.assign(name_slots_.size() * 2, 0);
    mask = name_slots_.size() - 1;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      for (slot = names_[i].hash & mask; name_slots_[slot] != 0;) slot = (slot + 1) & mask;
      name_slots_[slot] = static_cast<std::uint16_t>(i + 1);
    }
  }
  return names_.back();
}

bool Composer::bound(std::string_view text, std::uint32_t hash) {
  return name(text, hash).value.id.valid();
}

Value Composer::use(std::string_view text, std::uint32_t hash, std::size_t offset) {
  if (failed_) return {};
  Name& n = name(text, hash);
  if (n.value.id.valid()) {
    Value value = n.value;
    value.offset = static_cast<std::uint32_t>(offset);
    return value;
  }
  if (const NamedConstant* const named = find_constant(kConstants, text)) return literal(named->value, offset);
  if (text == "true" || text == "True" || text == "TRUE") return truth(true, offset);
  if (text == "false" || text == "False" || text == "FALSE") return truth(false, offset);
  if (text == "index") return add({Op::Index, Type::i64, {}, {}, {}, 0}, offset);
  Variable variable;
  variable.type = default_type_;
  first_use_ = offset;
  return declare(variable, text, offset);
}

Value Composer::use_table(std::string_view text, std::uint32_t hash, std::size_t offset) {
  if (failed_ || bound(text, hash)) return use(text, hash, offset);
  Variable variable;
  variable.type = default_type_;
  variable.kind = VariableKind::table;
  return declare(variable, text, offset);
}

void Composer::bind(std::string_view text, std::uint32_t hash, Value value) {
  if (failed_) return;
  Name& n = name(text, hash);
  shadowed_.push_back({static_cast<std::uint32_t>(&n - names_.data()), n.value});
  n.value = value;
}

void Composer::leave_scope(std::size_t mark) {
  for (; shadowed_.size() > mark; shadowed_.pop_back()) names_[shadowed_.back().name].value = shadowed_.back().value;
}

// Narrows the range of a variable to the values that its elements can have.
bool Composer::meet_values(Variable& variable, std::size_t offset) {
  if (!ir::is_integer(variable.storage) || !ir::converts(variable.storage)) return true;
  const ir::StorageFacts& row = ir::facts_of(variable.storage);
  variable.lo = std::max(variable.lo, row.lo);
  variable.hi = std::min(variable.hi, row.hi);
  if (variable.lo <= variable.hi) return true;
  fail(offset, ErrorCode::kTypeError, "the range of '%s' has no %s", variable.name.c_str(), row.name.data());
  return false;
}

Value Composer::declare(const Variable& variable, std::string_view text, std::size_t offset) {
  if (failed_) return {};
  if (text.empty() || text.size() > limits::kNameBytesMax) {
    return fail(offset, ErrorCode::kLimitExceeded, "a name has 1 to %zu bytes", limits::kNameBytesMax);
  }
  std::vector<Variable>& variables = expr().variables;
  Name& n = name(text, hash_name(text));
  if (failed_) return {};
  if (n.value.id.valid()) {
    const Node& node = builder_.at(n.value.id);
    if (node.op != Op::Variable || node.imm >= declared_count_) {
      return fail(offset, ErrorCode::kSyntaxError,
                  "'%.*s' is declared or used already; declare each name once, before its first use",
                  static_cast<int>(text.size()), text.data());
    }
    Variable& earlier = variables[node.imm];
    if (earlier.type != variable.type || earlier.storage != variable.storage ||
        (variable.kind != VariableKind::array && variable.kind != earlier.kind)) {
      return fail(offset, ErrorCode::kTypeError, "'%.*s' was declared as %s %s by the caller",
                  static_cast<int>(text.size()), text.data(), ir::name_of(earlier.type, earlier.storage).data(),
                  earlier.is_table()    ? "table"
                  : earlier.is_scalar() ? "scalar"
                                        : "array");
    }
    if (variable.has_range()) earlier.lo = variable.lo, earlier.hi = variable.hi;
    if (!meet_values(earlier, offset)) return {};
    return n.value;
  }
  if (variables.size() >= limits::kInputsMax) {
    return fail(offset, ErrorCode::kLimitExceeded, "more than %u variables", limits::kInputsMax);
  }
  if (variable.is_table() && text.size() > limits::kNameBytesMax - kLengthSuffix.size()) {
    return fail(offset, ErrorCode::kLimitExceeded, "a table's name has 1 to %zu bytes",
                limits::kNameBytesMax - kLengthSuffix.size());
  }
  if (variable.storage != Storage::own && variable.kind != VariableKind::array) {
    return fail(offset, ErrorCode::kTypeError,
                "'%.*s' is no array, and only arrays have elements of %s: declare it as %s",
                static_cast<int>(text.size()), text.data(), ir::facts_of(variable.storage).name.data(),
                ir::name_of(variable.type).data());
  }
  has_tables_ = has_tables_ || variable.is_table();
  variables.push_back(variable);
  variables.back().name.assign(text);
  if (!meet_values(variables.back(), offset)) return {};
  const Node node{Op::Variable, variable.type, {}, {}, {}, variables.size() - 1};
  const Value value = add(node, offset);
  n.value = value;
  return value;
}

Value Composer::annotate(Value value, Type type, std::size_t offset) {
  if (failed_) return {};
  if (builder_.at(value.id).op == Op::Variable && builder_.type_of(value.id) == type) return value;
  // Only the use that has just made the variable may say its type: any other has seen it with the type it has.
  if (builder_.at(value.id).op != Op::Variable || !(first_use_ == offset && value.id.index + 1 == builder_.size())) {
    return fail(offset, ErrorCode::kTypeError, "its type is %s already; a type stands at the first use of a variable",
                ir::name_of(type_of(value)).data());
  }
  const std::uint64_t index = builder_.at(value.id).imm;
  Variable& variable = expr().variables[index];
  first_use_ = kNoUse;
  variable.type = type;
  const Value typed = add({Op::Variable, type, {}, {}, {}, index}, offset);
  name(variable.name, hash_name(variable.name)).value = typed;
  return typed;
}

// --- nodes ---------------------------------------------------------------------------------------------------------

Value Composer::add(const Node& node, std::size_t offset) {
  if (failed_ || (has_tables_ && !reads_tables_only(node, offset))) return {};
  const NodeId id = builder_.add(node);
  if (id.index + 1 == builder_.size()) {
    if (!follows_places_ && (makes_total(node.op) || node.op == Op::Strided)) follows_places_ = true;
    if (follows_places_ && !update_places()) {
      return fail(offset, ErrorCode::kLimitExceeded,
                  "reductions of values that depend on reductions would take more than %u passes over the arrays here: "
                  "send a part as a kernel of its own and pass its result as a parameter",
                  kir::kPassesMax);
    }
    if (builder_.size() > limits::kExprNodesMax) {
      return fail(offset, ErrorCode::kLimitExceeded, "more than %u operations, inputs and constants in one expression",
                  limits::kExprNodesMax);
    }
  }
  Value value;
  value.id = id;
  value.offset = static_cast<std::uint32_t>(offset);
  return value;
}

bool Composer::is_table(NodeId id) const {
  const Node& n = builder_.at(id);
  return n.op == Op::Variable && expr().variables[n.imm].is_table();
}

// Returns whether a node takes tables only where tables are read.
bool Composer::reads_tables_only(const Node& node, std::size_t offset) {
  const bool reads = info(node.op).signature == Signature::Read;
  for (const NodeId id : {reads ? NodeId{} : node.a, node.b, node.c}) {
    if (!id.valid() || !is_table(id)) continue;
    const std::string& name = expr().variables[builder_.at(id).imm].name;
    fail(offset, ErrorCode::kTypeError, "'%s' is a table: read its elements with %s[index]", name.c_str(),
         name.c_str());
    return false;
  }
  return true;
}

// Finds the places of nodes that have none yet. False: the newest node would take too many passes.
bool Composer::update_places() {
  while (places_.size() < builder_.size()) {
    const Node& node = builder_.at(NodeId(static_cast<std::uint32_t>(places_.size())));
    const std::optional<Place> place = place_of(node, places_, expr().variables);
    if (!place) return false;
    places_.push_back(*place);
  }
  return true;
}

// Builds a node of operands that have their final types. A tree of literals stays open to another type.
Value Composer::build(Op op, Value a, Value b, Value c, std::size_t offset) {
  if (failed_ || !is_whole(a) || !is_whole(b) || !is_whole(c)) return {};
  const Signature signature = info(op).signature;
  Node node{op, builder_.type_of(a.id), a.id, b.id, c.id, 0};
  if (signature == Signature::Compare) node.type = Type::b32;
  if (signature == Signature::Select) node.type = builder_.type_of(b.id);
  if (signature == Signature::Locate) node.type = Type::i64;
  Value value = add(node, offset);
  const bool bits = info(op).types == Types::I || info(op).types == Types::B;  // of literals: i64, and nothing else
  if (!bits && (signature == Signature::Same || signature == Signature::Select)) {
    const Value& first = signature == Signature::Select ? b : a;
    const bool open = first.literal_depth > 0 &&
                      (signature != Signature::Same || !b.id.valid() || b.literal_depth > 0) &&
                      (!c.id.valid() || c.literal_depth > 0);
    if (open) {
      const int depth = 1 + std::max({int{a.literal_depth}, int{b.literal_depth}, int{c.literal_depth}});
      value.literal_depth = static_cast<std::uint16_t>(depth);
      value.integral = info(op).types != Types::F && first.integral && (!b.id.valid() || b.integral) &&
                       (!c.id.valid() || c.integral);
      if (depth >= static_cast<int>(limits::kNestingMax)) value = settle(value);
    }
  }
  return value;
}

Value Composer::number(const Number& number, std::size_t offset) {
  if (failed_) return {};
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  Value value;
  // f64 may not hold it.
  if (number.integral && (number.wraps || number.integer > kExact || number.integer < -kExact)) {
    value = add({Op::Constant, Type::i64, {}, {}, {}, static_cast<std::uint64_t>(number.integer)}, offset);
    value.literal_depth = 1;
    value.bare = true;
    if (!failed_ && number.integer < 0) {
      if (wraps_.try_emplace(value.id.index, number.wraps).first->second != number.wraps) {
        return fail(offset, ErrorCode::kTypeError,
                    "%lld is written both in decimal and as a hexadecimal number above it",
                    static_cast<long long>(number.integer));
      }
    }
  } else {
    value = literal(number.value, offset);
  }
  value.integral = number.integral;
  return value;
}

Value Composer::literal(double v, std::size_t offset) {
  Value value = add({Op::Constant, Type::f64, {}, {}, {}, bits_of(Type::f64, v)}, offset);
  value.literal_depth = 1;
  value.bare = true;
  return value;
}

Value Composer::truth(bool value, std::size_t offset) {
  const Value zero = literal(0, offset);
  if (failed_) return {};
  return add({value ? Op::Eq : Op::Ne, Type::b32, zero.id, zero.id, {}, 0}, offset);
}

double Composer::number_of(Value a) const {
  return literal_value(a.id);
}

double Composer::literal_value(NodeId id) const {
  const Node& n = builder_.at(id);
  return wraps(id) ? static_cast<double>(n.imm) : value_of(n.type, n.imm);
}

bool Composer::wraps(NodeId id) const {
  if (wraps_.empty()) return false;
  const auto found = wraps_.find(id.index);
  return found != wraps_.end() && found->second;
}

// Returns the node like `id`, a tree of literals, in another type. Depth is bounded by Value::literal_depth.
NodeId Composer::retype(NodeId id, Type type) {
  Node node = builder_.at(id);
  if (node.type == type) return id;
  node.type = type;
  if (node.op == Op::Constant) {
    if (!ir::is_int(type)) {
      node.imm = bits_of(type, literal_value(id));
    } else if (builder_.type_of(id) == Type::i64) {
      node.imm = bits_of_int(type, int_of_bits(Type::i64, node.imm));
    } else {
      node.imm = bits_of_int(type, static_cast<std::int64_t>(value_of(builder_.type_of(id), node.imm)));
    }
    const Value made = add(node, 0);
    return failed_ ? id : made.id;
  }
  std::vector<std::uint32_t>& memo = retyped_[static_cast<std::size_t>(type)];
  if (id.index < memo.size() && memo[id.index] != 0) return NodeId(memo[id.index] - 1);
  if (node.op != Op::Select) node.a = retype(node.a, type);
  if (node.b.valid()) node.b = retype(node.b, type);
  if (node.c.valid()) node.c = retype(node.c, type);
  const Value made = add(node, 0);
  if (failed_) return id;
  if (memo.size() <= id.index) memo.resize(builder_.size() + builder_.size() / 2, 0);
  memo[id.index] = made.id.index + 1;
  return made.id;
}

// `a` as `type`: literals take the type, everything else is cast.
Value Composer::convert(Value a, Type type) {
  if (failed_ || builder_.type_of(a.id) == type) return a;
  if (!is_whole(a)) return {};
  if (a.literal_depth > 0 && !ir::is_mask(type) && (a.integral || !ir::is_int(type))) {
    if (a.bare && ir::is_int(type) && type == Type::i32) {
      const double v = number_of(a);
      if (v < -2147483648.0 || v > 4294967295.0) {
        return fail(a.offset, ErrorCode::kTypeError, "%.17g does not fit i32", v);
      }
    }
    a.id = retype(a.id, type);
    return a;
  }
  const std::uint32_t offset = a.offset;
  if (ir::is_mask(type)) {  // a != 0, so that every bool comes from a comparison
    const NodeId zero = retype(literal(0, offset).id, builder_.type_of(a.id));
    return add({Op::Ne, Type::b32, a.id, zero, {}, 0}, offset);
  }
  return add({Op::Cast, type, a.id, {}, {}, 0}, offset);
}

Value Composer::settle(Value a) {
  if (failed_) return {};
  if (a.literal_depth > 0) a.id = retype(a.id, default_type_);
  a.literal_depth = 0;
  a.bare = false;
  return a;
}

bool Composer::is_whole(const Value& a) {
  if (a.storage != Storage::f16) return true;
  fail(a.offset, ErrorCode::kTypeError,
       "f16(...) rounds where it is stored, so it must be the last operation of an output: leave it out here");
  return false;
}

// --- types of operands ---------------------------------------------------------------------------------------------

bool Composer::unify(std::span<Value> operands, Op op, std::size_t offset) {
  if (failed_) return false;
  if (operands.size() == 2 && operands[0].literal_depth == 0 && operands[1].literal_depth == 0) {  // nearly always
    const Type type = type_of(operands[0]);
    if (type == type_of(operands[1]) && !ir::is_mask(type)) return true;
  }
  bool settled = false;
  bool all_bool = true;
  Type type = Type::f64;  // literals stay open in it
  for (const Value& v : operands) {
    const Type t = type_of(v);
    all_bool = all_bool && ir::is_mask(t);
    if (v.literal_depth > 0) continue;
    type = settled ? promote(type, t) : t;
    settled = true;
  }
  if (all_bool) {
    fail(offset, ErrorCode::kTypeError, "'%s' needs numbers, here comparisons; cast them with f64(...) or i64(...)",
         info(op).text.data());
    return false;
  }
  for (const Value& v : operands) {
    if (v.literal_depth == 0) continue;
    if (ir::is_mask(type)) type = default_type_;
    if (ir::is_int(type) && !v.integral) type = Type::f64;
  }
  for (Value& v : operands) {
    if (type_of(v) != type) v = convert(v, type);
  }
  return !failed_;
}

bool Composer::to_float(std::span<Value> operands, Op op, std::size_t offset) {
  if (failed_) return false;
  if (operands.size() > 1) {
    if (!unify(operands, op, offset)) return false;
  }
  const Type type = type_of(operands[0]);
  if (ir::is_float(type)) return true;
  // After unify() an integer type means: integers and integral literals.
  if (ir::is_int(type) && (op == Op::Div || op == Op::Fmod)) {
    fail(offset, ErrorCode::kTypeError, "integers have no %s: cast an operand with f64(...) first",
         op == Op::Div ? "division" : "remainder");
    return false;
  }
  for (Value& v : operands) v = convert(v, ir::is_mask(type) ? default_type_ : Type::f64);
  return !failed_;
}

bool Composer::to_integer(std::span<Value> operands, Op op) {
  if (failed_) return false;
  bool settled = false;
  Type type = Type::i64;
  for (const Value& v : operands) {
    const Type t = type_of(v);
    if (v.literal_depth > 0 && v.integral) continue;
    if (!ir::is_int(t)) {
      fail(v.offset, ErrorCode::kTypeError, "'%s' needs integers, here %s; cast with i64(...)", info(op).text.data(),
           ir::is_mask(t) ? "a comparison" : ir::name_of(t).data());
      return false;
    }
    type = settled ? promote(type, t) : t;
    settled = true;
  }
  for (Value& v : operands) v = convert(v, type);
  return !failed_;
}

bool Composer::bits_operands(std::span<Value> operands, Op op, std::size_t offset) {
  if (failed_) return false;
  if (std::all_of(operands.begin(), operands.end(), [&](const Value& v) { return ir::is_mask(type_of(v)); }))
    return true;
  for (const Value& v : operands) {
    if (!ir::is_mask(type_of(v))) continue;
    fail(offset, ErrorCode::kTypeError, "'%s' takes two comparisons or two integers, here one of each; use && or ||",
         info(op).text.data());
    return false;
  }
  return to_integer(operands, op);
}

// --- operators -----------------------------------------------------------------------------------------------------

Value Composer::unary(Op op, Value a, std::size_t offset) {
  if (failed_) return {};
  if (rounds_to_integer(op) && ir::is_int(type_of(a))) return a;
  std::array<Value, 1> v = {a};
  const OpInfo& row = info(op);
  if (row.types == Types::F && !to_float(v, op, offset)) return {};
  if (row.types == Types::B && !bits_operands(v, op, offset)) return {};
  if (row.types == Types::N && ir::is_mask(type_of(a))) v[0] = convert(a, default_type_);
  if (row.signature == Signature::Reduce || row.signature == Signature::Locate) v[0] = settle(v[0]);
  return build(op, v[0], {}, {}, offset);
}

Value Composer::negate(Value a, std::size_t offset) {
  if (failed_) return {};
  if (!a.bare || wraps(a.id)) return unary(Op::Neg, a, offset);
  Number n;
  n.value = -number_of(a);
  n.integral = a.integral || n.value == -0x1p63;
  const Node& node = builder_.at(a.id);
  n.integer = node.type == Type::i64 ? static_cast<std::int64_t>(-node.imm)
              : n.value == -0x1p63   ? std::numeric_limits<std::int64_t>::min()
                                     : static_cast<std::int64_t>(n.integral ? n.value : 0);
  return number(n, offset);
}

Value Composer::binary(Op op, Value a, Value b, std::size_t offset) {
  if (failed_) return {};
  std::array<Value, 2> v = {a, b};
  const OpInfo& row = info(op);
  if (row.signature == Signature::Compare && ir::is_mask(type_of(a)) && ir::is_mask(type_of(b)) &&
      (op == Op::Eq || op == Op::Ne)) {
    const Value differ = build(Op::Xor, a, b, {}, offset);
    return op == Op::Ne ? differ : build(Op::Not, differ, {}, {}, offset);
  }
  bool fits = false;
  switch (row.types) {
    case Types::F:
      if (op == Op::Copysign && unify(v, op, offset) && ir::is_int(type_of(v[0]))) return copysign(v[0], v[1], offset);
      if (op == Op::Pow && unify(v, op, offset) && ir::is_int(type_of(v[0])))
        return b.bare && number_of(b) <= static_cast<double>(kPowiMax) ? power(v[0], b, offset)
                                                                       : integer_power(*this, v[0], v[1], offset);
      fits = to_float(v, op, offset);
      break;
    case Types::I: fits = to_integer(v, op); break;
    case Types::B: fits = bits_operands(v, op, offset); break;
    case Types::N:
    case Types::A: fits = unify(v, op, offset); break;
  }
  if (!fits) return {};
  return build(op, v[0], v[1], {}, offset);
}

Value Composer::ternary(Op op, Value a, Value b, Value c, std::size_t offset) {
  if (failed_) return {};
  if (op != Op::Select) {
    std::array<Value, 3> v = {a, b, c};
    if (unify(v, op, offset) && ir::is_int(type_of(v[0]))) {  // a product and a sum of integers round nothing
      return build(Op::Add, build(Op::Mul, v[0], v[1], {}, offset), v[2], {}, offset);
    }
    if (!to_float(v, op, offset)) return {};
    return build(op, v[0], v[1], v[2], offset);
  }
  a = as_bool(a);
  if (failed_) return {};
  if (ir::is_mask(type_of(b)) && ir::is_mask(type_of(c))) {
    const Value yes = build(Op::And, a, b, {}, offset);
    return build(Op::Or, yes, build(Op::And, build(Op::Not, a, {}, {}, offset), c, {}, offset), {}, offset);
  }
  std::array<Value, 2> v = {b, c};
  if (!unify(v, op, offset)) return {};
  return build(op, a, v[0], v[1], offset);
}

Value Composer::power(Value a, Value b, std::size_t offset) {
  if (failed_) return {};
  if (!b.bare || !b.integral) return binary(Op::Pow, a, b, offset);
  const double exponent = number_of(b);
  if (ir::is_mask(type_of(a))) a = convert(a, default_type_);
  if (exponent < 0 && ir::is_int(type_of(a))) {
    return fail(b.offset, ErrorCode::kTypeError, "an integer has no negative powers: cast it with f64(...) first");
  }
  if (failed_ || std::fabs(exponent) > static_cast<double>(kPowiMax)) {
    return fail(b.offset, ErrorCode::kLimitExceeded, "an integer power is at most 2^31");
  }
  const auto imm = static_cast<std::uint64_t>(static_cast<std::int64_t>(exponent));
  Value value = add({Op::Powi, type_of(a), a.id, {}, {}, imm}, offset);
  if (a.literal_depth > 0) {
    value.literal_depth = static_cast<std::uint16_t>(a.literal_depth + 1);
    value.integral = a.integral && exponent >= 0;
    if (value.literal_depth >= limits::kNestingMax) value = settle(value);
  }
  return value;
}

Value Composer::as_bool(Value a) {
  if (failed_ || ir::is_mask(type_of(a))) return a;
  return convert(a, Type::b32);
}

Value Composer::logical(Op op, Value a, Value b, std::size_t offset) {
  a = as_bool(a);
  b = as_bool(b);
  if (failed_) return {};
  return build(op, a, b, {}, offset);
}

Value Composer::logical_not(Value a, std::size_t offset) {
  a = as_bool(a);
  if (failed_) return {};
  return build(Op::Not, a, {}, {}, offset);
}

Value Composer::cast(Type type, Value a, std::size_t offset) {
  if (failed_ || !is_whole(a)) return {};
  a.storage = Storage::own;
  if (a.literal_depth > 0 && (a.integral || !ir::is_int(type))) {
    a = convert(a, type);  // the type that a cast names is settled
    a.literal_depth = 0;
    a.bare = false;
    return a;
  }
  if (type_of(a) == type) return a;
  return add({Op::Cast, type, a.id, {}, {}, 0}, offset);
}

Value Composer::diff(Value e, Value x, std::size_t offset) {
  if (failed_) return {};
  if (builder_.at(x.id).op != Op::Variable) {
    return fail(x.offset, ErrorCode::kTypeError,
                "a derivative is taken with respect to a variable, not to a local value");
  }
  if (!ir::is_float(type_of(e)) || !ir::is_float(type_of(x))) {
    return fail(offset, ErrorCode::kTypeError, "a derivative needs floats, here %s with respect to %s",
                ir::name_of(type_of(e)).data(), ir::name_of(type_of(x)).data());
  }
  return build(Op::Diff, settle(e), x, {}, offset);
}

// --- functions -----------------------------------------------------------------------------------------------------

Value Composer::fold(Op op, std::span<const Value> arguments, std::size_t offset) {
  Value value = arguments[0];
  for (const Value& next : arguments.subspan(1)) value = binary(op, value, next, offset);
  return value;
}

Value Composer::call(const Function& function, std::span<const Value> arguments, std::size_t offset) {
  if (failed_) return {};
  const std::size_t count = arguments.size();
  const bool folds = function.form == Form::Op && has(function.op, kAssociative);
  const std::size_t arity = function.form == Form::Op && function.op == Op::Powi ? 2 : arity_of(function);
  if (function.form == Form::Op && count == 1 && (function.op == Op::Min || function.op == Op::Max)) {
    return unary(function.op == Op::Min ? Op::MinOf : Op::MaxOf, arguments[0], offset);
  }
  const bool takes_ddof = function.form == Form::Var || function.form == Form::Std;
  if (folds ? count < 2 : takes_ddof ? count != 1 && count != 2 : count != arity) {
    return fail(offset, ErrorCode::kSyntaxError, "%.*s takes %zu argument%s%s, here %zu",
                static_cast<int>(function.name.size()), function.name.data(), arity, arity == 1 ? "" : "s",
                folds        ? " or more"
                : takes_ddof ? " or two"
                             : "",
                count);
  }
  if (function.form != Form::Op) return form(function.form, arguments, offset);
  if (function.op == Op::Powi) {
    if (!arguments[1].bare || !arguments[1].integral) {
      return fail(arguments[1].offset, ErrorCode::kTypeError, "powi takes a literal integer as its exponent");
    }
    return power(arguments[0], arguments[1], offset);
  }
  if (function.op == Op::Diff) return diff(arguments[0], arguments[1], offset);
  if (info(function.op).signature == Signature::Read) return read(function.op, arguments, offset);
  if (folds) return fold(function.op, arguments, offset);
  if (arity == 1) return unary(function.op, arguments[0], offset);
  if (arity == 2) return binary(function.op, arguments[0], arguments[1], offset);
  return ternary(function.op, arguments[0], arguments[1], arguments[2], offset);
}

Value Composer::read(Op op, std::span<const Value> arguments, std::size_t offset) {
  if (failed_) return {};
  const Value table = arguments[0];
  if (!is_table(table.id)) {
    return fail(table.offset, ErrorCode::kTypeError, "%s reads a table, which this is not: declare it as 'table t'",
                info(op).text.data());
  }
  std::array<Value, 2> numbers;
  std::copy(arguments.begin() + 1, arguments.end(), numbers.begin());
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
    Value& v = numbers[i];
    if (v.literal_depth > 0 && v.integral) v = convert(v, Type::i64);
    if (failed_) return {};
    if (!ir::is_int(type_of(v))) {
      return fail(v.offset, ErrorCode::kTypeError,
                  "the number of an element is an integer, here %s; cast with i64(...)",
                  ir::is_mask(type_of(v)) ? "a comparison" : ir::name_of(type_of(v)).data());
    }
    if (op == Op::Strided) v = convert(v, Type::i64);
  }
  if (op == Op::Strided && !failed_) {
    const Node& stride = builder_.at(numbers[0].id);
    const std::int64_t size = stride.op == Op::Constant ? int_of_bits(Type::i64, stride.imm) : 0;
    if (size == 0 || size < -kir::kStrideMax || size > kir::kStrideMax) {
      return fail(
          numbers[0].offset, ErrorCode::kTypeError,
          "a stride is a literal other than 0, from -%lld to %lld; gather(t, stride * index + offset) takes any",
          static_cast<long long>(kir::kStrideMax), static_cast<long long>(kir::kStrideMax));
    }
    follows_places_ = true;
    if (!update_places() || places_[numbers[1].id.index].shape != Shape::uniform) {
      return fail(numbers[1].offset, ErrorCode::kTypeError,
                  "an offset is the same for all elements; gather(t, stride * index + offset) takes any");
    }
  }
  return add({op, type_of(table), table.id, numbers[0].id, numbers[1].id, 0}, offset);
}

Value Composer::form(Form form, std::span<const Value> arguments, std::size_t offset) {
  const Value x = arguments[0];
  const auto infinity = [&] { return literal(std::numeric_limits<double>::infinity(), offset); };
  switch (form) {
    case Form::Square: {
      Number two;
      two.value = 2;
      two.integer = 2;
      two.integral = true;
      return power(x, number(two, offset), offset);
    }
    case Form::Clamp: return binary(Op::Min, binary(Op::Max, x, arguments[1], offset), arguments[2], offset);
    case Form::Fdim:  // NaN when either is: the comparison is false then and the difference NaN
      return ternary(Op::Select, binary(Op::Le, x, arguments[1], offset), number({.integral = true}, offset),
                     binary(Op::Sub, x, arguments[1], offset), offset);
    case Form::Remainder: return remainder(x, arguments[1], offset);
    case Form::IsNan: return binary(Op::Ne, x, x, offset);
    case Form::IsInf: return binary(Op::Eq, unary(Op::Abs, x, offset), infinity(), offset);
    case Form::IsFinite: return binary(Op::Lt, unary(Op::Abs, x, offset), infinity(), offset);
    case Form::IsNormal: {
      if (failed_) return {};
      const Value size = unary(Op::Abs, x, offset);
      if (failed_) return {};
      const bool narrow = type_of(size) == Type::f32;
      const double least = narrow ? std::numeric_limits<float>::min() : std::numeric_limits<double>::min();
      return logical(Op::And, binary(Op::Ge, size, literal(least, offset), offset),
                     binary(Op::Lt, size, infinity(), offset), offset);
    }
    case Form::SignBit:
      return binary(Op::Lt, binary(Op::Copysign, literal(1, offset), x, offset), literal(0, offset), offset);
    case Form::Any: return truth_of_all(Op::MaxOf, x, offset);
    case Form::All: return truth_of_all(Op::MinOf, x, offset);
    case Form::Var: return variance(arguments, offset);
    case Form::Std: return unary(Op::Sqrt, variance(arguments, offset), offset);
    case Form::Missing: return fail(offset, ErrorCode::kUnsupported, "there is no kernel code for this function");
    case Form::Op: break;
  }
  CHECK(false);
}

// Counts truth values as 0 and 1. Of no elements the greatest is below 0 and the least above 1: none is true, and all
// are.
Value Composer::truth_of_all(Op extreme, Value a, std::size_t offset) {
  a = as_bool(a);
  if (failed_) return {};
  return binary(Op::Gt, unary(extreme, convert(a, Type::i32), offset), number({.integral = true}, offset), offset);
}

// The mean of the squared distances from the mean, in two passes; with a second argument their sum divided by n less
// that, or by 0 where nothing is left, as NumPy does.
Value Composer::variance(std::span<const Value> arguments, std::size_t offset) {
  std::array<Value, 1> v = {arguments[0]};
  if (failed_ || !to_float(v, Op::Mean, offset)) return {};
  const Value x = settle(v[0]);
  const Value off = binary(Op::Sub, x, unary(Op::Mean, x, offset), offset);
  const std::array<Value, 1> distance = {off};
  const Value square = form(Form::Square, distance, offset);
  if (arguments.size() == 1) return unary(Op::Mean, square, offset);
  const Value one = cast(Type::i64, number({.value = 1, .integer = 1, .integral = true}, offset), offset);
  const Value count = unary(Op::Sum, one, offset);
  const Value left =
      binary(Op::Max, binary(Op::Sub, count, arguments[1], offset), number({.integral = true}, offset), offset);
  if (failed_) return {};
  return binary(Op::Div, unary(Op::Sum, square, offset), cast(type_of(x), left, offset), offset);
}

// Gives |x| with the sign of y, for integers, which have no -0.
Value Composer::copysign(Value x, Value y, std::size_t offset) {
  const Value size = unary(Op::Abs, x, offset);
  const Value below = binary(Op::Lt, y, number({.integral = true}, offset), offset);
  return ternary(Op::Select, below, unary(Op::Neg, size, offset), size, offset);
}

// IEEE remainder: x - n y with n the integer nearest to x / y (even when halfway), exact, with the sign of x when zero.
// After r = fmod(|x|, 2|y|) at most one or two exact subtractions of |y| remain; tiny |y| is compared by doubling r and
// huge |y| by halving, so that nothing overflows or loses a bit.
Value Composer::remainder(Value x, Value y, std::size_t offset) {
  std::array<Value, 2> v = {x, y};
  if (!to_float(v, Op::Fmod, offset)) return {};
  const Value ax = unary(Op::Abs, v[0], offset);
  const Value ay = unary(Op::Abs, v[1], offset);
  const Value twice = binary(Op::Add, ay, ay, offset);
  const bool narrow = !failed_ && type_of(ay) == Type::f32;
  const double half_max = narrow ? 0x1p127 : 0x1p1023;
  // |y| so large that 2|y| would overflow: |x| is below 2|y| then, and fmod by it would change nothing.
  const Value big = binary(Op::Ge, ay, literal(half_max, offset), offset);
  const Value reduced = ternary(Op::Select, big, ax, binary(Op::Fmod, ax, twice, offset), offset);
  const auto above_half = [&](Op compare, Value r) {  // compare(r, |y| / 2), exactly
    const Value doubled = binary(compare, binary(Op::Add, r, r, offset), ay, offset);
    const Value halved = binary(compare, r, binary(Op::Mul, ay, literal(0.5, offset), offset), offset);
    return ternary(Op::Select, big, halved, doubled, offset);
  };
  const Value once =
      ternary(Op::Select, above_half(Op::Gt, reduced), binary(Op::Sub, reduced, ay, offset), reduced, offset);
  const Value result =
      ternary(Op::Select, logical(Op::And, above_half(Op::Gt, reduced), above_half(Op::Ge, once), offset),
              binary(Op::Sub, once, ay, offset), once, offset);
  const Value finite = binary(Op::Lt, ax, literal(std::numeric_limits<double>::infinity(), offset), offset);
  const Value valid = logical(Op::And, finite, binary(Op::Gt, ay, literal(0, offset), offset), offset);
  const Value magnitude =
      ternary(Op::Select, valid, result, literal(std::numeric_limits<double>::quiet_NaN(), offset), offset);
  // The sign of x is put on by a product with 1 or -1, which is exact and keeps -0 and NaN.
  const Value sign = binary(Op::Copysign, literal(1, offset), v[0], offset);
  return binary(Op::Mul, magnitude, sign, offset);
}

void Composer::output(std::string_view text, Value value) {
  if (failed_) return;
  if (is_table(value.id)) {
    fail(value.offset, ErrorCode::kTypeError, "an output cannot be a table: read its elements, as with t[index]");
    return;
  }
  value = settle(value);
  if (expr().outputs.size() >= limits::kOutputsMax) {
    fail(value.offset, ErrorCode::kLimitExceeded, "more than %u outputs", limits::kOutputsMax);
    return;
  }
  if (ir::is_mask(type_of(value))) value = convert(value, default_type_);
  if (failed_) return;
  const bool total = follows_places_ && places_[value.id.index].shape == Shape::total;
  expr().outputs.push_back({std::string(text), value.id, total ? Storage::own : value.storage});
}

}  // namespace trident::expr
