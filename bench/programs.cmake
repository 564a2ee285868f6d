# The programs of examples/ whose work does not depend on a scheduler: bench-<contender>-programs, compiled as the examples
# are: -O3.
function(rubato_programs name)
  rubato_contender(${name}-programs programs/${name} ${ARGN})
  target_compile_options(bench-${name}-programs PRIVATE -O3)
  target_include_directories(bench-${name}-programs PRIVATE ${PROJECT_SOURCE_DIR}/examples)
endfunction()

rubato_programs(serial)
rubato_programs(rubato rubato::rubato)
if(rubato_bench_tbb)
  rubato_programs(onetbb ${rubato_bench_tbb})
endif()
