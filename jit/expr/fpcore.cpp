// FPCore 2.0 (fpbench.org): (FPCore name? (argument ...) :property value ... body).
//
// Arguments are arrays in the precision of the core, or in that of their "!" annotation. The precondition gives their
// ranges: conjunctions of comparisons with numbers, chains, and disjunctions as the hull of their parts. Whatever else
// it says is left out, which only widens what is promised. Loops, tensors, other formats and other roundings are
// Unsupported.
#include <algorithm>
#include <cmath>
#include <limits>

#include "jit/expr/sexpr_walker.h"
#include "runtime/base/limits.h"

namespace trident::expr {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Interval {
  double lo = -kInfinity;
  double hi = kInfinity;
};
using Box = std::vector<Interval>;  // per argument

class FpcoreText {
 public:
  FpcoreText(Expr& expr, const ParseOptions& options, const ir::SourceText& source, const Cells& cells)
      : cells_(cells),
        options_(options),
        composer_(expr, options, source),
        walker_(cells_, composer_, Dialect::fpcore) {}

  Result<void> run() {
    if (cells_.count() == 0 || !cells_.is_form(0, "FPCore")) {
      composer_.fail(0, ErrorCode::kSyntaxError, "expected (FPCore (arguments) body)");
    } else if (cells_.next(0) != cells_.count()) {
      composer_.fail(cells_.at(cells_.next(0)).offset, ErrorCode::kSyntaxError,
                     "expected the end of the text: one expression at a time");
    } else {
      core();
    }
    if (composer_.failed()) return composer_.take_error();
    return {};
  }

 private:
  Value syntax(std::uint32_t cell, const char* expected) {
    const bool past = cell >= cells_.count();
    return composer_.fail(past ? cells_.at(0).offset : cells_.at(cell).offset, ErrorCode::kSyntaxError, "expected %s",
                          expected);
  }

  void core() {
    std::uint32_t child = cells_.next(cells_.first(0));
    std::string_view name = "out";
    if (child < cells_.end(0) && cells_.is_atom(child)) {
      name = cells_.text(child);
      child = cells_.next(child);
    }
    if (child >= cells_.end(0) || !cells_.is_list(child)) {
      syntax(child, "the list of arguments");
      return;
    }
    const std::uint32_t arguments_cell = child;
    child = cells_.next(child);
    Type type = options_.type;
    std::uint32_t pre = 0;
    while (child < cells_.end(0) && cells_.is_atom(child) && cells_.text(child).starts_with(':')) {
      const std::uint32_t value = cells_.next(child);
      if (value >= cells_.end(0)) break;
      if (!walker_.property(child, value, type)) return;
      if (cells_.text(child) == ":pre") pre = value;
      child = cells_.next(value);
    }
    if (child >= cells_.end(0) || cells_.next(child) != cells_.end(0)) {
      syntax(child < cells_.end(0) ? cells_.next(child) : 0, "one body after the properties");
      return;
    }
    composer_.set_default_type(type);
    walker_.set_precision(type);
    arguments(arguments_cell);
    if (pre != 0 && !composer_.failed()) ranges(pre);
    const Value body = walker_.expression(child);
    composer_.output(name.substr(0, limits::kNameBytesMax), body);
  }

  void arguments(std::uint32_t list) {
    for (std::uint32_t a = cells_.first(list); a < cells_.end(list) && !composer_.failed(); a = cells_.next(a)) {
      Variable variable;
      variable.type = walker_.precision();
      std::uint32_t name = a;
      if (cells_.is_form(a, "!")) {
        for (std::uint32_t p = cells_.next(cells_.first(a)); p < cells_.end(a); p = cells_.next(p)) {
          name = p;
          const bool property = cells_.is_atom(p) && cells_.text(p).starts_with(':') && cells_.next(p) < cells_.end(a);
          if (property && !walker_.property(p, cells_.next(p), variable.type)) return;
        }
      }
      if (!cells_.is_atom(name) || cells_.text(name).starts_with(':')) {
        const bool tensor = cells_.is_list(name);
        composer_.fail(cells_.at(name).offset, tensor ? ErrorCode::kUnsupported : ErrorCode::kSyntaxError,
                       tensor ? "tensor arguments are not supported" : "expected the name of an argument");
        return;
      }
      composer_.declare(variable, cells_.text(name), cells_.at(name).offset);
    }
  }

