# Runs at installation: libtrident.a is told the folder that it is installed to, where the engine lies beside it. DESTDIR
# is no part of that folder: it is where a package is put together.
get_filename_component(folder "${libdir}" ABSOLUTE BASE_DIR "${CMAKE_INSTALL_PREFIX}")
if(NOT folder STREQUAL configured)
  set(object "${build}/engine_folder.cpp.o")  # the name of the one in the archive
  execute_process(
    COMMAND "${compiler}" -std=c++20 -O2 -fPIC -fvisibility=hidden "-I${source}" "-DTRIDENT_ENGINE_FOLDER=\"${folder}\""
            -c "${source}/clients/c/engine_folder.cpp" -o "${object}"
    COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND "${ar}" r "$ENV{DESTDIR}${folder}/libtrident.a" "${object}" COMMAND_ERROR_IS_FATAL ANY)
endif()
