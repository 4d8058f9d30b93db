// How an array keeps its elements. Values have the types of type.h; an array may keep them in fewer bytes. Such
// elements are widened where they are loaded, and narrowed where they are stored:
//
//   u8, i8, u16, i16   values of i32      a store keeps the low bits
//   u32, u64           values of i64      u64 has the bits of the i64
//   boolean            values of i32      one byte, stored as 0 or 1 as NumPy's bool; a load takes any byte as it is
//   f16                values of f32      a store rounds to nearest, ties to even
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "jit/ir/type.h"

namespace trident::ir {

/// own: the elements are values. The others stand in the order of trident.h and of the wire, from 4 on.
enum class Storage : std::uint8_t { own, u8, boolean, i8, u16, i16, u32, u64, f16 };
inline constexpr std::uint32_t kStorageCount = 9;

struct StorageFacts {
  std::string_view name;
  std::string_view alias;  ///< NumPy's name
  Type type;               ///< of the values
  std::uint32_t bytes;     ///< of an element
  double lo, hi;           ///< the values of integers
};
inline constexpr StorageFacts kStorageFactss[kStorageCount] = {
    {"", "", Type::f64, 0, 0, 0},
    {"u8", "uint8", Type::i32, 1, 0, 255},
    {"bool8", "", Type::i32, 1, 0, 1},
    {"i8", "int8", Type::i32, 1, -128, 127},
    {"u16", "uint16", Type::i32, 2, 0, 65535},
    {"i16", "int16", Type::i32, 2, -32768, 32767},
    {"u32", "uint32", Type::i64, 4, 0, 4294967295.0},
    {"u64", "uint64", Type::i64, 8, 0, 0},
    {"f16", "float16", Type::f32, 2, 0, 0},
};
constexpr const StorageFacts& facts_of(Storage s) {
  return kStorageFactss[static_cast<std::size_t>(s)];
}

/// Returns whether elements differ from values, so that loads and stores convert.
constexpr bool converts(Storage s) {
  return s != Storage::own && s != Storage::u64;
}
constexpr bool is_integer(Storage s) {
  return s != Storage::own && s != Storage::f16;
}
/// The greatest value that a load gives, of integers that convert: nothing keeps other bytes out of arrays of bool.
constexpr double most_loaded(Storage s) {
  return s == Storage::boolean ? 255 : facts_of(s).hi;
}
/// Bytes of one element of an array that keeps values of `type` so.
constexpr std::uint32_t bytes_of(Type type, Storage s) {
  return converts(s) ? facts_of(s).bytes : bytes_of(type);
}
constexpr bool fits(Type type, Storage s) {
  return s == Storage::own || facts_of(s).type == type;
}

/// The number that stands for an element's type in trident.h, on the wire and in cache keys.
constexpr std::uint8_t element_number(Type type, Storage s) {
  return static_cast<std::uint8_t>(s == Storage::own ? static_cast<int>(type) : 3 + static_cast<int>(s));
}
struct Element {
  Type type = Type::f64;
  Storage storage = Storage::own;
};
/// Nothing for a number that has no element.
constexpr std::optional<Element> element_of_number(std::uint32_t number) {
  if (number <= static_cast<std::uint32_t>(Type::i64)) return Element{static_cast<Type>(number), Storage::own};
  if (number >= 3 + kStorageCount) return std::nullopt;
  const auto storage = static_cast<Storage>(number - 3);
  return Element{facts_of(storage).type, storage};
}
constexpr std::string_view name_of(Type type, Storage s) {
  return s == Storage::own ? name_of(type) : facts_of(s).name;
}
/// Returns the storage that a text names; nothing where the name is none.
std::optional<Storage> storage_named(std::string_view name);

/// Loads `n` elements as values of facts_of(s).type; stores values as elements. Only where converts(s).
void widen(Storage s, const void* elements, void* values, std::size_t n);
void narrow(Storage s, const void* values, void* elements, std::size_t n);

}  // namespace trident::ir
