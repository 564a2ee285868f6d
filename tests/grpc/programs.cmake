# docs/adapters/grpc.md. The tests of this folder, and the programs that the page and the header show.
function(rubato_use_grpc target)
  rubato_use_adapter(${target} grpc "")
  target_link_libraries(${target} PRIVATE rubato_grpc_echo)
  add_dependencies(grpc-all ${target})
endfunction()
rubato_use_grpc(grpc_tests)

find_program(RUBATO_PERL perl)
if(RUBATO_PERL)
  set(headers ${PROJECT_SOURCE_DIR}/adapters/grpc/include/rubato)
  set(shown ${PROJECT_SOURCE_DIR}/docs/adapters/grpc.md ${headers}/grpc.hpp ${headers}/grpc_stream.hpp)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/grpc_shown.cpp)
  set(extract ${CMAKE_CURRENT_SOURCE_DIR}/docs/extract)
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${RUBATO_PERL} ${extract} ${source} grpc ${shown}
    COMMAND ${RUBATO_PERL} ${PROJECT_SOURCE_DIR}/scripts/check-coroutines ${source}
    DEPENDS ${extract} ${shown}
    VERBATIM)
  add_executable(grpc_shown docs/programs_test.cpp ${source})
  target_include_directories(grpc_shown PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/docs ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(grpc_shown PRIVATE ${rubato_tested} GTest::gtest_main)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU) # as in docs/
    target_compile_options(grpc_shown PRIVATE -Wno-subobject-linkage)
  endif()
  rubato_own_code(grpc_shown)
  rubato_use_grpc(grpc_shown)
  gtest_discover_tests(
    grpc_shown
    TEST_PREFIX grpc/
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS grpc TIMEOUT ${RUBATO_TEST_TIMEOUT})
endif()

file(GLOB sources RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/grpc CONFIGURE_DEPENDS grpc/compile_errors/*.cpp)
foreach(source ${sources})
  cmake_path(GET source STEM name)
  add_test(
    NAME grpc/compile_errors_${name}
    COMMAND compile_errors/check ${CMAKE_CXX_COMPILER}
            ${PROJECT_SOURCE_DIR}/include:${PROJECT_SOURCE_DIR}/adapters/grpc/include:${PROJECT_BINARY_DIR}/grpc_echo grpc/${source}
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  set_tests_properties(grpc/compile_errors_${name} PROPERTIES LABELS grpc TIMEOUT 120)
endforeach()
