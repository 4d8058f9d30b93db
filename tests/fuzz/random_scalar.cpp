#include "tests/fuzz/random_scalar.h"

#include <vector>

namespace trident::fuzz {
namespace {

enum class Kind : std::uint8_t { number, real, truth };
constexpr Kind kKinds[] = {Kind::number, Kind::real, Kind::truth};
constexpr const char* kTypes[] = {"i64", "f64", "bool"};

class Writer {
 public:
  explicit Writer(Random& random) : random_(random) {}

  std::string text() {
    std::string head = "fn f(";
    for (std::size_t n = 1 + random_.below(4); n > 0; --n) {
      const Kind kind = kKinds[random_.below(is_strange_ ? 3 : 2)];
      head += fresh(kind, "a") + ": " + type(kind) + (n > 1 ? ", " : "");
    }
    result_ = kKinds[random_.below(3)];
    statements(random_.below(6), 3);
    line("return " + (random_.below(6) == 0 ? nest(result_) : value(result_, 4)) + ";");
    return head + ") -> " + type(result_) + " {\n" + body_ + "}\n";
  }

 private:
  static std::string type(Kind kind) { return kTypes[static_cast<std::size_t>(kind)]; }
  std::string pick(std::initializer_list<const char*> words) { return *(words.begin() + random_.below(words.size())); }
  std::vector<std::string>& names(Kind kind) { return names_[static_cast<std::size_t>(kind)]; }
  std::string fresh(Kind kind, const char* prefix) {
    names(kind).push_back(prefix + std::to_string(count_++));
    return names(kind).back();
  }
  void line(const std::string& text) { body_ += std::string(2 * depth_, ' ') + text + "\n"; }

  // --- statements ---

  void statements(std::size_t count, unsigned depth) {
    for (; count > 0; --count) statement(depth);
  }
  void block(unsigned depth) {
    const std::size_t known[] = {names_[0].size(), names_[1].size(), names_[2].size()};
    ++depth_;
    statements(1 + random_.below(2), depth - 1);
    --depth_;
    for (std::size_t k = 0; k < 3; ++k) names_[k].resize(known[k]);
  }
  void statement(unsigned depth) {
    const Kind kind = kKinds[random_.below(3)];
    switch (random_.below(depth == 0 ? 4 : 8)) {
      case 0:
      case 1: return declare(kind);
      case 2:
      case 3: return assign(kind);
      case 4: return rounds();
      case 5: return line("if " + truth(2) + " { return " + value(result_, 2) + "; }");
      default: return branch(depth);
    }
  }
  void declare(Kind kind) {
    const std::string value = random_.below(12) == 0 ? nest(kind) : this->value(kind, 3);
    line("let " + fresh(kind, "v") + " = " + value + ";");
  }
  void assign(Kind kind) {
    if (names(kind).empty()) return declare(kind);
    line(names(kind)[random_.below(names(kind).size())] + " = " + value(kind, 3) + ";");
  }
  /// A loop whose rounds are copied.
  void rounds() {
    line("for k" + std::to_string(count_++) + " in 0.." + std::to_string(1 + random_.below(4)) + " {");
    block(1);
    line("}");
  }
  void branch(unsigned depth) {
    line("if " + truth(2) + " {");
    block(depth);
    if (random_.below(2) == 0) {
      line("} else {");
      block(depth);
    }
    line("}");
  }

  // --- values ---

  std::string value(Kind kind, unsigned depth) {
    if (depth == 0 || random_.below(5) == 0) return leaf(kind);
    if (random_.below(7) == 0) return choice(kind, value(kind, depth - 1), depth - 1);
    if (kind == Kind::truth) return truth(depth);
    return kind == Kind::real ? real(depth - 1) : number(depth - 1);
  }

  /// A value around itself, up to the nesting that the parser takes.
  std::string nest(Kind kind) {
    std::string value = leaf(kind);
    const std::size_t shape = random_.below(5);
    for (std::size_t level = random_.below(60); level > 0; --level) value = level_around(kind, value, shape);
    return value;
  }
  /// Mixes shapes, or keeps to one.
  std::string level_around(Kind kind, const std::string& inner, std::size_t shape) {
    if (shape == 0) shape = 1 + random_.below(4);
    if (shape == 1) return choice(kind, inner, 0);
    const std::string beside = leaf(kind);
    if (kind == Kind::truth) return "(" + beside + pick({" && ", " || "}) + "!" + inner + ")";
    if (shape == 2) return pick({"min(", "max("}) + inner + ", " + beside + ")";
    if (shape == 3) return "(" + beside + pick({" - ", " * "}) + inner + ")";
    return "(" + inner + pick({" + ", " - "}) + beside + ")";
  }
  std::string choice(Kind kind, const std::string& inner, unsigned depth) {
    const std::string condition = truth(depth), other = value(kind, depth);
    const bool is_first = random_.below(2) == 0;
    const std::string &a = is_first ? inner : other, &b = is_first ? other : inner;
    if (random_.below(3) == 0) return "select(" + condition + ", " + a + ", " + b + ")";
    return "(" + condition + " ? " + a + " : " + b + ")";
  }

