#!/bin/sh
# Puts the two plugins into a folder of their own, compiles kernels for the target they add, runs them there and on the
# CPU, and compares the results. usage: test.sh TSR SOURCES BUILD WORK
set -eu
tsr=$1 sources=$2 build=$3 work=$4
rm -rf "$work"
mkdir -p "$work/plugins"
chmod go-w "$work/plugins"
cp "$build/libtessera-hostclang.so" "$build/libtessera-codegen-hostclang.so" "$work/plugins"
export TESSERA_PLUGIN_PATH="$work/plugins" TESSERA_CACHE_DIR="$work/cache"
cd "$work"

"$tsr" backends > listing
grep -q "makes shared objects of kernels" listing
"$tsr" compile "$sources/kernels.py" --target hostclang:baseline --emit bundle -o kernels.tsrb
"$tsr" inspect kernels.tsrb > inspected
grep -q hostclang:baseline inspected
"$tsr" compile "$sources/kernels.py" --kernel add --target hostclang:baseline --emit asm -o add.ll
grep -q '^define void @' add.ll

# The same numbers by both backends.
/usr/bin/env python3 - <<'EOF'
import random
import struct
random.seed(1)
for name, shape in {"x": (1000,), "y": (1000,), "a": (37, 51), "b": (51, 83)}.items():
    count = shape[0] if len(shape) == 1 else shape[0] * shape[1]
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}".ljust(117) + "\n"
    numbers = [random.randint(-8, 8) for _ in range(count)]  # sums of small integers are exact in any order
    with open(f"{name}.npy", "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{count}f", *numbers))
EOF
for backend in hostclang cpu; do
  TESSERA_BACKEND=$backend "$tsr" run "$sources/kernels.py" --kernel add --in x=x.npy y=y.npy --out z=z-$backend.npy
  TESSERA_BACKEND=$backend "$tsr" run "$sources/kernels.py" --kernel product --in a=a.npy b=b.npy --out result=p-$backend.npy
done
cmp z-hostclang.npy z-cpu.npy
cmp p-hostclang.npy p-cpu.npy

# Without the plugin the target does not exist.
rm plugins/libtessera-codegen-hostclang.so
if "$tsr" compile "$sources/kernels.py" --target hostclang:baseline --emit bundle -o none.tsrb 2> refused; then exit 1; fi
grep -q E_TARGET_UNKNOWN refused
echo "codegen_c: the host's results equal the CPU's"
