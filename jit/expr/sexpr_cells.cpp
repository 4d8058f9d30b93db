#include "jit/expr/sexpr_cells.h"

#include "jit/expr/lexer.h"
#include "runtime/base/limits.h"

namespace trident::expr {
namespace {

constexpr bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
constexpr bool ends_atom(char c) {
  return is_space(c) || c == '(' || c == ')' || c == '[' || c == ']' || c == '"' || c == ';';
}

}  // namespace

Result<Cells> Cells::read(const ir::SourceText& source) {
  const std::string_view text = source.text();
  Cells out;
  out.text_ = text;
  out.cells_.reserve(text.size() / 4 + 4);
  std::vector<std::uint32_t> open;
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    const auto offset = static_cast<std::uint32_t>(at);
    const auto index = out.count();
    if (is_space(c)) {
      ++at;
    } else if (c == ';') {
      while (at < text.size() && text[at] != '\n') ++at;
    } else if (c == '(' || c == '[') {
      if (open.size() >= limits::kNestingMax) {
        return source.error(at, "nested deeper than " + std::to_string(limits::kNestingMax), ErrorCode::kLimitExceeded);
      }
      out.cells_.push_back({Cell::Kind::list, offset, 1, 0});
      open.push_back(index);
      ++at;
    } else if (c == ')' || c == ']') {
      if (open.empty()) return source.error(at, "this closing bracket has no opening bracket");
      Cell& list = out.cells_[open.back()];
      if ((text[list.offset] == '(') != (c == ')')) {
        return source.error(at, c == ')' ? "expected ']', found ')'" : "expected ')', found ']'");
      }
      list.next = index;
      open.pop_back();
      ++at;
    } else if (c == '"') {
      std::size_t end = at + 1;
      while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
      if (end >= text.size()) return source.error(at, "this string has no closing quote");
      out.cells_.push_back({Cell::Kind::string, offset + 1, static_cast<std::uint32_t>(end - at - 1), index + 1});
      at = end + 1;
    } else {
      std::size_t end = at;
      while (end < text.size() && !ends_atom(text[end])) ++end;
      const std::size_t valid = ir::utf8_bytes(text.substr(at, end - at));
      if (valid < end - at) return source.error(at + valid, kNotUtf8);
      out.cells_.push_back({Cell::Kind::atom, offset, static_cast<std::uint32_t>(end - at), index + 1});
      at = end;
    }
  }
  if (!open.empty()) {
    return source.error(out.cells_[open.back()].offset, "this bracket is never closed");
  }
  return out;
}

std::uint32_t Cells::children(std::uint32_t i) const {
  if (!is_list(i)) return 0;
  std::uint32_t count = 0;
  for (std::uint32_t child = first(i); child < end(i); child = next(child)) ++count;
  return count;
}

bool Cells::is_form(std::uint32_t i, std::string_view head) const {
  return is_list(i) && first(i) < end(i) && is_atom(first(i)) && text(first(i)) == head;
}

}  // namespace trident::expr
