#include "jit/ir/storage.h"

#include <bit>
#include <cstring>
#include <type_traits>

#include "runtime/base/check.h"

namespace trident::ir {
namespace {

struct Half {
  std::uint16_t bits;
};

/// Makes a signalling NaN quiet, as processors do: instructions that see bits would tell it from theirs.
float value_of(Half half) {
  const std::uint32_t size = half.bits & 0x7FFFu, sign = static_cast<std::uint32_t>(half.bits & 0x8000u) << 16;
  const float subnormal = static_cast<float>(size) * 0x1p-24F;
  const std::uint32_t bias = size >= 0x7C00u ? 0x7000'0000u : 0x3800'0000u;
  const std::uint32_t quiet = size > 0x7C00u ? 0x40'0000u : 0;
  const std::uint32_t normal = ((size << 13) + bias) | quiet;
  return std::bit_cast<float>(sign | (size < 0x400u ? std::bit_cast<std::uint32_t>(subnormal) : normal));
}

/// Rounds to nearest, ties to even. A sum with 0.5 rounds to the step of subnormal halves.
Half half_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t size = bits & 0x7FFF'FFFFu, sign = bits >> 16 & 0x8000u;
  const std::uint32_t small = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0.5F) - 0x3F00'0000u;
  const std::uint32_t normal = (size - 0x3800'0000u + 0xFFFu + (size >> 13 & 1u)) >> 13;
  const std::uint32_t nan = 0x7E00u | (size >> 13 & 0x3FFu);
  const std::uint32_t made = size > 0x7F80'0000u    ? nan
                             : size >= 0x4780'0000u ? 0x7C00u
                             : size >= 0x3880'0000u ? normal
                                                    : small;
  return {static_cast<std::uint16_t>(sign | made)};
}

template <class Value, class Element>
Value widened(Element e) {
  if constexpr (std::is_same_v<Element, Half>)
    return value_of(e);
  else
    return static_cast<Value>(e);
}

template <class Element, class Value>
Element narrowed(Value v) {
  if constexpr (std::is_same_v<Element, Half>)
    return half_of(v);
  else
    return static_cast<Element>(v);
}

template <class Element, class Value>
void widen_all(const void* elements, void* values, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    Element e;
    std::memcpy(&e, static_cast<const std::byte*>(elements) + i * sizeof(Element), sizeof(Element));
    static_cast<Value*>(values)[i] = widened<Value, Element>(e);
  }
}

template <class Element, class Value>
void narrow_all(const void* values, void* elements, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const auto e = narrowed<Element, Value>(static_cast<const Value*>(values)[i]);
    std::memcpy(static_cast<std::byte*>(elements) + i * sizeof(Element), &e, sizeof(Element));
  }
}

using Conversion = void (*)(const void* from, void* to, std::size_t n);

// By storage.
constexpr Conversion kWiden[kStorageCount] = {nullptr,
                                              &widen_all<std::uint8_t, std::int32_t>,
                                              &widen_all<std::uint8_t, std::int32_t>,
                                              &widen_all<std::int8_t, std::int32_t>,
                                              &widen_all<std::uint16_t, std::int32_t>,
                                              &widen_all<std::int16_t, std::int32_t>,
                                              &widen_all<std::uint32_t, std::int64_t>,
                                              nullptr,
                                              &widen_all<Half, float>};
constexpr Conversion kNarrow[kStorageCount] = {nullptr,
                                               &narrow_all<std::uint8_t, std::int32_t>,
                                               &narrow_all<std::uint8_t, std::int32_t>,
                                               &narrow_all<std::int8_t, std::int32_t>,
                                               &narrow_all<std::uint16_t, std::int32_t>,
                                               &narrow_all<std::int16_t, std::int32_t>,
                                               &narrow_all<std::uint32_t, std::int64_t>,
                                               nullptr,
                                               &narrow_all<Half, float>};

}  // namespace

std::optional<Storage> storage_named(std::string_view name) {
  if (name.size() < 2) return std::nullopt;
  for (std::uint32_t i = 1; i < kStorageCount; ++i)
    if (kStorageFactss[i].name == name || kStorageFactss[i].alias == name) return static_cast<Storage>(i);
  return std::nullopt;
}

void widen(Storage s, const void* elements, void* values, std::size_t n) {
  CHECK(converts(s));
  kWiden[static_cast<std::size_t>(s)](elements, values, n);
}

void narrow(Storage s, const void* values, void* elements, std::size_t n) {
  CHECK(converts(s));
  kNarrow[static_cast<std::size_t>(s)](values, elements, n);
}

}  // namespace trident::ir
