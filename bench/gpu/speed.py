#!/usr/bin/env python3
"""Times kernels of this tree on an NVIDIA GPU beside PyTorch and other peers (peers.py), in one process and on the same tensors.

usage: speed.py [--only NAME] [--json FILE]

Needs torch with CUDA and Tessera's Python package (pack.sh). Each result is compared with a reference in double precision before
it is timed, and so is that of each peer but PyTorch's default. A sample is the time of one call between two events; the programs take
turns; the L2 cache is overwritten before each call. Prints medians, of which --json has the samples in seconds, the ratio to the fastest
peer and the share of a limit measured here: the copy rate of memory, or the rate of PyTorch's bf16 product of 8192 x 8192 x 8192. Peers that
this machine lacks are named first."""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys

import torch
import torch.nn.functional as F

import tessera as ts

HERE = pathlib.Path(__file__).resolve().parent
SAMPLES = HERE.parents[1] / "samples"
sys.path[:0] = [str(HERE), *(str(SAMPLES / name) for name in ("flash_attention", "layer_norm", "saxpy", "softmax"))]
import kernels  # noqa: E402
import peers  # noqa: E402
from flash_attention import flash_attention  # noqa: E402
from layer_norm import layer_norm  # noqa: E402
from saxpy import saxpy  # noqa: E402
from softmax import softmax  # noqa: E402

WARM, SAMPLES = 5, 25
CACHE = torch.empty(128 << 20, dtype=torch.uint8, device="cuda")


def turns(*programs):
    """Returns the times of each program in seconds."""
    times = [[] for _ in programs]
    for turn in range(WARM + SAMPLES):
        for program, found in zip(programs, times):
            CACHE.zero_()
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            program()
            end.record()
            end.synchronize()
            if turn >= WARM:
                found.append(begin.elapsed_time(end) / 1e3)
    return times


def error(got, want):
    """Returns ||got - want|| / ||want||, infinite where got has a NaN."""
    distance = (got.double() - want).norm() / want.norm()
    return math.inf if distance.isnan() else distance.item()


def random(*shape, dtype=torch.float32):
    return torch.randn(*shape, device="cuda", generator=GENERATOR).to(dtype)


GENERATOR = torch.Generator("cuda").manual_seed(1)
CASES = []


def case(name, bound):
    def add(make):
        CASES.append((name, bound, make))
        return make
    return add


def gemm(m, n, k, kernel=kernels.gemm):
    """C = A @ B in bf16 with f32 sums."""
    a, b = random(m, k, dtype=torch.bfloat16), random(k, n, dtype=torch.bfloat16)
    c = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
    return dict(run=lambda: kernel(a, b, c), peer=lambda: torch.matmul(a, b), others=peers.products(a, b), out=lambda: c,
                want=lambda: a.double() @ b.double(), flops=2 * m * n * k, poison=[c])


def gemm_fp8(size):
    """C = A @ B.T in fp8 with f32 sums; PyTorch has no default for it."""
    a, b = (random(size, size).to(torch.float8_e4m3fn) for _ in range(2))
    c = torch.empty(size, size, device="cuda", dtype=torch.bfloat16)
    return dict(run=lambda: kernels.gemm_fp8(a, b, c), others=peers.fp8_products(a, b), out=lambda: c,
                want=lambda: a.double() @ b.double().T, flops=2 * size**3, fp8=True, poison=[c])


for size in (1024, 2048, 4096, 8192):
    case(f"gemm bf16 {size}", 5e-3)(lambda size=size: gemm(size, size, size))
for shape in ((4096, 11008, 4096), (16, 4096, 4096), (4095, 4090, 4098)):
    case(f"gemm bf16 {shape[0]}x{shape[1]}x{shape[2]}", 5e-3)(lambda shape=shape: gemm(*shape))

for shape in ((2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192), (4096, 11008, 4096)):
    case(f"gemm 128x256x64 bf16 {'x'.join(map(str, shape))}", 5e-3)(lambda shape=shape: gemm(*shape, kernels.gemm_wide))

for size in (4096, 8192):
    case(f"gemm fp8 {size}", 5e-3)(lambda size=size: gemm_fp8(size))


@case("graph A @ B bf16 4096", 5e-3)
def _():
    a, b = (random(4096, 4096, dtype=torch.bfloat16) for _ in range(2))
    return dict(run=lambda: kernels.product(a, b), peer=lambda: torch.matmul(a, b), others=peers.products(a, b), out=lambda: torch.from_dlpack(kernels.product(a, b)),
                want=lambda: a.double() @ b.double(), flops=2 * 4096**3, poison=[])


