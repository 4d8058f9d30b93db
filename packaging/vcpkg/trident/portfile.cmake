# An overlay port that builds the tree it lies in: vcpkg install trident --overlay-ports=packaging/vcpkg
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
message("trident takes libseccomp from the system: apt-get install libseccomp-dev")
vcpkg_check_linkage(ONLY_DYNAMIC_LIBRARY)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}")
vcpkg_cmake_build(TARGET trident)
vcpkg_cmake_build(TARGET trident_static)
vcpkg_cmake_build(TARGET trident-engine)
vcpkg_cmake_build(TARGET trident_embedded)
foreach(part c cpp engine)
  vcpkg_execute_required_process(
    COMMAND "${CMAKE_COMMAND}" "-DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}"
            -P "${CURRENT_BUILDTREES_DIR}/${TARGET_TRIPLET}-rel/clients/${part}/cmake_install.cmake"
    WORKING_DIRECTORY "${CURRENT_BUILDTREES_DIR}" LOGNAME "install-${part}-${TARGET_TRIPLET}")
endforeach()
vcpkg_cmake_config_fixup(PACKAGE_NAME trident CONFIG_PATH lib/cmake/trident)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
