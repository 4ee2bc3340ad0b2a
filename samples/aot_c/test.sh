#!/bin/sh
# Compiles PROGRAM to a bundle and runs it in FOLDER, which holds the runtime library and no compiler.
# usage: test.sh TSR AOT_C LIBTESSERA PROGRAM FOLDER
set -eu
tsr=$1 aot=$2 library=$3 program=$4 folder=$5
rm -rf "$folder"
mkdir -p "$folder"
"$tsr" compile "$program" --emit bundle --target cpu:x86-64-v2,cpu:x86-64-v3,cpu:x86-64-v4 -o "$folder/saxpy.tsrb"
cp "$library" "$folder/libtessera.so.1"
LD_LIBRARY_PATH=$folder "$aot" "$folder/saxpy.tsrb" > "$folder/said"
cat "$folder/said"
grep -q '^saxpy: 1000 elements right' "$folder/said"
