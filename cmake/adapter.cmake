# An adapter is headers that join Rubato to another library: target rubato::<name>. Installed with the library, linked by no
# target of it.
function(rubato_adapter name)
  add_library(rubato_${name} INTERFACE)
  add_library(rubato::${name} ALIAS rubato_${name})
  # No check that its headers compile alone: the other library may be missing. Its tests include them.
  set_target_properties(rubato_${name} PROPERTIES EXPORT_NAME ${name} VERIFY_INTERFACE_HEADER_SETS OFF)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS include/*.hpp)
  target_sources(rubato_${name} INTERFACE FILE_SET HEADERS BASE_DIRS include FILES ${headers})
  target_link_libraries(rubato_${name} INTERFACE rubato)
  # find_package(rubato COMPONENTS <name>)
  set_property(GLOBAL APPEND PROPERTY RUBATO_COMPONENTS ${name})
  if(RUBATO_INSTALL)
    install(TARGETS rubato_${name} EXPORT rubatoTargets FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  endif()
endfunction()
