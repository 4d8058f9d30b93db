#include "jit/expr/sexpr_walker.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

#include "jit/expr/lexer.h"
#include "runtime/base/limits.h"

namespace trident::expr {
namespace {

constexpr NamedConstant kFpcoreConstants[] = {
    {"E", std::numbers::e},
    {"LOG2E", std::numbers::log2e},
    {"LOG10E", std::numbers::log10e},
    {"LN2", std::numbers::ln2},
    {"LN10", std::numbers::ln10},
    {"PI", std::numbers::pi},
    {"PI_2", std::numbers::pi / 2},
    {"PI_4", std::numbers::pi / 4},
    {"M_1_PI", std::numbers::inv_pi},
    {"M_2_PI", 2 * std::numbers::inv_pi},
    {"M_2_SQRTPI", 2 * std::numbers::inv_sqrtpi},
    {"SQRT2", std::numbers::sqrt2},
    {"SQRT1_2", 0.70710678118654752440},
    {"MAXFLOAT", std::numeric_limits<float>::max()},
    {"HUGE_VAL", std::numeric_limits<double>::infinity()},
    {"INFINITY", std::numeric_limits<double>::infinity()},
    {"NAN", std::numeric_limits<double>::quiet_NaN()},
};

// The op of a sign of arithmetic or of a comparison; others have names only in the bracket forms.
std::optional<Op> op_of_sign(std::string_view text) {
  if (text == "=") return Op::Eq;
  for (std::uint32_t i = 0; i < kOpCount; ++i) {
    const OpInfo& row = kOpInfos[i];
    const bool sign = row.level == Level::sum || row.level == Level::product || row.level == Level::comparison;
    if (sign && row.symbol == text) return static_cast<Op>(i);
  }
  return std::nullopt;
}

// Reads a whole atom as a number, with an optional sign.
bool read_atom(std::string_view text, Number& number) {
  const bool negative = text.size() > 1 && text[0] == '-';
  const bool sign = text.size() > 1 && (text[0] == '-' || text[0] == '+');
  const std::string_view digits = text.substr(sign ? 1 : 0);
  if (read_number(digits, number) != digits.size()) return false;
  if (negative) {
    number.value = -number.value;
    number.integer = static_cast<std::int64_t>(-static_cast<std::uint64_t>(number.integer));
    if (number.wraps) number.integral = false;  // below the least i64
  }
  return true;
}

// "1/3": FPCore's rationals, rounded once when both parts are below 2^53.
bool read_ratio(std::string_view text, double& value) {
  const std::size_t slash = text.find('/');
  Number above;
  Number below;
  if (slash == 0 || slash == std::string_view::npos || slash + 1 == text.size()) return false;
  if (!read_atom(text.substr(0, slash), above) || !read_atom(text.substr(slash + 1), below)) return false;
  value = above.value / below.value;
  return true;
}

}  // namespace

bool SexprWalker::constant(std::uint32_t cell, double& value) const {
  if (cells_.is_list(cell)) {
    const bool negated = (cells_.is_form(cell, "-") || cells_.is_form(cell, "neg")) && cells_.children(cell) == 2;
    const bool quotient = cells_.is_form(cell, "/") && cells_.children(cell) == 3;
    if (!negated && !quotient) return false;
    const std::uint32_t first = cells_.next(cells_.first(cell));
    if (!constant(first, value)) return false;
    double below = -1;
    if (quotient && !constant(cells_.next(first), below)) return false;
    value = negated ? -value : value / below;
    return true;
  }
  if (!cells_.is_atom(cell)) return false;
  const std::string_view text = cells_.text(cell);
  Number number;
  if (read_atom(text, number)) {
    value = number.value;
    return true;
  }
  if (read_ratio(text, value)) return true;
  if (const NamedConstant* const named = find_constant(kFpcoreConstants, text)) {
    value = named->value;
    return true;
  }
  if (text == "inf" || text == "+inf" || text == "-inf") {
    value = text[0] == '-' ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    return true;
  }
  return false;
}

bool SexprWalker::property(std::uint32_t name, std::uint32_t value, Type& type) {
  const bool precision = cells_.text(name) == ":precision";
  if (!precision && cells_.text(name) != ":round") return true;
  const std::string_view text = cells_.is_list(value) ? std::string_view("this") : cells_.text(value);
  if (precision && (text == "binary64" || text == "binary32")) {
    type = text == "binary64" ? Type::f64 : Type::f32;
  } else if (text != (precision ? "real" : "nearestEven") && text != "undefined") {  // "real": left to the caller
    composer_.fail(cells_.at(value).offset, ErrorCode::kUnsupported, "%.*s: %s",
                   static_cast<int>(std::min<std::size_t>(text.size(), 60)), text.data(),
                   precision ? "binary32 and binary64 have kernels" : "kernels round by nearestEven only");
    return false;
  }
  return true;
}

// FPCore rounds every result to the precision of its context. The operands' wider format is enough for that to be one
// rounding of +, -, *, / and sqrt: 53 >= 2 * 24 + 2.
Value SexprWalker::in_precision(Value value, std::size_t offset) {
  if (composer_.failed() || dialect_ != Dialect::fpcore || !ir::is_float(composer_.type_of(value))) return value;
  return composer_.cast(precision_, value, offset);
}

Value SexprWalker::atom(std::uint32_t cell) {
  const std::string_view text = cells_.text(cell);
  const std::uint32_t offset = cells_.at(cell).offset;
  if (cells_.at(cell).kind == Cell::Kind::string) {
    return composer_.fail(offset, ErrorCode::kSyntaxError, "expected an expression, found a string");
  }
  Number number;
  if (read_atom(text, number)) return in_precision(composer_.number(number, offset), offset);
  double value = 0;
  if (read_ratio(text, value)) {
    number = {};
    number.value = value;
    return in_precision(composer_.number(number, offset), offset);
  }
  const std::uint32_t hash = hash_name(text);
  if (text[0] >= '0' && text[0] <= '9') {
    return composer_.fail(offset, ErrorCode::kSyntaxError, "'%.*s' is neither a number nor a name",
                          static_cast<int>(std::min<std::size_t>(text.size(), 60)), text.data());
  }
  if (dialect_ == Dialect::sexpr) {
    if (text == "-inf" || text == "+inf") {
      constant(cell, number.value);
      return composer_.number(number, offset);
    }
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return composer_.use(text, hash, offset);
    const std::string_view name = text.substr(0, colon);
    const std::optional<Type> type = type_named(text.substr(colon + 1));
    if (!type || *type == Type::b32) {
      return composer_.fail(offset + colon + 1, ErrorCode::kSyntaxError, "expected a type: f32, f64, i32 or i64");
    }
    const Value variable = composer_.use(name, hash_name(name), offset);
    return composer_.annotate(variable, *type, offset);
  }
  if (composer_.bound(text, hash)) return composer_.use(text, hash, offset);
  if (text == "TRUE" || text == "FALSE") return composer_.truth(text == "TRUE", offset);
  if (const NamedConstant* const named = find_constant(kFpcoreConstants, text)) {
    number = {};
    number.value = named->value;
    return in_precision(composer_.number(number, offset), offset);
  }
  return composer_.fail(offset, ErrorCode::kSyntaxError, "'%.*s' is neither an argument nor bound",
                        static_cast<int>(std::min<std::size_t>(text.size(), 60)), text.data());
}

Value SexprWalker::expression(std::uint32_t cell) {
  if (composer_.failed()) return {};
  return cells_.is_list(cell) ? list(cell) : atom(cell);
}

bool SexprWalker::bindings(std::uint32_t cell, bool sequential) {
  const std::uint32_t list = cells_.next(cells_.first(cell));
  if (cells_.children(cell) != 3 || !cells_.is_list(list)) {
    composer_.fail(cells_.at(cell).offset, ErrorCode::kSyntaxError, "expected (let ((name value) ...) body)");
    return false;
  }
  std::vector<std::pair<std::string_view, Value>> made;
  for (std::uint32_t pair = cells_.first(list); pair < cells_.end(list); pair = cells_.next(pair)) {
    if (cells_.children(pair) != 2 || !cells_.is_atom(cells_.first(pair))) {
      composer_.fail(cells_.at(pair).offset, ErrorCode::kSyntaxError, "expected (name value)");
      return false;
    }
    const std::uint32_t name_cell = cells_.first(pair);
    const std::string_view name = cells_.text(name_cell);
    Number number;
    if (read_atom(name, number) || name.size() > limits::kNameBytesMax) {
      composer_.fail(cells_.at(name_cell).offset, ErrorCode::kSyntaxError, "expected a name of at most %zu bytes",
                     limits::kNameBytesMax);
      return false;
    }
    const Value value = expression(cells_.next(name_cell));
    if (composer_.failed()) return false;
    if (sequential) {
      composer_.bind(name, hash_name(name), value);
    } else {
      made.emplace_back(name, value);
    }
  }
  for (const auto& [name, value] : made) composer_.bind(name, hash_name(name), value);
  return true;
}

Value SexprWalker::let(std::uint32_t cell, bool sequential) {
  const std::size_t mark = composer_.scope();
  if (!bindings(cell, sequential)) return {};
  const Value body = expression(cells_.next(cells_.next(cells_.first(cell))));
  composer_.leave_scope(mark);
  return body;
}

// (! :precision binary32 ... e): properties that hold for e.
Value SexprWalker::annotated(std::uint32_t cell) {
  const Type outer = precision_;
  std::uint32_t child = cells_.next(cells_.first(cell));
  Value value;
  while (child < cells_.end(cell) && !composer_.failed()) {
    const bool named = cells_.is_atom(child) && cells_.text(child).starts_with(':');
    if (!named) {
      if (cells_.next(child) != cells_.end(cell)) break;
      value = expression(child);
      precision_ = outer;
      return value;
    }
    const std::uint32_t setting = cells_.next(child);
    if (setting >= cells_.end(cell)) break;
    if (!property(child, setting, precision_)) return {};
    child = cells_.next(setting);
  }
  precision_ = outer;
  return composer_.fail(cells_.at(cell).offset, ErrorCode::kSyntaxError, "expected (! :property value ... expression)");
}

Value SexprWalker::chain(Op op, std::span<const Value> arguments, std::size_t offset) {
  if (arguments.size() < 2) {
    return composer_.fail(offset, ErrorCode::kSyntaxError, "a comparison takes 2 arguments or more, here %zu",
                          arguments.size());
  }
  Value all;
  if (op == Op::Ne) {  // pairwise distinct
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      for (std::size_t j = i + 1; j < arguments.size(); ++j) {
        const Value one = composer_.binary(op, arguments[i], arguments[j], offset);
        all = i == 0 && j == 1 ? one : composer_.logical(Op::And, all, one, offset);
      }
    }
    return all;
  }
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const Value one = composer_.binary(op, arguments[i - 1], arguments[i], offset);
    all = i == 1 ? one : composer_.logical(Op::And, all, one, offset);
  }
  return all;
}

