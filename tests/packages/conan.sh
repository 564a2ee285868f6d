# The recipe, with a static and a shared library, in a Conan of its own.
if [ ! -x "$cache/conan/bin/conan" ]; then
  python3 -m venv "$cache/conan"
  "$cache/conan/bin/pip" install --quiet --disable-pip-version-check 'conan>=2.0,<3'
fi
section Conan "$folder"
"$tests/section" docs/packages.md 'CMake: installed' "$work/for-conan"
cp "$work/for-conan/CMakeLists.txt" "$folder"
export CONAN_HOME="$folder/home"
PATH=$cache/conan/bin:$PATH
conan profile detect >/dev/null 2>&1
follow "$folder"

conan create "$folder/rubato" --no-remote -s compiler.cppstd=20 -o 'rubato/*:shared=True' >"$folder/.log" 2>&1 ||
  { tail -n 40 "$folder/.log"; fail 'conan create with a shared library'; }
package=$(echo "$CONAN_HOME"/p/b/rubat*/p/lib/librubato.so)
[ -f "$package" ] || fail "conan has made no shared library: $package"
has "${package%/lib/*}" licenses/LICENSE lib/cmake/rubato/rubatoConfig.cmake
