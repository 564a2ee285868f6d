# Wants: source_dir (of Rubato), work_dir, generator, compiler.
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Without optimisation, and with all assertions. Without a compiler cache: Clang's precompiled headers are good for one folder only.
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${work_dir} -G ${generator} -DCMAKE_CXX_COMPILER=${compiler}
    -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_COMPILER_LAUNCHER= -DRUBATO_SOURCES=${source_dir} -DRUBATO_WERROR=ON)
run(${CMAKE_COMMAND} --build ${work_dir} --target libcxx_consumer)
run(${work_dir}/libcxx_consumer)
