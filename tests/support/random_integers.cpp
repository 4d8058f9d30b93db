#include "tests/support/random_integers.h"

#include <string>

#include "runtime/base/check.h"
#include "tests/support/random.h"

namespace trident::testing {
namespace {

using ir::Type;

constexpr ir::Element kElements[] = {
    {Type::i64, ir::Storage::own}, {Type::i32, ir::Storage::own}, {Type::i64, ir::Storage::own},
    {Type::i32, ir::Storage::u8},  {Type::i32, ir::Storage::i8},  {Type::i32, ir::Storage::u16},
    {Type::i32, ir::Storage::i16}, {Type::i64, ir::Storage::u32}, {Type::i64, ir::Storage::u64}};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  expr::Expr run() {
    const std::uint32_t count = 1 + random_.below(3);
    for (std::uint32_t v = 0; v < count; ++v) {
      const ir::Element element = kElements[random_.below(std::size(kElements))];
      expr::Variable variable{.name = std::string(1, static_cast<char>('a' + v)), .type = element.type};
      if (v > 0 && random_.one_in(4))
        variable.kind = expr::VariableKind::scalar;
      else
        variable.storage = element.storage;
      declared_.variables.push_back(variable);
    }
    const std::uint32_t depth = 1 + random_.below(4);
    std::string text = "p = " + output(depth);
    if (random_.one_in(3)) text += "; q = " + output(depth);
    auto parsed = expr::parse_infix(text, declared_);
    CHECK(parsed.ok());
    return std::move(parsed).value();
  }

 private:
  static std::string name_of(Type type) { return std::string(ir::name_of(type)); }
  std::string one_of(std::initializer_list<const char*> texts) {
    return texts.begin()[random_.below(static_cast<std::uint32_t>(texts.size()))];
  }

  std::string output(std::uint32_t depth) {
    const std::string value = term(any_type(), depth);
    if (random_.one_in(12)) return "sum(" + value + ")";
    return random_.one_in(6) ? one_of({"f32", "f64"}) + "(" + value + ")" : value;
  }

  Type any_type() { return random_.one_in(3) ? Type::i32 : Type::i64; }

  std::string leaf(Type type) {
    if (random_.one_in(4))
      return name_of(type) + "(" +
             one_of({"0", "1", "-1", "2", "3", "-5", "10", "16", "100", "255", "-256", "1000", "65535", "65536",
                     "46341", "1000000007"}) +
             ")";
    const expr::Variable& v =
        declared_.variables[random_.below(static_cast<std::uint32_t>(declared_.variables.size()))];
    return v.type == type ? v.name : name_of(type) + "(" + v.name + ")";
  }

  std::string wide_number() {
    return one_of({"4294967295", "4294967296", "2147483648", "-2147483648", "-2147483649", "1099511627776",
                   "4611686018427387904", "-9223372036854775808", "3037000500"});
  }

  std::string condition(Type type, std::uint32_t depth) {
    return term(type, depth) + one_of({" < ", " <= ", " == ", " != ", " > "}) + term(type, depth);
  }

  /// An integer that was a float meanwhile.
  std::string by_float(Type type, std::uint32_t depth) {
    const std::string real = one_of({"f32", "f64", "f64"}), value = real + "(" + term(any_type(), depth) + ")";
    const std::string scaled = value + one_of({"", "*0.5", "*0.3", "/3.0", "*1.0e3"});
    return name_of(type) + "(" + (random_.one_in(2) ? scaled : one_of({"floor(", "rint(", "trunc("}) + scaled + ")") +
           ")";
  }

  std::string term(Type type, std::uint32_t depth) {
    if (depth == 0) return leaf(type);
    const auto part = [&] { return "(" + term(type, depth - 1) + ")"; };
    const std::string wide = type == Type::i64 ? "i64(" + wide_number() + ")" : "i32(46340)";
    switch (random_.below(16)) {
      case 0:
      case 1:
      case 2: return part() + "*" + part();
      case 3: return part() + "+" + part();
      case 4: return part() + "-" + part();
      case 5: return one_of({"min(", "max("}) + part() + ", " + part() + ")";
      case 6: return one_of({"abs", "-", "~", "sign"}) + part();
      case 7: return part() + one_of({" & ", " | ", " ^^ "}) + part();
      case 8:
        return part() + one_of({" << ", " >> ", " >>> "}) + name_of(type) + "(" + std::to_string(random_.below(64)) +
               ")";
      case 9: return part() + one_of({" << ", " >> ", " >>> "}) + part();
      case 10: return "((" + condition(any_type(), depth - 1) + ") ? " + part() + " : " + part() + ")";
      case 11: return part() + "^" + std::to_string(2 + random_.below(3));
      case 12: return by_float(type, depth - 1);
      case 13: return name_of(type) + "(" + term(any_type(), depth - 1) + ")";
      case 14: return part() + one_of({" & ", "*", "+", "-"}) + wide;
      default: return leaf(type);
    }
  }

  Random random_;
  expr::ParseOptions declared_{};
};

}  // namespace

expr::Expr random_integers(std::uint64_t seed) {
  return Generator(seed).run();
}

std::uint64_t stored_lane(const expr::Variable& variable, std::uint64_t lane) {
  if (variable.is_scalar() || !ir::converts(variable.storage)) return lane;
  std::uint64_t element = 0, value = 0;
  ir::narrow(variable.storage, &lane, &element, 1);
  ir::widen(variable.storage, &element, &value, 1);
  return value;
}

}  // namespace trident::testing
