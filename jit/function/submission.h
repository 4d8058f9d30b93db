// A function as it is submitted: its text, and the texts of all that it calls, so that it means the same to whoever
// reads it, whatever library he has.
//
//   client: resolve(text, library) -> Program -> `text` and `calls` travel -> read_program() in a worker -> Program
//
// Texts come from strangers. Their size, their number and their nesting are bounded.
#pragma once

#include <string>
#include <string_view>

#include "jit/function/library.h"

namespace trident::function {

/// The file that errors name for a text that comes from no file.
inline constexpr std::string_view kSubmittedFile = "function";

/// A checked function with what it calls, and nothing else.
struct Program {
  std::string text;   ///< of the function
  std::string calls;  ///< texts of those that it calls, directly or not; a byte 0 behind each
  Library library;    ///< of all of them
  std::string name;
  [[nodiscard]] const Function& function() const { return *library.find(name); }
};

/// Finds what the function of `text` calls in the library that `library()` returns, which is asked for only then. A
/// function of the text's own name there is passed over. `file` is named in errors. Errors: those of parse() and
/// check(); LimitExceeded for too long or too many texts.
Result<Program> resolve(std::string_view text, const Library& (*library)(const void* user), const void* user,
                        std::string_view file = kSubmittedFile);
/// Does the same for a function of a library.
Result<Program> resolve(const Function& function, const Library& library);

/// Reads what has travelled. Errors: as above; RejectedMessage for bytes that resolve() does not make.
Result<Program> read_program(std::string_view text, std::string_view calls);

}  // namespace trident::function
