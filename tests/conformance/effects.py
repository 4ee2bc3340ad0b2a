"""Helpers that write, called inside expressions: reads around a call see what Python's order makes them see."""
import numpy as np

from cases import program, want


def programs():
    head = """def bump(W, at):
    W[at] = W[at] + 1.0
    return W[at]

def doubled(W, at):
    for r in range(2):
        W[at] = W[at] * 2.0
    return W[at]

def summed(W, at):
    return W[at] + bump(W, at)

def compared(W, at):
    if W[at] < bump(W, at):
        return 1.0
    return 0.0

def slot(W, at, by):
    W[at] = W[at] + by
    return at

@ts.kernel
def k(W: ts.Tensor["n", ts.f32], Z: ts.Tensor["n", ts.f32], p: ts.i32):
    i = ts.tile.linear_id()
    if i < n:
        """
    w = np.arange(5) * 1.0
    for name, body, z, left in (
            ("order", "Z[i] = W[i] + bump(W, i)", 2 * w + 1, w + 1),
            ("other-order", "Z[i] = bump(W, i) - W[i]", 0 * w, w + 1),
            ("product", "Z[i] = W[i] * doubled(W, i)", 4 * w * w, 4 * w),
            ("arguments", "Z[i] = ts.tile.minimum(doubled(W, i), bump(W, i)) + W[i]", 8 * w + 1, 4 * w + 1),
            ("nested", "Z[i] = W[i] * 10.0 + summed(W, i)", 12 * w + 1, w + 1),
            ("condition", "Z[i] = W[i] + compared(W, i)", w + 1, w + 1),
            ("index", "Z[i] = W[ts.i32(W[i])] + bump(W, i)", 2 * w + 1, w + 1),
            ("tuple", "a, b = W[i], bump(W, i)\n        Z[i] = a * 10.0 + b", 11 * w + 1, w + 1),
            ("augmented", "W[i] += bump(W, i)\n        Z[i] = W[i]", 2 * w + 1, 2 * w + 1),
            ("augmented-name", "z = W[i]\n        z += W[i] + bump(W, i)\n        Z[i] = z", 3 * w + 1, w + 1),
            ("target", "W[slot(W, i, 1.0)] += 10.0\n        Z[i] = 0.0", 0 * w, w + 11),
            ("atomic", "Z[i] = W[i] + ts.tile.atomic_add(W, i, 1.0) + W[i]", 3 * w + 1, w + 1),
            ("or", "Z[i] = 1.0 if p > 0 or bump(W, i) > 100.0 else 0.0", 0 * w + 1, w),
            ("or-both", "Z[i] = 1.0 if p > 5 or bump(W, i) > 3.0 else 0.0", w > 2, w + 1),
            ("and", "c = p > 5 and bump(W, i) > 100.0\n        Z[i] = 1.0 if c else 0.0", 0 * w, w),
            ("chosen", "Z[i] = bump(W, i) if p > 0 else doubled(W, i)", w + 1, w + 1),
            ("not-chosen", "Z[i] = bump(W, i) if W[i] > 2.0 else 7", np.where(w > 2, w + 1, 7), np.where(w > 2, w + 1, w)),
            ("chosen-atomic", "Z[i] = ts.tile.atomic_add(W, i, 1.0) if p > 5 else 3.0", 0 * w + 3, w),
            ("elif", "if p > 0:\n            Z[i] = 1.0\n        elif bump(W, i) > 100.0:\n            Z[i] = 2.0", 0 * w + 1, w)):
        yield program(f"effect/{name}", head + body + "\n").run({"n": 5}, {}, {"W": want("f32", left, initial=w), "Z": want("f32", 1 * z, initial=0 * w)}, {"p": 3})
    yield program("effect/chain", head + "Z[i] = 1.0 if 0.0 < W[i] < bump(W, i) else 0.0\n", error="E_UNSUPPORTED")
    yield from copies()


def copies():
    """Slices that a statement copies or fetches, at an index whose computation writes."""
    x = np.arange(12) * 1.0
    for name, copy in (("slice", "ts.tile.cp_async(s, X[step(W, r):r * 4 + 4])"), ("keywords", "ts.tile.cp_async(src=X[step(W, r):r * 4 + 4], dst=s)"),
                       ("part", "ts.tile.cp_async(s[0:4], X[step(W, r):r * 4 + 4])"), ("part-index", "ts.tile.cp_async(s[step(W, 0) : 4], X[r * 4:r * 4 + 4])"),
                       ("load", "ts.tile.cp_async(s, ts.tile.load(X, step(W, r), (4,)))"), ("helper", "ts.tile.cp_async(s, row(X, W, r))"),
                       ("prefetch", "ts.tile.prefetch(X[step(W, r):r * 4 + 4])\n        s[:] = X[r * 4:r * 4 + 4]"),
                       ("prefetch-load", "ts.tile.prefetch(ts.tile.load(X, step(W, r), (4,)))\n        s[:] = X[r * 4:r * 4 + 4]")):
        left = np.array([3.0, 0, 0] if name == "part-index" else [1.0, 1, 1])
        yield program(f"effect/copy/{name}", f"""def step(W, at):
    W[at] = W[at] + 1.0
    return at * 4

def row(X, W, at):
    W[at] = W[at] + 1.0
    return X[at * 4:at * 4 + 4]

@ts.kernel
def k(X: ts.Tensor["n", ts.f32], W: ts.Tensor["m", ts.f32], Z: ts.Tensor["n", ts.f32]):
    s = ts.tile.alloc_shared((4,), ts.f32)
    for r in ts.tile.range(0, 3, 1):
        {copy}
        ts.tile.commit_group()
        ts.tile.wait_group(0)
        ts.tile.barrier()
        Z[r * 4:r * 4 + 4] = s[:] + 0.0
        ts.tile.barrier()
""").run({"n": 12, "m": 3}, {"X": ("f32", x)}, {"W": want("f32", left, initial=0 * left), "Z": want("f32", x, initial=0 * x)})
