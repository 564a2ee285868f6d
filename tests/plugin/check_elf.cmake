# What cmake -Dreadelf=... -Dlibrary=... -P check_elf.cmake reads in a shared object that holds the whole library:
# at most 256 bytes of thread-local memory, since that is found at once or not at all when it is loaded late; it stays
# where it is when it is closed; and a thread's record in a pool is not unique in the process.
function(read_elf variable)
  execute_process(
    COMMAND ${readelf} ${ARGN} ${library} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()

read_elf(segments --program-headers --wide)
string(REGEX MATCH " TLS +0x[0-9a-f]+ 0x[0-9a-f]+ 0x[0-9a-f]+ 0x[0-9a-f]+ (0x[0-9a-f]+)" found "${segments}")
if(NOT found)
  message(FATAL_ERROR "no thread-locals at all? ${segments}")
endif()
math(EXPR bytes ${CMAKE_MATCH_1})
message(NOTICE "${bytes} bytes of thread-local memory")
if(bytes GREATER 256)
  message(FATAL_ERROR "more than 256 bytes")
endif()

read_elf(dynamic --dynamic --wide)
if(NOT dynamic MATCHES "NODELETE")
  message(FATAL_ERROR "dlclose() would take the code away from its threads: link it with -z nodelete")
endif()

read_elf(symbols --symbols --wide)
string(REGEX MATCHALL " UNIQUE [^\n]*rubato6detail7currentE" unique "${symbols}")
if(unique)
  message(FATAL_ERROR "shared by all plug-ins of a process: ${unique}")
endif()
