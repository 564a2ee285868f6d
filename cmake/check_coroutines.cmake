# rubato_check_coroutines(target): before the target is built, its sources and the headers of its default header set are
# searched for coroutine code that g++ 12 miscompiles (docs/gcc12-coroutines.md). What is found ends the build. Sources in the
# build folder, which a program has generated, are left out.
function(rubato_check_coroutines target)
  find_program(RUBATO_PERL perl REQUIRED)
  # A variable of this name would not be seen by a program that takes Rubato in as a subdirectory.
  get_property(script GLOBAL PROPERTY RUBATO_CHECK_COROUTINES)
  get_target_property(source_dir ${target} SOURCE_DIR)
  get_target_property(binary_dir ${target} BINARY_DIR)
  string(REGEX REPLACE "([][+.*()^$?|\\])" "\\\\\\1" generated "${binary_dir}/")
  set(files "$<TARGET_PROPERTY:${target},SOURCES>;$<TARGET_PROPERTY:${target},HEADER_SET>")
  set(files "$<FILTER:${files},INCLUDE,[.](c|cc|cpp|cxx|c[+][+]|C|h|hh|hpp|hxx|ipp|tpp)$>")
  set(files "$<FILTER:${files},EXCLUDE,^${generated}>")
  add_custom_target(
    ${target}_check_coroutines
    COMMAND ${RUBATO_PERL} "${script}" "${files}"
    WORKING_DIRECTORY "${source_dir}"
    COMMAND_EXPAND_LISTS
    VERBATIM)
  add_dependencies(${target} ${target}_check_coroutines)
endfunction()
