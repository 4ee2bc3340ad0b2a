#!/bin/sh
# Installs BUILD to a prefix of its own, moves that, and builds and runs the samples against it as a user would:
# both with find_package, the C one also with pkg-config. usage: consumers.sh CMAKE BUILD CC CXX
set -eu
cmake=$1 build=$2 cc=$3 cxx=$4
work=$build/install-consumers
rm -rf "$work"
mkdir -p "$work"
"$cmake" --install "$build" --prefix "$work/staged" > "$work/install.log"
mv "$work/staged" "$work/prefix" # nothing installed may know where it was put
prefix=$work/prefix

# Programs that link tessera::tessera are compiled as C++20 without a word of their own: embed_cpp, below.
grep -q 'INTERFACE_COMPILE_FEATURES "cxx_std_20"' "$(find "$prefix" -name tesseraTargets.cmake)"

samples=$prefix/share/tessera/samples
for sample in embed_c embed_cpp threads; do
  "$cmake" -S "$samples/$sample" -B "$work/$sample" -DCMAKE_PREFIX_PATH="$prefix" \
    --no-warn-unused-cli -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" > "$work/$sample.log"
  "$cmake" --build "$work/$sample" >> "$work/$sample.log"
  "$work/$sample/$sample" "$samples/saxpy/saxpy.py"
  (cd "$work/$sample" && "${cmake%cmake}ctest" --output-on-failure --no-tests=error >> "$work/$sample.log")
done

# What new-plugin writes builds and passes its tests, the kit's among them: it stands beside tsr.
for kind in mapper backend codegen; do
  project=$work/my_$kind
  "$prefix/bin/tsr" new-plugin "$kind" "my_$kind" --dir "$project" > "$project.log"
  "$cmake" -S "$project" -B "$project/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_CXX_COMPILER="$cxx" >> "$project.log"
  "$cmake" --build "$project/build" >> "$project.log"
  (cd "$project/build" && "${cmake%cmake}ctest" --output-on-failure --no-tests=error | tee -a "$project.log")
  grep -q "my_$kind-conformance .*Passed" "$project.log"
done

# A code generator and the backend that runs what it makes, by find_package alone.
"$cmake" -S "$samples/codegen_c" -B "$work/codegen_c" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
  -DCMAKE_CXX_COMPILER="$cxx" > "$work/codegen_c.log"
"$cmake" --build "$work/codegen_c" >> "$work/codegen_c.log"
(cd "$work/codegen_c" && "${cmake%cmake}ctest" --output-on-failure --no-tests=error | tee -a "$work/codegen_c.log")

# Fakes of plugins, in a test of the user's own.
"$cmake" -S "$(dirname "$0")/fakes" -B "$work/fakes" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$cxx" \
  > "$work/fakes.log"
"$cmake" --build "$work/fakes" >> "$work/fakes.log"
(cd "$work/fakes" && "${cmake%cmake}ctest" --output-on-failure --no-tests=error | tee -a "$work/fakes.log")

# A directory copied away from its neighbours configures too; it has no test to run.
cp -r "$samples/embed_c" "$work/alone"
"$cmake" -S "$work/alone" -B "$work/alone/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
  > "$work/alone.log"

if command -v pkg-config > "$work/pkg-config"; then
  flags=$(PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name tessera.pc)") pkg-config --cflags --libs tessera)
else # what pkg-config would say
  flags="-I$prefix/include -L$(dirname "$(find "$prefix" -name libtessera.so)") -ltessera"
fi
for standard in c99 c11 c17; do
  for program in "$samples"/*/*.c; do
    case $program in */codegen_c/*) continue ;; esac # a plugin, built above with what CMake writes for it
    # shellcheck disable=SC2086 # flags are several words
    "$cc" -std=$standard -pedantic -Wall -Wextra -Werror -fsyntax-only ${flags%%-L*} "$program"
  done
done
# Every C++ header says what it needs before anything else is wrong with it.
for header in "$prefix"/include/tessera/*.hpp; do
  # shellcheck disable=SC2086
  if "$cxx" -std=c++17 -fsyntax-only ${flags%%-L*} -x c++ "$header" 2> "$work/old-standard"; then exit 1; fi
  sed -n '/error:/{p;q;}' "$work/old-standard" | grep -q "need C++20"
done
# shellcheck disable=SC2086
"$cc" -std=c99 "$samples/embed_c/main.c" $flags -o "$work/plain"
LD_LIBRARY_PATH=$(dirname "$(find "$prefix" -name libtessera.so)") "$work/plain" "$samples/saxpy/saxpy.py"

"$prefix/bin/tsr" version
if [ -d "$prefix/lib/python3/dist-packages/tessera" ]; then
  PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$prefix/lib/python3/dist-packages /usr/bin/python3 "$samples/python/saxpy/saxpy.py"
fi

cmp "$prefix/share/doc/tessera/docs/language.md" "$(dirname "$0")/../../docs/language.md"
test -f "$prefix/share/doc/tessera/README.md"
grep -q '^\.Dt TSR 1' "$prefix/share/man/man1/tsr.1"
bash -n "$prefix/share/bash-completion/completions/tsr"
grep -q '^\.Dt TSR-CONFORMANCE 1' "$prefix/share/man/man1/tsr-conformance.1"
bash -n "$prefix/share/bash-completion/completions/tsr-conformance"
