# `cmake --install`: the command, the guest program, and the library as a CMake package (find_package(
# Cubby), target cubby::cubby).
include(CMakePackageConfigHelpers)

add_library(cubby_all INTERFACE)
target_link_libraries(cubby_all INTERFACE cubby_pool cubby_config)
set_property(TARGET cubby_all PROPERTY EXPORT_NAME cubby)

get_property(targets GLOBAL PROPERTY CUBBY_INSTALL_TARGETS)
list(REMOVE_ITEM targets cubby_cli cubby_agent)
install(TARGETS ${targets} cubby_all EXPORT CubbyTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT CubbyTargets NAMESPACE cubby:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Cubby)
install(DIRECTORY include/cubby DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(PROGRAMS $<TARGET_FILE:cubby-agent> DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/cubby)

configure_package_config_file(cmake/CubbyConfig.cmake.in ${CMAKE_BINARY_DIR}/CubbyConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Cubby)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/CubbyConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/CubbyConfig.cmake ${CMAKE_BINARY_DIR}/CubbyConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Cubby)
