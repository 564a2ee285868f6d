include(CMakePackageConfigHelpers)

set(rubato_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rubato)

install(
  TARGETS rubato
  EXPORT rubatoTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/rubato)
install(
  EXPORT rubatoTargets
  NAMESPACE rubato::
  DESTINATION ${rubato_package_dir})

configure_package_config_file(
  cmake/rubatoConfig.cmake.in ${PROJECT_BINARY_DIR}/rubatoConfig.cmake
  INSTALL_DESTINATION ${rubato_package_dir}
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/rubatoConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(
  FILES ${PROJECT_BINARY_DIR}/rubatoConfig.cmake ${PROJECT_BINARY_DIR}/rubatoConfigVersion.cmake
  DESTINATION ${rubato_package_dir})
