include(CMakePackageConfigHelpers)

set(rubato_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rubato)
set(rubato_pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(
  TARGETS rubato
  EXPORT rubatoTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# The pages lie to each other as in the sources, so that their links lead on. The headers name them docs/...
set(rubato_doc_dir ${CMAKE_INSTALL_DATAROOTDIR}/doc/rubato)
foreach(page LICENSE README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md)
  install(FILES ${PROJECT_SOURCE_DIR}/${page} DESTINATION ${rubato_doc_dir})
endforeach()
install(
  DIRECTORY ${PROJECT_SOURCE_DIR}/docs
  DESTINATION ${rubato_doc_dir}
  FILES_MATCHING
  PATTERN *.md
  PATTERN *.svg)
set(rubato_script_dir ${CMAKE_INSTALL_DATAROOTDIR}/rubato)
install(FILES ${PROJECT_SOURCE_DIR}/scripts/gdb/rubato_gdb.py DESTINATION ${rubato_script_dir}/gdb)
install(PROGRAMS ${PROJECT_SOURCE_DIR}/scripts/check-coroutines DESTINATION ${rubato_script_dir})
install(
  EXPORT rubatoTargets
  NAMESPACE rubato::
  DESTINATION ${rubato_package_dir})

get_property(rubato_components GLOBAL PROPERTY RUBATO_COMPONENTS)
list(JOIN rubato_components "|" rubato_components_regex)
list(JOIN rubato_components ", " rubato_components_text)
configure_package_config_file(
  cmake/rubatoConfig.cmake.in ${PROJECT_BINARY_DIR}/rubatoConfig.cmake
  INSTALL_DESTINATION ${rubato_package_dir}
  PATH_VARS rubato_script_dir
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
set(rubato_compatibility SameMajorVersion)
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(rubato_compatibility SameMinorVersion)
endif()
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/rubatoConfigVersion.cmake
  COMPATIBILITY ${rubato_compatibility})
install(
  FILES ${PROJECT_BINARY_DIR}/rubatoConfig.cmake ${PROJECT_BINARY_DIR}/rubatoConfigVersion.cmake
        ${PROJECT_SOURCE_DIR}/cmake/check_coroutines.cmake
  DESTINATION ${rubato_package_dir})

# For builds without CMake. The prefix is known when it is installed; pkg-config's --define-prefix follows a tree that was
# moved.
function(rubato_pkgconfig_file)
  set(prefix "@prefix@")
  foreach(dir LIBDIR INCLUDEDIR)
    set(${dir} ${CMAKE_INSTALL_${dir}})
    if(NOT IS_ABSOLUTE ${${dir}})
      set(${dir} "\${prefix}/${${dir}}")
    endif()
  endforeach()
  # What the library itself needs: with a shared one only programs that are linked statically name it.
  set(libs "-pthread ${rubato_sanitizer_flag}")
  get_target_property(type rubato TYPE)
  set(libs_private "")
  if(type STREQUAL SHARED_LIBRARY)
    set(libs_private -pthread)
    set(libs "${rubato_sanitizer_flag}")
  endif()
  configure_file(cmake/rubato.pc.in ${PROJECT_BINARY_DIR}/rubato.pc.in @ONLY)
  install(
    CODE "set(prefix \"\${CMAKE_INSTALL_PREFIX}\")
          configure_file(\"${PROJECT_BINARY_DIR}/rubato.pc.in\" \"${PROJECT_BINARY_DIR}/rubato.pc\" @ONLY)")
  install(FILES ${PROJECT_BINARY_DIR}/rubato.pc DESTINATION ${rubato_pkgconfig_dir})
endfunction()
rubato_pkgconfig_file()
