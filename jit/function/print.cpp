// The one form of a function's text.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "jit/function/function.h"
#include "jit/function/names.h"
#include "jit/function/tokens.h"

namespace trident::function {
namespace {

using EK = Expression::Kind;
using SK = Statement::Kind;

constexpr int kChoice = 0, kUnary = 100;

int level_of(const Expression& e) {
  if (e.kind == EK::choice) return kChoice;
  if (e.kind == EK::binary) return row_of(e.op).level;
  return kUnary;
}

std::string print(const Expression& e);

/// Prints an operand, in brackets where it binds less than `least`.
std::string operand(const Expression& e, int least) {
  return level_of(e) < least ? "(" + print(e) + ")" : print(e);
}

/// The shortest text that is read back as the same number.
std::string print_real(std::int64_t bits) {
  const double value = real_of(bits);
  if (std::isnan(value)) return "nan";
  std::array<char, 32> text{};
  const char* const end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  std::string out(static_cast<const char*>(text.data()), end);
  if (const std::size_t exponent = out.find('e'); exponent != std::string::npos) {
    const std::size_t digits = out.find_first_of("123456789", exponent);
    out.replace(exponent, digits - exponent, out[exponent + 1] == '-' ? "e-" : "e");
  }
  return out.find_first_of(".ein") == std::string::npos ? out + ".0" : out;
}

std::string print_number(const Expression& e) {
  if (!e.is_character) return std::to_string(e.number);
  std::string text = "'";
  print_character(text, static_cast<unsigned char>(e.number), '\'');
  return text + "'";
}

std::string print_call(const Expression& e) {
  std::string text = e.name + "(";
  for (std::size_t i = 0; i < e.operands.size(); ++i) text += (i > 0 ? ", " : "") + print(e.operands[i]);
  return text + ")";
}

/// A sign before the base would be that of the power.
std::string print_power(const Expression& e) {
  const int level = row_of(Operator::Power).level;
  const std::string base = operand(e.operands[0], level + 1);
  const bool has_sign = e.operands[0].kind == EK::unary || base[0] == '-';
  return (has_sign ? "(" + base + ")" : base) + " ^ " + operand(e.operands[1], level);
}

std::string print_binary(const Expression& e) {
  if (e.op == Operator::Power) return print_power(e);
  const OperatorRow& row = row_of(e.op);
  const bool chains = row.operands != 's' && !(row.result == 'b' && row.operands != 'b');
  return operand(e.operands[0], row.level + (chains ? 0 : 1)) + " " + std::string(row.text) + " " +
         operand(e.operands[1], row.level + 1);
}

std::string print_unary(const Expression& e) {
  const std::string inner = operand(e.operands[0], row_of(Operator::Power).level);
  // "- -1" is no number with two signs.
  const bool apart =
      e.op == Operator::Negate && !inner.empty() && (inner[0] == '-' || (inner[0] >= '0' && inner[0] <= '9'));
  return std::string(row_of(e.op).text) + (apart ? "(" + inner + ")" : inner);
}

std::string print(const Expression& e) {
  switch (e.kind) {
    case EK::number: return print_number(e);
    case EK::real: return e.name.empty() ? print_real(e.number) : e.name;
    case EK::truth: return e.number != 0 ? "true" : "false";
    case EK::name: return e.name;
    case EK::length: return "len(" + e.name + ")";
    case EK::element: return e.name + "[" + print(e.operands[0]) + "]";
    case EK::unary: return print_unary(e);
    case EK::binary: return print_binary(e);
    case EK::choice:
      return operand(e.operands[0], kChoice + 1) + " ? " + print(e.operands[1]) + " : " + print(e.operands[2]);
    case EK::call: return print_call(e);
  }
  return {};
}

std::string print_parameter(const Parameter& p) {
  std::string text = p.name + ": ";
  if (p.passing == Passing::out) text += "out ";
  if (p.passing == Passing::inout) text += "inout ";
  const std::string type(name_of(p.type));
  return text + (p.is_array() ? "[" + type + "]" : type);
}

class Printer {
 public:
  std::string text;

  void comments(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) indented(line);
  }
  void commented(const std::string& words, const Comments& around) {
    comments(around.above);
    indented(words + (around.behind.empty() ? "" : "  " + around.behind));
  }
  void statements(const std::vector<Statement>& list) {
    for (const Statement& s : list) statement(s);
  }
  void indented(const std::string& words) { text += std::string(2 * depth_, ' ') + words + "\n"; }
  void deeper(const std::vector<Statement>& list, const std::vector<std::string>& closing) {
    ++depth_;
    statements(list);
    comments(closing);
    --depth_;
  }
  /// Prints a line for each parameter, because some have comments.
  void parameters(const Function& f) {
    ++depth_;
    for (const Parameter& p : f.parameters)
      commented(print_parameter(p) + (&p == &f.parameters.back() ? "" : ","), p.comments);
    comments(f.parameters_closing);
    --depth_;
  }

 private:
  void statement(const Statement& s) {
    if (s.kind != SK::branch && s.kind != SK::loop && s.kind != SK::count)
      return commented(line_of(s) + ";", s.comments);
    comments(s.comments.above);
    block(s, head_of(s));
  }

