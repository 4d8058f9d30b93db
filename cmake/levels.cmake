# trident_levels(FILE LEVELS avx2 ... OPTIONS ... LEVEL_LIBS ...): on x86-64 compiles FILE, a source of its folder's
# module, once more per level into the module's library, with TRIDENT_LEVEL_<LEVEL> defined; runtime/os/level_variants.h
# chooses among the variants. OPTIONS apply to all of them, the portable one too; LEVEL_LIBS to the others only.
set(TRIDENT_FLAGS_avx2 -mavx2 -mfma)
set(TRIDENT_FLAGS_avx512 ${TRIDENT_FLAGS_avx2} -mavx512f -mavx512dq -mavx512bw -mavx512vl -mavx512cd
    -mprefer-vector-width=512)
set(TRIDENT_FLAGS_avx512vnni ${TRIDENT_FLAGS_avx512} -mavx512vnni)
# g++ 12 warns of its own <avx512fintrin.h>, whose undefined values are meant.
set(TRIDENT_LEVEL_WARNINGS -Wno-uninitialized -Wno-maybe-uninitialized)

function(trident_levels file)
  cmake_parse_arguments(ARG "" "" "LEVELS;OPTIONS;LEVEL_LIBS" ${ARGN})
  set(source ${CMAKE_SOURCE_DIR}/${file})
  get_filename_component(module ${file} DIRECTORY)
  string(REPLACE "/" "_" module trident_${module})
  set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${ARG_OPTIONS}")
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    return()
  endif()
  foreach(level ${ARG_LEVELS})
    string(TOUPPER ${level} macro)
    set(variant ${module}_${level})
    add_library(${variant} OBJECT ${source})
    target_link_libraries(${variant} PRIVATE trident_flags ${ARG_LEVEL_LIBS})
    target_compile_options(${variant} PRIVATE
      -DTRIDENT_LEVEL_${macro} ${TRIDENT_FLAGS_${level}} ${TRIDENT_LEVEL_WARNINGS})
    target_sources(${module} PRIVATE $<TARGET_OBJECTS:${variant}>)
  endforeach()
endfunction()
