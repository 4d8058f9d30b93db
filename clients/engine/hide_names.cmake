# Makes all names of an object local except those that are kept. objcopy leaves GNU's unique names visible (static variables of
# inline functions: std::make_shared has one), and a C++ program has some of these itself: they become weak first.
# Usage: cmake -DNM=.. -DOBJCOPY=.. -DOBJECT=.. -P hide_names.cmake -- --keep-global-symbol=NAME..
execute_process(COMMAND ${NM} --defined-only --format=posix ${OBJECT} OUTPUT_VARIABLE table COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n ]+ u " unique "${table}")
string(REPLACE " u " "\n" unique "${unique}")
string(REPLACE ";" "" unique "${unique}")
file(WRITE ${OBJECT}.unique "${unique}")
execute_process(COMMAND ${OBJCOPY} --weaken-symbols=${OBJECT}.unique ${OBJECT} COMMAND_ERROR_IS_FATAL ANY)
set(kept)
foreach(i RANGE ${CMAKE_ARGC})
  if("${CMAKE_ARGV${i}}" MATCHES "^--keep-global-symbol=")
    list(APPEND kept ${CMAKE_ARGV${i}})
  endif()
endforeach()
execute_process(COMMAND ${OBJCOPY} ${kept} ${OBJECT} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${OBJCOPY} --strip-unneeded ${OBJECT} COMMAND_ERROR_IS_FATAL ANY)