Value SexprWalker::apply(std::string_view head, std::span<Value> arguments, std::size_t offset) {
  if (const std::optional<Op> sign = op_of_sign(head)) {
    if (info(*sign).signature == Signature::Compare) return chain(*sign, arguments, offset);
    if (arguments.size() == 1 && *sign == Op::Sub) return composer_.negate(arguments[0], offset);
    if (arguments.size() == 1 && *sign == Op::Div) return composer_.unary(Op::Recip, arguments[0], offset);
    if (arguments.empty()) {
      return composer_.fail(offset, ErrorCode::kSyntaxError, "%.*s takes 1 operand or more, here 0",
                            static_cast<int>(head.size()), head.data());
    }
    Value value = arguments[0];
    for (const Value& next : arguments.subspan(1))
      value = in_precision(composer_.binary(*sign, value, next, offset), offset);
    return value;
  }
  if (head == "not" && arguments.size() == 1 && dialect_ == Dialect::fpcore) {
    return composer_.logical_not(arguments[0], offset);
  }
  const Function* function = find_function(head, hash_name(head));
  if (function) return composer_.call(*function, arguments, offset);
  if (const std::optional<Type> type = type_named(head); type && arguments.size() == 1) {
    return composer_.cast(*type, arguments[0], offset);
  }
  if (const std::optional<NarrowCast> narrow = narrow_cast_named(head)) {
    return composer_.narrow_cast(*narrow, arguments, offset);
  }
  return composer_.fail(offset, ErrorCode::kSyntaxError, "%s", unknown_function(head).c_str());
}