  // --- preconditions ---
  void ranges(std::uint32_t pre) {
    std::vector<Variable>& variables = composer_.expr().variables;
    const Box box = holds(pre);
    for (std::size_t i = 0; i < variables.size() && i < box.size(); ++i) {
      if (!(box[i].lo <= box[i].hi)) {
        composer_.fail(cells_.at(pre).offset, ErrorCode::kSyntaxError, "the precondition leaves no value for '%s'",
                       variables[i].name.c_str());
        return;
      }
      variables[i].lo = std::max(variables[i].lo, box[i].lo);
      variables[i].hi = std::min(variables[i].hi, box[i].hi);
    }
  }

  // Returns the argument that a cell names, or -1.
  [[nodiscard]] int argument(std::uint32_t cell) const {
    if (!cells_.is_atom(cell)) return -1;
    const std::vector<Variable>& variables = composer_.expr().variables;
    for (std::size_t i = 0; i < variables.size(); ++i) {
      if (variables[i].name == cells_.text(cell)) return static_cast<int>(i);
    }
    return -1;
  }

  // Returns a box that holds every point where the condition at `cell` is true.
  [[nodiscard]] Box holds(std::uint32_t cell) const {
    Box box(composer_.expr().variables.size());
    if (cells_.is_form(cell, "and")) {
      for (std::uint32_t c = cells_.next(cells_.first(cell)); c < cells_.end(cell); c = cells_.next(c)) {
        const Box part = holds(c);
        for (std::size_t i = 0; i < box.size(); ++i) {
          box[i] = {std::max(box[i].lo, part[i].lo), std::min(box[i].hi, part[i].hi)};
        }
      }
    } else if (cells_.is_form(cell, "or") && cells_.children(cell) > 1) {
      box.assign(box.size(), {kInfinity, -kInfinity});
      for (std::uint32_t c = cells_.next(cells_.first(cell)); c < cells_.end(cell); c = cells_.next(c)) {
        const Box part = holds(c);
        for (std::size_t i = 0; i < box.size(); ++i) {
          box[i] = {std::min(box[i].lo, part[i].lo), std::max(box[i].hi, part[i].hi)};
        }
      }
    } else if (cells_.is_list(cell)) {
      comparison(cell, box);
    }
    return box;
  }

  void comparison(std::uint32_t cell, Box& box) const {
    const bool rising = cells_.is_form(cell, "<") || cells_.is_form(cell, "<=");
    const bool falling = cells_.is_form(cell, ">") || cells_.is_form(cell, ">=");
    const bool equal = cells_.is_form(cell, "==");
    if (!rising && !falling && !equal) return;
    // In a chain a bound reaches over the names between: every earlier number bounds every later name.
    std::vector<std::uint32_t> terms;
    for (std::uint32_t c = cells_.next(cells_.first(cell)); c < cells_.end(cell); c = cells_.next(c))
      terms.push_back(c);
    if (falling) std::reverse(terms.begin(), terms.end());
    const auto walk = [&](auto begin, auto end, bool lower) {
      double bound = lower ? -kInfinity : kInfinity;
      for (auto term = begin; term != end; ++term) {
        double value = 0;
        if (walker_.constant(*term, value)) {
          bound = lower ? std::max(bound, value) : std::min(bound, value);
        } else if (const int i = argument(*term); i >= 0) {
          Interval& interval = box[static_cast<std::size_t>(i)];
          if (lower) interval.lo = std::max(interval.lo, bound);
          if (!lower) interval.hi = std::min(interval.hi, bound);
        }
      }
    };
    walk(terms.begin(), terms.end(), true);
    walk(terms.rbegin(), terms.rend(), false);
    if (!equal) return;
    walk(terms.rbegin(), terms.rend(), true);
    walk(terms.begin(), terms.end(), false);
  }

  const Cells& cells_;
  const ParseOptions& options_;
  Composer composer_;
  SexprWalker walker_;
};

}  // namespace

Result<Expr> parse_fpcore(std::string_view text, const ParseOptions& options) {
  return parse_brackets<FpcoreText>(text, options);
}

}  // namespace trident::expr