  static std::string head_of(const Statement& s) {
    if (s.kind == SK::branch) return "if " + print(s.values[0]);
    if (s.kind == SK::loop) return "while " + print(s.values[0]);
    return "for " + s.name + " in " + print(s.values[0]) + ".." + print(s.values[1]);
  }

  static std::string line_of(const Statement& s) {
    switch (s.kind) {
      case SK::let: return "let " + s.name + " = " + print(s.values[0]);
      case SK::array:
        return "let " + s.name + " = [" + std::string(name_of(s.element)) + "; " + print(s.values[0]) + "]";
      case SK::assign: return s.name + " = " + print(s.values[0]);
      case SK::store: return s.name + "[" + print(s.values[0]) + "] = " + print(s.values[1]);
      case SK::call: return print(s.values[0]);
      case SK::leave: return "break";
      case SK::next: return "continue";
      case SK::give: return s.values.empty() ? "return" : "return " + print(s.values[0]);
      case SK::branch:
      case SK::loop:
      case SK::count: break;
    }
    return {};
  }

  void block(const Statement& s, const std::string& head) {
    indented(head + " {");
    deeper(s.body, s.closing);
    const Statement* rest = &s;
    while (!rest->otherwise.empty()) {  // else if ..
      const Statement* const only = rest->otherwise.size() == 1 ? rest->otherwise.data() : nullptr;
      const bool chain =
          only != nullptr && only->kind == SK::branch && only->comments.empty() && rest->otherwise_closing.empty();
      if (!rest->before_else.empty()) indented("}");
      comments(rest->before_else);
      indented((rest->before_else.empty() ? "} else " : "else ") + (chain ? head_of(*only) + " {" : "{"));
      deeper(chain ? only->body : rest->otherwise, chain ? only->closing : rest->otherwise_closing);
      if (!chain) break;
      rest = only;
    }
    commented("}", {.behind = s.comments.behind});
  }

  std::size_t depth_ = 0;
};

std::string print_parameters(const Function& f) {
  std::string text;
  for (const Parameter& p : f.parameters) text += (text.empty() ? "" : ", ") + print_parameter(p);
  return text;
}

bool has_comments_in_head(const Function& f) {
  const auto has_some = [](const Parameter& p) { return !p.comments.empty(); };
  return !f.parameters_closing.empty() || std::any_of(f.parameters.begin(), f.parameters.end(), has_some);
}

std::string print_parameter_line(const Parameter& p) {
  std::string text = "@param " + p.name;
  const auto bound = [&](std::int64_t v) { return p.type == Type::f64 ? print_real(v) : std::to_string(v); };
  if (p.lo) text += " in [" + bound(*p.lo) + ", " + bound(*p.hi) + "]";
  return p.meaning.empty() ? text : text + ": " + p.meaning;
}

std::string print_test(const Function& f, const Case& test) {
  std::string text = "@test " + f.name + "(";
  for (std::size_t i = 0; i < test.arguments.size(); ++i) text += (i > 0 ? ", " : "") + print(test.arguments[i]);
  text += ")";
  if (test.result) text += " = " + print(*test.result);
  if (test.failure) text += " = error " + std::string(name_of(*test.failure));
  for (std::size_t i = 0; i < test.after.size(); ++i)
    text += (i > 0 ? ", " : " : ") + test.after[i].name + " = " + print(test.after[i].value);
  return text;
}

}  // namespace

std::string print(const Argument& argument) {
  if (argument.is_truth) return argument.number != 0 ? "true" : "false";
  const auto number = [&](std::int64_t v) { return argument.is_real ? print_real(v) : std::to_string(v); };
  if (!argument.is_array) return number(argument.number);
  std::string text = argument.is_text ? "\"" : "[";
  for (std::size_t i = 0; i < argument.elements.size(); ++i) {
    if (argument.is_text)
      print_character(text, static_cast<unsigned char>(argument.elements[i]), '"');
    else
      text += (i > 0 ? ", " : "") + number(argument.elements[i]);
  }
  return text + (argument.is_text ? "\"" : "]");
}

std::string print(const Function& f) {
  Printer out;
  out.comments(f.comments);
  for (std::size_t i = 0; i < f.prompts.size(); ++i)
    out.commented("@prompt " + f.prompts[i], {.above = f.above_prompts[i]});
  for (const Parameter& p : f.parameters)
    if (p.lo || !p.meaning.empty() || !p.line_comments.empty()) out.commented(print_parameter_line(p), p.line_comments);
  for (const Case& test : f.tests) out.commented(print_test(f, test), test.comments);
  out.comments(f.above_head);
  const std::string result = f.result == Type::none ? "" : " -> " + std::string(name_of(f.result));
  const bool takes_lines = has_comments_in_head(f);
  out.indented("fn " + f.name + "(" + (takes_lines ? "" : print_parameters(f) + ")" + result + " {"));
  if (takes_lines) {
    out.parameters(f);
    out.indented(")" + result + " {");
  }
  out.deeper(f.body, f.closing);
  out.indented("}");
  out.comments(f.behind);
  return std::move(out.text);
}

}  // namespace trident::function
