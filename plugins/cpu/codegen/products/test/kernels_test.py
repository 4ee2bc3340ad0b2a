"""The objects of micro-kernels: they are what the generator writes again, and the loop of each has the multiply-adds of
its register block, no access to the stack and no call. Without AVX-512, neither they nor the bodies store through masks.

usage: kernels_test.py GENERATOR OBJDUMP FOLDER LEVEL
"""
import pathlib
import re
import subprocess
import sys
import tempfile

from kernels import kernels_of

generator, objdump, folder, level = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), sys.argv[4]
failures = []
masked_store = re.compile(r"vp?maskmov\w+\s+%[xy]mm\d+, %[xy]mm\d+, .*\(")


def expect(condition, message):
    if not condition:
        failures.append(message)


with tempfile.TemporaryDirectory() as again:
    subprocess.run([generator, level, again], check=True)
    names = sorted(p.name for p in pathlib.Path(again).glob("*.o"))
    expect(names, "the generator wrote nothing")
    for name in names:
        expect((pathlib.Path(again) / name).read_bytes() == (folder / name).read_bytes(), f"{name} differs when it is generated again")

count, families = 0, set()
for name in names:
    for kernel in kernels_of(objdump, folder / name):
        count += 1
        families.add(kernel.family)
        expect(not any(t.startswith("call") for t in kernel.instructions), f"{kernel.name} calls")
        for loop in kernel.loops:
            expect(not any("%rsp" in t for t in loop), f"{kernel.name} accesses the stack in a loop")
            expect(sum(t.startswith(("vmul", "vadd")) for t in loop) == 0, f"{kernel.name} multiplies or adds apart")
        counts = [kernel.multiplies(loop) for loop in kernel.loops]
        if kernel.is_tiled:
            # Each operand is loaded once in a step; each sum is zeroed or loaded, and stored, once. No tile is spilled.
            count_of = lambda instruction, where: sum(t.startswith(instruction) for t in where)
            sums, operands, (loop,) = kernel.rows * kernel.vectors, kernel.rows + kernel.vectors, kernel.loops
            expect(count_of("tileload", loop) == operands, f"{kernel.name}: a step loads {count_of('tileload', loop)} tiles")
            expect(count_of("tilestore", loop) == 0, f"{kernel.name} stores tiles in its loop")
            for instruction in ("tilezero", "tilestore"):
                times = count_of(instruction, kernel.instructions)
                expect(times == sums, f"{kernel.name}: {times} times {instruction}")
            expect(count_of("tileload", kernel.instructions) == operands + sums, f"{kernel.name} loads other tiles than operands and sums")
            expect(not any(t.startswith(("ldtilecfg", "sttilecfg", "tilerelease")) for t in kernel.instructions), f"{kernel.name} configures tiles")
        if level == "v3":  # a masked store takes 17 cycles on Zen 3, a masked load two instructions on Haswell
            stores = [t for t in kernel.instructions if masked_store.match(t)]
            expect(not stores, f"{kernel.name} has masked stores: {stores[:1]}")
            expect(not any("maskmov" in t for t in kernel.unrolled or []), f"{kernel.name}: the loop of whole vectors has masks")
        expect(kernel.unrolled, f"{kernel.name}: no loop has {kernel.multiplies_of_loop} multiply-adds, but {counts}")
expect({"f32", "f64", "i16"} | ({"bf16.dot", "i8.dot", "i8.amx", "u8.amx", "bf16.amx"} if level == "v4" else set()) == families, f"families {families}")
bodies = sorted(folder.glob("*.body.o")) if level == "v3" else []
expect(bool(bodies) == (level == "v3"), "no bodies")
for body in bodies:
    text = subprocess.run([objdump, "-d", "--no-show-raw-insn", body], check=True, capture_output=True, text=True).stdout
    stores = [line for line in text.splitlines() if masked_store.search(line)]
    expect(not stores, f"{body.name} has masked stores: {stores[:1]}")
expect(count >= 12, f"only {count} micro-kernels")
print("\n".join(failures) or f"{count} micro-kernels of {level}")
sys.exit(bool(failures))
