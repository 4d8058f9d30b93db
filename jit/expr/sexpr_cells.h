// S-expressions as a flat list of cells: the reader of the S-expression and FPCore forms. A list is followed by its
// children, and every cell knows where the next one on its own level starts, so nothing is allocated per cell.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "jit/ir/text.h"
#include "runtime/base/result.h"

namespace trident::expr {

struct Cell {
  enum class Kind : std::uint8_t { list, atom, string };
  Kind kind = Kind::atom;
  std::uint32_t offset = 0;  ///< of its first byte in the text
  std::uint32_t size = 0;    ///< bytes of an atom or of a string's inside
  std::uint32_t next = 0;    ///< index of the cell after it (and after its children)
};

class Cells {
 public:
  /// Reads every form of the text. Round and square brackets are the same; ";" comments to the end of its line.
  static Result<Cells> read(const ir::SourceText& source);

  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(cells_.size()); }
  [[nodiscard]] const Cell& at(std::uint32_t i) const { return cells_[i]; }
  [[nodiscard]] bool is_list(std::uint32_t i) const { return cells_[i].kind == Cell::Kind::list; }
  [[nodiscard]] bool is_atom(std::uint32_t i) const { return cells_[i].kind == Cell::Kind::atom; }
  [[nodiscard]] std::string_view text(std::uint32_t i) const { return text_.substr(cells_[i].offset, cells_[i].size); }
  [[nodiscard]] std::uint32_t next(std::uint32_t i) const { return cells_[i].next; }
  /// The children of list `i` are first(i), next(first(i)), ... as long as they are below end(i).
  [[nodiscard]] std::uint32_t first(std::uint32_t i) const { return i + 1; }
  [[nodiscard]] std::uint32_t end(std::uint32_t i) const { return cells_[i].next; }
  [[nodiscard]] std::uint32_t children(std::uint32_t i) const;
  /// Returns whether `i` is a list that starts with the atom `head`.
  [[nodiscard]] bool is_form(std::uint32_t i, std::string_view head) const;

 private:
  std::string_view text_;
  std::vector<Cell> cells_;
};

}  // namespace trident::expr
