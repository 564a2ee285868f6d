# Debian's Bazel, without the network: what it would download of its own rules is replaced by Debian's package, and for C++,
# which that package has for a later Bazel, by functions that call the built-in rules, as those of its time do.
section Bazel "$folder"
mkdir -p "$folder/rules/cc"
touch "$folder/rules/WORKSPACE" "$folder/rules/cc/BUILD"
for rule in binary library import test toolchain toolchain_suite proto_library; do
  printf 'def cc_%s(**attributes):\n    native.cc_%s(**attributes)\n\n' $rule $rule
done >"$folder/rules/cc/defs.bzl"
cat >"$folder/.bazelrc" <<RC
startup --batch --output_user_root=$work/bazel-root
build --jobs=$(nproc) --noshow_progress
build --override_repository=rules_cc=$folder/rules
build --override_repository=rules_java=/usr/share/bazel/rules/java
RC
follow "$folder"
# regression: an adapter had no target
for adapter in "$here"/adapters/*/; do echo "@rubato//:$(basename "$adapter")"; done >"$folder/.adapters"
(cd "$folder" && bazel build $(cat .adapters)) >"$folder/.log" 2>&1 || { tail -n 40 "$folder/.log"; fail 'an adapter has no target'; }
chmod -R u+w "$work/bazel-root"