def attention(heads, length, depth, causal, **tunables):
    q, k, v = (random(heads, length, depth, dtype=torch.bfloat16) for _ in range(3))
    o = torch.empty_like(q)
    kernel = flash_attention.jit(D=depth, **tunables) if tunables else flash_attention

    def want():
        scores = q.double() @ k.double().transpose(1, 2) / math.sqrt(depth)
        if causal:
            scores.masked_fill_(torch.ones(length, length, device="cuda", dtype=torch.bool).triu(1), -math.inf)
        return scores.softmax(-1) @ v.double()

    return dict(run=lambda: kernel(q, k, v, o, is_causal=causal),
                peer=lambda: F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=causal),
                others=peers.attention(q, k, v, causal), out=lambda: o, want=want, flops=4 * heads * length * length * depth // (2 if causal else 1), poison=[o])


for heads, length, depth, causal in ((32, 1024, 64, False), (32, 2048, 128, False), (32, 2048, 128, True)):
    case(f"attention bf16 {heads}x{length}x{depth}{' causal' if causal else ''}", 1e-2)(
        lambda a=(heads, length, depth, causal): attention(*a))
    case(f"attention 128x128 bf16 {heads}x{length}x{depth}{' causal' if causal else ''}", 1e-2)(
        lambda a=(heads, length, depth, causal): attention(*a, BLOCK_M=128, BLOCK_N=128, num_warps=8))


def stream(run, peer, want, out, moved, poison):
    return dict(run=run, peer=peer, want=want, out=out, bytes=moved, poison=poison)


@case("softmax f32 16384x4096", 1e-6)
def _():
    x = random(16384, 4096)
    y = torch.empty_like(x)
    return stream(lambda: softmax(x, y), lambda: torch.softmax(x, -1), lambda: x.double().softmax(-1), lambda: y, 8 * x.numel(), [y])


@case("layer_norm f32 16384x4096", 1e-6)
def _():
    x, g, b = random(16384, 4096), random(4096), random(4096)
    y = torch.empty_like(x)
    return stream(lambda: layer_norm(x, g, b, y), lambda: F.layer_norm(x, (4096,), g, b),
                  lambda: F.layer_norm(x.double(), (4096,), g.double(), b.double()), lambda: y, 8 * x.numel(), [y])


@case("graph softmax f32 16384x4096", 1e-6)
def _():
    x = random(16384, 4096)
    return stream(lambda: kernels.softmax(x), lambda: torch.softmax(x, -1), lambda: x.double().softmax(-1),
                  lambda: torch.from_dlpack(kernels.softmax(x)), 8 * x.numel(), [])


@case("graph layer_norm f32 16384x4096", 1e-6)
def _():
    x, g, b = random(16384, 4096), random(4096), random(4096)
    return stream(lambda: kernels.layer_norm(x, g, b), lambda: F.layer_norm(x, (4096,), g, b),
                  lambda: F.layer_norm(x.double(), (4096,), g.double(), b.double()), lambda: torch.from_dlpack(kernels.layer_norm(x, g, b)), 8 * x.numel(), [])


@case("saxpy f32 2^28", 1e-6)
def _():
    x, y = random(1 << 28), random(1 << 28)
    keep = y.clone()

    def want():
        y.copy_(keep)
        saxpy(x, y, 2.5)
        return 2.5 * x.double() + keep.double()
    return stream(lambda: saxpy(x, y, 2.5), lambda: torch.add(y, x, alpha=2.5, out=keep), want, lambda: y, 12 * x.numel(), [])


@case("gelu (tanh) bf16 2^28", 5e-3)
def _():
    x = random(1 << 28, dtype=torch.bfloat16)
    y = torch.empty_like(x)
    return stream(lambda: kernels.gelu(x, y), lambda: F.gelu(x, approximate="tanh"), lambda: F.gelu(x.double(), approximate="tanh"), lambda: y, 4 * x.numel(), [y])


@case("transpose f32 16384x8192", 0)
def _():
    x = random(16384, 8192)
    y = torch.empty(8192, 16384, device="cuda")
    return stream(lambda: kernels.transpose(x, y), lambda: x.T.contiguous(), lambda: x.double().T, lambda: y, 8 * x.numel(), [y])


