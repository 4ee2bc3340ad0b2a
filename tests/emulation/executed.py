#!/usr/bin/env python3
"""executed.py TSR --kept PAGE [--ptxas PTXAS] -o PAGE: writes what samples execute on emulated devices, counted by the emulator
(docs/executed.md). Registers of NVIDIA's GPUs are those that ptxas reports; without it, what the kept page has. Every result is compared with NumPy in double, and no product may be computed outside of matrix instructions where the device has them."""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEVICES = ("ptx:sm_75", "ptx:sm_80", "ptx:sm_86", "ptx:sm_89", "ptx:sm_90", "ptx:sm_90a", "ptx:sm_100a", "ptx:sm_120", "rocm:gfx90a",
           "rocm:gfx942", "rocm:gfx1100", "levelzero:pvc", "levelzero:acm-g10")
SOME = ("ptx:sm_80", "ptx:sm_90a", "rocm:gfx90a", "rocm:gfx942", "rocm:gfx1100", "levelzero:pvc")
WITHOUT = {("bf16", "ptx:sm_75")}  # no instruction for the dtype
LINE = re.compile(r"kernel \S+ executed (?P<instructions>\d+) matrix instructions \((?P<products>\d+) multiply-adds\)"
                  r" and (?P<others>\d+) other fused multiply-adds(?:, and loaded (?P<loads>\d+) matrices with (?P<conflicts>\d+) bank conflicts)?"
                  r"(?:, and stored (?P<stored_matrices>\d+) matrices with (?P<store_conflicts>\d+) bank conflicts)?"
                  r"(?:, and copied (?P<copied>\d+) bytes asynchronously)?(?:, (?P<boxes>\d+) boxes)?"
                  r"(?:, and read (?P<inblocks>\d+) bytes in (?P<blocks>\d+) blocks)?"
                  r"(?:, and passed (?P<barriers>\d+) barriers of blocks)?"
                  r"(?:, and loaded (?P<reads>\d+) times from tensors)?"
                  r"(?:, and stored (?P<stores>\d+) times to tensors)?(?:, and stored (?P<stored_boxes>\d+) boxes)?$", re.MULTILINE)
HEAD = """# What samples execute

Counted by the [emulator](emulator.md), with inputs that no tile divides. The target `docs-executed` writes this page; the test `executed` compares it.
Instructions are those of the kernel's [metadata](bundles.md#products). Registers are those of a thread: what LLVM allocates for AMD's GPUs (vector registers, with those for
sums), and `ptxas` for NVIDIA's; the compiler of Intel's driver decides there. The rows of `gemm` with "aligned" have extents of 100 x 88 x 72, whose rows are multiples of 16 bytes long, so that devices which can copy boxes do, and those that can read blocks. That with clusters has the same extents;
of two programs each copies a half of what both read (`schedule.block`), and its bytes are counted once. That with two sets of sums has extents of 300 x 264 x 72, in 25 programs on
4 blocks, and that with turns tiles of 128 queries for two groups of four warps.
Multiply-adds count whole tiles, so that a product of 100 x 90 x 70 has those of 128 x 128 x 96. "Other" are the fused multiply-adds of single lanes: those of functions such as
exp, and of products without an instruction. Bank conflicts are those of `ldmatrix` and `stmatrix`. Blocks are those that sub-groups read from tensors to registers, and their
bytes what is inside the tensors. Loads and stores are those of lanes from and to
tensors, of up to 16 bytes each; where the engine stores boxes there are none ([decision 136](decisions/0136-stores-of-boxes.md)). "bf16" has a result of this dtype. Each result was compared with the product in double and is within its error bound.

| sample | device | instructions of products | executed | multiply-adds in them | other | bytes copied asynchronously | boxes | bytes read in blocks | blocks | matrices loaded | stored | bank conflicts | barriers | loads | stores | boxes stored | shared bytes | registers |
| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
"""


def bf16(x):
    bits = x.astype("f4").view("u4")
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)).view("f4")


def gemm(rng, m=100, n=90, k=70):
    a, b, c = bf16(rng.normal(size=(m, k))), bf16(rng.normal(size=(k, n))), rng.normal(size=(m, n)).astype("f4")
    a8, b8, c8 = (x.astype("f8") for x in (a, b, c))
    return {"A": a, "B": b, "C": c}, "C", a8 @ b8 + c8, (k + 2) * 2.0**-24 * (abs(a8) @ abs(b8) + abs(c8))