  std::string leaf(Kind kind) {
    if (!names(kind).empty() && random_.below(4) != 0) return names(kind)[random_.below(names(kind).size())];
    if (kind == Kind::truth) return pick({"true", "false"});
    if (kind == Kind::real)
      return pick({"0.5", "-0.0", "1e300", "inf", "nan", "5e-324", "3.0", "-1.25", "9007199254740993.0", "pi"});
    return random_.below(4) == 0 ? pick({"9223372036854775807", "-9223372036854775808", "255", "-1", "4294967296"})
                                 : std::to_string(random_.below(70));
  }

  std::string number(unsigned depth) {
    const auto operand = [&] { return value(Kind::number, depth); };
    if (is_strange_ && random_.below(4) == 0)
      return pick({"gcd(", "udiv(", "urem(", "umulh("}) + operand() + ", " + operand() + ")";
    switch (random_.below(9)) {
      case 0: return pick({"-(", "~(", "abs("}) + operand() + ")";
      case 1: return pick({"min(", "max(", "rotated_right("}) + operand() + ", " + operand() + ")";
      case 2: return "i64(" + value(Kind::truth, depth) + ")";
      case 3: return "i64(" + value(Kind::real, depth) + ")";
      case 4: return "(" + operand() + ") ^ " + std::to_string(random_.below(5));
      default:
        return "(" + operand() + pick({" + ", " - ", " * ", " & ", " | ", " ^^ ", " << ", " >> ", " >>> "}) +
               operand() + ")";
    }
  }

  std::string real(unsigned depth) {
    const auto operand = [&] { return value(Kind::real, depth); };
    if (random_.below(12) == 0) return formula(operand(), operand());
    switch (random_.below(8)) {
      case 0:
        return pick({"-(", "abs(", "sign(", "sqrt(", "floor(", "ceil(", "trunc(", "round(", "rint("}) + operand() + ")";
      case 1: return pick({"min(", "max(", "copysign("}) + operand() + ", " + operand() + ")";
      case 2: return pick({"fma(", "clamp("}) + operand() + ", " + operand() + ", " + operand() + ")";
      case 3: return "f64(" + value(Kind::number, depth) + ")";
      case 4: return "(" + operand() + ") ^ " + pick({"0", "1", "2", "3", "-1", "0.5"});
      default: return "(" + operand() + pick({" + ", " - ", " * ", " / "}) + operand() + ")";
    }
  }
  std::string formula(const std::string& a, const std::string& b) {
    if (random_.below(4) == 0) return pick({"hypot(", "atan2(", "remainder("}) + a + ", " + b + ")";
    return pick({"exp(", "log(", "sin(", "tanh(", "cbrt(", "log1p(", "rsqrt("}) + a + ")";
  }

  std::string truth(unsigned depth) {
    const unsigned below = depth == 0 ? 0 : depth - 1;
    const auto operand = [&](Kind kind) { return value(kind, below); };
    const std::string compared = pick({" < ", " <= ", " > ", " >= ", " == ", " != "});
    switch (random_.below(depth == 0 ? 4 : 8)) {
      case 0:
      case 1: return "(" + operand(Kind::number) + compared + operand(Kind::number) + ")";
      case 2: return "(" + operand(Kind::real) + compared + operand(Kind::real) + ")";
      case 3: return pick({"ult(", "ule("}) + operand(Kind::number) + ", " + operand(Kind::number) + ")";
      case 4: return "!(" + operand(Kind::truth) + ")";
      case 5: return pick({"isnan(", "isinf(", "isfinite("}) + operand(Kind::real) + ")";
      case 6: return "(" + operand(Kind::truth) + pick({" == ", " != "}) + operand(Kind::truth) + ")";
      default: return "(" + operand(Kind::truth) + pick({" && ", " || "}) + operand(Kind::truth) + ")";
    }
  }

  Random& random_;
  const bool is_strange_ = random_.below(8) == 0;  ///< expressions cannot say all of it
  Kind result_ = Kind::number;
  std::string body_;
  std::vector<std::string> names_[3];  ///< by kind
  std::size_t count_ = 0, depth_ = 1;
};

}  // namespace

std::string random_scalar_function(Random& random) {
  return Writer(random).text();
}

}  // namespace trident::fuzz
