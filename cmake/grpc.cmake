# With -DRUBATO_GRPC=ON: gRPC itself, and the service of the tests of rubato::grpc, which the benchmark calls too.
if(NOT RUBATO_GRPC)
  return()
endif()
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(RUBATO_GRPC_LIBRARY IMPORTED_TARGET grpc++ protobuf)
endif()
find_program(RUBATO_PROTOC protoc)
find_program(RUBATO_PROTOC_GRPC grpc_cpp_plugin)
if(NOT TARGET PkgConfig::RUBATO_GRPC_LIBRARY OR NOT RUBATO_PROTOC OR NOT RUBATO_PROTOC_GRPC)
  message(STATUS "no gRPC, or no protoc with its plugin: rubato::grpc is not tested (scripts/setup grpc)")
  return()
endif()

set(echo ${PROJECT_BINARY_DIR}/grpc_echo)
file(MAKE_DIRECTORY ${echo})
add_custom_command(
  OUTPUT ${echo}/echo.pb.cc ${echo}/echo.pb.h ${echo}/echo.grpc.pb.cc ${echo}/echo.grpc.pb.h
  COMMAND ${RUBATO_PROTOC} --cpp_out=${echo} --grpc_out=${echo} --plugin=protoc-gen-grpc=${RUBATO_PROTOC_GRPC} echo.proto
  DEPENDS ${PROJECT_SOURCE_DIR}/tests/grpc/echo.proto
  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}/tests/grpc
  VERBATIM)
add_library(rubato_grpc_echo STATIC EXCLUDE_FROM_ALL ${echo}/echo.pb.cc ${echo}/echo.grpc.pb.cc)
target_compile_features(rubato_grpc_echo PUBLIC cxx_std_20)
target_include_directories(rubato_grpc_echo SYSTEM PUBLIC ${echo})
target_link_libraries(rubato_grpc_echo PUBLIC PkgConfig::RUBATO_GRPC_LIBRARY)
add_custom_target(grpc-all)
