# The install tree: what find_package(Berth) and pkg-config give a host (docs/embedding.md).
#   lib/           libberth.so, libberth_planner.so, and the static libraries of the C++ API
#   include/berth/ the C headers and the C++ API; include/berth/internal/ what the latter includes
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(internal_headers ${CMAKE_INSTALL_INCLUDEDIR}/berth/internal)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Berth)

# The C API: no package of anyone is needed to link it.
set_target_properties(berth_shared PROPERTIES EXPORT_NAME berth)
set_target_properties(berth_planner_shared PROPERTIES EXPORT_NAME berth_planner)
install(TARGETS berth_shared berth_planner_shared EXPORT BerthTargets
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT BerthTargets NAMESPACE Berth:: DESTINATION ${package_folder})

# The C++ API, component `cpp`.
set(cpp_parts base npu_sim kernels reference bundle runtime pool planner)
foreach(part ${cpp_parts})
  set_target_properties(berth_${part} PROPERTIES EXPORT_NAME ${part})
  install(TARGETS berth_${part} EXPORT BerthCppTargets
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} ${internal_headers})
endforeach()
install(TARGETS berth_options EXPORT BerthCppTargets)
install(EXPORT BerthCppTargets NAMESPACE Berth:: DESTINATION ${package_folder})

install(DIRECTORY runtime/include/berth planner/include/berth
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(DIRECTORY base npu_sim kernels runtime planner DESTINATION ${internal_headers}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.inc" PATTERN include EXCLUDE PATTERN c_api EXCLUDE)

configure_package_config_file(cmake/BerthConfig.cmake.in ${PROJECT_BINARY_DIR}/BerthConfig.cmake
  INSTALL_DESTINATION ${package_folder})
# Before 1.0 a minor version may change the C++ API; the C ABI is libberth.so's own affair.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/BerthConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/BerthConfig.cmake ${PROJECT_BINARY_DIR}/BerthConfigVersion.cmake
  DESTINATION ${package_folder})

file(RELATIVE_PATH path_to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
foreach(library berth berth_planner)
  configure_file(cmake/${library}.pc.in ${PROJECT_BINARY_DIR}/${library}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${library}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
install(TARGETS berth_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
