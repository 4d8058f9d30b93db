#include "tests/fuzz/random_function.h"

#include <iterator>
#include <vector>

#include "tests/fuzz/random_scalar.h"
#include "tests/fuzz/tokens.h"

namespace trident::fuzz {
namespace {

class Writer {
 public:
  explicit Writer(std::uint64_t seed) : random_(seed) {}

  std::string text() {
    std::string head = "fn f(";
    for (std::size_t n = random_.below(4); n > 0; --n) {
      values_.push_back(fresh("a"));
      head += values_.back() + (random_.below(4) == 0 ? ": u8, " : ": i64, ");
    }
    for (std::size_t n = 1 + random_.below(3); n > 0; --n) {
      const bool is_read = random_.below(3) == 0, has_bytes = random_.below(3) == 0;
      const std::string name = fresh("x");
      arrays_.push_back(name);
      if (!is_read) written_.push_back(name);
      head += name + (is_read ? ": " : ": inout ") + (has_bytes ? "[u8], " : "[i64], ");
    }
    if (has_reals_) head += real_parameters();
    head.resize(head.size() - 2);
    const std::string local = fresh("t");
    line("let " + local + " = [" + pick({"i64", "u8"}) + "; " + std::to_string(1 + random_.below(20)) + "];");
    arrays_.push_back(local), written_.push_back(local);
    if (has_reals_) {
      real_arrays_.push_back(fresh("t"));
      line("let " + real_arrays_.back() + " = [f64; " + std::to_string(1 + random_.below(9)) + "];");
    }
    statements(3 + random_.below(5), 3);
    line("return " + (random_.below(16) == 0 ? nest() : number(3)) + ";");
    return head + ") -> i64 {\n" + body_ + "}\n";
  }

 private:
  std::string real_parameters() {
    std::string head;
    for (std::size_t n = random_.below(3); n > 0; --n) {
      reals_.push_back(fresh("r"));
      head += reals_.back() + ": f64, ";
    }
    for (std::size_t n = random_.below(3); n > 0; --n) {
      real_arrays_.push_back(fresh("y"));
      head += real_arrays_.back() + ": inout [f64], ";
    }
    return head;
  }

  std::string fresh(const char* prefix) { return prefix + std::to_string(names_++); }
  void line(const std::string& text) { body_ += std::string(2 * depth_, ' ') + text + "\n"; }
  std::string pick(std::initializer_list<const char*> words) { return *(words.begin() + random_.below(words.size())); }
  const std::string& pick(const std::vector<std::string>& names) { return names[random_.below(names.size())]; }

  void statements(std::size_t count, unsigned depth) {
    for (; count > 0; --count) statement(depth);
  }

  void block(unsigned depth) {
    const std::size_t known = values_.size(), reals = reals_.size();
    ++depth_;
    statements(1 + random_.below(3), depth - 1);
    --depth_;
    values_.resize(known);
    reals_.resize(reals);
  }

  void statement(unsigned depth) {
    if (has_reals_ && random_.below(5) == 0) return real_statement(depth);
    if (depth != 0 && random_.below(8) == 0) return sweep();
    switch (random_.below(depth == 0 ? 5 : 9)) {
      case 0: return assign();
      case 1: return line(pick(written_) + "[" + index() + "] = " + number(2) + ";");
      case 2:
      case 3: return declare();
      case 4: return leave();
      case 5: return count(depth);
      case 6: return repeat(depth);
      default: return branch(depth);
    }
  }

