"""The objects of micro-kernels: they are what the generator writes again, and the loop of each has the multiply-adds of
its register block, no access to the stack and no call.

usage: kernels_test.py GENERATOR OBJDUMP FOLDER LEVEL
"""
import pathlib
import re
import subprocess
import sys
import tempfile

generator, objdump, folder, level = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), sys.argv[4]
failures = []


def expect(condition, message):
    if not condition:
        failures.append(message)


with tempfile.TemporaryDirectory() as again:
    subprocess.run([generator, level, again], check=True)
    names = sorted(p.name for p in pathlib.Path(again).glob("*.o"))
    expect(names, "the generator wrote nothing")
    for name in names:
        expect((pathlib.Path(again) / name).read_bytes() == (folder / name).read_bytes(), f"{name} differs when it is generated again")


def loops(instructions):
    """The bodies of innermost loops: from the target of a backward jump to the jump, if no other loop is inside."""
    spans = []
    for address, text in instructions:
        jump = re.match(r"j\w+\s+0x([0-9a-f]+)", text)
        if jump and int(jump[1], 16) <= address:
            spans.append((int(jump[1], 16), address))
    for first, last in spans:
        if not any(first <= f and l <= last and (f, l) != (first, last) for f, l in spans):
            yield [t for a, t in instructions if first <= a <= last]


# What multiplies, by family; f32 and f64: a fused multiply-add.
INSTRUCTIONS = {"bf16.dot": "vdpbf16ps", "i8.dot": "vpdpbusd", "i16": "vpmaddwd", "i8.amx": "tdpbssd", "u8.amx": "tdpbuud", "bf16.amx": "tdpbf16ps"}
# Steps of k in one iteration (kUnroll in MicroKernels.cpp); a tile has sixteen words of k.
UNROLL = 2
kernels, families = 0, set()
for name in names:
    text = subprocess.run([objdump, "-d", "--no-show-raw-insn", folder / name], check=True, capture_output=True, text=True).stdout
    for function, block in re.findall(r"^[0-9a-f]+ <(tsr\.mk\.[^>]+)>:\n((?:.+\n)*)", text, re.M):
        instructions = [(int(a, 16), t.strip()) for a, t in re.findall(r"^\s*([0-9a-f]+):\s+(.*)$", block, re.M)]
        rows, vectors = map(int, re.search(r"(\d+)x(\d+)$", function).groups())
        kernels += 1
        family = re.match(r"tsr\.mk\.(.*)\.[nt]\.", function)[1]
        is_tiled = family.endswith(".amx")
        multiplies_of_loop = rows * vectors * (1 if is_tiled else UNROLL)
        families.add(family)
        instruction = INSTRUCTIONS.get(family, "vfmadd")
        expect(not any(t.startswith("call") for _, t in instructions), f"{function} calls")
        counts = []
        for body in loops(instructions):
            multiplies = sum(t.startswith(instruction) for t in body)
            counts.append(multiplies)
            expect(not any("%rsp" in t for t in body), f"{function} accesses the stack in a loop")
            expect(sum(t.startswith(("vmul", "vadd")) for t in body) == 0, f"{function} multiplies or adds apart")
        if is_tiled:
            # Each operand is loaded once in a step; each sum is zeroed or loaded, and stored, once. No tile is spilled.
            count = lambda instruction, where: sum(t.startswith(instruction) for t in where)
            all_of_it, (body,) = [t for _, t in instructions], list(loops(instructions))
            expect(count("tileload", body) == rows + vectors, f"{function}: a step loads {count('tileload', body)} tiles")
            expect(count("tilestore", body) == 0, f"{function} stores tiles in its loop")
            for instruction, times in (("tilezero", 1), ("tilestore", 1)):
                expect(count(instruction, all_of_it) == rows * vectors * times, f"{function}: {count(instruction, all_of_it)} times {instruction}")
            expect(count("tileload", all_of_it) == rows + vectors + rows * vectors, f"{function} loads other tiles than operands and sums")
            expect(not any(t.startswith(("ldtilecfg", "sttilecfg", "tilerelease")) for t in all_of_it), f"{function} configures tiles")
        expect(multiplies_of_loop in counts, f"{function}: no loop has {multiplies_of_loop} multiply-adds, but {counts}")
expect({"f32", "f64", "i16"} | ({"bf16.dot", "i8.dot", "i8.amx", "u8.amx", "bf16.amx"} if level == "v4" else set()) == families, f"families {families}")
expect(kernels >= 12, f"only {kernels} micro-kernels")
print("\n".join(failures) or f"{kernels} micro-kernels of {level}")
sys.exit(bool(failures))
