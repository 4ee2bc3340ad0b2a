#!/usr/bin/env bash
# Writes what a machine with a GPU needs to compile, run and measure kernels there: Tessera, LLVM and the libraries below them,
# but for the libraries of C and C++. No compiler, package or network is needed there; glibc must be 2.36 or newer.
#
# usage: bench/gpu/pack.sh OUT [BUILD]     from the build in BUILD (build/release)
#
# OUT gets tessera.tar.xz (about 8 MB), llvm.tar.xz (43 MB; kept while LLVM is the same) and unpack.sh. On the other machine:
#   sh OUT/unpack.sh DIR && . DIR/environment && tsr backends
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
[[ $# -ge 1 && $# -le 2 && $1 != -* ]] || { sed -n 's/^# \{0,1\}//;2,9p' "$0" >&2; exit 1; }
out=$1 build=${2:-build/release}
[[ -x $build/bin/tsr ]] || { echo "pack.sh: $build/bin/tsr is missing: build the preset first" >&2; exit 1; }
for tool in patchelf xz clang-22; do
  command -v "$tool" > /dev/null || { echo "pack.sh: $tool is missing (./dev setup installs it)" >&2; exit 1; }
done
mkdir -p "$out"
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT

# needed FILE...: the libraries that the dynamic linker finds for these files, with the paths they are found at
needed() { ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u; }
is_system() { [[ ${1##*/} =~ ^(libc|libm|libdl|libpthread|librt|ld-linux-x86-64|libstdc\+\+|libgcc_s)\.so ]]; }
# Debian's LLVM needs these for features that Tessera does not use (its analyzer, manifests of Windows, line editing). They are
# large, so stand-ins take their place: all their functions end the process.
is_unused() { [[ ${1##*/} =~ ^(libz3|libxml2|libedit|libicu.*|libbsd|libmd)\.so ]]; }

stand_in() { # FILE FOLDER: writes a library with the name, and the functions and versions that LLVM needs, of FILE
  local name=${1##*/}
  # NAME VERSION of what LLVM takes from any library
  nm -D --undefined-only "$llvm" | awk '$1 == "U" && $2 ~ /@/ {split($2, part, "@"); print part[1], part[2]}
                                        $1 == "U" && $2 !~ /@/ {print $2, "-"}' | sort > "$work/wanted"
  nm -D --defined-only --format=posix "$1" | awk '{sub(/@.*/, "", $1); print $1}' | sort -u | join - "$work/wanted" > "$work/names"
  { echo 'void tsr_unused(void) { __builtin_trap(); }'
    awk '{print "void " $1 "(void) __attribute__((alias(\"tsr_unused\")));"}' "$work/names"; } > "$work/stub.c"
  awk '$2 != "-" {names[$2] = names[$2] " " $1 ";"} END {for (v in names) print v " { global:" names[v] " };"}' "$work/names" > "$work/versions"
  clang-22 -w -shared -fPIC -fno-builtin -Wl,-soname,"$name" -o "$2/$name" "$work/stub.c" \
    $([[ -s $work/versions ]] && echo "-Wl,--version-script=$work/versions")
}

llvm=$(needed "$build/lib/libtessera-compiler.so" | grep /libLLVM) mlir=$(needed "$build/lib/libtessera-compiler.so" | grep /libMLIR)
identity=$(cat "$llvm" "$mlir" | sha256sum | cut -c1-16)
if [[ $(cat "$out/llvm.sha" 2>/dev/null) != "$identity" ]]; then
  mkdir -p "$work/llvm/lib"
  cp -L "$llvm" "$mlir" "$work/llvm/lib"
  patchelf --set-rpath '$ORIGIN' "$work"/llvm/lib/*
  tar cf - -C "$work/llvm" lib | xz -T1 --x86 --lzma2=preset=9,dict=256MiB > "$work/llvm.tar.xz"
  mv "$work/llvm.tar.xz" "$out/llvm.tar.xz"
  echo "$identity" > "$out/llvm.sha"
fi

wanted=" $(readelf -d "$llvm" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | tr '\n' ' ')"
tree=$work/tessera
mkdir -p "$tree/bin" "$tree/lib/tessera"
cp "$build"/bin/{tsr,kernel-conformance} "$tree/bin"
cp -L "$build"/lib/libtessera{.so.1,-compiler.so,-tuner.so,-emulator.so} "$tree/lib"
cp "$build"/lib/tessera/libtessera-{ptx,null}.so "$build/lib/tessera/tessera-probe" "$tree/lib/tessera"
cp -rL "$build/python" "$tree/python" # its files are links into the tree
find "$tree/python" -name __pycache__ -prune -exec rm -rf {} +
strip --strip-unneeded "$tree"/bin/* "$tree"/lib/*.so* "$tree"/lib/tessera/* 2>/dev/null || true
for file in $(needed "$tree"/bin/* "$tree"/lib/*.so* "$tree"/lib/tessera/*.so); do
  case $file in "$llvm" | "$mlir" | */libtessera*) continue ;; esac
  if is_system "$file"; then continue; fi
  if is_unused "$file"; then
    if [[ $wanted == *" ${file##*/} "* ]]; then stand_in "$file" "$tree/lib"; fi
    continue
  fi
  cp -L "$file" "$tree/lib"
  patchelf --set-rpath '$ORIGIN' "$tree/lib/${file##*/}"
done
newest=$(objdump -T "$tree"/bin/* "$tree"/lib/*.so* "$tree"/lib/tessera/* 2>/dev/null | grep -o 'GLIBC_2\.[0-9]*' | sort -Vu | tail -1)
[[ $(printf '%s\n' "$newest" GLIBC_2.36 | sort -V | tail -1) == GLIBC_2.36 ]] ||
  { echo "pack.sh: a file needs $newest, newer than glibc 2.36" >&2; exit 1; }
cat > "$tree/environment.in" <<'END'
export PATH='@DIR@'/bin:"$PATH"
export PYTHONPATH='@DIR@'/python"${PYTHONPATH:+:$PYTHONPATH}"
END
tar cf - -C "$tree" . | xz -T1 --x86 --lzma2=preset=6,dict=64MiB > "$work/tessera.tar.xz"
mv "$work/tessera.tar.xz" "$out/tessera.tar.xz"

cat > "$out/unpack.sh" <<'END'
#!/bin/sh
# usage: unpack.sh DIR     unpacks the archives beside this file; Python 3 reads them, since xz may be missing
set -e
from=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1" && cd "$1" && dir=$(pwd)
for archive in llvm tessera; do
  python3 -c "import sys, tarfile; tarfile.open(sys.argv[1]).extractall('.')" "$from/$archive.tar.xz" &
  eval "$archive=$!"
done
wait "$llvm" && wait "$tessera"
sed "s|@DIR@|$dir|" environment.in > environment
END
ls -l "$out" | awk 'NR > 1 {printf "%10d %s\n", $5, $9}'
