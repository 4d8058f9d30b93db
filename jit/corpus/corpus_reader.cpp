#include "jit/corpus/corpus_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "jit/corpus/setting_names.h"
#include "jit/ir/text.h"
#include "runtime/base/limits.h"
#include "runtime/os/text_file.h"

namespace trident::corpus {
namespace {

std::string_view trim(std::string_view s) {
  while (!s.empty() && std::string_view(" \t\r\n").find(s.front()) != std::string_view::npos) s.remove_prefix(1);
  while (!s.empty() && std::string_view(" \t\r\n").find(s.back()) != std::string_view::npos) s.remove_suffix(1);
  return s;
}

std::vector<std::string_view> split(std::string_view s, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = s.find(separator);
    parts.push_back(s.substr(0, at));
    if (at == std::string_view::npos) return parts;
    s.remove_prefix(at + 1);
  }
}

/// The text being read, with places given as pointers into it.
struct Source {
  ir::SourceText lines;
  std::string_view text;

  Source(std::string_view text_, std::string_view file) : lines(text_, file), text(text_) {}
  [[nodiscard]] std::size_t offset(const char* at) const { return static_cast<std::size_t>(at - text.data()); }
  [[nodiscard]] std::string place(const char* at) const {
    return std::string(lines.name()) + ":" + std::to_string(lines.place(offset(at)).line);
  }
  [[nodiscard]] Error error(const char* at, const std::string& what) const { return lines.error(offset(at), what); }
};

bool is_name(std::string_view s) {
  if (s.empty() || s.size() > limits::kNameBytesMax) return false;
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return letter(s[0]) && std::all_of(s.begin(), s.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

Result<double> parse_number(const Source& source, std::string_view s) {
  double value = 0;
  const char* first = s.data() + (s.starts_with('+') ? 1 : 0);
  const auto [end, code] = std::from_chars(first, s.data() + s.size(), value);
  if (code != std::errc() || end != s.data() + s.size() || std::isnan(value))
    return source.error(s.data(), "'" + std::string(s) + "' is not a number");
  return value;
}

Result<expr::Variable> make_variable(const Source& source, std::string_view name, std::string_view lo,
                                     std::string_view hi) {
  expr::Variable v;
  if (!is_name(name)) return source.error(name.data(), "'" + std::string(name) + "' is not a variable's name");
  v.name = name;
  TRY(v.lo, parse_number(source, lo));
  TRY(v.hi, parse_number(source, hi));
  if (v.lo > v.hi || v.lo == HUGE_VAL || v.hi == -HUGE_VAL)
    return source.error(lo.data(), "the range of '" + v.name + "' has no finite value");
  return v;
}

Result<void> add_variable(const Source& source, const char* at, expr::Variable v, std::vector<expr::Variable>& to) {
  for (const expr::Variable& other : to)
    if (other.name == v.name) return source.error(at, "variable '" + v.name + "' is declared twice");
  to.push_back(std::move(v));
  return {};
}

// --- kernels.tsv ---------------------------------------------------------------------------------------------------

Result<std::vector<expr::Variable>> parse_tsv_variables(const Source& source, std::string_view column) {
  std::vector<expr::Variable> variables;
  if (trim(column).empty()) return variables;
  for (std::string_view part : split(column, ',')) {
    part = trim(part);
    const auto fields = split(part, ':');
    if (fields.size() != 3) return source.error(part.data(), "expected name:lo:hi, found '" + std::string(part) + "'");
    TRY(expr::Variable v, make_variable(source, trim(fields[0]), trim(fields[1]), trim(fields[2])));
    TRY_VOID(add_variable(source, part.data(), std::move(v), variables));
  }
  return variables;
}

Result<std::vector<CorpusKernel>> parse_tsv(const Source& source) {
  std::vector<CorpusKernel> kernels;
  for (std::string_view line : split(source.text, '\n')) {
    if (trim(line).empty() || trim(line).starts_with('#')) continue;
    const auto columns = split(line, '\t');
    if (columns.size() < 3)
      return source.error(line.data(), "expected three columns (name, variables, definition) separated by tabs");
    CorpusKernel k;
    k.name = trim(columns[0]);
    TRY(k.variables, parse_tsv_variables(source, columns[1]));
    // Tabs inside a definition are plain space.
    k.definition = trim(std::string_view(columns[2].data(), static_cast<std::size_t>(line.end() - columns[2].begin())));
    k.place = source.place(line.data());
    if (k.name.empty()) return source.error(line.data(), "the kernel has no name");
    if (k.definition.empty()) return source.error(columns[2].data(), "the kernel's definition is empty");
    kernels.push_back(std::move(k));
  }
  return kernels;
}

// --- kernels.sexp --------------------------------------------------------------------------------------------------

/// Walks over the data of an S-expression text without building a tree; iterative, so that nesting costs no stack.
class SexprCursor {
 public:
  explicit SexprCursor(const Source& source) : source_(source), rest_(source.text) {}

  void skip_space() {
    while (!rest_.empty()) {
      if (rest_[0] == ';') {
        const std::size_t end = rest_.find('\n');
        rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end);
      } else if (std::string_view(" \t\r\n").find(rest_[0]) != std::string_view::npos) {
        rest_.remove_prefix(1);
      } else {
        return;
      }
    }
  }
  bool at_end() {
    skip_space();
    return rest_.empty();
  }
  bool at(char c) {
    skip_space();
    return !rest_.empty() && rest_[0] == c;
  }
  Result<void> expect(char c, const char* what) {
    if (!at(c)) return error(std::string("expected '") + c + "' " + what);
    rest_.remove_prefix(1);
    return {};
  }
  /// The text of the next datum: an atom, a string with its quotes, or a list with its brackets.
  Result<std::string_view> datum() {
    skip_space();
    const std::string_view start = rest_;
    std::size_t depth = 0;
    do {
      skip_space();
      if (rest_.empty()) return source_.error(start.data(), "the text ends inside this datum");
      if (rest_[0] == '(') {
        ++depth;
        rest_.remove_prefix(1);
      } else if (rest_[0] == ')') {
        if (depth == 0) return error("unexpected ')'");
        --depth;
        rest_.remove_prefix(1);
      } else {
        TRY_VOID(skip_atom());
      }
    } while (depth > 0);
    return start.substr(0, start.size() - rest_.size());
  }
  [[nodiscard]] Error error(const std::string& what) const {
    const char* end = source_.text.data() + source_.text.size();
    return source_.error(rest_.empty() && end != source_.text.data() ? end - 1 : rest_.data(), what);
  }
  [[nodiscard]] const char* position() const { return rest_.data(); }

 private:
  Result<void> skip_atom() {
    if (rest_[0] == '"') {
      std::size_t i = 1;
      while (i < rest_.size() && rest_[i] != '"') i += rest_[i] == '\\' ? 2 : 1;
      if (i >= rest_.size()) return error("this string has no closing quote");
      rest_.remove_prefix(i + 1);
      return {};
    }
    const std::size_t end = std::min(rest_.find_first_of(" \t\r\n();\""), rest_.size());
    rest_.remove_prefix(end);
    return {};
  }
  const Source& source_;
  std::string_view rest_;
};

Result<void> parse_sexp_variables(const Source& source, SexprCursor& cursor, std::vector<expr::Variable>& variables) {
  TRY_VOID(cursor.expect('(', "before the variables"));
  while (!cursor.at(')')) {
    const char* at = cursor.position();
    if (cursor.at('(')) {
      TRY_VOID(cursor.expect('(', "before a variable"));
      TRY(const std::string_view name, cursor.datum());
      TRY(const std::string_view lo, cursor.datum());
      TRY(const std::string_view hi, cursor.datum());
      TRY_VOID(cursor.expect(')', "after (name lo hi"));
      TRY(expr::Variable v, make_variable(source, name, lo, hi));
      TRY_VOID(add_variable(source, at, std::move(v), variables));
    } else {
      TRY(const std::string_view name, cursor.datum());
      if (!is_name(name)) return source.error(name.data(), "'" + std::string(name) + "' is not a variable's name");
      expr::Variable v;
      v.name = name;
      TRY_VOID(add_variable(source, at, std::move(v), variables));
    }
  }
  return cursor.expect(')', "after the variables");
}

Result<std::vector<CorpusKernel>> parse_sexp(const Source& source) {
  std::vector<CorpusKernel> kernels;
  SexprCursor cursor(source);
  while (!cursor.at_end()) {
    const char* start = cursor.position();
    TRY_VOID(cursor.expect('(', "before a kernel"));
    TRY(const std::string_view keyword, cursor.datum());
    if (keyword != "kernel") return source.error(keyword.data(), "expected 'kernel'");
    CorpusKernel k;
    k.place = source.place(start);
    TRY(k.name, cursor.datum());
    while (!cursor.at(')')) {
      TRY(const std::string_view key, cursor.datum());
      if (key == ":vars") {
        TRY_VOID(parse_sexp_variables(source, cursor, k.variables));
        continue;
      }
      TRY(const std::string_view value, cursor.datum());
      if (key == ":body") k.definition = value;
      if (key == ":slice") k.group = value;
      if (!key.starts_with(':')) return source.error(key.data(), "expected a key such as :vars or :body");
    }
    TRY_VOID(cursor.expect(')', "after a kernel"));
    if (k.definition.empty()) return source.error(start, "kernel '" + k.name + "' has no :body");
    kernels.push_back(std::move(k));
  }
  return kernels;
}

// --- rewrite.txt ---------------------------------------------------------------------------------------------------

/// One of "x!=0", "x>0", "x>=c", "x<c", "x<=c". A variable above zero is at least kAboveZero.
Result<void> parse_assumption(const Source& source, std::string_view part, CorpusKernel& kernel) {
  const std::size_t at = part.find_first_of("<>!");
  const std::string name(trim(part.substr(0, std::min(at, part.size()))));
  if (at == std::string_view::npos || !is_name(name))
    return source.error(part.data(), "expected an assumption such as x>0 or x!=0, found '" + std::string(part) + "'");
  const bool equal = at + 1 < part.size() && part[at + 1] == '=';
  TRY(const double bound, parse_number(source, trim(part.substr(at + (equal ? 2 : 1)))));
  if (part[at] == '!') {
    if (!equal || bound != 0) return source.error(part.data(), "only 'x!=0' is supported as an assumption with !=");
    kernel.nonzero.push_back(name);
    return {};
  }
  const auto known = std::find_if(kernel.variables.begin(), kernel.variables.end(),
                                  [&](const expr::Variable& v) { return v.name == name; });
  expr::Variable fresh;
  fresh.name = name;
  expr::Variable& v = known != kernel.variables.end() ? *known : kernel.variables.emplace_back(fresh);
  if (bound == 0 && !equal) kernel.strict.push_back(name);
  if (part[at] == '>')
    v.lo = std::max(v.lo, bound == 0 && !equal ? kAboveZero : bound);
  else
    v.hi = std::min(v.hi, bound == 0 && !equal ? -kAboveZero : bound);
  const bool excluded = !equal && v.lo == v.hi && v.lo == bound;
  if (v.lo > v.hi || v.lo == HUGE_VAL || v.hi == -HUGE_VAL || excluded)
    return source.error(part.data(), "the assumptions leave no value for '" + name + "'");
  return {};
}

Result<void> parse_assumptions(const Source& source, std::string_view column, CorpusKernel& kernel) {
  if (trim(column).empty()) return {};
  // Twice, as a later assumption may leave only the value that an earlier one excludes.
  for (int round = 0; round < 2; ++round) {
    kernel.nonzero.clear(), kernel.strict.clear();
    for (const std::string_view part : split(column, ',')) TRY_VOID(parse_assumption(source, trim(part), kernel));
  }
  for (const expr::Variable& v : kernel.variables)
    if (v.lo == 0 && v.hi == 0 &&
        std::find(kernel.nonzero.begin(), kernel.nonzero.end(), v.name) != kernel.nonzero.end())
      return source.error(column.data(), "the assumptions leave no value for '" + v.name + "'");
  return {};
}

Result<std::vector<CorpusKernel>> parse_rewrite(const Source& source) {
  std::vector<CorpusKernel> kernels;
  for (std::string_view line : split(source.text, '\n')) {
    const std::string_view code = trim(line.substr(0, line.find(';')));
    if (code.empty()) continue;
    const auto columns = split(code, '|');
    if (columns.size() != 5)
      return source.error(line.data(), "expected five columns (name | size | family | assumptions | expression)");
    CorpusKernel k;
    k.name = trim(columns[0]);
    k.group = trim(columns[2]);
    if (const auto read = parse_assumptions(source, columns[3], k); !read) k.fault = read.error();
    k.definition = trim(columns[4]);
    k.place = source.place(line.data());
    if (k.name.empty() || k.definition.empty()) return source.error(line.data(), "the name or the expression is empty");
    kernels.push_back(std::move(k));
  }
  return kernels;
}

}  // namespace

Result<std::vector<CorpusKernel>> parse_corpus(std::string_view text, std::string_view file) {
  if (const std::size_t at = text.find('\0'); at != std::string_view::npos)
    return ir::SourceText(text, file).error(at, "this is not a text: it holds a NUL byte");
  const Source source(text, file);
  // The first line that is neither empty nor a comment of any of the formats decides.
  for (std::string_view line : split(text, '\n')) {
    line = trim(line);
    if (line.empty() || line[0] == '#' || line[0] == ';') continue;
    if (line[0] == '(') return parse_sexp(source);
    const std::size_t tab = line.find('\t'), bar = line.find('|');
    return bar < tab ? parse_rewrite(source) : parse_tsv(source);
  }
  return make_error(ErrorCode::kSyntaxError, "%s: no kernels in this file", std::string(file).c_str());
}

Result<std::vector<CorpusKernel>> read_corpus(const std::string& path) {
  TRY(const std::string text, os::read_text(path, kCorpusBytesMax));
  return parse_corpus(text, path);
}

Result<std::vector<std::string>> read_fpcores(const std::string& path) {
  TRY(const std::string text, os::read_text(path, kCorpusBytesMax));
  std::vector<std::string> cores;
  std::string core;
  int depth = 0;
  bool quoted = false, comment = false;
  for (const char c : text) {
    comment = comment ? c != '\n' : c == ';' && !quoted;
    if (comment) continue;
    if (c == '"') quoted = !quoted;
    if (!quoted) depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    core += c;
    if (depth != 0 || c != ')' || quoted) continue;
    cores.push_back(std::move(core));
    core.clear();
  }
  return cores;
}

Result<expr::Expr> parse_definition(const CorpusKernel& kernel, ir::Type type) {
  if (kernel.fault) return *kernel.fault;
  expr::ParseOptions options;
  options.type = type;
  options.file = kernel.place;
  options.variables = kernel.variables;
  for (expr::Variable& v : options.variables) v.type = type;
  take_declared_types(kernel.definition, kernel.syntax, options);
  return parse_in_syntax(kernel.definition, kernel.syntax, options);
}

Result<expr::Expr> parse_definition_in_bits(const CorpusKernel& kernel, ir::Type type) {
  const double least =
      type == ir::Type::f32 ? std::numeric_limits<float>::denorm_min() : std::numeric_limits<double>::denorm_min();
  CorpusKernel any = kernel;
  for (expr::Variable& v : any.variables) {
    if (std::find(any.strict.begin(), any.strict.end(), v.name) == any.strict.end()) continue;
    if (v.lo == kAboveZero) v.lo = least;
    if (v.hi == -kAboveZero) v.hi = -least;
  }
  return parse_definition(any, type);
}

Result<expr::Expr> parse_definition_under(const expr::Policy& policy, const CorpusKernel& kernel, ir::Type type) {
  const bool in_bits = policy.kind == expr::PolicyKind::exact;
  return in_bits ? parse_definition_in_bits(kernel, type) : parse_definition(kernel, type);
}

Result<expr::Expr> to_expr(const CorpusKernel& kernel, ir::Type type) {
  TRY(const expr::Expr parsed, parse_definition(kernel, type));
  return expr::eliminate_derivatives(parsed);
}

Result<std::vector<expr::Expr>> read_expressions(const std::string& path) {
  std::vector<expr::Expr> all;
  const auto add = [&](Result<expr::Expr> one) {
    if (one.ok()) all.push_back(std::move(*one));
  };
  if (path.ends_with(".fpcore")) {
    TRY(const std::vector<std::string> cores, read_fpcores(path));
    for (const std::string& core : cores) {
      auto one = expr::parse_fpcore(core, {.type = ir::Type::f64, .variables = {}});
      if (one.ok()) add(expr::eliminate_derivatives(*one));
    }
  } else {
    TRY(const std::vector<CorpusKernel> kernels, read_corpus(path));
    for (const CorpusKernel& kernel : kernels) add(to_expr(kernel, ir::Type::f64));
  }
  if (all.empty()) return make_error(ErrorCode::kInvalidArgument, "%s: the file holds no expression", path.c_str());
  return all;
}

}  // namespace trident::corpus
