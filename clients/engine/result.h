// Fills the result structs of clients/c/engine_abi.h, which share the names of their fields.
#pragma once

#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>

#include "clients/c/engine_abi.h"
#include "jit/image/image.h"
#include "runtime/base/float_environment.h"

namespace trident::engine {

/// Cuts `text` to what the result has room for.
template <class EngineResult>
void set_message(EngineResult& result, std::string_view text) {
  const std::size_t size = std::min(text.size(), sizeof(result.message) - 1);
  std::memcpy(result.message, text.data(), size);
  result.message[size] = '\0';
}

/// Seals `bytes`; the caller of the engine owns the file from then on.
template <class EngineResult>
Result<void> hand_over(const image::ImageBytes& bytes, EngineResult& result) {
  TRY(os::Fd file, image::seal(bytes));
  const trident_image_header& header = bytes.header();
  result.size = header.total_size;
  result.digest_low = header.digest[0];
  result.digest_high = header.digest[1];
  result.fd = file.release();
  result.outcome = TRIDENT_ENGINE_IMAGE;
  return {};
}

/// Fills `result` by `compile`, which returns a Result<void>. Errors and exceptions become its message: nothing may be
/// thrown into the caller's C frames.
template <class EngineResult, class Compile>
void answer(EngineResult& result, Compile compile) {
  const StandardFloats floats;
  try {
    const Result<void> done = compile();
    if (!done) set_message(result, done.error().message);
  } catch (const std::bad_alloc&) {
    set_message(result, "out of memory");
  } catch (...) {
    set_message(result, "internal error");
  }
}

}  // namespace trident::engine
