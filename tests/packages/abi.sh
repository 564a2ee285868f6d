# scripts/abi on the library itself: stored, linked again in another order, and linked without one of its functions.
rm -rf "$folder"
git clone -q "$origin" "$folder"
"$folder/scripts/abi" store >"$work/abi.log" 2>&1 || { cat "$work/abi.log"; fail 'abi store'; }
# A repository keeps it for ever.
stored=$(echo "$folder"/packaging/abi/*.abi.xz)
[ "$(stat -c %s "$stored")" -le 300000 ] || fail "$stored is larger than 300,000 bytes"

# link FILE [OPTION...]: from the same objects.
link() {
  file=$1
  shift
  c++ -shared -Wl,-soname,"$(basename "$stored" | sed 's/-[^-]*$//')" -o "$file" "@$folder/objects" -pthread "$@"
}
find "$folder/build/abi/CMakeFiles/rubato.dir" -name '*.o' | sort -r >"$folder/objects"
link "$folder/same.so"
"$folder/scripts/abi" check "$folder/same.so" >"$work/abi.log" 2>&1 || { cat "$work/abi.log"; fail 'the library differs from itself'; }

symbol=$(nm -D --defined-only "$folder/build/abi/librubato.so" | sed -n 's/.* T \(_ZN6rubato.*wait_idle.*\)/\1/p' | head -n 1)
echo "{ global: *; local: $symbol; };" >"$folder/less.map"
link "$folder/less.so" -Wl,--version-script="$folder/less.map"
if "$folder/scripts/abi" check "$folder/less.so" >"$work/abi.log" 2>&1; then fail "a library without $symbol passes"; fi
grep -q "\[D\].*$symbol" "$work/abi.log" || { cat "$work/abi.log"; fail 'the missing function is not named'; }
