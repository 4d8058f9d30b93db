// Checks our answers against rows of answers of the real Triton VM (or of the library it uses).
//
//   programs   one JSON object: a program with its inputs, final state, nine heights, or its failure
//   lowerings  one JSON object: one operation of TIR on literal operands, lowered, and its output; also as a
//              program, in all that the row states
//   vectors    one JSON object of many: Tip5 with its parameters, field, extension; or the ad hoc Poseidon2
//   pairs      one JSON object: two blocks, and whether they do the same
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jit/tir/vm/machine.h"

namespace trident::tir::oracle {

enum class Kind : std::uint8_t { program, vectors, equivalence, lowering, unknown };
std::string_view name_of(Kind kind);

/// Result of checking one row.
struct Verdict {
  Kind kind = Kind::unknown;
  std::string name;                ///< the row's own
  std::uint64_t checked = 0;       ///< number of programs, pairs, operations or vectors
  std::vector<std::string> wrong;  ///< a sentence per difference; a row that cannot be read has one too
  bool understood = true;
};

/// Checks rows; keeps its machine from row to row.
class Checker {
 public:
  /// Checks one row. `text`: one JSON object.
  Verdict check(std::string_view text);

 private:
  vm::Machine machine_;
  vm::Code code_;
};

}  // namespace trident::tir::oracle
