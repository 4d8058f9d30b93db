# embed_texts(FILES HEADER NAMESPACE STRUCT ARRAY): files of the pattern FILES, below the source folder, as the string
# literals of generated/HEADER: an array of STRUCT{file, text} in trident::NAMESPACE, by name.
function(embed_texts files header namespace struct array)
  file(GLOB paths CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${files})
  set(rows "")
  foreach(path ${paths})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
    file(READ ${path} text)
    get_filename_component(name ${path} NAME)
    string(APPEND rows "    {\"${name}\", R\"embed(${text})embed\"},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/${header} @ONLY CONTENT
"// Generated from @files@.
#pragma once

#include <string_view>

namespace trident::@namespace@ {
struct @struct@ {
  std::string_view file, text;
};
inline constexpr @struct@ @array@[] = {
@rows@};
}  // namespace trident::@namespace@
")
endfunction()
