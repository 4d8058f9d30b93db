# The tables of jit/cost/default as string literals: generated/jit/cost/shipped_texts.h.
file(GLOB cost_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/jit/cost/default/*.costs)
set(rows "")
foreach(file ${cost_files})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  get_filename_component(name ${file} NAME)
  string(APPEND rows "    {\"${name}\", R\"costs(${text})costs\"},\n")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/jit/cost/shipped_texts.h @ONLY CONTENT
"// Generated from jit/cost/default.
#pragma once

#include <string_view>

namespace trident::cost {
struct ShippedText {
  std::string_view file, text;
};
inline constexpr ShippedText kShippedTexts[] = {
@rows@};
}  // namespace trident::cost
")
