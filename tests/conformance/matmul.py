"""mma: dtypes, transposed operands, accumulators, shapes around the tiles, operands from shared memory."""
import itertools

import numpy as np

from cases import program, want
from dtypes import DTYPES, random

SIZES = [(1, 1, 1), (16, 16, 16), (15, 17, 13), (33, 7, 48), (64, 64, 64), (5, 100, 3), (0, 4, 4), (4, 0, 4), (4, 4, 0)]
ACCUMULATORS = {"f64": "f64", "f32": "f32", "f16": "f32", "bf16": "f32", "fp8_e4m3": "f32", "fp8_e5m2": "f32", "i8": "i32", "u8": "i32"}


def source(dtype, ta=False, tb=False, tile=(16, 16, 16)):
    acc, (bm, bn, bk) = ACCUMULATORS[dtype], tile
    a, b = (f"A[k:k+{bk}, m:m+{bm}].T" if ta else f"A[m:m+{bm}, k:k+{bk}]"), (f"B[n:n+{bn}, k:k+{bk}].T" if tb else f"B[k:k+{bk}, n:n+{bn}]")
    da, db = ('"K", "M"' if ta else '"M", "K"'), ('"N", "K"' if tb else '"K", "N"')
    return f"""@ts.kernel
def k(A: ts.Tensor[{da}, ts.{dtype}], B: ts.Tensor[{db}, ts.{dtype}], C: ts.Tensor["M", "N", ts.{acc}]):
    for m in ts.tile.parallel(0, M, {bm}):
        for n in ts.tile.parallel(0, N, {bn}):
            acc = ts.tile.zeros(({bm}, {bn}), ts.{acc})
            for k in ts.tile.range(0, K, {bk}):
                acc = ts.tile.mma({a}, {b}, acc)
            C[m:m+{bm}, n:n+{bn}] = acc
"""


def product(dtype, a, b, c=None, extra=0):
    """What C must be, with the bound on the error of a sum in the accumulator's precision in any order."""
    acc = ACCUMULATORS[dtype]
    base = np.zeros((*a.shape[:-1], b.shape[-1])) if c is None else c
    if not DTYPES[acc].is_float:
        return want(acc, (base.astype("i8") + a @ b).astype("i4").astype("i8"), initial=c)  # wraps
    bound = (a.shape[-1] + 2 + extra) * DTYPES[acc].eps / 2 * (np.abs(base) + np.abs(a) @ np.abs(b))
    return want(acc, base + a @ b, bound=bound + 1e-300, initial=c)


def dtypes_and_transposes():
    for dtype in ACCUMULATORS:
        for ta in (False, True):
            for tb in (False, True):
                p = program(f"mma/{dtype}/{'t' if ta else 'n'}{'t' if tb else 'n'}", source(dtype, ta, tb))
                for seed, (m, k, n) in enumerate(SIZES):
                    a, b = random(dtype, (m, k), seed), random(dtype, (k, n), seed + 50)
                    p.run({"M": m, "K": k, "N": n}, {"A": (dtype, a.T if ta else a), "B": (dtype, b.T if tb else b)},
                          {"C": product(dtype, a, b)})
                yield p


def interleaved():
    """Factors stored along m or n with tiles that instructions on interleaved rows and columns divide."""
    for dtype in ("f16", "bf16", "fp8_e4m3", "i8", "u8"):
        for ta in (False, True):
            for tb in (False, True):
                for tile in ((64, 64, 32), (128, 128, 32)):
                    if (tile[0] == 128 and dtype != "i8") or (tb and not ta):
                        continue
                    p = program(f"mma/interleaved/{dtype}/{'t' if ta else 'n'}{'t' if tb else 'n'}/{tile[0]}", source(dtype, ta, tb, tile))
                    for seed, (m, k, n) in enumerate(((100, 70, 150), (64, 32, 64), (65, 33, 1), (1, 1, 1), (0, 4, 4))):
                        a, b = random(dtype, (m, k), seed), random(dtype, (k, n), seed + 50)
                        p.run({"M": m, "K": k, "N": n}, {"A": (dtype, a.T if ta else a), "B": (dtype, b.T if tb else b)},
                              {"C": product(dtype, a, b)})
                    yield p


