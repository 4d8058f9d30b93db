#include "jit/function/describe.h"

#include <cstring>

#include "runtime/base/check.h"
#include "runtime/base/limits.h"
#include "schemas/function_checks.h"

namespace trident::function {
namespace {

static_assert(TRIDENT_FUNCTION_FRAME_HEAD_BYTES == region::kFrameHeadBytes);
static_assert(TRIDENT_FUNCTION_FRAME_BYTES_MAX == limits::kRegionFrameBytesMax);
static_assert(TRIDENT_FUNCTION_WINDOWS_MAX == limits::kRegionWindowsMax);
static_assert(TRIDENT_FUNCTION_PARAMETERS_MAX == limits::kRegionVariablesMax);

template <class T>
void append(std::vector<std::byte>& bytes, std::span<const T> items) {
  const auto more = std::as_bytes(items);
  bytes.insert(bytes.end(), more.begin(), more.end());
}

std::string_view name_of(const trident_function_place& place, std::span<const std::byte> names) {
  return {reinterpret_cast<const char*>(names.data()) + place.name_offset, place.name_bytes};
}

/// Places of one function follow each other as a rule, and share its name.
std::vector<trident_function_place> places_of(const Layout& layout, std::string& names) {
  std::vector<trident_function_place> places;
  for (const Place& place : layout.places) {
    const bool is_named = !places.empty() && name_of(places.back(), std::as_bytes(std::span(names))) == place.function;
    const auto offset = is_named ? places.back().name_offset : static_cast<std::uint32_t>(names.size());
    if (!is_named) names += place.function;
    places.push_back({place.line, offset, static_cast<std::uint32_t>(place.function.size())});
  }
  return places;
}

template <class T>
std::vector<T> items(std::span<const std::byte> description, std::uint64_t offset, std::uint32_t count) {
  std::vector<T> list;
  for (std::uint32_t i = 0; i < count; ++i) list.push_back(image::description_item<T>(description, offset, i));
  return list;
}

}  // namespace

std::vector<std::byte> description_of(const Layout& layout) {
  std::string names;
  const auto places = places_of(layout, names);
  const std::vector<std::uint32_t> locals(layout.local_bytes.begin(), layout.local_bytes.end());
  trident_function_description d{.bytes = 0,
                                 .frame_bytes = layout.frame_bytes,
                                 .failure_home = layout.failure_slot,
                                 .place_home = layout.place_slot,
                                 .result_home = layout.result_slot,
                                 .parameters = static_cast<std::uint32_t>(layout.slots.size()),
                                 .locals = static_cast<std::uint32_t>(locals.size()),
                                 .places = static_cast<std::uint32_t>(places.size()),
                                 .name_bytes = static_cast<std::uint32_t>(names.size())};
  d.bytes = static_cast<std::uint32_t>(image::parts_of(d).end);
  std::vector<std::byte> bytes;
  append(bytes, std::span<const trident_function_description>(&d, 1));
  append(bytes, std::span<const std::uint32_t>(locals));
  append(bytes, std::span<const std::uint32_t>(layout.slots));
  append(bytes, std::span<const trident_function_place>(places));
  append(bytes, std::span<const char>(names));
  return bytes;
}

Result<Layout> layout_of(std::span<const std::byte> description) {
  if (const char* const fault = image::function_description_fault(description))
    return make_error(ErrorCode::kRejectedImage, "description of a function refused: %s", fault);
  const auto d = image::description_item<trident_function_description>(description, 0, 0);
  const image::FunctionParts parts = image::parts_of(d);
  const auto locals = items<std::uint32_t>(description, parts.locals, d.locals);
  Layout layout{.failure_slot = d.failure_home,
                .place_slot = d.place_home,
                .result_slot = d.result_home,
                .slots = items<std::uint32_t>(description, parts.homes, d.parameters),
                .local_bytes = {locals.begin(), locals.end()},
                .frame_bytes = d.frame_bytes,
                .places = {}};
  for (const auto& place : items<trident_function_place>(description, parts.places, d.places))
    layout.places.push_back({std::string(name_of(place, description.subspan(parts.names))), place.line});
  return layout;
}

}  // namespace trident::function
