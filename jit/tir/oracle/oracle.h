// Rows of what the real Triton VM (or the library it uses) has answered, and whether we answer the same.
//
//   programs   one JSON object: a program with its inputs, final state, nine heights, or its failure
//   lowerings  one JSON object: one operation of TIR on literal operands, lowered, and what that has written; as a
//              program too, in all that it says of that
//   vectors    one JSON object of many: Tip5 with its parameters, field, extension; or the ad hoc Poseidon2
//   pairs      one JSON object: two blocks, and whether they are the same
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jit/tir/vm/machine.h"

namespace trident::tir::oracle {

enum class Kind : std::uint8_t { program, vectors, equivalence, lowering, unknown };
std::string_view name_of(Kind kind);

/// What came of one row.
struct Verdict {
  Kind kind = Kind::unknown;
  std::string name;                ///< the row's own
  std::uint64_t checked = 0;       ///< programs, pairs, operations or vectors
  std::vector<std::string> wrong;  ///< a sentence per difference; a row that cannot be read has one too
  bool understood = true;
};

/// Keeps its machine from row to row.
class Checker {
 public:
  /// `text`: one JSON object.
  Verdict check(std::string_view text);

 private:
  vm::Machine machine_;
  vm::Code code_;
};

}  // namespace trident::tir::oracle
