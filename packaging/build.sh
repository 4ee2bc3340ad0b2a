#!/usr/bin/env bash
# Builds the Debian packages of this tree into OUT. usage: packaging/build.sh OUT JOBS
# dpkg-buildpackage wants debian/ in the root and writes into it and beside it; so it gets a root of hard links, with a
# copy of packaging/debian, below build/deb. What is compiled stays there, and the next run compiles what changed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=$1 jobs=$2
work=$PWD/build/deb
tree=$work/tessera

mkdir -p "$tree" "$out"
find "$tree" -mindepth 1 -maxdepth 1 ! -name 'obj-*' -exec rm -rf {} +
for entry in *; do
  [[ $entry == build || $entry == packaging ]] || cp -rl "$entry" "$tree"
done
cp -r packaging/debian "$tree/debian"
find "$work" -maxdepth 1 -type f ! -name base.tar -delete
rm -f "$tree"/obj-*/CMakeCache.txt # CMake would keep the flags of its first run

# -nc: nothing to clean but debian/, which is new.
(cd "$tree" && DEB_BUILD_OPTIONS="parallel=$jobs ${DEB_BUILD_OPTIONS:-}" dpkg-buildpackage -b -us -uc -nc)

find "$out" -maxdepth 1 -type f \( -name '*.deb' -o -name '*.changes' -o -name '*.buildinfo' \) -delete
cp "$work"/*.deb "$work"/*.changes "$work"/*.buildinfo "$out"
