# The rule files of jit/expr/rules as string literals: generated/jit/expr/rewrite/builtin_rule_texts.h.
file(GLOB rule_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/jit/expr/rules/*.rules)
set(rows "")
foreach(file ${rule_files})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  get_filename_component(name ${file} NAME)
  string(APPEND rows "    {\"${name}\", R\"rules(${text})rules\"},\n")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/jit/expr/rewrite/builtin_rule_texts.h @ONLY CONTENT
"// Generated from jit/expr/rules.
#pragma once

#include <string_view>

namespace trident::expr::rewrite {
struct BuiltinRuleText {
  std::string_view file, text;
};
inline constexpr BuiltinRuleText kBuiltinRuleTexts[] = {
@rows@};
}  // namespace trident::expr::rewrite
")
