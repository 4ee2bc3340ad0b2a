"""Strides: the programs of other families with their tensors laid out in three ways, and programs that need strides.

A tensor's memory is given to the runner as one row, in which the elements that belong to no index must not change. The
gaps of inputs are NaN, or the largest integer.
"""
import dataclasses
import importlib
import re
import zlib

import numpy as np

from cases import program, want
from dtypes import DTYPES, random
from matmul import product

FAMILIES = ("launch", "memory", "masks", "masked", "matmul", "reductions", "shapes", "effects", "control", "positions")
TENSOR = re.compile(r'(\w+): ts\.Tensor\[((?:[^\[\]]|\[[^\]]*\])*)\]')
KEPT = 7  # one of this many programs of each family; the names decide which


def layouts(name, rank):
    """How the parameter is laid out: the order of its dims from the innermost on, and the elements between rows."""
    kind = zlib.crc32(name.encode()) % 3
    if kind == 0:
        return list(range(rank))[::-1], 1, 3  # rows with a gap
    if kind == 1:
        return list(range(rank)), 1, 2  # the first dim is the innermost
    return list(range(rank))[::-1], 2, 1  # every other element


def strides_of(shape, order, inner, gap):
    strides, distance = [0] * len(shape), inner
    for d in order:
        strides[d] = distance
        distance = distance * max(shape[d], 1) + gap
    return strides


def spread(values, shape, strides, fill):
    """The memory of a tensor: `values` at their places in a row of `fill`."""
    span = 0 if 0 in shape else 1 + sum((n - 1) * s for n, s in zip(shape, strides))
    row = np.full(span, fill, dtype=np.asarray(values).dtype)
    if span:
        view = np.lib.stride_tricks.as_strided(row, shape, [s * row.itemsize for s in strides])
        view[...] = np.reshape(values, shape)
    return row


def gap_of(dtype):
    return np.nan if DTYPES[dtype].is_float else 1


def with_strides(p):
    """The same program with strides; None if it has no parameter that could have them."""
    layout = {}

    def annotate(match):
        name, inside = match.group(1), match.group(2)
        rank = inside.count(",")
        order, inner, gap = layouts(p.name + name, rank)
        layout[name] = (order, inner, gap)
        unit = order[0] if inner == 1 else -1
        text = ", ".join("1" if d == unit else f'"{name}_stride{d}"' for d in range(rank))
        return f"{name}: ts.Tensor[{inside}, ts.strides({text})]"

    source = TENSOR.sub(annotate, p.source)
    if not layout:
        return None
    made = dataclasses.replace(p, name="strided/" + p.name, source=source, runs=[])
    for r in p.runs:
        dims, inputs, outputs = dict(r.dims), {}, {}
        for name, (order, inner, gap) in layout.items():
            shape = r.outputs[name].shape if name in r.outputs else np.shape(r.inputs[name][1])
            strides = strides_of(shape, order, inner, gap)
            dims |= {f"{name}_stride{d}": s for d, s in enumerate(strides) if f'"{name}_stride{d}"' in source}
            if name in r.outputs:
                w = r.outputs[name]
                initial = spread(w.initial if w.initial is not None else np.full(shape, 1.0), shape, strides, 1)
                values = None
                if w.values is not None:
                    values = spread(np.broadcast_to(w.values, shape), shape, strides, 1)
                bound = None if w.bound is None else spread(np.broadcast_to(w.bound, shape), shape, strides, 0)
                outputs[name] = dataclasses.replace(w, shape=np.shape(initial), values=values, bound=bound, initial=initial)
            else:
                dtype, values = r.inputs[name]
                inputs[name] = (dtype, spread(values, shape, strides, gap_of(dtype)))
        made.run(dims, inputs, outputs | {n: w for n, w in r.outputs.items() if n not in layout}, r.scalars)
    return made


def ported():
    for family in FAMILIES:
        for p in importlib.import_module(family).programs():
            if p.error or p.is_ir or p.kernel or p.whole or "@ts.kernel" not in p.source or "@ts.jit" in p.source:
                continue
            if "->" in p.source or zlib.crc32(p.name.encode()) % KEPT:
                continue
            made = with_strides(p)
            if made:
                yield made


