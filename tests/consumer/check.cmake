# Builds and runs the consumer, first against an installed tree, then with the sources taken in.
# Wants: build_dir (of Rubato), source_dir (of Rubato), work_dir, generator, compiler, build_type.
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(check how)
  set(dir ${work_dir}/${how})
  run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${dir} -G ${generator}
      -DCMAKE_CXX_COMPILER=${compiler} -DCMAKE_BUILD_TYPE=${build_type} ${ARGN})
  run(${CMAKE_COMMAND} --build ${dir})
  run(${dir}/consumer)
endfunction()

file(REMOVE_RECURSE ${work_dir})
run(${CMAKE_COMMAND} --install ${build_dir} --prefix ${work_dir}/prefix)
check(installed -DCMAKE_PREFIX_PATH=${work_dir}/prefix)
# CMake's own Release, with its -O3.
check(subdirectory -DRUBATO_SOURCES=${source_dir} -DCMAKE_BUILD_TYPE=Release)
