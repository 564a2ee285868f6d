# The algorithms of several libraries: bench-<contender>-algorithms. What they inline is compiled as well as it can be for all
# of a machine's kind: -O3, which vectorises loops.
#
# RUBATO_BENCH_IPS4O: a checkout of github.com/ips4o/ips4o. scripts/bench reads it from the environment.
function(rubato_algorithms name source)
  rubato_contender(${name}-algorithms algorithms/${source} ${ARGN})
  target_compile_options(bench-${name}-algorithms PRIVATE -O3)
endfunction()

rubato_algorithms(serial serial)
rubato_algorithms(serial-tuned serial_tuned)
rubato_algorithms(limit limit)
rubato_algorithms(rubato rubato rubato::rubato)
if(OpenMP_CXX_FOUND)
  rubato_algorithms(openmp openmp OpenMP::OpenMP_CXX)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    rubato_algorithms(gnu-parallel gnu_parallel OpenMP::OpenMP_CXX)
  endif()
endif()
if(rubato_bench_tbb)
  rubato_algorithms(onetbb onetbb ${rubato_bench_tbb})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    rubato_algorithms(std-par std_par ${rubato_bench_tbb})
  endif()
  set(RUBATO_BENCH_IPS4O "" CACHE PATH "A checkout of IPS4o")
  if(RUBATO_BENCH_IPS4O)
    rubato_algorithms(ips4o ips4o ${rubato_bench_tbb} atomic)
    target_include_directories(bench-ips4o-algorithms SYSTEM PRIVATE ${RUBATO_BENCH_IPS4O}/include)
    target_compile_options(bench-ips4o-algorithms PRIVATE -pthread) # by what this defines it knows that there are threads
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
      target_compile_options(bench-ips4o-algorithms PRIVATE -mcx16)
    endif()
  endif()
endif()
