# The program of examples/pipeline on other schedulers: bench-<contender>-pipeline. Its work on files and with zlib is one
# library; only what runs it differs.
find_package(ZLIB QUIET)
if(NOT ZLIB_FOUND)
  return()
endif()

set(rubato_examples ${PROJECT_SOURCE_DIR}/examples)
add_library(bench-pipeline-files STATIC EXCLUDE_FROM_ALL ${rubato_examples}/pipeline/digest.cpp
                                                         ${rubato_examples}/pipeline/tree.cpp
                                                         ${rubato_examples}/shared/system.cpp)
target_compile_features(bench-pipeline-files PUBLIC cxx_std_20)
target_include_directories(bench-pipeline-files PUBLIC ${rubato_examples})
target_link_libraries(bench-pipeline-files PUBLIC ZLIB::ZLIB)
rubato_own_code(bench-pipeline-files)

rubato_contender(serial-pipeline pipeline/serial bench-pipeline-files)
rubato_contender(rubato-pipeline pipeline/rubato bench-pipeline-files rubato::rubato)
target_sources(bench-rubato-pipeline PRIVATE ${rubato_examples}/pipeline/progress.cpp
                                             ${rubato_examples}/pipeline/stages.cpp
                                             ${rubato_examples}/shared/status_line.cpp)
if(rubato_bench_tbb AND TARGET rubato-bench-asio)
  rubato_contender(asio-onetbb-pipeline pipeline/asio_onetbb bench-pipeline-files rubato-bench-asio ${rubato_bench_tbb})
endif()