Value SexprWalker::list(std::uint32_t cell) {
  const std::uint32_t head = cells_.first(cell);
  const std::uint32_t offset = cells_.at(cell).offset;
  if (head >= cells_.end(cell) || !cells_.is_atom(head)) {
    return composer_.fail(offset, ErrorCode::kSyntaxError, "expected (operator arguments ...)");
  }
  const std::string_view name = cells_.text(head);
  const std::uint32_t at = cells_.at(head).offset;
  if (name == "let" || name == "let*") return let(cell, name == "let*");
  if (name == "!") return annotated(cell);
  // The op that takes nothing, written as one.
  if (name == "index" && cells_.children(cell) == 1 && dialect_ == Dialect::sexpr &&
      !composer_.bound(name, hash_name(name)))
    return composer_.use(name, hash_name(name), at);
  if (name == "while" || name == "while*" || name == "for" || name == "for*" || name == "tensor" || name == "tensor*" ||
      name == "array" || name == "ref" || name == "dim" || name == "size") {
    return composer_.fail(at, ErrorCode::kUnsupported, "'%.*s': loops and tensors have no kernels",
                          static_cast<int>(name.size()), name.data());
  }
  std::array<Value, 64> arguments;
  std::size_t count = 0;
  std::uint32_t child = cells_.next(head);
  const bool derivative = name == "d" && dialect_ == Dialect::sexpr;
  if (name == "digits" && dialect_ == Dialect::fpcore) return digits(cell);
  for (; child < cells_.end(cell); child = cells_.next(child)) {
    if (count == arguments.size()) {
      return composer_.fail(cells_.at(child).offset, ErrorCode::kLimitExceeded, "more than %zu arguments",
                            arguments.size());
    }
    arguments[count] = expression(child);
    if (composer_.failed()) return {};
    if (dialect_ == Dialect::fpcore && ir::is_float(composer_.type_of(arguments[count])) && precision_ == Type::f64) {
      arguments[count] = composer_.cast(Type::f64, arguments[count], cells_.at(child).offset);
    }
    ++count;
  }
  if (derivative) {
    if (count != 2) return composer_.fail(at, ErrorCode::kSyntaxError, "d takes a variable and an expression");
    return composer_.diff(arguments[1], arguments[0], at);
  }
  if (name == "cast" && count == 1 && dialect_ == Dialect::fpcore) return in_precision(arguments[0], at);
  return in_precision(apply(name, std::span(arguments.data(), count), at), at);
}

// (digits m e b): m * b^e.
Value SexprWalker::digits(std::uint32_t cell) {
  const std::uint32_t offset = cells_.at(cell).offset;
  double mantissa = 0;
  double exponent = 0;
  double base = 0;
  std::uint32_t child = cells_.next(cells_.first(cell));
  if (cells_.children(cell) != 4 || !constant(child, mantissa) || !constant(child = cells_.next(child), exponent) ||
      !constant(cells_.next(child), base)) {
    return composer_.fail(offset, ErrorCode::kSyntaxError, "expected (digits mantissa exponent base)");
  }
  Number number;
  if (base == 2) {
    number.value = std::ldexp(mantissa, static_cast<int>(std::clamp(exponent, -10000.0, 10000.0)));
  } else {
    number.value =
        static_cast<double>(static_cast<long double>(mantissa) * std::pow(static_cast<long double>(base), exponent));
  }
  return in_precision(composer_.number(number, offset), offset);
}

}  // namespace trident::expr