def attention(rng):
    q, k, v = (bf16(rng.normal(size=(1, n, 64))) for n in (70, 130, 130))
    q8, k8, v8 = (x[0].astype("f8") for x in (q, k, v))
    scores = np.where(np.arange(130) <= np.arange(70)[:, None] + 60, q8 @ k8.T / 8, -np.inf)
    p = np.exp(scores - scores.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    return {"Q": q, "K": k, "V": v}, "O", (p @ v8)[None], 3 * 2.0**-8 * (p @ abs(v8))[None]


def aligned(rng):
    return gemm(rng, 100, 88, 72)


def narrow(rng):
    inputs, output, expected, bound = aligned(rng)
    expected -= inputs["C"].astype("f8")
    return {**inputs, "C": np.zeros_like(inputs["C"])}, output, expected, bound + 2.0**-8 * abs(expected)


def clustered(rng):
    return aligned(rng)


def sets(rng):
    return gemm(rng, 300, 264, 72)


def pingpong(rng):
    return attention(rng)


# By a decision in the text of Schedule IR: what makes the kernel's decision, and the variant that runs.
BLOCK = {clustered: ("#schedule.block<roles = [copy: 4 warps, 40 registers, math: 4 warps, 104 registers], cluster = [2, 1]>", "cluster"),
         sets: ("#schedule.block<roles = [copy: 1 warps, multiply: 1 warps, math: 4 warps], sums = 2, persistent>", "tma"),
         pingpong: ("#schedule.block<roles = [copy: 4 warps, 40 registers, math: 8 warps, 232 registers], pingpong, persistent>", "tma")}
TUNED = {pingpong: ("--set", "BLOCK_M=128", "--set", "BLOCK_N=64", "--set", "num_warps=8", "--dim", "D=64")}
TITLES = {aligned: ", aligned", narrow: ", bf16", clustered: ", clusters of 2", pingpong: ", turns", sets: ", two sets of sums"}


SAMPLES = (("gemm", "gemm", gemm, DEVICES), ("gemm", "gemm", aligned, ("ptx:sm_80", "ptx:sm_90a", "ptx:sm_100a", "levelzero:pvc")), ("gemm", "gemm", narrow, ("ptx:sm_90a", "ptx:sm_100a")), ("gemm", "gemm", clustered, ("ptx:sm_90a",)), ("gemm", "gemm", sets, ("ptx:sm_100a",)), ("flash_attention", "flash_attention", attention, SOME),
           ("flash_attention", "flash_attention", pingpong, ("ptx:sm_90a",)))


def run(tsr, folder, *words):
    done = subprocess.run([tsr, *map(str, words)], capture_output=True, text=True, cwd=folder, timeout=300)
    if done.returncode:
        sys.exit(f"tsr {' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


PRODUCT = re.compile(r"^product +([^,]+),", re.MULTILINE)


def source_of(tsr, folder, sample, kernel, make, device):
    source = ROOT / "samples" / sample / f"{sample}.py"
    if make is narrow:
        text = re.sub(r'("M", "N", ts\.)f32', r"\1bf16", source.read_text()).replace("+= acc", "= ts.tile.cast(acc, ts.bf16)")
        (folder / "narrow.py").write_text(text)
        return folder / "narrow.py"
    if make not in BLOCK:
        return source
    text = run(tsr, folder, "compile", source, "--kernel", kernel, *TUNED.get(make, ()), "--target", device, "--emit", "schedule", "-o", "-")
    text, count = re.subn(r"(?m)^( *schedule\.kernel @.*?attributes \{)", rf"\1schedule.block = {BLOCK[make][0]}, ", text)
    if count != 1:
        sys.exit(f"{sample} on {device}: the text of Schedule IR has {count} kernels")
    (folder / f"{sample}.mlir").write_text(text)
    return folder / f"{sample}.mlir"


def row(tsr, folder, sample, kernel, make, device, registers):
    inputs, output, expected, bound = make(np.random.default_rng(7))
    for name, value in inputs.items():
        np.save(folder / f"{name}.npy", value)
    vendor, arch = device.split(":")
    source = source_of(tsr, folder, sample, kernel, make, device)
    text = run(tsr, folder, "run", source, "--kernel", kernel, "--in", *(f"{n}={n}.npy" for n in inputs), "--out", f"{output}=out.npy",
               "--backend", f"{vendor}:emulated:{arch}+check", "--verbose")
    error = abs(np.load(folder / "out.npy").astype("f8") - expected)
    if not (error <= bound).all():
        sys.exit(f"{sample} on {device}: an error of {error.max()}, {np.nanmax(error / bound)} times the bound")
    found = LINE.search(text)
    if not found:
        sys.exit(f"{sample} on {device}: no counts in\n{text}")
    counts = {name: int(value or 0) for name, value in found.groupdict().items()}
    if (counts["products"] == 0) != (("bf16", device) in WITHOUT):
        sys.exit(f"{sample} on {device}: {counts['products']} multiply-adds in matrix instructions")
    if sample == "gemm" and counts["products"] and counts["others"]:
        sys.exit(f"{sample} on {device}: {counts['others']} multiply-adds outside of matrix instructions")
    if make in BLOCK and f"kernel {kernel}.{BLOCK[make][1]} executed" not in text:
        sys.exit(f"{sample} on {device}: another variant than {BLOCK[make][1]} ran")
    if make is aligned and (counts["boxes"] > 0) != (device in ("ptx:sm_90a", "ptx:sm_100a")):
        sys.exit(f"{sample} on {device}: {counts['boxes']} boxes are copied")
    if make in (gemm, aligned) and (counts["blocks"] > 0) != (make is aligned and device == "levelzero:pvc"):
        sys.exit(f"{sample} on {device}: {counts['blocks']} blocks are read")
    instructions = list(dict.fromkeys(PRODUCT.findall(text)))
    if sample == "gemm" and counts["products"]:
        m, n, k = map(int, re.findall(r"\d+", instructions[0].split(".")[1]))
        if counts["products"] != counts["instructions"] * m * n * k:
            sys.exit(f"{sample} on {device}: {counts['instructions']} of {instructions} are no {counts['products']} multiply-adds")
    if (counts["stored_boxes"] > 0) != (sample == "gemm" and counts["boxes"] > 0) or (counts["stored_boxes"] and counts["stores"]):
        sys.exit(f"{sample} on {device}: {counts['stored_boxes']} boxes are stored, and {counts['stores']} accesses of lanes")
    counts["conflicts"] += counts["store_conflicts"]
    cells = [counts[name] for name in ("instructions", "products", "others", "copied", "boxes", "inblocks", "blocks", "loads", "stored_matrices", "conflicts", "barriers", "reads", "stores", "stored_boxes")]
    cells.append(int(re.search(r"^memory +(\d+) bytes shared", text, re.MULTILINE)[1]))
    title = f"| `{sample}`{TITLES.get(make, '')} | `{device}` | "
    return title + ", ".join(f"`{name}`" for name in instructions) + " | " + " | ".join(f"{n:,}" for n in cells) + f" | {registers(title, counts['boxes'] > 0)} |\n"


def registers_of(tsr, folder, sample, kernel, make, device, copies_boxes, ptxas, kept):
    """Of a thread of the variant that copies boxes or of the general one, as text; `kept` is that of the kept page."""
    vendor, arch = device.split(":")
    if vendor == "levelzero":
        return ""
    if vendor == "ptx" and not ptxas:
        return kept
    source = source_of(tsr, folder, sample, kernel, make, device)
    dims = ("--dim", "D=64") if sample == "flash_attention" and make not in BLOCK else ()
    code = folder / "code"
    name = () if source.suffix == ".mlir" else ("--kernel", kernel)
    run(tsr, folder, "compile", source, *name, *dims, "--target", device, "--emit", "asm", "-o", code)
    if vendor == "rocm":
        return re.search(r"\.vgpr_count: +(\d+)", code.read_text())[1]
    report = run(ptxas, folder, "-v", f"-arch={arch}", "-o", folder / "cubin", code)
    return dict(re.findall(r"Compiling entry function '([\w$]+)'.*?Used (\d+) registers", report, re.DOTALL))[f"tsr_kernel_{kernel}" + f"${BLOCK[make][1] if make in BLOCK else 'tma'}" * copies_boxes]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tsr")
    parser.add_argument("-o", required=True, dest="page", type=pathlib.Path)
    parser.add_argument("--kept", required=True, type=pathlib.Path)
    parser.add_argument("--ptxas")
    options = parser.parse_args()
    kept = {line.rsplit("|", 2)[0]: line.rsplit("|", 2)[1].strip() for line in options.kept.read_text().splitlines() if line.startswith("| `")}

    def kept_of(title):
        return next((cell for start, cell in kept.items() if start.startswith(title)), "")

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        rows = [row(options.tsr, folder, *what, device,
                    lambda title, copies_boxes: registers_of(options.tsr, folder, *what, device, copies_boxes, options.ptxas, kept_of(title)))
                for *what, devices in SAMPLES for device in devices]
    options.page.write_text(HEAD + "".join(rows))


if __name__ == "__main__":
    main()
