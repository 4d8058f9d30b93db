// Checks of a program's text that precede every parser.
#pragma once

#include "jit/ir/text.h"
#include "runtime/base/limits.h"
#include "runtime/base/result.h"

namespace trident::tir::tasm {

/// Fails for a text of more than limits::kTasmTextBytesMax bytes (LimitExceeded), and for one that is not UTF-8.
inline Result<void> check_text(const ir::SourceText& source) {
  const std::string_view text = source.text();
  if (text.size() > limits::kTasmTextBytesMax)
    return make_error(ErrorCode::kLimitExceeded, "%s: a program's text has at most %zu bytes, here %zu",
                      std::string(source.name()).c_str(), limits::kTasmTextBytesMax, text.size());
  if (const std::size_t good = ir::utf8_bytes(text); good != text.size())
    return source.error(good, "this is not UTF-8");
  return {};
}

}  // namespace trident::tir::tasm
