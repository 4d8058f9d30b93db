#include "jit/expr/composer.h"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <limits>
#include <numbers>

#include "runtime/base/limits.h"

namespace trident::expr {
namespace {

constexpr std::size_t kFirstNameSlots = 32;
// Distinct names in one text: bounded so that 16-bit slots do.
constexpr std::size_t kNamesMax = 16384;

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
  for (const Variable& v : options.variables) first_values_.push_back(declare(v, v.name, 0).id);
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
  variable.hi = std::min(variable.hi, ir::most_loaded(variable.storage));
  if (variable.lo <= variable.hi) return true;
  fail(offset, ErrorCode::kTypeError, "the range of '%s' has no %s", variable.name.c_str(), row.name.data());
  return false;
}

// Returns the variable of ParseOptions that a name still stands for; null for another.
Variable* Composer::declared_by_caller(const Name& n) {
  const std::span<Variable> declared = std::span(expr().variables).first(declared_count_);
  const auto found = std::ranges::find(declared, n.text, &Variable::name);
  const bool unbound = found != declared.end() && n.value.id == first_values_[found - declared.begin()];
  return unbound ? &*found : nullptr;
}

Value Composer::declare_again(const Variable& variable, Name& n, std::size_t offset) {
  const auto length = static_cast<int>(n.text.size());
  Variable* const earlier = declared_by_caller(n);
  if (earlier == nullptr) {
    return fail(offset, ErrorCode::kSyntaxError,
                "'%.*s' is declared or used already; declare each name once, before its first use", length,
                n.text.data());
  }
  const Storage storage = earlier->is_scalar() ? earlier->declared : earlier->storage;
  if (earlier->type != variable.type || storage != variable.storage ||
      (variable.kind != VariableKind::array && variable.kind != earlier->kind)) {
    return fail(offset, ErrorCode::kTypeError, "'%.*s' was declared as %s %s by the caller", length, n.text.data(),
                ir::name_of(earlier->type, storage).data(),
                earlier->is_table()    ? "table"
                : earlier->is_scalar() ? "scalar"
                                       : "array");
  }
  if (variable.has_range()) earlier->lo = variable.lo, earlier->hi = variable.hi;
  return meet_values(*earlier, offset) ? n.value : Value{};
}

Value Composer::declare(const Variable& variable, std::string_view text, std::size_t offset) {
  if (failed_) return {};
  if (text.empty() || text.size() > limits::kNameBytesMax) {
    return fail(offset, ErrorCode::kLimitExceeded, "a name has 1 to %zu bytes", limits::kNameBytesMax);
  }
  std::vector<Variable>& variables = expr().variables;
  Name& n = name(text, hash_name(text));
  if (failed_) return {};
  if (n.value.id.valid()) return declare_again(variable, n, offset);
  if (variable.is_scalar() && ir::is_integer(variable.storage)) return declare_narrow_scalar(variable, text, offset);
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

// A scalar of narrow integers is an i32 or i64 of the caller, wrapped to its type: whatever the caller gives, its range
// holds.
Value Composer::declare_narrow_scalar(Variable variable, std::string_view text, std::size_t offset) {
  Variable met = variable;
  met.name.assign(text);
  if (!meet_values(met, offset)) return {};
  variable.storage = Storage::own;
  const Value given = declare(variable, text, offset);
  if (failed_) return {};
  expr().variables.back().declared = met.storage;
  Value wrapped = narrow_cast({met.storage, false}, std::span(&given, 1), offset);
  wrapped.storage = Storage::own;
  name(text, hash_name(text)).value = wrapped;
  return wrapped;
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
  for (Value* const operand : {&a, &b, &c})
    if (operand->storage == Storage::f16) *operand = whole(*operand);
  if (failed_) return {};
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
      value.beyond_i32 = a.beyond_i32 || b.beyond_i32 || c.beyond_i32;
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
  value.beyond_i32 = number.integral && (number.wraps || number.integer < std::numeric_limits<std::int32_t>::min() ||
                                         number.integer > (number.hexadecimal ? std::int64_t{0xFFFFFFFF} : 0x7FFFFFFF));
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

// Gives literals a type. 3000000000 among i32 would be a negative number, and a comparison with it false for all, so it
// is refused there.
Value Composer::typed(Value a, Type type) {
  if (a.beyond_i32 && type == Type::i32) {
    constexpr char kCure[] = "does not fit i32: cast what it meets with i64(...), or write 32 bits in hexadecimal";
    if (!a.bare) return fail(a.offset, ErrorCode::kTypeError, "a number here %s", kCure);
    return fail(a.offset, ErrorCode::kTypeError, "%.17g %s", number_of(a), kCure);
  }
  a.id = retype(a.id, type);
  if (failed_) return {};
  const bool may_wrap = ir::is_int(type) && a.integral && !a.bare;
  const auto excess = may_wrap ? literal_values_.excess_of(a.id) : std::nullopt;
  if (!excess) return a;
  if (type == Type::i64) {
    return fail(a.offset, ErrorCode::kTypeError,
                "the value of these numbers does not fit i64: write them as floats, as 1.0");
  }
  constexpr char kCure[] = "does not fit i32: cast what it meets with i64(...)";
  if (!excess->value) return fail(a.offset, ErrorCode::kTypeError, "the value of these numbers %s", kCure);
  return fail(a.offset, ErrorCode::kTypeError, "%lld %s", static_cast<long long>(*excess->value), kCure);
}

// `a` as `type`: literals take the type, everything else is cast.
Value Composer::convert(Value a, Type type) {
  if (failed_ || (builder_.type_of(a.id) == type && (a.literal_depth == 0 || !ir::is_int(type)))) return a;
  a = whole(a);
  if (failed_) return {};
  if (a.literal_depth > 0 && !ir::is_mask(type) && (a.integral || !ir::is_int(type))) {
    return typed(a, type);
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
  if (a.literal_depth > 0) a = typed(a, default_type_);
  a.literal_depth = 0;
  a.bare = false;
  return a;
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
