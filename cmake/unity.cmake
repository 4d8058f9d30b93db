# Several sources of a target in one compilation ("unity build"): most of a compiler's time goes into headers, so a cold
# build takes half as long. The price is that an edit compiles its neighbours too, and that two sources of a target must
# not use one name for two things in their unnamed namespaces. TRIDENT_UNITY=OFF compiles every source on its own.

option(TRIDENT_UNITY "Compile several sources of a target at once" ON)

# Sources that are compiled on their own, because they repeat such a name.
set(TRIDENT_ALONE
  jit/codegen/half_products_test.cpp
  jit/codegen/region_registers.cpp
  jit/codegen/region_uses.cpp
  jit/codegen/unwind_test.cpp
  jit/codegen/x86_region.cpp
  jit/codegen/x86_region_integers.cpp
  jit/codegen/x86_region_memory.cpp
  jit/codegen/x86_region_select.cpp
  jit/equiv/draw.cpp
  jit/equiv/edges_test.cpp
  jit/equiv/proof_test.cpp
  jit/equiv/reference_test.cpp
  jit/equiv/tail_test.cpp
  jit/expr/lower.cpp
  jit/learn/programs.cpp
  jit/pipeline/pipeline_test.cpp
  jit/rulecheck/edges.cpp
  jit/tir/lowering/random_program.cpp
  jit/tir/neural/vocabulary.cpp
)

# trident_unity(TARGET): lets the target's sources share compilations. CMake leaves out those with options of their own.
function(trident_unity target)
  if(NOT TRIDENT_UNITY)
    return()
  endif()
  set(batch 16)
  if(target STREQUAL trident_jit_codegen)
    set(batch 9)  # the first ends with AArch64: asmjit gives one name to things of both hosts
  elseif(target MATCHES "^trident_clients_cli")
    set(batch 3)  # an edit of a verb shall be built in seconds
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${batch})
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE name)
    if(name IN_LIST TRIDENT_ALONE)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endfunction()
