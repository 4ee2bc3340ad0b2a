"""The loop of each micro-kernel multiplies at 0.95 of the peak or more, as llvm-mca simulates a processor: the peak is that of
independent multiplications in the same simulation. Exceptions are listed with what limits them, which is checked, too.

usage: throughput_test.py LLVM_MCA OBJDUMP FOLDER LEVEL
Exit status 77: there is no llvm-mca, and nothing was judged.
"""
import json
import os
import pathlib
import subprocess
import sys

from kernels import INSTRUCTIONS, UNROLL, kernels_of

mca, objdump, folder, level = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), sys.argv[4]
if not os.access(mca, os.X_OK):
    print(f"not judged: {mca} is missing (package llvm-22; ./dev setup installs it)")
    sys.exit(77)

# A processor of each level whose model knows all instructions of the micro-kernels.
PROCESSORS = {"v3": "haswell", "v4": "sapphirerapids"}
REGISTER = {"v3": "ymm", "v4": "zmm"}[level]
GOAL, ITERATIONS = 0.95, 200
# What limits the blocks below the goal.
# Latency: an element of the result is one chain of multiply-adds, and a small block has too few chains to fill the pipeline.
LATENCY = "latency"
# Other instructions: loads, addresses and the loop's end take as many cycles as the few multiplications.
INSTRUCTIONS_OF_LOOP = "other instructions"
FEW = "1x1 2x1 3x1 4x1 5x1 1x2 1x3 1x4"
BELOW = {
    ("v3", "f32"): {LATENCY: "1x1 2x1 3x1 4x1 5x1 6x1 7x1 8x1 1x2 2x2 3x2 4x2", INSTRUCTIONS_OF_LOOP: "9x1 10x1"},
    ("v3", "f64"): {LATENCY: "1x1 2x1 3x1 4x1 5x1 6x1 7x1 8x1 1x2 2x2 3x2 4x2", INSTRUCTIONS_OF_LOOP: "9x1 10x1"},
    ("v3", "i16"): {INSTRUCTIONS_OF_LOOP: "1x1 2x1 1x2"},
    ("v4", "f32"): {LATENCY: FEW},
    ("v4", "f64"): {LATENCY: FEW},
    ("v4", "bf16.dot"): {LATENCY: "1x1 2x1 3x1 1x2 1x3 1x4"},
    ("v4", "i8.dot"): {LATENCY: "1x1 2x1 3x1 4x1 1x2 2x2 1x3 1x4"},
    ("v4", "i16"): {INSTRUCTIONS_OF_LOOP: "1x1"},
}
WIDTH = {"v3": 4, "v4": 6}[level]  # instructions that the processor begins in a cycle


def simulate(regions):
    """Cycles per iteration of each region by its name, and the least that the ports permit."""
    text = "".join(f"# LLVM-MCA-BEGIN {name}\n" + "\n".join(lines) + "\n# LLVM-MCA-END\n" for name, lines in regions.items())
    done = subprocess.run([mca, f"-mcpu={PROCESSORS[level]}", f"-iterations={ITERATIONS}", "--json", "-"], input=text, check=True,
                          capture_output=True, text=True)
    found = {r["Name"]: (r["SummaryView"]["TotalCycles"] / ITERATIONS, r["SummaryView"]["BlockRThroughput"])
             for r in json.loads(done.stdout)["CodeRegions"]}
    assert set(found) == set(regions), "llvm-mca left regions out"
    return found


def multiply(family, target, factor=f"%{REGISTER}15"):
    """A multiplication that adds to register `target`."""
    name = INSTRUCTIONS[family] + {"f32": "231ps", "f64": "231pd"}.get(family, "")
    if family != "i16":
        return [f"{name} {factor}, %{REGISTER}14, %{REGISTER}{target}"]
    return [f"{name} {factor}, %{REGISTER}14, %{REGISTER}13", f"vpaddd %{REGISTER}13, %{REGISTER}{target}, %{REGISTER}{target}"]


# Tiles are left out: the model of llvm-mca does not say how long they stay busy.
kernels = [k for path in sorted(folder.glob("*.[nt].o")) for k in kernels_of(objdump, path) if not k.is_tiled]
assert kernels, f"no micro-kernels in {folder}"
families = sorted({k.family for k in kernels})
peaks = simulate({f: [line for i in range(12) for line in multiply(f, i)] for f in families})  # twelve chains
chains = simulate({f: multiply(f, 0, "(%rax)") for f in families})  # one chain: the latency
# The jump at the end of a loop is no part of the model.
cycles = simulate({k.name: [t for t in k.unrolled if not t.startswith("j")] for k in kernels})

failures, seen, judged = [], set(), 0
for k in kernels:
    measured, ports = cycles[k.name]
    reached = k.multiplies_of_loop * peaks[k.family][0] / 12 / measured
    listed = {block: reason for reason, blocks in BELOW.get((level, k.family), {}).items() for block in blocks.split()}
    reason = listed.get(f"{k.rows}x{k.vectors}")
    limits = {LATENCY: UNROLL * chains[k.family][0], INSTRUCTIONS_OF_LOOP: max(ports, len(k.unrolled) / WIDTH)}
    if reached >= GOAL:
        judged += 1
    elif reason is None:
        failures.append(f"{k.name} reaches {reached:.2f} of the peak: {measured:.1f} cycles; latency and other instructions allow {limits}")
    else:
        seen.add((k.family, f"{k.rows}x{k.vectors}"))
        if limits[reason] < 0.85 * measured:
            failures.append(f"{k.name} takes {measured:.1f} cycles, more than its {reason} explains: {limits[reason]:.1f}")
for (of, family), reasons in BELOW.items():
    for block in " ".join(reasons.values()).split():
        if of == level and (family, block) not in seen:
            failures.append(f"{family} {block} is listed as below {GOAL} of the peak, and is not")
print("\n".join(failures) or f"{judged} of {len(kernels)} micro-kernels reach {GOAL} of the peak on {PROCESSORS[level]}; all others are listed")
sys.exit(bool(failures))
