// Fuzz target: bytes as the text of a function. Whatever parses and checks must survive being printed and parsed again,
// lower to a region that checks, and become machine code that does on drawn calls what the region's interpreter does:
// result, failure with its line, arrays. Its expression, where it is one, must do the same. The code runs in this
// process, without trials.

#include <cstdint>
#include <string_view>

#include "jit/function/submission.h"
#include "runtime/base/check.h"
#include "tests/fuzz/function_check.h"

extern "C" {
extern const bool fuzz_is_text = true;
std::uint64_t fuzz_accepted = 0;
}
extern "C" const char* const fuzz_dictionary[] = {
#define X(name, text, level, operands, result) " " text " ",
#include "jit/function/operators.def"
#undef X
#define X(name, text, operands, result, of, meaning) text "(",
#include "jit/function/intrinsics.def"
#undef X
#define X(text, operands, meaning) text "(",
#include "jit/function/formulas.def"
#undef X
    "fn f(a: i64, x: inout [u8]) -> i64 {",
    "let t = [u8; 16];",
    "let v = ",
    "if ",
    "} else {",
    "while ",
    "for i in 0..",
    "break;",
    "continue;",
    "return ",
    "len(x)",
    "x[a] = ",
    "i64(",
    "@param a in [0, 9]: a",
    "@test f(1, [2]) = 3 : x = [2]",
    "true",
    "false",
    "9223372036854775807",
    "\"\\0\"",
    "'a'",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    "? ",
    ": ",
    nullptr};

namespace {

using namespace trident;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto program = function::resolve(text, &fuzz::shipped_functions, nullptr);
  if (!program.ok()) {
    CHECK(!program.error().message.empty());
    return 0;
  }
  const auto travelled = function::read_program(program->text, program->calls);
  CHECK(travelled.ok());
  fuzz::check_printing(program->function());
  const auto lowered = function::lower(program->function(), program->library);
  if (!lowered.ok()) return 0;
  ++fuzz_accepted;
  CHECK(region::check(lowered->region).ok());
  fuzz::check_code(*travelled, *lowered);
  fuzz::check_expression(*travelled, *lowered);
  return 0;
}
