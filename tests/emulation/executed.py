#!/usr/bin/env python3
"""executed.py TSR -o PAGE: writes what samples execute on emulated devices, counted by the emulator (docs/executed.md).
Every result is compared with NumPy in double, and no product may be computed outside of matrix instructions where the device has them."""
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
                  r"(?:, and copied (?P<copied>\d+) bytes asynchronously)?(?:, (?P<boxes>\d+) boxes)?"
                  r"(?:, and passed (?P<barriers>\d+) barriers of blocks)?"
                  r"(?:, and stored (?P<stores>\d+) times to tensors)?$", re.MULTILINE)
HEAD = """# What samples execute

Counted by the [emulator](emulator.md), with inputs that no tile divides. The target `docs-executed` writes this page; the test `executed` compares it.
Multiply-adds count whole tiles, so that a product of 100 x 90 x 70 has those of 128 x 128 x 96. "Other" are the fused multiply-adds of single lanes: those of functions such as
exp, and of products without an instruction. Bank conflicts are those of `ldmatrix`. Stores are those of lanes to
tensors, of up to 16 bytes each. Each result is within the error bound of its sums of the product in double.

| sample | device | matrix instructions | multiply-adds in them | other | bytes copied asynchronously | matrices loaded | bank conflicts | barriers | stores | shared bytes |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
"""


def bf16(x):
    bits = x.astype("f4").view("u4")
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)).view("f4")


def gemm(rng):
    a, b, c = bf16(rng.normal(size=(100, 70))), bf16(rng.normal(size=(70, 90))), rng.normal(size=(100, 90)).astype("f4")
    a8, b8, c8 = (x.astype("f8") for x in (a, b, c))
    return {"A": a, "B": b, "C": c}, "C", a8 @ b8 + c8, 72 * 2.0**-24 * (abs(a8) @ abs(b8) + abs(c8))


def attention(rng):
    q, k, v = (bf16(rng.normal(size=(1, n, 64))) for n in (70, 130, 130))
    q8, k8, v8 = (x[0].astype("f8") for x in (q, k, v))
    scores = np.where(np.arange(130) <= np.arange(70)[:, None] + 60, q8 @ k8.T / 8, -np.inf)
    p = np.exp(scores - scores.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    return {"Q": q, "K": k, "V": v}, "O", (p @ v8)[None], 3 * 2.0**-8 * (p @ abs(v8))[None]


SAMPLES = (("gemm", "gemm", gemm, DEVICES), ("flash_attention", "flash_attention", attention, SOME))


def run(tsr, folder, *words):
    done = subprocess.run([tsr, *map(str, words)], capture_output=True, text=True, cwd=folder, timeout=300)
    if done.returncode:
        sys.exit(f"tsr {' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def row(tsr, folder, sample, kernel, make, device):
    inputs, output, expected, bound = make(np.random.default_rng(7))
    for name, value in inputs.items():
        np.save(folder / f"{name}.npy", value)
    vendor, arch = device.split(":")
    source = ROOT / "samples" / sample / f"{sample}.py"
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
    dims = ("--dim", f"D={inputs['Q'].shape[2]}") if "Q" in inputs else ()
    shared = re.search(r"smem_per_cta: (\d+)", run(tsr, folder, "compile", source, "--kernel", kernel, *dims, "--target", device, "--emit", "metadata"))
    cells = [counts[name] for name in ("instructions", "products", "others", "copied", "loads", "conflicts", "barriers", "stores")] + [int(shared[1])]
    return f"| `{sample}` | `{device}` | " + " | ".join(f"{n:,}" for n in cells) + " |\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tsr")
    parser.add_argument("-o", required=True, dest="page", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = [row(options.tsr, pathlib.Path(folder), sample, kernel, make, device)
                for sample, kernel, make, devices in SAMPLES for device in devices]
    options.page.write_text(HEAD + "".join(rows))


if __name__ == "__main__":
    main()
