// The checks of a function's description that the two ends of an image share (image_checks.h calls them): homes inside
// the frame, counts that fit the description's size, names inside of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/function_image.h"
#include "schemas/loop_checks.h"

namespace trident::image {

/// Where the parts of a function's description begin.
struct FunctionParts {
  std::uint64_t locals, homes, places, names, end;
};

inline FunctionParts parts_of(const trident_function_description& d) {
  FunctionParts parts{.locals = sizeof d, .homes = 0, .places = 0, .names = 0, .end = 0};
  parts.homes = parts.locals + std::uint64_t{4} * d.locals;
  parts.places = parts.homes + std::uint64_t{4} * d.parameters;
  parts.names = parts.places + std::uint64_t{sizeof(trident_function_place)} * d.places;
  parts.end = parts.names + d.name_bytes;
  return parts;
}

inline const char* function_counts_fault(const trident_function_description& d, std::size_t size) {
  if (d.parameters > TRIDENT_FUNCTION_PARAMETERS_MAX) return "number of parameters";
  if (d.locals > TRIDENT_FUNCTION_WINDOWS_MAX) return "number of local arrays";
  if (d.places > TRIDENT_FUNCTION_PLACES_MAX) return "number of places";
  return d.bytes == size && parts_of(d).end == size ? nullptr : "size of the description";
}

/// A home of `bytes` bytes is aligned and lies in the frame behind its head.
inline bool is_home(const trident_function_description& d, std::uint32_t home, std::uint32_t bytes) {
  return home % bytes == 0 && home >= TRIDENT_FUNCTION_FRAME_HEAD_BYTES && home < d.frame_bytes &&
         d.frame_bytes - home >= bytes;
}

inline const char* function_frame_fault(const trident_function_description& d, std::span<const std::byte> description) {
  if (d.frame_bytes % 8 != 0 || d.frame_bytes > TRIDENT_FUNCTION_FRAME_BYTES_MAX) return "size of the frame";
  if (!is_home(d, d.failure_home, 4) || !is_home(d, d.place_home, 4) || !is_home(d, d.result_home, 8))
    return "home of a result";
  for (std::uint32_t p = 0; p < d.parameters; ++p)
    if (!is_home(d, description_item<std::uint32_t>(description, parts_of(d).homes, p), 8))
      return "home of a parameter";
  return nullptr;
}

inline const char* locals_fault(const trident_function_description& d, std::span<const std::byte> description) {
  std::uint64_t bytes = 0;
  for (std::uint32_t l = 0; l < d.locals; ++l)
    bytes += description_item<std::uint32_t>(description, parts_of(d).locals, l);
  return bytes <= TRIDENT_FUNCTION_LOCAL_BYTES_MAX ? nullptr : "size of local arrays";
}

inline const char* places_fault(const trident_function_description& d, std::span<const std::byte> description) {
  for (std::uint32_t p = 0; p < d.places; ++p) {
    const auto place = description_item<trident_function_place>(description, parts_of(d).places, p);
    if (std::uint64_t{place.name_offset} + place.name_bytes > d.name_bytes) return "name of a place";
  }
  return nullptr;
}

/// Says what is wrong with a function's description; null when nothing is.
inline const char* function_description_fault(std::span<const std::byte> description) {
  if (description.size() < sizeof(trident_function_description)) return "size of the description";
  const auto d = description_item<trident_function_description>(description, 0, 0);
  if (const char* fault = function_counts_fault(d, description.size())) return fault;
  if (const char* fault = function_frame_fault(d, description)) return fault;
  if (const char* fault = locals_fault(d, description)) return fault;
  return places_fault(d, description);
}

}  // namespace trident::image
