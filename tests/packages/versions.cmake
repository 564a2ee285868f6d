# Each package carries the version that CMakeLists.txt has, or reads it there.
# Wants: source_dir, version.
string(REGEX MATCH "^[0-9]+[.][0-9]+" minor_version ${version})

# expect(file regex expected): its first group is that in every line of the file that it matches, and there is one.
function(expect file regex expected)
  file(STRINGS ${source_dir}/${file} lines REGEX "${regex}")
  if(NOT lines)
    message(FATAL_ERROR "${file}: no line like ${regex}")
  endif()
  foreach(line IN LISTS lines)
    string(REGEX MATCH "${regex}" _ "${line}")
    if(NOT CMAKE_MATCH_1 STREQUAL expected)
      message(SEND_ERROR "${file}: ${line}: expected ${expected}")
    endif()
  endforeach()
endfunction()

expect(MODULE.bazel "^    version = \"(.*)\"" ${version})
expect(packaging/vcpkg/rubato/vcpkg.json "\"version-semver\": \"(.*)\"" ${version})
expect(docs/packages.md "^rubato/([0-9.]+)$" ${version})
expect(docs/packages.md "name = \"rubato\", version = \"(.*)\"" ${version})
expect(docs/packages.md "find_package\\(rubato ([0-9.]+)" ${minor_version})
expect(README.md "find_package\\(rubato ([0-9.]+)" ${minor_version})
expect(packaging/conan/test_package/CMakeLists.txt "find_package\\(rubato ([0-9.]+)" ${minor_version})