  void declare() {
    const std::string value = number(3), name = fresh("v");
    line("let " + name + " = " + value + ";");
    values_.push_back(name);
  }
  void assign() {
    const std::string value = number(3), name = values_.empty() ? "" : pick(values_);
    if (name.empty() || name[0] == 'k') return declare();  // counters are not assigned to
    line(name + " = " + value + ";");
  }
  void real_statement(unsigned depth) {
    if (depth != 0 && random_.below(3) == 0) return real_sweep();
    const std::string value = real(3);
    if (random_.below(3) == 0) return line(pick(real_arrays_) + "[" + index() + "] = " + value + ";");
    if (!reals_.empty() && random_.below(2) == 0) return line(pick(reals_) + " = " + value + ";");
    const std::string name = fresh("r");
    line("let " + name + " = " + value + ";");
    reals_.push_back(name);
  }
  void leave() {
    if (loops_ == 0 || random_.below(3) == 0) return assign();
    line("if " + truth(1) + " { " + pick({"break;", "continue;"}) + " }");
  }
  void count(unsigned depth) {
    const std::string name = fresh("k");
    line("for " + name + " in " + pick({"0", "1", "-2"}) + ".." +
         (random_.below(2) == 0 ? "len(" + pick(arrays_) + ")" : "(" + number(1) + " & 15)") + " {");
    loop(name, depth);
  }
  void repeat(unsigned depth) {
    line("while " + truth(2) + " {");
    loop({}, depth);
  }
  void loop(const std::string& name, unsigned depth) {
    const std::size_t known = values_.size();
    if (!name.empty()) values_.push_back(name);
    ++loops_;
    block(depth);
    --loops_;
    values_.resize(known);
    line("}");
  }
  /// A loop over an array whose rounds can mostly be done many at a time.
  void sweep() {
    const std::string i = fresh("k"), x = pick(arrays_), to = pick(written_), value = leaf();
    const std::string of_x = x + "[" + i + pick({"", "", " + 1"}) + "]", other = pick(arrays_) + "[" + i + "]";
    line("for " + i + " in " + pick({"0", "1"}) + "..len(" + pick({to, x}) + ") {");
    ++depth_;
    if (random_.below(3) == 0) line("if " + of_x + pick({" == ", " < ", " != "}) + value + " { break; }");
    if (random_.below(2) == 0) line(to + "[" + i + "] = " + of_x + pick({" + ", " ^^ ", " - "}) + other + ";");
    if (random_.below(2) == 0 && !values_.empty() && values_[0][0] != 'k')
      line("if " + other + pick({" == ", " <= ", " > "}) + value + " { " + values_[0] + " = " +
           pick({i.c_str(), (values_[0] + " + 1").c_str()}) + "; }");
    --depth_;
    line("}");
  }
  void real_sweep() {
    const std::string i = fresh("k"), x = pick(real_arrays_), to = pick(real_arrays_), other = pick(real_arrays_);
    const std::string of_x = x + "[" + i + "]", value = reals_.empty() ? "0.5" : pick(reals_);
    line("for " + i + " in 0..len(" + pick({to, x}) + ") {");
    ++depth_;
    if (random_.below(3) == 0) line("if " + of_x + pick({" == ", " < ", " >= "}) + value + " { break; }");
    const std::string values[] = {of_x, value, "abs(" + of_x + ")",
                                  "(" + of_x + " < " + value + " ? " + value + " : " + of_x + ")",
                                  of_x + pick({" + ", " - ", " * ", " / "}) + pick({value, other + "[" + i + "]"})};
    if (random_.below(4) != 0) line(to + "[" + i + "] = " + values[random_.below(std::size(values))] + ";");
    if (random_.below(3) == 0 && !values_.empty() && values_[0][0] != 'k')
      line("if " + of_x + pick({" != ", " <= ", " > "}) + value + " { " + values_[0] + " = " + values_[0] + " + 1; }");
    --depth_;
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

  /// Most indices are inside.
  std::string index() {
    switch (random_.below(4)) {
      case 0: return number(1);
      case 1: return number(1) + " & 3";
      default: return std::to_string(random_.below(3));
    }
  }

  std::string literal() {
    switch (random_.below(4)) {
      case 0: return std::to_string(static_cast<std::int64_t>(random_.next() >> random_.below(63)));
      case 1: return pick({"9223372036854775807", "-9223372036854775808", "255", "256", "-1", "0", "4294967296"});
      default: return std::to_string(random_.below(20));
    }
  }

  std::string leaf() {
    switch (random_.below(5)) {
      case 0: return literal();
      case 1: return "len(" + pick(arrays_) + ")";
      case 2: return pick(arrays_) + "[" + index() + "]";
      default: return values_.empty() ? literal() : pick(values_);
    }
  }

  std::string real_leaf() {
    switch (random_.below(4)) {
      case 0: return pick({"0.5", "-0.0", "1e300", "inf", "nan", "5e-324", "3.0", "-1.25", "9007199254740993.0"});
      case 1: return pick(real_arrays_) + "[" + index() + "]";
      default: return reals_.empty() ? "2.5" : pick(reals_);
    }
  }

  std::string real(unsigned depth) {
    if (depth == 0) return real_leaf();
    const auto operand = [&] { return real(depth - 1); };
    switch (random_.below(9)) {
      case 0:
      case 1: return real_leaf();
      case 2: return "(" + truth(depth - 1) + " ? " + operand() + " : " + operand() + ")";
      case 3:
        return pick({"-(", "abs(", "sign(", "sqrt(", "floor(", "ceil(", "trunc(", "round(", "rint("}) + operand() + ")";
      case 4: return pick({"min(", "max(", "copysign(", "fmod("}) + operand() + ", " + operand() + ")";
      case 5: return "fma(" + operand() + ", " + operand() + ", " + operand() + ")";
      case 6: return pick({"f64(", "from_bits("}) + number(depth - 1) + ")";
      default: return "(" + operand() + pick({" + ", " - ", " * ", " / "}) + operand() + ")";
    }
  }

  std::string number(unsigned depth) {
    if (depth == 0) return leaf();
    if (has_reals_ && random_.below(12) == 0) return pick({"i64(", "to_bits("}) + real(depth - 1) + ")";
    const auto operand = [&] { return number(depth - 1); };
    switch (random_.below(9)) {
      case 0:
      case 1: return leaf();
      case 2: return "(" + truth(depth - 1) + " ? " + operand() + " : " + operand() + ")";
      case 3: return pick({"-(", "~("}) + operand() + ")";
      case 4:
        return pick({"abs(", "leading_zeros(", "reversed_bits(", "reversed_bytes(", "popcount(", "isqrt("}) +
               operand() + ")";
      case 5:
        return pick({"min(", "max(", "rotated_right(", "umulh(", "udiv(", "urem(", "gcd("}) + operand() + ", " +
               operand() + ")";
      case 6: return "i64(" + truth(depth - 1) + ")";
      default:
        return "(" + operand() +
               pick({" + ", " - ", " * ", " / ", " % ", " & ", " | ", " ^^ ", " << ", " >> ", " >>> "}) + operand() +
               ")";
    }
  }

  /// A number around itself, up to the nesting that the parser takes.
  std::string nest() {
    std::string value = leaf();
    for (std::size_t level = random_.below(60); level > 0; --level) {
      const std::string beside = leaf(), condition = truth(0);
      value = random_.below(2) == 0 ? "(" + condition + " ? " + value + " : " + beside + ")"
                                    : "i64(" + condition + pick({" && ", " || "}) + "(" + value + " < " + beside + "))";
    }
    return value;
  }

  std::string truth(unsigned depth) {
    if (has_reals_ && random_.below(6) == 0) {
      const unsigned below = depth == 0 ? 0 : depth - 1;
      return "(" + real(below) + pick({" < ", " <= ", " > ", " >= ", " == ", " != "}) + real(below) + ")";
    }
    const auto operand = [&] { return number(depth == 0 ? 0 : depth - 1); };
    switch (random_.below(depth == 0 ? 3 : 6)) {
      case 0: return pick({"ult(", "ule("}) + operand() + ", " + operand() + ")";
      case 3: return "!(" + truth(depth - 1) + ")";
      case 4: return "(" + truth(depth - 1) + pick({" && ", " || "}) + truth(depth - 1) + ")";
      default: return "(" + operand() + pick({" < ", " <= ", " > ", " >= ", " == ", " != "}) + operand() + ")";
    }
  }

  Random random_;
  const bool has_reals_ = random_.below(2) == 0;
  std::string body_;
  std::vector<std::string> values_, arrays_, written_, reals_, real_arrays_;
  std::size_t names_ = 0, depth_ = 1, loops_ = 0;
};

}  // namespace

std::string random_function(std::uint64_t seed) {
  constexpr std::uint64_t kScalarEvery = 4;
  Random random{seed};
  return seed % kScalarEvery == 0 ? random_scalar_function(random) : Writer(seed).text();
}

}  // namespace trident::fuzz
