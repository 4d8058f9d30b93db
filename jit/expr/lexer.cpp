#include "jit/expr/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace trident::expr {
namespace {

enum Class : std::uint8_t { kOther, kSpace, kLetter, kDigit };  // names go on with the last two

constexpr auto kClass = [] {
  std::array<Class, 256> table{};
  for (int c = 0; c < 256; ++c) {
    if (c == ' ' || (c >= '\t' && c <= '\r')) table[c] = kSpace;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80) table[c] = kLetter;
    if (c >= '0' && c <= '9') table[c] = kDigit;
  }
  return table;
}();

// The tokens of characters that no longer token begins with; Kind::end for all others.
constexpr auto kAlone = [] {
  using K = Token::Kind;
  std::array<K, 256> table{};
  table.fill(K::end);
  table['('] = K::open, table[')'] = K::close, table['['] = K::open_square, table[']'] = K::close_square;
  table[','] = K::comma, table[';'] = K::semicolon, table[':'] = K::colon, table['?'] = K::question;
  table['+'] = K::plus, table['-'] = K::minus, table['/'] = K::slash, table['%'] = K::percent, table['~'] = K::tilde;
  return table;
}();

constexpr Class class_of(char c) {
  return kClass[static_cast<std::uint8_t>(c)];
}

// Digits without point or exponent, as an exact integer when they fit.
bool whole(std::string_view digits, int base, Number& number) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc{} || end != digits.data() + digits.size()) return false;
  if (base == 10 && value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return false;
  number.integer = static_cast<std::int64_t>(value);
  number.value = static_cast<double>(value);
  number.wraps = number.integer < 0;
  number.hexadecimal = base == 16;
  number.integral = true;
  return true;
}

std::size_t read_hex(std::string_view text, Number& number) {
  const char* begin = text.data() + 2;
  const char* limit = text.data() + text.size();
  const char* digits = begin;
  while (digits != limit && (class_of(*digits) == kDigit || ((*digits | 0x20) >= 'a' && (*digits | 0x20) <= 'f')))
    ++digits;
  const bool real = digits != limit && (*digits == '.' || *digits == 'p' || *digits == 'P');
  if (!real) {
    if (digits == begin || !whole({begin, static_cast<std::size_t>(digits - begin)}, 16, number)) return 0;
    return static_cast<std::size_t>(digits - text.data());
  }
  const auto [end, error] = std::from_chars(begin, limit, number.value, std::chars_format::hex);
  if (error == std::errc::invalid_argument) return 0;
  if (error == std::errc::result_out_of_range) return 0;
  return static_cast<std::size_t>(end - text.data());
}

// Small decimals such as 12, 0.5 and 3.14: a mantissa below 2^53 over a power of ten up to 10^22 is one correctly
// rounded division (Clinger). Anything else goes to from_chars.
std::size_t read_decimal(std::string_view text, Number& number) {
  constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  std::uint64_t mantissa = 0;
  std::size_t at = 0;
  std::size_t point = text.size();
  std::size_t digits = 0;
  for (; at < text.size(); ++at) {
    if (class_of(text[at]) == kDigit) {
      if (++digits <= 18) mantissa = mantissa * 10 + static_cast<std::uint64_t>(text[at] - '0');
    } else if (text[at] == '.' && point == text.size()) {
      point = at;
    } else {
      break;
    }
  }
  if (digits == 0) return 0;
  const bool fraction = point != text.size();
  const bool exponent =
      at < text.size() && (text[at] == 'e' || text[at] == 'E') && at + 1 < text.size() &&
      (class_of(text[at + 1]) == kDigit ||
       ((text[at + 1] == '-' || text[at + 1] == '+') && at + 2 < text.size() && class_of(text[at + 2]) == kDigit));
  if (!exponent && digits <= 18) {
    if (!fraction) {
      number.integer = static_cast<std::int64_t>(mantissa);
      number.integral = true;
      number.value = static_cast<double>(mantissa);
      return at;
    }
    if (mantissa <= (std::uint64_t{1} << 53)) {
      number.value = static_cast<double>(mantissa) / kPowers[at - point - 1];
      return at;
    }
  }
  if (!exponent && !fraction && whole(text.substr(0, at), 10, number)) return at;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number.value);
  if (error == std::errc::result_out_of_range) {
    // Too large or too small for f64: 1e999 is infinite, 1e-999 zero, as strtod has it.
    bool negative_exponent = false;
    for (const char* c = text.data() + at; c != end; ++c) negative_exponent = negative_exponent || *c == '-';
    bool zero_first = text[0] == '0' || text[0] == '.';
    number.value = negative_exponent || (zero_first && !exponent) ? 0.0 : std::numeric_limits<double>::infinity();
    return static_cast<std::size_t>(end - text.data());
  }
  return error == std::errc{} ? static_cast<std::size_t>(end - text.data()) : 0;
}

}  // namespace

bool is_name(std::string_view text, bool brackets) {
  if (text.empty() || class_of(text[0]) == kDigit || ir::utf8_bytes(text) != text.size()) return false;
  const auto infix = [](char c) { return class_of(c) == kLetter || class_of(c) == kDigit; };
  if (!brackets) return std::all_of(text.begin(), text.end(), infix);
  const auto ends = [](char c) {
    return static_cast<std::uint8_t>(c) <= ' ' || c == 0x7F ||
           std::string_view("()[]\";").find(c) != std::string_view::npos;
  };
  const std::string_view digits = text.substr(text[0] == '-' || text[0] == '+' ? 1 : 0);
  Number number;
  return std::none_of(text.begin(), text.end(), ends) &&
         (digits.size() == text.size() || (digits != "inf" && read_number(digits, number) == 0));
}

