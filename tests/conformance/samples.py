"""The samples as they stand, over shapes around their tiles and every tunable."""
import itertools
import pathlib

import numpy as np

from cases import Program, want
from dtypes import random

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples"


def sample(name, label, **options):
    return Program(f"sample/{label}", (SAMPLES / name / f"{name}.py").read_text(), **options)


def saxpy():
    p = sample("saxpy", "saxpy")
    for n in (0, 1, 17, 4096, 4097, 50000):
        x, y = random("f32", (n,), 1), random("f32", (n,), 2)
        p.run({"n": n}, {"x": ("f32", x)}, {"y": want("f32", 2.5 * x + y, ulps=1, atol=2.0**-22, initial=y)}, {"alpha": 2.5})
    yield p


def gemm():
    p = sample("gemm", "gemm")
    for m, k, n in ((1, 1, 1), (64, 32, 64), (65, 33, 63), (127, 100, 130), (0, 5, 5), (5, 0, 5)):
        a, b, c = random("bf16", (m, k), 1), random("bf16", (k, n), 2), random("f32", (m, n), 3)
        p.run({"M": m, "K": k, "N": n}, {"A": ("bf16", a), "B": ("bf16", b)},
              {"C": want("f32", c + a @ b, bound=(k + 2) * 2.0**-24 * (np.abs(c) + np.abs(a) @ np.abs(b)), initial=c)})
    yield p


def gemm_loops():
    for bm, bn, bk in ((96, 256, 256), (48, 64, 128), (192, 128, 512)):
        p = sample("gemm_loops", f"gemm_loops/{bm}x{bn}x{bk}", tunables={"BLOCK_M": bm, "BLOCK_N": bn, "BLOCK_K": bk})
        for m, k, n in ((1, 1, 1), (96, 256, 256), (97, 255, 257), (200, 70, 30), (5, 0, 5), (13, 600, 17)):
            a, b = random("f32", (m, k), 1), random("f32", (k, n), 2)
            p.run({"M": m, "K": k, "N": n}, {"A": ("f32", a), "B": ("f32", b)},
                  {"C": want("f32", a @ b, bound=(k + 2) * 2.0**-24 * (np.abs(a) @ np.abs(b)))})
        yield p


def softmax():
    for rows, columns in ((8, 256), (4, 128), (16, 512)):
        p = sample("softmax", f"softmax/{rows}x{columns}", tunables={"ROWS": rows, "COLS": columns})
        for r, c in ((1, 1), (8, 256), (9, 257), (3, 1000), (0, 5)):
            x = random("f32", (r, c), 1, -30, 30)
            if r > 2:
                x[1, :] = 80.0
                x[2, ::2] = -np.inf
            e = np.exp(x - x.max(1, keepdims=True, initial=-1e300))
            p.run({"R": r, "C": c}, {"X": ("f32", x)}, {"Y": want("f32", e / e.sum(1, keepdims=True), rtol=1e-4, atol=1e-9)})
        yield p


def attention(q, k, v, causal):
    d, (sq, sk) = q.shape[-1], (q.shape[1], k.shape[1])
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(d)
    if causal:  # bottom-right aligned
        scores = np.where(np.arange(sk)[None] > np.arange(sq)[:, None] + (sk - sq), -np.inf, scores)
    top = scores.max(2, keepdims=True, initial=-1e300)
    p = np.exp(scores - np.where(np.isfinite(top), top, 0))
    total = p.sum(2, keepdims=True)
    weights = np.divide(p, total, out=np.zeros_like(p), where=total > 0)  # a row without a key gives zeros
    return weights @ v, weights @ np.abs(v)


def flash_attention():
    shapes = ((1, 1, 1), (2, 64, 64), (3, 65, 63), (2, 130, 200), (1, 100, 30))
    for (bm, bn), stages in itertools.product(((64, 64), (128, 64)), (2, 3)):
        for d in (64, 32, 17):
            p = sample("flash_attention", f"flash_attention/{bm}x{bn}/stages{stages}/d{d}", dims={"D": d},
                       tunables={"BLOCK_M": bm, "BLOCK_N": bn, "num_stages": stages})
            for (heads, sq, sk), causal in itertools.product(shapes, (True, False)):
                q, k, v = (random("bf16", (heads, s, d), i) for i, s in enumerate((sq, sk, sk)))
                values, magnitude = attention(q, k, v, causal)
                p.run({"B*H": heads, "Sq": sq, "Sk": sk, "D": d}, {"Q": ("bf16", q), "K": ("bf16", k), "V": ("bf16", v)},
                      {"O": want("bf16", values, bound=2.0**-7 * magnitude + 2.0**-8 * np.abs(values) + 1e-9)}, {"is_causal": causal})
            yield p
            if d != 64 and (bm, stages) != (64, 2):
                break


def programs():
    yield from saxpy()
    yield from gemm()
    yield from gemm_loops()
    yield from softmax()
    yield from flash_attention()
