# The library as a part of programs' plug-ins, and as one of its own: docs/plugins.md.
if(NOT DEFINED CMAKE_POSITION_INDEPENDENT_CODE)
  set_target_properties(rubato PROPERTIES POSITION_INDEPENDENT_CODE ON)
endif()
# Before 1.0.0 a minor version may break what programs were compiled against: docs/compatibility.md.
set(rubato_soversion ${PROJECT_VERSION_MAJOR})
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(rubato_soversion 0.${PROJECT_VERSION_MINOR})
endif()
set_target_properties(rubato PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${rubato_soversion})
# Exported is what a program needs, which has RUBATO_API: detail/base/api.hpp.
set_target_properties(rubato PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
set(rubato_exports ${PROJECT_SOURCE_DIR}/cmake/exports.map)
get_target_property(rubato_kind rubato TYPE)
if(rubato_kind STREQUAL SHARED_LIBRARY)
  target_link_options(rubato PRIVATE LINKER:--version-script=${rubato_exports})
  set_target_properties(rubato PROPERTIES LINK_DEPENDS ${rubato_exports})
  # All of it, for what looks inside: tests, and rubato-trace.
  add_library(rubato_inside STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:rubato>)
  set_target_properties(rubato_inside PROPERTIES LINKER_LANGUAGE CXX)
  target_compile_features(rubato_inside INTERFACE cxx_std_20)
  target_include_directories(rubato_inside INTERFACE $<TARGET_PROPERTY:rubato,INTERFACE_INCLUDE_DIRECTORIES>)
  target_compile_definitions(rubato_inside INTERFACE $<TARGET_PROPERTY:rubato,INTERFACE_COMPILE_DEFINITIONS>)
  target_compile_options(rubato_inside INTERFACE $<TARGET_PROPERTY:rubato,INTERFACE_COMPILE_OPTIONS>)
  target_link_options(rubato_inside INTERFACE ${rubato_sanitizer_flag})
  target_link_libraries(rubato_inside INTERFACE Threads::Threads)
else()
  add_library(rubato_inside ALIAS rubato)
endif()
# No program replaces single functions of ours; g++ would keep every call of them replaceable, and inline none. Nor do
# two plug-ins that are linked with the static library share any of it.
include(CheckCXXCompilerFlag)
foreach(flag -fno-semantic-interposition -fno-gnu-unique)
  string(MAKE_C_IDENTIFIER RUBATO_HAS${flag} has)
  check_cxx_compiler_flag(${flag} ${has})
  if(${has})
    target_compile_options(rubato PRIVATE ${flag})
  endif()
endforeach()

# Threads of the library outlive a dlclose() of what it is linked into, and the code that they run must not go.
set(rubato_type $<TARGET_PROPERTY:TYPE>)
set(rubato_is_loadable $<OR:$<STREQUAL:${rubato_type},SHARED_LIBRARY>,$<STREQUAL:${rubato_type},MODULE_LIBRARY>>)
target_link_options(rubato PUBLIC $<${rubato_is_loadable}:LINKER:-z,nodelete>)
