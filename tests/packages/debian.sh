# The Debian packages: built, looked at by lintian, and installed in a small Debian of their own, of the release that this
# machine has. Making that takes a minute; it is kept.
section 'Debian and Ubuntu' "$folder"
(cd "$folder" && sh -eu ./.commands) >"$folder/.log" 2>&1 || { tail -n 60 "$folder/.log"; fail 'dpkg-buildpackage'; }
lintian --allow-root --fail-on error "$folder"/rubato_*.changes || fail 'lintian finds errors'

if [ "$(id -u)" != 0 ]; then
  echo '   not root: the packages are not installed anywhere'
else
  codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
  tree=$cache/$codename
  if [ ! -f "$tree.tar" ]; then
    mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | head -n 1)
    rm -rf "$tree"
    debootstrap --variant=buildd --include=pkg-config,cmake "$codename" "$tree" "$mirror" >"$tree.log" 2>&1 ||
      { tail -n 20 "$tree.log"; fail debootstrap; }
    tar -C "$tree" -cf "$tree.tar.new" .
    mv "$tree.tar.new" "$tree.tar"
    rm -rf "$tree"
  fi
  root=$folder/root
  mkdir "$root"
  tar -C "$root" -xf "$tree.tar"
  mkdir "$root/here"
  cp "$folder"/*.deb "$folder/program.cpp" "$folder/.commands-as-root" "$root/here"
  "$tests/section" docs/packages.md 'CMake: installed' "$root/here/installed"
  cat >"$root/here/commands" <<'COMMANDS'
cd /here
. ./.commands-as-root >log 2>&1 || { cat log; exit 1; }
[ "$(tail -n 1 log)" = 42 ]
cmake -S installed -B build >log 2>&1 && cmake --build build >>log 2>&1 || { cat log; exit 1; }
[ "$(build/program)" = 42 ]
# The shared library is what a program is linked with, and its licence is there.
readelf -d program build/program | grep -c 'NEEDED.*librubato.so.0.1' | grep -qx 2
for package in librubato0.1 librubato-dev; do grep -q 'Permission is hereby granted' /usr/share/doc/$package/copyright; done
# Nothing is left of them.
apt-get -qq purge librubato0.1 librubato-dev >log 2>&1
[ -z "$(find /usr -name '*rubato*')" ]
COMMANDS
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 chroot "$root" sh -eu /here/commands || fail 'a program with the installed packages'
fi
