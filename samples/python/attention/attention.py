"""Attention three ways, on arrays of NumPy: a kernel with an online softmax, a graph function of products and softmax, and the operation of
the library. All are compared with NumPy in double precision, and timed."""
# mypy: disable-error-code="name-defined, valid-type, type-arg, index, no-untyped-def"
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import tessera as ts

ROWS, KEYS = 32, 64


@ts.kernel
def attend(q: ts.Tensor["H", "S", "D", ts.f32], k: ts.Tensor["H", "T", "D", ts.f32], v: ts.Tensor["H", "T", "D", ts.f32],
           out: ts.Tensor["H", "S", "D", ts.f32]) -> ts.Tensor["H", "S", "D", ts.f32]:
    ctx = ts.tile.context()
    for i in ts.tile.parallel(0, S, ROWS):
        top = ts.tile.full((ROWS,), -float("inf"), ts.f32)
        total = ts.tile.zeros((ROWS,), ts.f32)
        acc = ts.tile.zeros((ROWS, ctx.D), ts.f32)
        for j in ts.tile.range(0, T, KEYS):
            scores = ts.tile.mma(q[i:i+ROWS, :], k[j:j+KEYS, :].T) * (1.0 / math.sqrt(ctx.D))
            new = ts.tile.maximum(top, ts.tile.row_max(scores))
            scale = ts.tile.exp(top - new)
            p = ts.tile.exp(scores - new[:, None])
            total = scale * total + ts.tile.row_sum(p)
            acc = scale[:, None] * acc + ts.tile.mma(p, v[j:j+KEYS, :])
            top = new
        out[i:i+ROWS, :] = acc / total[:, None]
    return out


@ts.jit
def written_out(q, k, v):
    scores = ts.matmul(q, k, trans_b=True) * (1.0 / math.sqrt(q.shape[2]))
    return ts.matmul(ts.softmax(scores), v)


def best(call: Callable[[], object], repeats: int = 10) -> float:
    """The shortest time of a call, in milliseconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


def by_numpy(q: Any, k: Any, v: Any) -> Any:
    scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[2])
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    weights /= weights.sum(axis=2, keepdims=True)
    return weights @ v


def main() -> None:
    rng = np.random.default_rng(1)
    for heads, queries, keys, depth in ((1, 1, 1, 16), (2, 33, 65, 16), (8, 500, 540, 64)):
        q = rng.uniform(-1, 1, (heads, queries, depth)).astype("f4")
        k, v = (rng.uniform(-1, 1, (heads, keys, depth)).astype("f4") for _ in range(2))
        want = by_numpy(*(a.astype("f8") for a in (q, k, v)))
        out = np.empty_like(q)
        calls: dict[str, Callable[[], Any]] = {
            "kernel": lambda: attend(q, k, v, out), "written out": lambda: written_out(q, k, v),
            "flash_attention": lambda: ts.flash_attention(q, k, v), "NumPy": lambda: by_numpy(q, k, v)}
        for name, call in calls.items():
            np.testing.assert_allclose(call(), want, rtol=1e-4, atol=1e-5, err_msg=name)
        times = ", ".join(f"{name} {best(call):.2f} ms" for name, call in calls.items())
        print(f"attention {heads} x {queries} x {keys} x {depth}: {times}; {want.size} elements right")


if __name__ == "__main__":
    main()