def multiples_of_16_bytes():
    """Rows of 64 bytes or more that are a multiple of 16 bytes apart, which some devices read as blocks, and others that just miss."""
    for dtype in ("f16", "bf16", "i8", "u8"):
        few = 128 // (DTYPES[dtype].bits or 16)  # elements in 16 bytes
        least = 4 * few
        for tb in (False, True):
            p = program(f"mma/multiples/{dtype}/{'nt' if tb else 'nn'}", source(dtype, False, tb, (64, 64, 32)))
            sizes = ((1, least, least), (65, least + few, least + 3 * few), (3, least + few // 2, least), (3, least, least + few // 2), (5, least, 1))
            for seed, (m, k, n) in enumerate(sizes):
                a, b = random(dtype, (m, k), seed), random(dtype, (k, n), seed + 50)
                p.run({"M": m, "K": k, "N": n}, {"A": (dtype, a), "B": (dtype, b.T if tb else b)}, {"C": product(dtype, a, b)})
            yield p


def tiles():
    for dtype in ("f32", "i8"):
        for tile in ((1, 1, 1), (8, 32, 4), (48, 256, 64), (96, 64, 32), (7, 5, 3), (1, 64, 64), (64, 1, 64), (13, 100, 17), (13, 31, 18)):
            p = program(f"mma/tile/{dtype}/{'x'.join(map(str, tile))}", source(dtype, tile=tile))
            for m, k, n in ((50, 70, 90), (tile[0], tile[2], tile[1]), (1, 1, 1)):
                a, b = random(dtype, (m, k), 1), random(dtype, (k, n), 2)
                p.run({"M": m, "K": k, "N": n}, {"A": (dtype, a), "B": (dtype, b)}, {"C": product(dtype, a, b)})
            yield p


def narrow():
    """Several blocks of an instruction's rows beside few columns."""
    for dtype, tile in itertools.product(("f16", "i8"), ((128, 8, 32), (128, 24, 32), (128, 40, 64), (256, 8, 32), (256, 16, 64))):
        p = program(f"mma/narrow/{dtype}/{'x'.join(map(str, tile))}", source(dtype, tile=tile))
        for m, k, n in ((tile[0], 64, tile[1]), (tile[0] + 1, 33, tile[1] + 1)):
            a, b = random(dtype, (m, k), 1), random(dtype, (k, n), 2)
            p.run({"M": m, "K": k, "N": n}, {"A": (dtype, a), "B": (dtype, b)}, {"C": product(dtype, a, b)})
        yield p


def extremes():
    """The largest integers of each dtype, of both signs: every product counts, and sums wrap as i32 does."""
    for dtype, values in (("i8", (-128, 127)), ("u8", (0, 255))):
        p = program(f"mma/extremes/{dtype}", source(dtype, tile=(16, 32, 8)))
        for m, k, n in ((17, 2, 33), (16, 8, 32), (5, 37, 9)):
            for x in values:
                for y in values:
                    a, b = np.full((m, k), x, "i8"), np.full((k, n), y, "i8")
                    p.run({"M": m, "K": k, "N": n}, {"A": (dtype, a), "B": (dtype, b)}, {"C": product(dtype, a, b)})
        yield p


def few():
    """Products that a tile is too large for: few rows or columns of a tensor, tensors' ends within a tile, operands from
    shared memory, tensors that are written between the read of an operand and the product."""
    sizes = [(1, 1, 1), (1, 300, 1), (1, 70, 100), (100, 70, 1), (3, 40, 90), (4, 9, 7), (5, 9, 7), (6, 33, 70), (7, 33, 70), (40, 20, 65),
             (33, 64, 31), (8, 5, 1), (31, 97, 3), (32, 4, 4), (97, 1, 1), (100, 49, 2)]
    for dtype in ACCUMULATORS:
        for ta in (False, True):
            for tb in (False, True):
                p = program(f"mma/few/{dtype}/{'t' if ta else 'n'}{'t' if tb else 'n'}", source(dtype, ta, tb, (32, 64, 48)))
                for seed, (m, k, n) in enumerate(sizes):
                    a, b = random(dtype, (m, k), seed), random(dtype, (k, n), seed + 50)
                    p.run({"M": m, "K": k, "N": n}, {"A": (dtype, a.T if ta else a), "B": (dtype, b.T if tb else b)},
                          {"C": product(dtype, a, b)})
                yield p
    for dtype in ("f32", "bf16"):
        p = program(f"mma/few/shared/{dtype}", f"""@ts.kernel
def k(A: ts.Tensor["M", "K", ts.{dtype}], B: ts.Tensor["N", "K", ts.{dtype}], C: ts.Tensor["M", "N", ts.f32]):
    rows = ts.tile.alloc_shared((32, 48), ts.{dtype})
    columns = ts.tile.alloc_shared((64, 48), ts.{dtype})
    for m in ts.tile.parallel(0, M, 32):
        for n in ts.tile.parallel(0, N, 64):
            acc = ts.tile.zeros((32, 64), ts.f32)
            for k in ts.tile.range(0, K, 48):
                ts.tile.barrier()
                ts.tile.cp_async(rows, A[m:m+32, k:k+48])
                ts.tile.cp_async(columns, B[n:n+64, k:k+48])
                ts.tile.barrier()
                acc = ts.tile.mma(rows, columns.T, acc)
            C[m:m+32, n:n+64] = acc
""")
        for seed, (m, k, n) in enumerate(sizes):
            a, b = random(dtype, (m, k), seed), random(dtype, (k, n), seed + 50)
            p.run({"M": m, "K": k, "N": n}, {"A": (dtype, a), "B": (dtype, b.T)}, {"C": product(dtype, a, b)})
        yield p
    p = program("mma/few/overtaken", """@ts.kernel
def k(A: ts.Tensor["M", "K", ts.f32], B: ts.Tensor["K", "N", ts.f32], C: ts.Tensor["M", "N", ts.f32]):
    for m in ts.tile.parallel(0, M, 32):
        a = A[m:m+32, 0:64]
        A[m:m+32, 0:64] = ts.tile.zeros((32, 64), ts.f32)
        C[m:m+32, 0:64] = ts.tile.mma(a, B[0:64, 0:64])
""")
    for seed, (m, k, n) in enumerate([(1, 64, 1), (3, 20, 60), (40, 64, 64)]):
        a, b = random("f32", (m, k), seed), random("f32", (k, n), seed + 50)
        p.run({"M": m, "K": k, "N": n}, {"B": ("f32", b)}, {"A": want("f32", np.zeros((m, k)), initial=a), "C": product("f32", a, b)})
    yield p


def large():
    """Operands large enough to be read by a call of their own: inside, over the edge and behind the end; every dtype."""
    for dtype in ACCUMULATORS:
        p = program(f"mma/large/{dtype}", f"""@ts.kernel
def k(A: ts.Tensor["L", "M", "K", ts.{dtype}], B: ts.Tensor["K", "N", ts.{dtype}], C: ts.Tensor["P", "Q", 32, 32, ts.{ACCUMULATORS[dtype]}]):
    for l in ts.tile.parallel(0, P, 1):
        for m in ts.tile.parallel(0, Q, 1):
            acc = ts.tile.zeros((32, 32), ts.{ACCUMULATORS[dtype]})
            for k in ts.tile.range(0, K, 64):
                acc = ts.tile.mma(A[l, m*32:m*32+32, k:k+64], B[k:k+64, m*32:m*32+32], acc)
            C[l, m, 0:32, 0:32] = acc
""")
        for seed, (l, m, k, n) in enumerate(((2, 64, 128, 64), (1, 33, 65, 31), (2, 1, 3, 96))):
            a, b = random(dtype, (l, m, k), seed), random(dtype, (k, n), seed + 50)
            rows, columns = np.zeros((3, 128, k), a.dtype), np.zeros((k, 128), b.dtype)
            rows[:l, :m], columns[:, :n] = a, b
            blocks = product(dtype, rows.reshape(3, 4, 32, k), columns.reshape(k, 4, 32).transpose(1, 0, 2))
            # Rows past A and columns past B are masked: what C had there stays.
            inside = np.zeros((3, 128, 128), bool)
            inside[:l, :m, :n] = True
            inside = np.stack([inside[:, 32 * q:32 * q + 32, 32 * q:32 * q + 32] for q in range(4)], axis=1)
            blocks.values = np.where(inside, blocks.values, 7)
            blocks.initial = np.full(inside.shape, 7)
            p.run({"L": l, "M": m, "K": k, "N": n, "P": 3, "Q": 4}, {"A": (dtype, a), "B": (dtype, b)}, {"C": blocks})
        yield p


def uneven():
    """Factors that end at different depths: what one lacks counts for nothing, whatever the other has there."""
    for dtype in ("f64", "f32", "bf16"):
        p = program(f"mma/uneven/{dtype}", f"""@ts.kernel
def k(A: ts.Tensor["M", "K", ts.{dtype}], B: ts.Tensor["L", "N", ts.{dtype}], C: ts.Tensor["M", "N", ts.{ACCUMULATORS[dtype]}]):
    for m in ts.tile.parallel(0, M, 32):
        C[m:m+32, 0:64] = ts.tile.mma(A[m:m+32, 0:64], B[0:64, 0:64])
""")
        for m, k, l, n in ((32, 10, 64, 64), (5, 64, 10, 7), (5, 33, 35, 64)):
            a, b, depth = np.ones((m, k)), np.ones((l, n)), min(k, l)
            a[:, depth:], b[depth:] = np.inf, np.nan
            p.run({"M": m, "K": k, "L": l, "N": n}, {"A": (dtype, a), "B": (dtype, b)},
                  {"C": want(ACCUMULATORS[dtype], np.full((m, n), float(depth)))})
        yield p


def depths():
    """A contraction of a known length, which may be no multiple of an instruction's; factors that become wider before they are multiplied."""
    for dtype, wide in (("f16", "f16"), ("bf16", "bf16"), ("i8", "i8"), ("f16", "f32"), ("bf16", "f32"), ("i8", "f32"), ("f16", "f64"), ("i8", "f16"), ("fp8_e4m3", "bf16")):
        acc = ACCUMULATORS[wide]
        for depth in (8, 24, 32, 40, 72):
            a, b = ("A[m:m+64, :]", "B[n:n+64, :]") if wide == dtype else (f"ts.cast(A[m:m+64, :], ts.{wide})", f"ts.cast(B[n:n+64, :], ts.{wide})")
            for numerics in ("standard", "fast") if wide == "f32" else ("standard",):
                p = program(f"mma/depths/{dtype}-{wide}/{depth}/{numerics}", f"""@ts.kernel
def k(A: ts.Tensor["M", {depth}, ts.{dtype}], B: ts.Tensor["N", {depth}, ts.{dtype}], C: ts.Tensor["M", "N", ts.{acc}]):
    for m in ts.tile.parallel(0, M, 64):
        for n in ts.tile.parallel(0, N, 64):
            C[m:m+64, n:n+64] = ts.tile.mma({a}, {b}.T)
""", numerics=numerics)
                for m, n in ((64, 64), (65, 7)):
                    # small integers, of which every format has the products and their sums
                    draw = np.random.default_rng(depth + m)
                    x, y = (draw.integers(-3, 4, (rows, depth)).astype("f8") for rows in (m, n))
                    if not DTYPES[dtype].is_float:
                        x, y = x.astype("i8"), y.astype("i8")
                    p.run({"M": m, "N": n}, {"A": (dtype, x), "B": (dtype, y)}, {"C": product(wide, x, y.T)})
                yield p


def shared():
    for dtype in ("f32", "bf16", "i8"):
        for swizzle in ("none", "xor"):
            acc = ACCUMULATORS[dtype]
            p = program(f"mma/shared/{dtype}/{swizzle}", f"""@ts.kernel
def k(A: ts.Tensor["M", "K", ts.{dtype}], B: ts.Tensor["N", "K", ts.{dtype}], C: ts.Tensor["M", "N", ts.{acc}]):
    sa = ts.tile.alloc_shared((32, 16), ts.{dtype}, swizzle="{swizzle}")
    sb = ts.tile.alloc_shared((32, 16), ts.{dtype}, swizzle="{swizzle}")
    for m in ts.tile.parallel(0, M, 32):
        for n in ts.tile.parallel(0, N, 32):
            acc = ts.tile.zeros((32, 32), ts.{acc})
            for k in ts.tile.range(0, K, 16):
                ts.tile.barrier()
                ts.tile.cp_async(sa, A[m:m+32, k:k+16])
                ts.tile.cp_async(sb, B[n:n+32, k:k+16])
                ts.tile.barrier()
                acc = ts.tile.mma(sa, sb.T, acc)
            C[m:m+32, n:n+32] = acc
""")
            for m, k, n in ((40, 37, 50), (32, 16, 32), (1, 1, 1)):
                a, b = random(dtype, (m, k), 3), random(dtype, (k, n), 4)
                p.run({"M": m, "K": k, "N": n}, {"A": (dtype, a), "B": (dtype, np.ascontiguousarray(b.T))}, {"C": product(dtype, a, b)})
            yield p


def epilogues():
    """Arithmetic on the accumulator, and a product of a computed tile."""
    p = program("mma/epilogue", """@ts.kernel
def k(A: ts.Tensor["M", "K", ts.f32], B: ts.Tensor["K", "N", ts.f32], bias: ts.Tensor["N", ts.f32], C: ts.Tensor["M", "N", ts.f32]):
    for m in ts.tile.parallel(0, M, 16):
        for n in ts.tile.parallel(0, N, 32):
            acc = ts.tile.zeros((16, 32), ts.f32)
            for k in ts.tile.range(0, K, 8):
                acc = ts.tile.mma(A[m:m+16, k:k+8], B[k:k+8, n:n+32], acc)
            C[m:m+16, n:n+32] = ts.tile.maximum(acc + bias[n:n+32][None, :], 0.0) * 2.0
""")
    for m, k, n in ((20, 30, 40), (16, 8, 32)):
        a, b, bias = random("f32", (m, k), 5), random("f32", (k, n), 6), random("f32", (n,), 7)
        values = np.maximum(a @ b + bias, 0) * 2
        p.run({"M": m, "K": k, "N": n}, {"A": ("f32", a), "B": ("f32", b), "bias": ("f32", bias)},
              {"C": want("f32", values, bound=(k + 4) * 2.0**-22 * (np.abs(a) @ np.abs(b) + np.abs(bias)))})
    yield p

    p = program("mma/chained", """@ts.kernel
def k(A: ts.Tensor["M", 16, ts.f32], B: ts.Tensor[16, 24, ts.f32], D: ts.Tensor[24, 8, ts.f32], C: ts.Tensor["M", 8, ts.f32]):
    for m in ts.tile.parallel(0, M, 16):
        h = ts.tile.maximum(ts.tile.mma(A[m:m+16, :], B[:, :]), 0.0)
        C[m:m+16, :] = ts.tile.mma(h, D[:, :])
""")
    a, b, d = random("f32", (21, 16), 8), random("f32", (16, 24), 9), random("f32", (24, 8), 10)
    p.run({"M": 21}, {"A": ("f32", a), "B": ("f32", b), "D": ("f32", d)},
          {"C": want("f32", np.maximum(a @ b, 0) @ d, bound=100 * 2.0**-24 * (np.abs(a) @ np.abs(b) @ np.abs(d)))})
    yield p


def accumulating():
    """acc= an existing tile, C += once, and no accumulator at all."""
    p = program("mma/in-out", """@ts.kernel
def k(A: ts.Tensor["M", "K", ts.bf16], B: ts.Tensor["K", "N", ts.bf16], C: ts.Tensor["M", "N", ts.f32]) -> ts.Tensor["M", "N", ts.f32]:
    acc = ts.tile.mma(A[tile_m:tile_m+32, tile_k:tile_k+16], B[tile_k:tile_k+16, tile_n:tile_n+32])
    C[tile_m:tile_m+32, tile_n:tile_n+32] += acc
    return C
""")
    for m, k, n in ((40, 50, 33), (1, 1, 1), (32, 16, 32), (8, 0, 8)):
        a, b, c = random("bf16", (m, k), 1), random("bf16", (k, n), 2), random("f32", (m, n), 3)
        p.run({"M": m, "K": k, "N": n}, {"A": ("bf16", a), "B": ("bf16", b)}, {"C": product("bf16", a, b, c, 1)})
    yield p


def instructions():
    """Tiles of the sizes that matrix instructions of GPUs multiply, with tensors that end before, at and after a tile's end,
    and rows at multiples of 2, 4, 8 and 16 bytes."""
    for dtype in ("bf16", "f16"):
        for ta, tb, tile in ((False, False, (64, 64, 32)), (True, True, (64, 64, 16)), (False, True, (128, 64, 48)), (True, False, (64, 128, 64)),
                             (False, False, (128, 176, 16)), (False, False, (96, 96, 32)), (False, False, (16, 64, 64))):
            bm, bn, bk = tile
            p = program(f"mma/instructions/{dtype}/{'t' if ta else 'n'}{'t' if tb else 'n'}/{'x'.join(map(str, tile))}", source(dtype, ta, tb, tile))
            for seed, (m, k, n) in enumerate(((bm - 1, bk + 1, bn + 1), (bm, bk, bn), (1, 2 * bk - 1, bn + 7), (bm + 2, bk + 2, bn + 4))):
                a, b = random(dtype, (m, k), seed), random(dtype, (k, n), seed + 50)
                p.run({"M": m, "K": k, "N": n}, {"A": (dtype, a.T if ta else a), "B": (dtype, b.T if tb else b)}, {"C": product(dtype, a, b)})
            yield p
        p = program(f"mma/instructions/{dtype}/epilogue", f"""@ts.kernel
def k(A: ts.Tensor["M", "K", ts.{dtype}], B: ts.Tensor["K", "N", ts.{dtype}], bias: ts.Tensor["N", ts.f32], C: ts.Tensor["M", "N", ts.f32]):
    for m in ts.tile.parallel(0, M, 64):
        for n in ts.tile.parallel(0, N, 32):
            acc = ts.tile.zeros((64, 32), ts.f32) + bias[n:n+32][None, :]
            for k in ts.tile.range(1, K, 32):
                acc = ts.tile.mma(A[m+1:m+65, k:k+32], B[k:k+32, n:n+32], acc)
            C[m:m+64, n:n+32] = ts.tile.maximum(acc, 0.0) * 2.0
""")
        for m, k, n in ((66, 70, 45), (65, 33, 32), (2, 2, 1)):  # row 0 and column 0 of A are left out
            a, b, bias = random(dtype, (m, k), 5), random(dtype, (k, n), 6), random("f32", (n,), 7)
            values, bound = np.full((m, n), 7.0), np.zeros((m, n))  # the last row is past A, so that C keeps it
            values[:-1] = np.maximum(a[1:, 1:] @ b[1:] + bias, 0) * 2
            bound[:-1] = (k + 4) * 2.0**-22 * (np.abs(a[1:, 1:]) @ np.abs(b[1:]) + np.abs(bias))
            p.run({"M": m, "K": k, "N": n}, {"A": (dtype, a), "B": (dtype, b), "bias": ("f32", bias)},
                  {"C": want("f32", values, bound=bound, initial=np.full((m, n), 7.0))})
        yield p
        for bn in (64, 96, 16):  # sums as narrow results, whose rows lanes exchange; rows at multiples of 16 bytes and others
            p = program(f"mma/instructions/{dtype}/narrow/{bn}", f"""@ts.kernel
def k(A: ts.Tensor["M", "K", ts.{dtype}], B: ts.Tensor["K", "N", ts.{dtype}], C: ts.Tensor["M", "N", ts.{dtype}], D: ts.Tensor["M", "N", ts.fp8_e5m2]):
    for m in ts.tile.parallel(0, M, 64):
        for n in ts.tile.parallel(0, N, {bn}):
            acc = ts.tile.zeros((64, {bn}), ts.f32)
            for k in ts.tile.range(0, K, 32):
                acc = ts.tile.mma(A[m:m+64, k:k+32], B[k:k+32, n:n+{bn}], acc)
            C[m:m+64, n:n+{bn}] = ts.tile.cast(acc, ts.{dtype})
            D[m:m+64, n:n+{bn}] = ts.tile.cast(acc, ts.fp8_e5m2)
""")
            for m, k, n in ((70, 33, 2 * bn), (65, 32, bn + 3), (65, 34, bn + 2), (66, 36, bn + 4)):
                a, b = random(dtype, (m, k), 8), random(dtype, (k, n), 9)
                size = np.abs(a) @ np.abs(b)
                p.run({"M": m, "K": k, "N": n}, {"A": (dtype, a), "B": (dtype, b)},
                      {name: want(t, a @ b, bound=DTYPES[t].eps * np.abs(a @ b) + (k + 2) * 2.0**-23 * size + 2.0**-16)
                       for name, t in (("C", dtype), ("D", "fp8_e5m2"))})
            yield p
        p = program(f"mma/instructions/{dtype}/chained", f"""@ts.kernel
def k(Q: ts.Tensor["M", 64, ts.{dtype}], K: ts.Tensor["N", 64, ts.{dtype}], V: ts.Tensor["N", 64, ts.{dtype}], O: ts.Tensor["M", 64, ts.f32]):
    for m in ts.tile.parallel(0, M, 64):
        acc = ts.tile.zeros((64, 64), ts.f32)
        for n in ts.tile.range(0, N, 64):
            s = ts.tile.mma(Q[m:m+64, :], K[n:n+64, :].T) * 0.125
            acc = ts.tile.mma(ts.tile.cast(s, ts.{dtype}), V[n:n+64, :], acc * 0.5)
        O[m:m+64, :] = acc
""")
        for m, n in ((64, 64), (37, 130)):
            q, key, v = random(dtype, (m, 64), 1), random(dtype, (n, 64), 2), random(dtype, (n, 64), 3)
            values, bound = np.zeros((m, 64)), np.zeros((m, 64))
            for first in range(0, n, 64):
                part = slice(first, first + 64)
                values = values * 0.5 + q @ key[part].T * 0.125 @ v[part]
                bound = bound * 0.5 + 1.1 * DTYPES[dtype].eps * (np.abs(q) @ np.abs(key[part]).T * 0.125 @ np.abs(v[part]))
            p.run({"M": m, "N": n}, {"Q": (dtype, q), "K": (dtype, key), "V": (dtype, v)}, {"O": want("f32", values, bound=bound)})
        yield p


def several():
    """Several products in one step of a loop: each of its own factors, all of one left factor, and one of factors that no step changes."""
    def kernel(name, tensors, body):
        params = ", ".join(f'{n}: ts.Tensor["{r}", "{c}", ts.{d}]' for n, r, c, d in tensors)
        return program(f"mma/several/{name}", f"""@ts.kernel
def k({params}):
    for m in ts.tile.parallel(0, M, 64):
        for n in ts.tile.parallel(0, N, 64):
            x = y = z = ts.tile.zeros((64, 64), ts.f32)
{body}""")
    m, k, n = 70, 100, 72
    a, c, e = (random("bf16", (m, k), seed) for seed in (1, 2, 3))
    b, d, f = (random("bf16", (k, n), seed) for seed in (4, 5, 6))
    inputs = {name: ("bf16", v) for name, v in zip("ABCDEF", (a, b, c, d, e, f))}
    step = "                {0} = ts.tile.mma({1}[m:m+64, k:k+32], {2}[k:k+32, n:n+64], {0})\n"
    loop = "            for k in ts.tile.range(0, K, 32):\n"

    def bound(*pairs):
        return (k + 4) * 2.0**-22 * sum(np.abs(left) @ np.abs(right) for left, right in pairs)
    names = [(name, *(("M", "K") if name in "ACE" else ("K", "N")), "bf16") for name in "ABCDEF"]
    p = kernel("own-factors", names + [("X", "M", "N", "f32")], loop + step.format("x", "A", "B") + step.format("y", "C", "D") + step.format("z", "E", "F")
               + "            X[m:m+64, n:n+64] = x + y - z\n")
    p.run({"M": m, "K": k, "N": n}, inputs, {"X": want("f32", a @ b + c @ d - e @ f, bound=bound((a, b), (c, d), (e, f)))})
    yield p
    p = kernel("one-left-factor", [t for t in names if t[0] in "ABDF"] + [(name, "M", "N", "f32") for name in "XYZ"],
               loop + step.format("x", "A", "B") + step.format("y", "A", "D") + step.format("z", "A", "F")
               + "".join(f"            {name.upper()}[m:m+64, n:n+64] = {name}\n" for name in "xyz"))
    p.run({"M": m, "K": k, "N": n}, {name: inputs[name] for name in "ABDF"},
          {name: want("f32", a @ right, bound=bound((a, right))) for name, right in zip("XYZ", (b, d, f))})
    yield p
    p = kernel("same-factors", names[:2] + [("X", "M", "N", "f32")], "            for i in ts.tile.range(0, K, 16):\n"
               "                x = ts.tile.mma(A[m:m+64, 0:32], B[0:32, n:n+64], x)\n            X[m:m+64, n:n+64] = x\n")
    p.run({"M": m, "K": k, "N": n}, {name: inputs[name] for name in "AB"},
          {"X": want("f32", 7 * (a[:, :32] @ b[:32]), bound=7 * bound((a[:, :32], b[:32])))})
    yield p
    # A ring of copies begins anew in each run of the inner loop. Its first slots are those of the last steps for some depths only.
    for name, outer, add in (("columns", "for n in ts.tile.range(0, N, 64)", 1), ("sums", "for n in ts.tile.parallel(0, N, 64)", 3)):
        repeat = add > 1
        p = program(f"mma/several/nested-{name}", f"""@ts.kernel
def k(A: ts.Tensor["M", "K", ts.bf16], B: ts.Tensor["K", "N", ts.bf16], X: ts.Tensor["M", "N", ts.f32]):
    for m in ts.tile.parallel(0, M, 64):
        {outer}:
            x = ts.tile.zeros((64, 64), ts.f32)
{"            for r in ts.tile.range(0, 3, 1):" + chr(10) if repeat else ""}{"    " * repeat}            for k in ts.tile.range(0, K, 32):
{"    " * repeat}                x = ts.tile.mma(A[m:m+64, k:k+32], B[k:k+32, n:n+64], x)
            X[m:m+64, n:n+64] = x
""")
        for depth in (24, 72, 136, 200):
            left, right = random("bf16", (m, depth), depth), random("bf16", (depth, 136), 9)
            p.run({"M": m, "K": depth, "N": 136}, {"A": ("bf16", left), "B": ("bf16", right)},
                  {"X": want("f32", add * (left @ right), bound=add * (depth + 4) * 2.0**-22 * (np.abs(left) @ np.abs(right)))})
        yield p


def more_instructions():
    """The same of the other dtypes: all integers, floats with NaN and -0, f32 that `fast` may round to tf32, and sums of fp8 that it
    may keep with 14 bits."""
    tiles = ((False, False, (64, 64, 32)), (True, True, (64, 64, 64)), (False, True, (128, 64, 64)), (True, False, (96, 64, 96)))
    for dtype, numerics in (("i8", None), ("u8", None), ("fp8_e4m3", None), ("fp8_e4m3", "fast"), ("fp8_e5m2", None), ("f64", None), ("f32", "fast")):
        own = f"{dtype}-{numerics}" if numerics else dtype
        deep = {"fp8_e4m3": ((64, 64, 256), (128, 96, 32)), "f32": ((64, 96, 32),)}.get(dtype, ())  # along k, several promotions of fp8
        for ta, tb, tile in tiles + tuple((False, True, tile) for tile in deep):
            bm, bn, bk = tile
            p = program(f"mma/instructions/{own}/{'t' if ta else 'n'}{'t' if tb else 'n'}/{'x'.join(map(str, tile))}", source(dtype, ta, tb, tile),
                        **({"numerics": numerics} if numerics else {}))
            for seed, (m, k, n) in enumerate(((bm - 1, bk + 1, bn + 1), (bm, bk, bn), (1, 2 * bk - 1, bn + 7), (bm + 8, bk + 8, bn + 4))):
                a, b = random(dtype, (m, k), seed), random(dtype, (k, n), seed + 50)
                if seed == 1:
                    a[0, 0] = b[-1, -1] = np.nan if DTYPES[dtype].is_float else a.max()
                    a[1, :] = -0.0
                expected = product(dtype, a, b)
                if DTYPES[dtype].is_float:
                    error = {"f32-fast": 2.0**-9, "fp8_e4m3-fast": k * 2.0**-13}.get(own, (k + 2) * DTYPES[ACCUMULATORS[dtype]].eps / 2)
                    if own.startswith("fp8") and not numerics and tb and not ta:
                        # wgmma, for this order alone, keeps 13 bits after the point of the largest of up to 128 products (docs/numerics.md).
                        error = min(k, 128) * 2.0**-13
                    expected = want(ACCUMULATORS[dtype], a @ b, bound=np.nan_to_num(error * (np.abs(a) @ np.abs(b))) + 1e-300)
                p.run({"M": m, "K": k, "N": n}, {"A": (dtype, a.T if ta else a), "B": (dtype, b.T if tb else b)}, {"C": expected})
            yield p


def batches():
    """Whole products that a kernel reads or stores in parts: a batch that ends early, results on a diagonal, another loop that stores."""
    def loops(a, stores):
        return f"""    for p in ts.tile.parallel(0, P):
        for m in ts.tile.parallel(0, M, 48):
            for n in ts.tile.parallel(0, N, 64):
                acc = ts.tile.zeros((48, 64), ts.f32)
                for k in ts.tile.range(0, K, 64):
                    acc = ts.tile.mma({a}, B[p, k:k+64, n:n+64], acc)
{stores}"""
    m, k, n = 50, 130, 70
    a, b = random("f32", (3, m, k), 1), random("f32", (3, k, n), 2)
    kept = np.full((3, m, n), 7.0)
    values, bound = a @ b, (k + 2) * 2.0**-23 * (np.abs(a) @ np.abs(b))
    own, store = "A[p, m:m+48, k:k+64]", "                C[p, m:m+48, n:n+64] = acc\n"
    head = 'B: ts.Tensor["P", "K", "N", ts.f32]'
    dims = {"P": 3, "M": m, "K": k, "N": n}

    p = program("mma/batches/a_ends_early", f"""@ts.kernel
def k(A: ts.Tensor["Q", "M", "K", ts.f32], {head}, C: ts.Tensor["P", "M", "N", ts.f32]):
{loops(own, store)}""")
    short = np.concatenate((values[:2], kept[2:]))  # a product that is masked leaves C alone
    p.run({**dims, "Q": 2}, {"A": ("f32", a[:2]), "B": ("f32", b)}, {"C": want("f32", short, bound=bound, initial=kept)})
    yield p
    p = program("mma/batches/c_ends_early", f"""@ts.kernel
def k(A: ts.Tensor["P", "M", "K", ts.f32], {head}, C: ts.Tensor["Q", "M", "N", ts.f32]):
{loops(own, store)}""")
    p.run({**dims, "Q": 2}, {"A": ("f32", a), "B": ("f32", b)}, {"C": want("f32", values[:2], bound=bound[:2])})
    yield p
    p = program("mma/batches/diagonal", f"""@ts.kernel
def k(A: ts.Tensor["P", "M", "K", ts.f32], {head}, C: ts.Tensor["P", "P", "M", "N", ts.f32]):
{loops(own, store.replace("C[p,", "C[p, p,"))}""")
    whole, bounds = np.full((3, 3, m, n), 7.0), np.zeros((3, 3, m, n))
    for i in range(3):
        whole[i, i], bounds[i, i] = values[i], bound[i]
    p.run(dims, {"A": ("f32", a), "B": ("f32", b)}, {"C": want("f32", whole, bound=bounds, initial=np.full((3, 3, m, n), 7.0))})
    yield p
    p = program("mma/batches/another_loop", f"""@ts.kernel
def k(A: ts.Tensor["P", "M", "K", ts.f32], {head}, C: ts.Tensor["P", "M", "N", ts.f32], D: ts.Tensor["P", "M", "N", ts.f32]):
{loops(own, store)}                for j in ts.tile.range(0, 64, 16):
                    D[p, m:m+48, n+j:n+j+16] = ts.tile.full((48, 16), 7.0, ts.f32)
""")
    p.run(dims, {"A": ("f32", a), "B": ("f32", b)}, {"C": want("f32", values, bound=bound), "D": want("f32", kept)})
    yield p


def programs():
    yield from batches()
    yield from instructions()
    yield from more_instructions()
    yield from several()
    yield from dtypes_and_transposes()
    yield from interleaved()
    yield from multiples_of_16_bytes()
    yield from tiles()
    yield from narrow()
    yield from extremes()
    yield from few()
    yield from large()
    yield from uneven()
    yield from depths()
    yield from shared()
    yield from epilogues()
    yield from accumulating()
