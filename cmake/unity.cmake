# Several sources of a target in one compilation ("unity build"): most of a compiler's time goes into headers, so a cold
# build takes half as long. The price is that an edit compiles its neighbours too, and that two sources of a target must
# not use one name for two things in their unnamed namespaces. TRIDENT_UNITY=OFF compiles every source on its own.

option(TRIDENT_UNITY "Compile several sources of a target at once" ON)

# Sources that are compiled on their own, because they repeat such a name.
set(TRIDENT_ALONE
  clients/cli/bench/bench_text.cpp
  clients/cli/demo/demo_answers_test.cpp
  clients/cli/search/rewrite_html.cpp
  clients/cli/triton/run_program.cpp
  daemon/worker/compile.cpp
  jit/calibrate/calibrate.cpp
  jit/codegen/region_uses.cpp
  jit/codegen/unwind_test.cpp
  jit/codegen/x86_region.cpp
  jit/codegen/x86_region_select.cpp
  jit/equiv/draw.cpp
  jit/equiv/edges_test.cpp
  jit/equiv/proof_test.cpp
  jit/equiv/reference_test.cpp
  jit/equiv/tail_test.cpp
  jit/expr/parse.cpp
  jit/expr/print_plan.cpp
  jit/expr/rewrite/differentiate.cpp
  jit/expr/rewrite/fold_test.cpp
  jit/expr/rewrite/time_model.cpp
  jit/expr/rewrite/time_model_test.cpp
  jit/expr/rewrite/language.cpp
  jit/expr/rewrite/polynomial.cpp
  jit/expr/sexpr.cpp
  jit/expr/sexpr_cells.cpp
  jit/kir/kir_test.cpp
  jit/kir/lane_test.cpp
  jit/kir/math/inverse_trig.cpp
  jit/learn/judge_trainer.cpp
  jit/learn/network_test.cpp
  jit/learn/programs.cpp
  jit/learn/submitted.cpp
  jit/learn/variants.cpp
  jit/learn/walks.cpp
  jit/nnue/follower_test.cpp
  jit/pipeline/key_test.cpp
  jit/pipeline/pipeline_test.cpp
  jit/pipeline/search_weights_test.cpp
  jit/rulecheck/points.cpp
  jit/rulecheck/rational.cpp
  jit/rulecheck/roots.cpp
  jit/rulecheck/rulecheck_test.cpp
  jit/tir/equiv/programs_test.cpp
  jit/tir/equiv/screen_test.cpp
  jit/tir/lowering/random_program.cpp
  jit/tir/neural/encoding_test.cpp
  jit/tir/neural/evolution.cpp
  jit/tir/neural/left_blocks_test.cpp
  jit/tir/neural/vocabulary.cpp
  jit/tir/superopt/superopt_test.cpp
  jit/training/train_judge.cpp
  tests/chaos/code_mutation_test.cpp
  tests/daemon/fault_test.cpp
  tests/daemon/persistence_test.cpp
  tests/daemon/rules_test.cpp
  tests/differential/expr_extremes_test.cpp
  tests/differential/expr_reference_test.cpp
  tests/differential/expr_rounding_test.cpp
  tests/differential/expr_special_points_test.cpp
  tests/rules/tags_test.cpp
)

# trident_unity(TARGET): lets the target's sources share compilations. CMake leaves out those with options of their own.
function(trident_unity target)
  if(NOT TRIDENT_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE name)
    if(name IN_LIST TRIDENT_ALONE)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endfunction()
