# make install and find_package(), with a static and a shared library.
section 'CMake: installed' "$folder"
follow "$folder"
has "$folder/installed" share/doc/rubato/LICENSE include/rubato/rubato.hpp lib/cmake/rubato/rubatoConfig.cmake lib/librubato.a

section 'CMake: installed' "$folder"
sed 1d "$folder/.commands" >>"$folder/.commands-shared"
follow "$folder" .commands-shared
has "$folder/installed" share/doc/rubato/LICENSE include/rubato/rubato.hpp lib/librubato.so