@case("sum of rows f32 16384x8192", 1e-5)
def _():
    x = random(16384, 8192)
    y = torch.empty(16384, device="cuda")
    return stream(lambda: kernels.row_sum(x, y), lambda: x.sum(-1), lambda: x.double().sum(-1), lambda: y, 4 * x.numel(), [y])


@case("saxpy f32 64", 1e-6)
def _():
    x, y = random(64), random(64)
    keep = y.clone()

    def want():
        y.copy_(keep)
        saxpy(x, y, 2.5)
        return 2.5 * x.double() + keep.double()
    return stream(lambda: saxpy(x, y, 2.5), lambda: torch.add(y, x, alpha=2.5, out=keep), want, lambda: y, 12 * 64, [])


def limits():
    """Returns the rates of a copy, in bytes read and written a second, and of a large product, in operations a second."""
    source = torch.empty(1 << 30, dtype=torch.uint8, device="cuda").random_()
    target = torch.empty_like(source)
    a, b = random(8192, 8192, dtype=torch.bfloat16), random(8192, 8192, dtype=torch.bfloat16)
    (copies,), (products,) = turns(lambda: target.copy_(source)), turns(lambda: torch.matmul(a, b))
    copy, product = statistics.median(copies), statistics.median(products)
    return 2 * source.numel() / copy, 2 * 8192**3 / product


def compared(title, made, want, bound):
    """Returns the programs to time beside ours; says which peers fail or are wrong."""
    programs = {"torch": made["peer"]} if "peer" in made else {}
    for name, program in made.get("others", {}).items():
        try:
            wrong = error(program(), want)
            if wrong <= bound:
                programs[name] = program
            else:
                print(f"{title:36} {name} is left out: relative error {wrong:.3g}, at most {bound:.3g}", flush=True)
        except Exception as e:  # noqa: BLE001: nor one peer the others
            print(f"{title:36} {name} is left out: {str(e)[:300]}", flush=True)
    return programs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    ts.runtime.select_backend("ptx")
    name = torch.cuda.get_device_name()
    driver = subprocess.run(["nvidia-smi", "--query-gpu=driver_version,clocks.sm", "--format=csv,noheader"], capture_output=True, text=True).stdout.strip()
    copy, product = limits()
    print(f"{name}, driver and clock {driver}, torch {torch.__version__}: copy {copy / 1e12:.2f} TB/s, product {product / 1e12:.0f} TFLOP/s")
    for peer, why in peers.ABSENT.items():
        print(f"no {peer}: {why}")
    print(f"{'case':36} {'ours':>10} {'speed/peer':>10} {'of limit':>8}    error  peers")
    rows, wrong = [], 0
    for title, bound, make in CASES:
        if arguments.only not in title:
            continue
        row = dict(case=title)
        try:
            made = make()
            for tensor in made["poison"]:
                tensor.fill_(math.nan)
            made["run"]()
            torch.cuda.synchronize()
            want = made["want"]()
            row["error"] = error(made["out"](), want)
            if row["error"] > bound:
                wrong += 1
                print(f"{title:36} WRONG: relative error {row['error']:.3g}, at most {bound:.3g}", flush=True)
            else:
                programs = compared(title, made, want, bound)
                del want
                own, *others = turns(made["run"], *programs.values())
                ours, medians = statistics.median(own), {name: statistics.median(times) for name, times in zip(programs, others)}
                # The rate of products is that of bf16: it is no limit of those of fp8.
                share = None if made.get("fp8") else made["flops"] / ours / product if "flops" in made else made["bytes"] / ours / copy
                row.update(ours=own, peers=dict(zip(programs, others)), share=share)
                if medians:
                    row["ratio"] = min(medians.values()) / ours
                ratio = f"{row['ratio']:10.2f}" if medians else f"{'–':>10}"
                print(f"{title:36} {ours * 1e6:8.1f}us {ratio} {'–' if share is None else f'{share:.2f}':>8}  {row['error']:.1e}  "
                      + ", ".join(f"{name} {time * 1e6:.1f}us" for name, time in medians.items()), flush=True)
        except Exception as e:  # noqa: BLE001: one case must not hide the others
            wrong += 1
            row["failed"] = str(e)
            print(f"{title:36} FAILED: {str(e)[:600]}", flush=True)
        rows.append(row)
        torch.cuda.empty_cache()
    if arguments.json:
        arguments.json.write_text(json.dumps(dict(device=name, driver=driver, torch=torch.__version__, copy=copy, product=product, absent=peers.ABSENT, rows=rows), indent=1))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
