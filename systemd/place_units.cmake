# Runs at installation: the units with the programs that were installed with them (`cmake --install --prefix`). DESTDIR is
# no part of their names: it is where a package is put together.
get_filename_component(folder "${bindir}" ABSOLUTE BASE_DIR "${CMAKE_INSTALL_PREFIX}")
set(TRIDENTD "${folder}/tridentd")
set(TRIDENT "${folder}/trident")
foreach(unit tridentd trident-train trident-calibrate)
  configure_file("${source}/${unit}.service.in" "${build}/system/${unit}.service" @ONLY)
  configure_file("${source}/${unit}-user.service.in" "${build}/user/${unit}.service" @ONLY)
endforeach()
foreach(kind system user)
  configure_file("${source}/trident-calibrate.path.in" "${build}/${kind}/trident-calibrate.path" @ONLY)
  file(GLOB placed "${build}/${kind}/*")
  file(INSTALL DESTINATION "${CMAKE_INSTALL_PREFIX}/lib/systemd/${kind}" TYPE FILE FILES ${placed})
endforeach()
