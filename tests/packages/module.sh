# import rubato; with the newest Clang of this machine and a CMake that knows modules, from the sources and installed.
if [ ! -x "$cache/cmake/bin/cmake" ]; then
  python3 -m venv "$cache/cmake"
  "$cache/cmake/bin/pip" install --quiet --disable-pip-version-check 'cmake==3.31.*'
fi
clang=$(scripts/find-tool clang++)
PATH=$cache/cmake/bin:$PATH
section '`import rubato;`' "$folder"
sed -i "s|CXX_COMPILER=clang++|CXX_COMPILER=$clang|" "$folder/.commands"
follow "$folder"

prefix=$folder/installed
cmake -S "$folder/rubato" -B "$folder/rubato/build" -G Ninja -DCMAKE_CXX_COMPILER="$clang" -DCMAKE_BUILD_TYPE=Release \
  -DRUBATO_MODULE=ON -DRUBATO_BUILD_TESTS=OFF -DRUBATO_BUILD_EXAMPLES=OFF -DRUBATO_BUILD_TOOLS=OFF >"$folder/.log"
cmake --build "$folder/rubato/build" >>"$folder/.log" && cmake --install "$folder/rubato/build" --prefix "$prefix" >>"$folder/.log"
mkdir "$folder/finds"
cp "$folder/program.cpp" "$folder/finds"
cat >"$folder/finds/CMakeLists.txt" <<'TEXT'
cmake_minimum_required(VERSION 3.28)
project(program CXX)
find_package(rubato 0.1 REQUIRED COMPONENTS module)
add_executable(program program.cpp)
target_link_libraries(program PRIVATE rubato::module)
TEXT
printf '%s\n' "cmake -B build -G Ninja -DCMAKE_CXX_COMPILER=$clang -DCMAKE_PREFIX_PATH=$prefix" \
  'cmake --build build && build/program' >"$folder/finds/.commands"
follow "$folder/finds"
