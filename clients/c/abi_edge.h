// The edge of every function of trident.h: no exception passes, structs of older callers are widened and
// narrowed, errors become a status and a text, and the caller's floating-point environment decides nothing.
#pragma once

#include <algorithm>
#include <cstring>
#include <new>

#include "clients/c/context.h"
#include "clients/c/last_error.h"
#include "clients/c/trident.h"
#include "runtime/base/float_environment.h"

struct trident_ctx final : trident::client::Context {
  using Context::Context;
};

namespace trident::client {

/// Runs `body` and turns what it returns or throws into a status.
template <class Body>
trident_status guarded(Body body) {
  const StandardFloats floats;
  try {
    const Result<void> done = body();
    return done ? TRIDENT_OK : report(done.error());
  } catch (const std::bad_alloc&) {
    return report(TRIDENT_E_MEMORY, "out of memory");
  } catch (...) {
    return report(TRIDENT_E_INVALID, "internal error");
  }
}

inline Error invalid(const char* what) {
  return Error{ErrorCode::kInvalidArgument, what};
}

/// The caller's struct, widened with zeros when it is older than ours.
template <class T>
Result<T> widened(const T* from, const T& defaults) {
  if (from == nullptr) return defaults;
  if (from->struct_size < sizeof(std::uint32_t)) return invalid("struct_size is not set");
  T to{};
  std::memcpy(static_cast<void*>(&to), from, std::min<std::size_t>(from->struct_size, sizeof(T)));
  return to;
}

/// Copies as much of `from` as the caller's struct has room for.
template <class T>
Result<void> narrowed(const T& from, T* to) {
  if (to == nullptr) return invalid("null pointer");
  const std::uint32_t size = to->struct_size;
  if (size < sizeof(std::uint32_t)) return invalid("struct_size is not set");
  std::memcpy(static_cast<void*>(to), &from, std::min<std::size_t>(size, sizeof(T)));
  to->struct_size = size;
  return {};
}

}  // namespace trident::client