std::optional<Type> type_named(std::string_view name) {
  if (name.size() < 3 || name.size() > 8) return std::nullopt;
  if (name == "f64" || name == "float64" || name == "double" || name == "binary64") return Type::f64;
  if (name == "f32" || name == "float32" || name == "float" || name == "binary32") return Type::f32;
  if (name == "i64" || name == "int64" || name == "long") return Type::i64;
  if (name == "i32" || name == "int32" || name == "int") return Type::i32;
  if (name == "bool") return Type::b32;
  return std::nullopt;
}

std::optional<ir::Element> element_named(std::string_view name) {
  if (const std::optional<Type> type = type_named(name); type && *type != Type::b32) return ir::Element{*type, {}};
  const std::optional<Storage> storage = ir::storage_named(name);
  if (!storage) return std::nullopt;
  return ir::Element{ir::facts_of(*storage).type, *storage};
}

std::size_t read_number(std::string_view text, Number& number) {
  number = {};
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) return read_hex(text, number);
  return read_decimal(text, number);
}

std::size_t Lexer::end_of_words() const {
  std::size_t end = text_.size();
  while (end > 0 && class_of(text_[end - 1]) == kSpace) --end;
  return end;
}

void Lexer::read_number_token(std::size_t at, Token& token) {
  token.kind = Token::Kind::number;
  token.offset = static_cast<std::uint32_t>(at);
  const std::size_t size = read_number(text_.substr(at), number_);
  at_ = at + size;
  if (size > 0) {
    std::size_t end = at_;
    while (end < text_.size() && (class_of(text_[end]) == kLetter || class_of(text_[end]) == kDigit)) ++end;
    if (end > at_) {
      token.suffix = type_named(text_.substr(at_, end - at_));
      if (!token.suffix || *token.suffix == Type::b32) {
        token.kind = Token::Kind::bad;
        problem_ = "a name runs into a number; write '*' for a product";
        token.offset = static_cast<std::uint32_t>(at_);
      }
      at_ = end;
    }
  } else {
    token.kind = Token::Kind::bad;
    problem_ = "not a number";
    at_ = at + 1;
  }
  token.size = static_cast<std::uint32_t>(at_ - token.offset);
}

// Writes each field of the token once, where it stays: copies of what has just been written in parts wait for it.
void Lexer::read(Token& token) {
  using K = Token::Kind;
  const std::size_t size = text_.size();
  const char* const text = text_.data();
  std::size_t at = at_;  // in a register, unlike the member
  for (; at < size && (class_of(text[at]) == kSpace || text[at] == '#'); ++at) {
    if (text[at] == '#') {
      while (at + 1 < size && text[at + 1] != '\n') ++at;
    }
  }
  at_ = at;
  token.suffix.reset();
  token.offset = static_cast<std::uint32_t>(at);
  if (at >= size) {
    token.kind = K::end;
    token.size = token.hash = 0;
    return;
  }
  const char c = text[at];
  if (class_of(c) == kLetter) {
    std::uint32_t h = 0x811C'9DC5u;  // hash_name, fused with the scan
    std::size_t end = at;
    std::uint8_t bits = 0;
    do {
      bits |= static_cast<std::uint8_t>(text[end]);
      h = (h ^ static_cast<std::uint8_t>(text[end])) * 0x0100'0193u;
    } while (++end < size && class_of(text[end]) >= kLetter);
    token.kind = K::name;
    token.hash = h ^ (h >> 15);
    token.size = static_cast<std::uint32_t>(end - at);
    if (bits >= 0x80) {
      const std::size_t valid = ir::utf8_bytes(text_.substr(at, end - at));
      if (valid < end - at) {
        token.kind = K::bad;
        token.offset += static_cast<std::uint32_t>(valid);
        problem_ = kNotUtf8;
      }
    }
    at_ = end;
    return;
  }
  token.hash = 0;
  if (const K alone = kAlone[static_cast<std::uint8_t>(c)]; alone != K::end) {
    token.kind = alone;
    token.size = 1;
    at_ = at + 1;
    return;
  }
  const char d = at + 1 < size ? text[at + 1] : '\0';
  if (class_of(c) == kDigit || (c == '.' && class_of(d) == kDigit)) return read_number_token(at, token);
  const char e = at + 2 < size ? text[at + 2] : '\0';
  std::uint32_t length = 1;
  const auto two = [&](K kind) {
    length = 2;
    return kind;
  };
  switch (c) {
    case '*': token.kind = d == '*' ? two(K::power) : K::star; break;
    case '^': token.kind = d == '^' ? two(K::hat_hat) : K::power; break;
    case '&': token.kind = d == '&' ? two(K::and_and) : K::ampersand; break;
    case '|': token.kind = d == '|' ? two(K::or_or) : K::bar; break;
    case '!': token.kind = d == '=' ? two(K::not_equal) : K::bang; break;
    case '=': token.kind = d == '=' ? two(K::equal) : K::assign; break;
    case '<': token.kind = d == '=' ? two(K::less_equal) : d == '<' ? two(K::shift_left) : K::less; break;
    case '>':
      if (d == '>' && e == '>') {
        token.kind = K::shift_right_logical;
        length = 3;
      } else {
        token.kind = d == '=' ? two(K::greater_equal) : d == '>' ? two(K::shift_right) : K::greater;
      }
      break;
    default:
      token.kind = K::bad;
      problem_ = "an expression cannot have this character here";
      break;
  }
  token.size = length;
  at_ = at + length;
}

}  // namespace trident::expr
