// Fuzz target: bytes as kir text. Whatever parses and checks must print to text that parses to the same kernel, and
// run.

#include <cstdint>
#include <string_view>

#include "jit/kir/kir.h"
#include "runtime/base/check.h"

extern "C" {
extern const bool fuzz_is_text = true;
std::uint64_t fuzz_accepted = 0;
}
extern "C" const char* const fuzz_dictionary[] = {
#define X(id, Name, text, arity, signature, types, meaning) text " ",
#include "jit/kir/ops.def"
#undef X
    "%0", "%1", "%2",     "%4294967295",        " = ",  "f32", "f64", "i32", "i64", "b32", "b64",
    ", ", "\n", "kernel", "0x7ff8000000000000", nullptr};

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trident;
  const Result<kir::Kernel> kernel = kir::parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!kernel.ok()) {
    CHECK(!kernel.error().message.empty());
    return 0;
  }
  if (!kir::check(*kernel).ok()) return 0;
  const std::string text = kir::print(*kernel);
  const Result<kir::Kernel> again = kir::parse(text);
  CHECK(again.ok());
  CHECK(kir::print(*again) == text);
  ++fuzz_accepted;
  return 0;
}
