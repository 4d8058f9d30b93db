# libtrident-embedded.a: client, engine and all that they need in one object, for programs that want no daemon and nothing
# to install beside them. Only the names of the C interface are visible in it, so that a program may have other versions
# of the same libraries. It is linked as C++ is: -ltrident-embedded -lstdc++ -lm.
set(embedded ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/libtrident-embedded.a)

# trident_closure(target out): the static libraries of this project that the target is linked with, its own last.
function(trident_closure target out)
  set(found)
  set(waiting ${target})
  while(waiting)
    list(POP_FRONT waiting name)
    if(NOT TARGET ${name} OR name IN_LIST found)
      continue()
    endif()
    get_target_property(type ${name} TYPE)
    get_target_property(imported ${name} IMPORTED)
    get_target_property(linked ${name} INTERFACE_LINK_LIBRARIES)
    if(imported OR NOT linked)
      set(linked)
    endif()
    if(type STREQUAL "STATIC_LIBRARY" AND NOT imported)
      list(APPEND found ${name})
    endif()
    foreach(next ${linked})
      string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" next "${next}")
      list(APPEND waiting ${next})
    endforeach()
  endwhile()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

add_library(trident_engine_objects OBJECT engine.cpp prepare.cpp build_program.cpp compile_loop.cpp compile_function.cpp
  asmjit_stderr.cpp statics.cpp embedded_fmt.cpp)
target_link_libraries(trident_engine_objects PRIVATE trident_jit_pipeline trident_jit_tir_build)
set(modules trident_clients_c)
foreach(root trident_clients_c trident_jit_pipeline trident_jit_tir_build)
  trident_closure(${root} closure)
  list(APPEND modules ${closure})
endforeach()
list(REMOVE_DUPLICATES modules)
set(archives)
foreach(module ${modules})
  list(APPEND archives $<TARGET_FILE:${module}>)
endforeach()
foreach(library asmjit mpfr gmp capstone sqlite3 crypto)
  find_library(static_${library} lib${library}.a REQUIRED)
  list(APPEND archives ${static_${library}})
endforeach()

# The interface: what the shared library shows. Its parts that nothing of the interface needs are left out.
set(names)
foreach(map ${CMAKE_SOURCE_DIR}/clients/c/trident.map ${CMAKE_CURRENT_SOURCE_DIR}/engine.map)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${map})
  file(STRINGS ${map} lines REGEX "^ *trident_[a-z_]+;")
  foreach(line ${lines})
    string(REGEX MATCH "trident_[a-z_]+" name "${line}")
    list(APPEND names ${name})
  endforeach()
endforeach()
list(TRANSFORM names PREPEND "--undefined=" OUTPUT_VARIABLE roots)
list(FILTER names EXCLUDE REGEX "^trident_engine_")
list(TRANSFORM names PREPEND "--keep-global-symbol=" OUTPUT_VARIABLE kept)
set(object ${CMAKE_CURRENT_BINARY_DIR}/trident-embedded.o)
add_custom_command(OUTPUT ${embedded}
  COMMAND ${CMAKE_LINKER} -r -d --gc-sections --force-group-allocation --wrap=stderr ${roots} -o ${object}
    $<TARGET_OBJECTS:trident_engine_objects> --start-group ${archives} --end-group
  COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM} -DOBJCOPY=${CMAKE_OBJCOPY} -DOBJECT=${object}
    -P ${CMAKE_CURRENT_SOURCE_DIR}/hide_names.cmake -- ${kept}
  COMMAND ${CMAKE_COMMAND} -E rm -f ${embedded}
  COMMAND ${CMAKE_AR} rcs ${embedded} ${object}
  DEPENDS ${modules} trident_engine_objects hide_names.cmake VERBATIM COMMAND_EXPAND_LISTS)
add_custom_target(trident_embedded ALL DEPENDS ${embedded})
install(FILES ${embedded} DESTINATION ${CMAKE_INSTALL_LIBDIR})
configure_file(trident-embedded.pc.in ${CMAKE_CURRENT_BINARY_DIR}/trident-embedded.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/trident-embedded.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# No name but those of the interface is visible.
add_test(NAME engine_embedded_names COMMAND sh -c "! ${CMAKE_NM} --defined-only --extern-only --format=posix ${embedded} | grep -v '^trident_\\|:$'")
