// Checks what becomes of a guest's loop against what a row expects. A row is a JSON object:
//
//   bytes    the range of code, as hex digits in memory order
//   head     address of the first of them, where the loop begins: "0x100018" or a number
//   tail     address of the jump back to the head; without it, the head alone tells which loop is meant
//   expect   compile, refuse (for whatever reason), not_a_loop, either (anything is right)
//   label, opt   names, for the report
//
// Other members are not looked at.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "jit/loop/discover.h"
#include "runtime/base/result.h"

namespace trident::loop::oracle {

enum class Expectation : std::uint8_t { compile, refuse, not_a_loop, either };
std::string_view name_of(Expectation expectation);

struct Verdict {
  std::string name;  ///< of the row: label and opt
  Expectation expected = Expectation::either;
  bool compiles = false;
  Refusal refusal;  ///< when it does not compile

  /// A loop on floats or vectors may be refused where code is expected: no such code is made yet.
  [[nodiscard]] bool is_right() const;
  /// Code was made where none may be.
  [[nodiscard]] bool is_false_accept() const;
  /// "compile", or the name of the reason.
  [[nodiscard]] std::string_view outcome() const;
  /// Says what differs, in a sentence without the row's name.
  [[nodiscard]] std::string difference() const;
};

/// Checks one row. SyntaxError, with what is wrong, for a text that is no row.
Result<Verdict> check(std::string_view row);

}  // namespace trident::loop::oracle
