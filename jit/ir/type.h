// The value types that every IR shares: lanes of floats, integers, and comparison masks.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/base/check.h"

namespace trident::ir {

/// b32 and b64 are comparison results over 32- and 64-bit lanes (all ones or all zeros per lane).
enum class Type : std::uint8_t { f32, f64, i32, i64, b32, b64 };

constexpr bool is_float(Type t) {
  return t == Type::f32 || t == Type::f64;
}
constexpr bool is_int(Type t) {
  return t == Type::i32 || t == Type::i64;
}
constexpr bool is_mask(Type t) {
  return t == Type::b32 || t == Type::b64;
}
/// Bytes of one lane.
constexpr std::uint32_t bytes_of(Type t) {
  return t == Type::f32 || t == Type::i32 || t == Type::b32 ? 4 : 8;
}
/// Returns the mask type whose lanes are as wide as those of `t`.
constexpr Type mask_of(Type t) {
  return bytes_of(t) == 4 ? Type::b32 : Type::b64;
}
/// Returns the integer type whose lanes are as wide as those of `t`.
constexpr Type int_of(Type t) {
  return bytes_of(t) == 4 ? Type::i32 : Type::i64;
}

constexpr std::string_view name_of(Type t) {
  switch (t) {
    case Type::f32: return "f32";
    case Type::f64: return "f64";
    case Type::i32: return "i32";
    case Type::i64: return "i64";
    case Type::b32: return "b32";
    case Type::b64: return "b64";
  }
  CHECK(false);
}

}  // namespace trident::ir
