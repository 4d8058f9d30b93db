# Runs at installation: the services with the program that was installed with them (`cmake --install --prefix`). DESTDIR is
# no part of its name: it is where a package is put together.
get_filename_component(folder "${bindir}" ABSOLUTE BASE_DIR "${CMAKE_INSTALL_PREFIX}")
set(TRIDENTD "${folder}/tridentd")
configure_file("${source}/tridentd.service.in" "${build}/system/tridentd.service" @ONLY)
configure_file("${source}/tridentd-user.service.in" "${build}/user/tridentd.service" @ONLY)
foreach(kind system user)
  file(INSTALL DESTINATION "${CMAKE_INSTALL_PREFIX}/lib/systemd/${kind}" TYPE FILE FILES "${build}/${kind}/tridentd.service")
endforeach()
