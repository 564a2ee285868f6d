# The library as a part of programs' plug-ins, and as one of its own: docs/plugins.md.
if(NOT DEFINED CMAKE_POSITION_INDEPENDENT_CODE)
  set_target_properties(rubato PROPERTIES POSITION_INDEPENDENT_CODE ON)
endif()
# Before 1.0.0 a minor version may break what programs were compiled against.
set_target_properties(
  rubato PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
# A project around that hides its symbols does not hide ours.
set_target_properties(rubato PROPERTIES CXX_VISIBILITY_PRESET default VISIBILITY_INLINES_HIDDEN OFF)
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
