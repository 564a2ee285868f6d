# The pages of the adapters for MPI and gRPC: their CMakeLists.txt, with what is installed, and their first program.
if ! command -v mpicxx >/dev/null || ! command -v grpc_cpp_plugin >/dev/null; then
  echo '   left out: it needs what scripts/setup mpi grpc installs'
  continue
fi
section 'CMake: installed' "$folder"
sed -n 1p "$folder/.commands" >"$folder/.install"
(cd "$folder" && sh -eu ./.install) >"$folder/.log" 2>&1 || { tail -n 40 "$folder/.log"; fail 'not installed'; }

# block LANGUAGE: the first one of the page.
block() { sed -n "/^\`\`\`$1\( \|\$\)/,/^\`\`\`\$/p" "docs/adapters/$page.md" | sed -e 1d -e '/^```$/,$d'; }

for page in mpi grpc; do
  mkdir "$folder/$page"
  block cpp >"$folder/$page/program.cpp"
  block cmake >"$folder/$page/CMakeLists.txt"
  block proto >"$folder/$page/echo.proto"
  start_it=
  [ $page = grpc ] || start_it="$here/tests/mpi/run 1"
  (cd "$folder/$page" && cmake -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS='-Wall -Wextra -Werror' \
    -DCMAKE_PREFIX_PATH="$folder/installed" && cmake --build build && $start_it build/program) >"$folder/.log" 2>&1 ||
    { tail -n 40 "$folder/.log"; fail "failed: docs/adapters/$page.md"; }
  [ "$(tail -n 1 "$folder/.log")" = 1 ] || { tail -n 40 "$folder/.log"; fail "the program of $page.md has not printed 1"; }
done
