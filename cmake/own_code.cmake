# Warnings belong to the code of this repository, never to the programs that use it: so a function, not a global flag.
function(rubato_own_code target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang") # which lock guards which field: detail/base/thread_safety.hpp
    target_compile_options(${target} PRIVATE -Wthread-safety)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU") # it collects its garbage less often: a tenth of its time
    target_compile_options(${target} PRIVATE --param=ggc-min-expand=1000 --param=ggc-min-heapsize=1000000)
  endif()
  set_target_properties(
    ${target} PROPERTIES CXX_EXTENSIONS OFF COMPILE_WARNING_AS_ERROR ${RUBATO_WERROR})
endfunction()
