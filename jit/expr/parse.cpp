// parse(): which of the three forms a text is in.
#include <algorithm>

#include "jit/expr/expr.h"
#include "jit/expr/functions.h"
#include "jit/ir/text.h"

namespace trident::expr {
namespace {

// The text from its first byte that is neither space nor comment. Both comment signs are skipped: "#" of the infix form
// and ";" of the bracket forms cannot start an expression.
std::string_view skip_blank(std::string_view text) {
  while (!text.empty()) {
    const char c = text.front();
    if (c == ' ' || (c >= '\t' && c <= '\r')) {
      text.remove_prefix(1);
    } else if (c == '#' || c == ';') {
      text.remove_prefix(std::min(text.find('\n'), text.size()));
    } else {
      break;
    }
  }
  return text;
}

// "(+ a b)" and "(sin x)" are bracket forms, "(a + b)" is not: the first word is followed by a space and then by no
// operator of the infix form. Only the order of two attempts hangs on this guess.
bool looks_like_brackets(std::string_view text) {
  if (text.empty() || text.front() != '(') return false;
  text = skip_blank(text.substr(1));
  const std::string_view head = text.substr(0, text.find_first_of(" \t\r\n()[],;"));
  const std::string_view rest = text.substr(head.size());
  if (head.empty() || rest.empty() || (rest.front() != ' ' && rest.front() != '\n' && rest.front() != '\t'))
    return false;
  const std::string_view next = skip_blank(rest);
  if (next.empty()) return false;
  if (next.front() == '-') return next.size() > 1 && next[1] != ' ' && next[1] != '(';
  return std::string_view("+*/%^<>=!&|?),").find(next.front()) == std::string_view::npos;
}

// Refuses "(add)" as an operation without operands, unless a variable of that name is declared.
Result<void> check_operands(std::string_view text, const ParseOptions& options) {
  const std::string_view start = skip_blank(text);
  if (start.empty() || start.front() != '(') return {};
  const std::string_view inside = skip_blank(start.substr(1));
  const std::string_view name = inside.substr(0, inside.find_first_of(" \t\r\n()[],;"));
  if (find_function(name, hash_name(name)) == nullptr) return {};
  if (!skip_blank(inside.substr(name.size())).starts_with(')')) return {};
  for (const Variable& v : options.variables)
    if (v.name == name) return {};
  return ir::SourceText(text, options.file)
      .error(static_cast<std::size_t>(name.data() - text.data()),
             "'" + std::string(name) +
                 "' is an operation, and has no operands here; a variable of that name has to be "
                 "declared first");
}

}  // namespace

Result<Expr> parse(std::string_view text, const ParseOptions& options) {
  const std::string_view start = skip_blank(text);
  if (start.starts_with("(FPCore") || start.starts_with("[FPCore")) return parse_fpcore(text, options);
  TRY_VOID(check_operands(text, options));
  // A text that opens with a bracket may be in either form; none is right in both with two meanings, because bracket
  // forms write operands side by side.
  const bool brackets = looks_like_brackets(start);
  Result<Expr> guess = brackets ? parse_sexpr(text, options) : parse_infix(text, options);
  if (guess.ok() || start.empty() || start.front() != '(') return guess;
  Result<Expr> other = brackets ? parse_infix(text, options) : parse_sexpr(text, options);
  return other.ok() ? std::move(other) : std::move(guess);
}

}  // namespace trident::expr