def views():
    # a panel of a larger matrix, and the transpose of one
    p = program("strides/panel", """@ts.kernel
def k(A: ts.Tensor["M", "K", ts.f32, ts.strides("lda", 1)], B: ts.Tensor["K", "N", ts.f32, ts.strides(1, "ldb")],
      C: ts.Tensor["M", "N", ts.f32, ts.strides("ldc", 1)]):
    i, j = ts.tile.grid(ts.cdiv(M, 32), ts.cdiv(N, 32))
    acc = ts.tile.zeros((32, 32), ts.f32)
    for q in range(0, K, 16):
        acc = ts.tile.mma(A[i*32:i*32+32, q:q+16], B[q:q+16, j*32:j*32+32], acc)
    C[i*32:i*32+32, j*32:j*32+32] = acc
""")
    for m, n, k in ((1, 1, 1), (7, 5, 3), (33, 65, 17), (64, 64, 64), (100, 31, 130)):
        a, b = random("f32", (m, k), 1), random("f32", (k, n), 2)
        exact = a.astype(np.float64) @ b
        bound = (np.abs(a) @ np.abs(b)) * (k + 2) * 2.0**-24
        lda, ldb, ldc = k + 5, k + 1, n + 4
        p.run({"M": m, "K": k, "lda": lda, "N": n, "ldb": ldb, "ldc": ldc},
              {"A": ("f32", spread(a, (m, k), (lda, 1), np.nan)), "B": ("f32", spread(b, (k, n), (1, ldb), np.nan))},
              {"C": want("f32", spread(exact, (m, n), (ldc, 1), 0), initial=np.zeros((m - 1) * ldc + n), atol=0,
                         bound=spread(bound, (m, n), (ldc, 1), 0))})
    yield p

    # small products, of which only the result has gaps
    p = program("strides/small-product", """@ts.kernel
def k(A: ts.Tensor["M", "K", ts.f32], B: ts.Tensor["K", "N", ts.f32], C: ts.Tensor["M", "N", ts.f32, ts.strides("ldc", 1)]):
    for m in ts.tile.parallel(0, M, 48):
        for n in ts.tile.parallel(0, N, 64):
            acc = ts.tile.zeros((48, 64), ts.f32)
            for k in ts.tile.range(0, K, 256):
                acc = ts.tile.mma(A[m:m+48, k:k+256], B[k:k+256, n:n+64], acc)
            C[m:m+48, n:n+64] = acc
""")
    for m, n in ((2, 2), (4, 4), (8, 8), (16, 16), (24, 8), (48, 16), (3, 3)):
        a, b = random("f32", (m, n), 1), random("f32", (n, n), 2)
        exact, bound = a.astype(np.float64) @ b, (np.abs(a) @ np.abs(b)) * (n + 2) * 2.0**-24
        ldc = n + 3
        p.run({"M": m, "K": n, "N": n, "ldc": ldc}, {"A": ("f32", a), "B": ("f32", b)},
              {"C": want("f32", spread(exact, (m, n), (ldc, 1), 0), initial=np.zeros((m - 1) * ldc + n), atol=0,
                         bound=spread(bound, (m, n), (ldc, 1), 0))})
    yield p

    # pitches that are multiples of 16 bytes, and others, of rows with other lengths
    for dtype, acc in (("bf16", "f32"), ("i8", "i32")):
        p = program(f"strides/pitches/{dtype}", f"""@ts.kernel
def k(A: ts.Tensor["M", "K", ts.{dtype}, ts.strides("lda", 1)], B: ts.Tensor["K", "N", ts.{dtype}, ts.strides("ldb", 1)], C: ts.Tensor["M", "N", ts.{acc}]):
    for m in ts.tile.parallel(0, M, 64):
        for n in ts.tile.parallel(0, N, 64):
            acc = ts.tile.zeros((64, 64), ts.{acc})
            for k in ts.tile.range(0, K, 32):
                acc = ts.tile.mma(A[m:m+64, k:k+32], B[k:k+32, n:n+64], acc)
            C[m:m+64, n:n+64] = acc
""")
        few = 8 if dtype == "bf16" else 16  # elements in 16 bytes
        row = 4 * few
        for m, n, k, lda, ldb in ((70, row + few // 2, row + few // 4, 2 * row, 2 * row), (3, row + few // 8, row, row, 2 * row),
                                  (3, row, row, row + few // 2, row)):
            a, b = random(dtype, (m, k), 1), random(dtype, (k, n), 2)
            p.run({"M": m, "K": k, "lda": lda, "N": n, "ldb": ldb},
                  {"A": (dtype, spread(a, (m, k), (lda, 1), gap_of(dtype))), "B": (dtype, spread(b, (k, n), (ldb, 1), gap_of(dtype)))},
                  {"C": product(dtype, a, b)})
        yield p

    # stride 0: one row, seen as many
    p = program("strides/zero", """@ts.kernel
def k(X: ts.Tensor["M", "N", ts.f32], R: ts.Tensor["M", "N", ts.f32, ts.strides(0, 1)],
      S: ts.Tensor["M", "N", ts.f32, ts.strides("s", "s")], Z: ts.Tensor["M", "N", ts.f32]):
    for i in ts.tile.parallel(0, M, 4):
        for j in ts.tile.parallel(0, N, 16):
            Z[i:i+4, j:j+16] = X[i:i+4, j:j+16] + R[i:i+4, j:j+16] * S[i:i+4, j:j+16]
""")
    for m, n in ((1, 1), (5, 17), (8, 32)):
        x, row = random("f32", (m, n), 1), random("f32", (n,), 2)
        p.run({"M": m, "N": n, "s": 0}, {"X": ("f32", x), "R": ("f32", row), "S": ("f32", np.full(1, 2.0))},
              {"Z": want("f32", x + 2 * row.astype(np.float64), ulps=1)})
    yield p

    # a stride that is a dim, and one that the program is compiled for
    for known in (False, True):
        p = program(f"strides/dim{'-known' if known else ''}", """@ts.kernel
def k(X: ts.Tensor["M", "N", ts.f32, ts.strides(1, "M")], Y: ts.Tensor["M", "N", ts.f32, ts.strides("a", "b")],
      Z: ts.Tensor["M", ts.f32]):
    for i in ts.tile.parallel(0, M, 8):
        Z[i:i+8] = ts.tile.sum(X[i:i+8, 0:N] - Y[i:i+8, 0:N], axis=1)
""", dims={"N": 8, **({"a": 8, "b": 1} if known else {})})
        for m in (1, 8, 13):
            x, y = np.round(random("f32", (m, 8), 1) * 8), np.round(random("f32", (m, 8), 2) * 8)
            p.run({"M": m, "N": 8, "a": 8, "b": 1}, {"X": ("f32", x.T.copy()), "Y": ("f32", y)},
                  {"Z": want("f32", (x - y).sum(1))})
        yield p

    # elements and lanes
    p = program("strides/lanes", """@ts.kernel
def k(X: ts.Tensor["n", ts.f32, ts.strides("sx")], Z: ts.Tensor["n", ts.f32, ts.strides("sz")], H: ts.Tensor[16, ts.i32, ts.strides(2)]):
    i = ts.tile.linear_id()
    if i < n:
        Z[i] = X[n - 1 - i] * 2.0
        ts.tile.atomic_add(H, i % 16, 1)
""")
    for n in (0, 1, 16, 1000):
        x = random("f32", (n,), 1)
        counts = np.bincount(np.arange(n) % 16, minlength=16)
        p.run({"n": n, "sx": 3, "sz": 2}, {"X": ("f32", spread(x, (n,), (3,), np.nan))},
              {"Z": want("f32", spread(2 * x[::-1], (n,), (2,), 0), initial=np.zeros(max(2 * n - 1, 0))),
               "H": want("i32", spread(counts, (16,), (2,), 0), initial=np.zeros(31, int))})
    yield p


    p = program("strides/result", """@ts.kernel
def k(X: ts.Tensor["M", "N", ts.f32]) -> ts.Tensor["M", "N", ts.f32, ts.strides(1, "ld")]:
    for i in ts.tile.parallel(0, M, 8):
        for j in ts.tile.parallel(0, N, 16):
            return X[i:i+8, j:j+16] * 2.0
""")
    for m, n in ((8, 16), (9, 33)):
        x = random("f32", (m, n), 1)
        p.run({"M": m, "N": n, "ld": m + 3}, {"X": ("f32", x)},
              {"result": want("f32", spread(2 * x, (m, n), (1, m + 3), 0), initial=np.zeros((m + 3) * (n - 1) + m))})
    yield p


def errors():
    for name, types in {
            "count": 'ts.Tensor["M", "N", ts.f32, ts.strides("a")]',
            "none": 'ts.Tensor["M", ts.f32, ts.strides()]',
    }.items():
        yield program(f"strides/{name}", f"""@ts.kernel
def k(X: {types}):
    for i in ts.tile.parallel(0, M, 8):
        pass
""", error="E_PARAMETER")
    yield program("strides/negative", """@ts.kernel
def k(X: ts.Tensor["M", ts.f32, ts.strides(-1)]):
    for i in ts.tile.parallel(0, M, 8):
        X[i:i+8] = 0.0
""", error="E_DIM")
    yield program("strides/function", """@ts.jit
def f(X: ts.Tensor["M", ts.f32, ts.strides(2)]) -> ts.Tensor["M", ts.f32]:
    return X + 1.0
""", error="E_UNIMPLEMENTED")


def functions():
    """Kernels with strides that graph functions call: their tensors are contiguous, so only contiguous strides will do."""
    kernel = """@ts.kernel
def inner(A: ts.Tensor["M", "N", ts.f32{0}]) -> ts.Tensor["M", "N", ts.f32{1}]:
    for i in ts.tile.parallel(0, M, 4):
        for j in ts.tile.parallel(0, N, 16):
            return A[i:i+4, j:j+16] * 2.0

@ts.jit
def f(X: ts.Tensor["M", "N", ts.f32]):
    return inner(X) + 1.0
"""
    for name, a, result in (("named", ', ts.strides("a", "b")', ', ts.strides("c", 1)'), ("shared", ', ts.strides("a", 1)', ', ts.strides("a", 1)'),
                            ("dim", ', ts.strides("N", 1)', ', ts.strides("N", "d")')):
        p = program(f"strides/call/{name}", kernel.format(a, result), kernel="f")
        for m, n in ((6, 10), (1, 1), (9, 33)):
            x = random("f32", (m, n), 1)
            p.run({"M": m, "N": n}, {"X": ("f32", x)}, {"result": want("f32", 2 * x + 1, ulps=1)})
        yield p
    for name, a, result in (("result", "", ', ts.strides(1, "M")'), ("result-number", "", ", ts.strides(1, 6)"), ("result-zero", "", ", ts.strides(0, 1)"),
                            ("result-dim", "", ', ts.strides("M", 1)'), ("operand", ', ts.strides(1, "M")', ""), ("twice", ', ts.strides("s", "s")', "")):
        yield program(f"strides/call/{name}", kernel.format(a, result), kernel="f", error="E_KERNEL_ARGUMENT")
    dims = ", ".join(f'"{d}"' for d in "abcdefgh")
    yield program("strides/call/many-terms", f"""@ts.kernel
def inner(A: ts.Tensor[{dims}, ts.f32, ts.strides(7, "s1", "s2", "s3", "s4", "s5", "s6", 1)], Y: ts.Tensor["a", ts.f32]):
    for i in ts.tile.parallel(0, a, 4):
        Y[i:i+4] = A[i:i+4, 0, 0, 0, 0, 0, 0, 0]

@ts.jit
def f(X: ts.Tensor[{dims}, ts.f32], Y: ts.Tensor["a", ts.f32]):
    inner(X[:, 1:, 1:, 1:, 1:, 1:, 1:, 1:], Y)
    return Y
""", kernel="f", error="E_KERNEL_ARGUMENT")


def programs():
    yield from functions()
    yield from ported()
    yield from views()
    yield from errors()
