# Builds and runs the consumer in each way in which a program can take the library in.
# Wants: build_dir (of Rubato), source_dir (of Rubato), work_dir, generator, compiler, build_type, with_pstl, version.
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(check how)
  set(dir ${work_dir}/${how})
  run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${dir} -G ${generator}
      -DCMAKE_CXX_COMPILER=${compiler} -DCMAKE_BUILD_TYPE=${build_type} ${ARGN})
  run(${CMAKE_COMMAND} --build ${dir})
  run(${dir}/consumer)
  execute_process(
    COMMAND ${CMAKE_COMMAND} --build ${dir} --target miscompiled OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE failed)
  if(NOT failed OR NOT said MATCHES "miscompiled[.]hpp:5: co_await in the condition of if" OR said MATCHES "generated[.]cpp:")
    message(FATAL_ERROR "rubato_check_coroutines() has not found what is there: ${said}")
  endif()
endfunction()

# A page that an installed header or page names is installed too, and nothing is named that only the sources have.
function(check_pages prefix)
  set(doc ${prefix}/share/doc/rubato)
  file(GLOB_RECURSE headers ${prefix}/include/*.hpp)
  foreach(header ${headers})
    file(STRINGS ${header} lines REGEX "(docs|tests|scripts|src|spec)/")
    foreach(line ${lines})
      string(REGEX MATCHALL "(docs|tests|scripts|src|spec)/[A-Za-z0-9_/-]*([.][a-z]+)?" names "${line}")
      foreach(name ${names})
        if(NOT EXISTS ${doc}/${name} OR IS_DIRECTORY ${doc}/${name})
          message(FATAL_ERROR "${header} names ${name}, which is not installed")
        endif()
      endforeach()
    endforeach()
  endforeach()
  # regression: a page beside the folder was not there
  file(STRINGS ${doc}/docs/compatibility.md lines REGEX "[(][.][.]/[A-Z]+[.]md[)]")
  foreach(line ${lines})
    string(REGEX MATCH "[A-Z]+[.]md" name "${line}")
    if(NOT EXISTS ${doc}/${name})
      message(FATAL_ERROR "docs/compatibility.md names ${name}, which is not installed")
    endif()
  endforeach()
  file(GLOB_RECURSE pages ${doc}/docs/*.md)
  list(LENGTH pages count)
  if(count LESS 30)
    message(FATAL_ERROR "only ${count} pages are installed in ${doc}")
  endif()
endfunction()

# For a build without CMake, and a debugger.
function(check_scripts prefix)
  set(script ${prefix}/share/rubato/check-coroutines)
  run(${script} ${CMAKE_CURRENT_LIST_DIR}/main.cpp)
  execute_process(COMMAND ${script} ${CMAKE_CURRENT_LIST_DIR}/miscompiled.hpp RESULT_VARIABLE found OUTPUT_QUIET)
  if(NOT found EQUAL 1 OR NOT EXISTS ${prefix}/share/rubato/gdb/rubato_gdb.py)
    message(FATAL_ERROR "a script in ${prefix}/share/rubato does not work")
  endif()
  file(GLOB_RECURSE tests ${prefix}/*test* ${prefix}/*gmock* ${prefix}/*rapidcheck*)
  if(tests)
    message(FATAL_ERROR "installed, though only the tests use it: ${tests}")
  endif()
endfunction()

# Versions and components that find_package() takes, and those that it refuses.
function(check_finds how prefix)
  run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/finds -B ${work_dir}/finds_${how} -G ${generator}
      -DCMAKE_CXX_COMPILER=${compiler} -DCMAKE_PREFIX_PATH=${prefix} -DRUBATO_VERSION=${version})
endfunction()

# With nothing but a compiler.
function(check_pkgconfig how prefix)
  find_program(pkgconfig NAMES pkg-config pkgconf)
  if(NOT pkgconfig)
    message(NOTICE "no pkg-config: rubato.pc is not checked")
    return()
  endif()
  file(GLOB_RECURSE file ${prefix}/*/rubato.pc)
  cmake_path(GET file PARENT_PATH dir)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${dir} ${pkgconfig} --cflags --libs ${ARGN} rubato
    OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  if(NOT flags MATCHES "-I${prefix}/include ")
    message(FATAL_ERROR "${prefix}/include is written otherwise: ${flags}")
  endif()
  # What the library itself needs is named for programs that contain it.
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${dir} ${pkgconfig} --libs --static rubato
    OUTPUT_VARIABLE static_flags COMMAND_ERROR_IS_FATAL ANY)
  if(NOT static_flags MATCHES "-pthread")
    message(FATAL_ERROR "a static link lacks -pthread: ${static_flags}")
  endif()
  separate_arguments(flags UNIX_COMMAND "${flags}")
  cmake_path(GET dir PARENT_PATH libdir)
  run(${compiler} -std=c++20 ${CMAKE_CURRENT_LIST_DIR}/main.cpp -o ${work_dir}/${how} ${flags} -Wl,-rpath,${libdir})
  run(${work_dir}/${how})
endfunction()

file(REMOVE_RECURSE ${work_dir})
run(${CMAKE_COMMAND} --install ${build_dir} --prefix ${work_dir}/as_built)
# It works wherever the tree is moved to.
file(RENAME ${work_dir}/as_built ${work_dir}/prefix)
check_pages(${work_dir}/prefix)
check_scripts(${work_dir}/prefix)
check_finds(static ${work_dir}/prefix)
check(installed -DCMAKE_PREFIX_PATH=${work_dir}/prefix -DWITH_PSTL=${with_pstl})
if(with_pstl)
  run(${work_dir}/installed/standard)
endif()
check_pkgconfig(by_pkgconfig ${work_dir}/prefix --define-prefix)

# Taken in as sources, it installs nothing unless it is asked to. A shared library, without a build type, as in a first trial.
set(taken_in -DRUBATO_SOURCES=${source_dir} -DCMAKE_BUILD_TYPE= -DBUILD_SHARED_LIBS=ON)
check(subdirectory ${taken_in})
run(${CMAKE_COMMAND} --install ${work_dir}/subdirectory --prefix ${work_dir}/nothing)
file(GLOB installed ${work_dir}/nothing/*)
if(installed)
  message(FATAL_ERROR "installed with a program that takes the sources in: ${installed}")
endif()
check(subdirectory ${taken_in} -DRUBATO_INSTALL=ON)
run(${CMAKE_COMMAND} --install ${work_dir}/subdirectory --prefix ${work_dir}/shared_prefix)
file(RENAME ${work_dir}/shared_prefix ${work_dir}/moved)
check_finds(shared ${work_dir}/moved)
# A program that hides its own symbols shares with the library what both refer to.
check(installed_shared -DCMAKE_PREFIX_PATH=${work_dir}/moved -DCMAKE_CXX_VISIBILITY_PRESET=hidden
      -DCMAKE_VISIBILITY_INLINES_HIDDEN=ON)
check_pkgconfig(by_pkgconfig_shared ${work_dir}/moved --define-prefix)
