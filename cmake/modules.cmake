# One static library per module, one test executable per module: the layers are those of tests/tidy/layers.txt.

add_library(trident_flags INTERFACE)
target_compile_options(trident_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wconversion -Wno-sign-conversion -Werror=switch-enum -Werror=return-type -fno-math-errno -ffp-contract=off>)
# g++ 12 at -O2 and above drops the rounding of `c ? double(float(x)) : x` when it vectorises two such statements side by
# side (struct {lo, hi} of doubles; gone with this flag, gone at -O1): a silent wrong result.
target_compile_options(trident_flags INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-tree-slp-vectorize>)
target_include_directories(trident_flags INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)

set(TRIDENT_SANITIZE "" CACHE STRING "address, undefined, thread, or a comma-separated list")
if(TRIDENT_SANITIZE)
  target_compile_options(trident_flags INTERFACE -fsanitize=${TRIDENT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined
    -fno-sanitize=vptr)  # it needs a pipe at each look, and cries wolf in tests that take all descriptors
  target_link_options(trident_flags INTERFACE -fsanitize=${TRIDENT_SANITIZE})
endif()

# Coverage of everything that a fuzz target runs, for libFuzzer to steer by (tests/fuzz).
if(TRIDENT_FUZZ)
  target_compile_options(trident_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# trident_layer(jit/kir deps): sets `deps` to the modules that jit/kir includes, its row of tests/tidy/layers.txt.
file(STRINGS ${CMAKE_SOURCE_DIR}/tests/tidy/layers.txt TRIDENT_LAYERS REGEX "^[a-z]")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/tidy/layers.txt)
function(trident_layer module out)
  foreach(row ${TRIDENT_LAYERS})
    if(row MATCHES "^${module}:(.*)$")
      separate_arguments(deps UNIX_COMMAND "${CMAKE_MATCH_1}")
      set(${out} ${deps} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "tests/tidy/layers.txt has no row for ${module}")
endfunction()

# Modules where no time is spent: what reads a command line, a file or a setting once, or prints. They are compiled
# faster, not their code.
set(TRIDENT_COLD "^(clients/(cli.*|emu)|daemon/(admin|config|front|learning)|jit/(corpus|calibrate|rulecheck|training|tir/oracle)|runtime/(json|command_line|report|log))$")

# trident_module(jit/kir LIBS ... TEST_DEPS module... TEST_LIBS ...): the *.cpp of the folder (tests and main.cpp excluded) as
# library trident_jit_kir, linked to the modules of its layer; its *_test.cpp as one GoogleTest executable jit_kir_test.
function(trident_module path)
  cmake_parse_arguments(ARG "" "" "LIBS;TEST_DEPS;TEST_LIBS" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "trident_module(${path} ${ARG_UNPARSED_ARGUMENTS}): dependencies stand in tests/tidy/layers.txt")
  endif()
  trident_layer(${path} deps)
  string(REPLACE "/" "_" name ${path})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${path}/*.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$|/main\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  if(sources)
    add_library(trident_${name} STATIC ${sources})
    trident_unity(trident_${name})
    if(path MATCHES "${TRIDENT_COLD}")
      target_compile_options(trident_${name} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O1>)
    endif()
    set(scope PUBLIC)
  else()
    add_library(trident_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_link_libraries(trident_${name} ${scope} trident_flags)
  foreach(dep ${deps})
    string(REPLACE "/" "_" dep_name ${dep})
    target_link_libraries(trident_${name} ${scope} trident_${dep_name})
  endforeach()
  target_link_libraries(trident_${name} ${scope} ${ARG_LIBS})
  if(tests)
    trident_test(${name}_test SOURCES ${tests} DEPS ${path} ${ARG_TEST_DEPS} LIBS ${ARG_TEST_LIBS})
  endif()
endfunction()

# trident_test(name SOURCES ... DEPS module... LIBS ... LABELS ... PARTS n): one GoogleTest executable, whose cases run in n
# processes side by side where PARTS is given: for those that mostly wait.
function(trident_test name)
  cmake_parse_arguments(ARG "" "PARTS" "SOURCES;DEPS;LIBS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  trident_unity(${name})
  # The code under test is optimised; that of a test runs once, and compiling it takes longer than running it.
  target_compile_options(${name} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O1>)
  foreach(dep ${ARG_DEPS})
    string(REPLACE "/" "_" dep_name ${dep})
    target_link_libraries(${name} PRIVATE trident_${dep_name})
  endforeach()
  target_link_libraries(${name} PRIVATE trident_flags ${ARG_LIBS} GTest::gtest GTest::gtest_main)
  if(ARG_PARTS AND NOT CMAKE_CROSSCOMPILING)
    set(command ${CMAKE_SOURCE_DIR}/tests/support/side_by_side.py ${ARG_PARTS} $<TARGET_FILE:${name}>)
  else()
    set(command ${name})
  endif()
  add_test(NAME ${name} COMMAND ${command} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 600)
endfunction()
