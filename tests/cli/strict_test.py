#!/usr/bin/env python3
"""The profile strict: sums, products and attention against a NumPy model of docs/strict.md, bit for bit, on every x86-64 level
and on emulated devices of each vendor; and what follows: rows do not depend on their number, nor prefill on the queries."""
import argparse
import pathlib
import sys
import unittest

import numpy as np

from cli_test import Cli, Tsr
from support.host import philox

LEVELS = ["cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4"]
GPUS = [("ptx:emulated", "sm_90a"), ("rocm:emulated", "gfx942"), ("levelzero:emulated", "pvc")]
HEAD = "import tessera as ts\n\n\n"
SUMS = HEAD + """@ts.jit
def f(x: ts.Tensor["M", "N", ts.f32]):
    return ts.sum(x, axis=1), ts.sum(x, axis=0), ts.sum(x), ts.mean(x, axis=1), ts.prod(x, axis=1)
"""
PRODUCT = HEAD + """@ts.jit
def f(a: ts.Tensor["M", "K", ts.{0}], b: ts.Tensor["K", "N", ts.{0}]):
    return ts.matmul(a, b, dtype=ts.f32)
"""
TURNED = HEAD + """@ts.jit
def f(a: ts.Tensor["M", "K", ts.f32], b: ts.Tensor["N", "K", ts.f32]):
    return ts.gemm(a, b, trans_b=True)
"""
TILES = HEAD + """@ts.kernel
def k(A: ts.Tensor["M", "K", ts.f32], B: ts.Tensor["K", "N", ts.f32], C: ts.Tensor["M", "N", ts.f32]):
    for m in ts.tile.parallel(0, M, 16):
        for n in ts.tile.parallel(0, N, 32):
            acc = ts.tile.zeros((16, 32), ts.f32)
            for k in ts.tile.range(0, K, {0}):
                acc = ts.tile.mma(A[m:m+16, k:k+{0}], B[k:k+{0}, n:n+32], acc)
            C[m:m+16, n:n+32] = acc
"""
TILE = HEAD + """@ts.kernel
def k(X: ts.Tensor["M", "N", ts.f32], R: ts.Tensor["M", ts.f32], C: ts.Tensor["N", ts.f32]):
    for i in ts.tile.parallel(0, 1, 1):
        x = X[0:{0}, 0:{1}]
        R[0:{0}] = ts.tile.sum(x, axis=1)
        C[0:{1}] = ts.tile.sum(x, axis=0)
"""
SUMS_OF_SUMS = HEAD + """@ts.kernel
def k(X: ts.Tensor[3, 7, ts.f32], Y: ts.Tensor[3, 7, ts.f32]):
    for i in ts.tile.parallel(0, 3, 3):
        x = X[i:i+3, 0:2048]
        s = ts.tile.sum(x)
        u = ts.tile.sum(ts.tile.sum(x * s, axis=1))
        Y[i:i+3, 0:2048] = x * u + s
"""
TILED = HEAD + """@ts.op.specialize(when={{"backend": "cpu"}}, use={{"tile_sizes": {1}}})
""" + PRODUCT.removeprefix(HEAD)
ATTENTION = HEAD + """@ts.jit
def f(q: ts.Tensor["H", "S", 16, ts.f32], k: ts.Tensor["H", "T", 16, ts.f32], v: ts.Tensor["H", "T", 16, ts.f32]):
    return ts.flash_attention(q, k, v, causal=True)
"""
ARITHMETIC = HEAD + """@ts.jit
def f(x: ts.Tensor["n", ts.f32], y: ts.Tensor["n", ts.f32]):
    return x + y, x * y, -x, ts.minimum(x, y), ts.maximum(x, y), ts.sqrt(x), ts.where(x > y, x, y)
"""


SHORT = HEAD + """@ts.jit
def f(x: ts.Tensor["M", 5, ts.f32], y: ts.Tensor["M", 3, 7, ts.f32], z: ts.Tensor["P", 2, 9, 4, ts.f32]):
    return ts.sum(x, axis=1), ts.mean(x, axis=1), ts.prod(x, axis=1), ts.sum(y, axis=1), ts.sum(z, axis=(1, 3)), ts.mean(z, axis=(1, 3))
"""
KEYS = HEAD + """@ts.jit
def f(q: ts.Tensor["S", 16, ts.f32], k: ts.Tensor["T", 16, ts.f32], v: ts.Tensor["T", 16, ts.f32]):
    return ts.flash_attention(q, k, v, causal={0})
"""


def fma(a, b, c):
    """a * b + c in f32, rounded once: the product is exact in f64, the sum is rounded to odd."""
    a, b, c = (x.astype("f8") for x in (a, b, c))
    product = a * b
    total = product + c
    back = total - product
    error = (product - (total - back)) + (c - back)
    bits = total.view("i8")
    toward = np.where((error > 0) == (total > 0), 1, -1)
    odd = np.where((error != 0) & (bits & 1 == 0), bits + toward, bits)
    return odd.view("f8").astype("f4")


def join(nodes, combine):
    while len(nodes) > 1:
        nodes = [combine(*nodes[i:i + 2]) if i + 1 < len(nodes) else nodes[i] for i in range(0, len(nodes), 2)]
    return nodes[0]


def along_last(x, combine=np.add, start=0):
    blocks = []
    for first in range(0, max(x.shape[-1], 1), 1024):
        lanes = np.full((*x.shape[:-1], 64), start, x.dtype)
        for at in range(first, min(first + 1024, x.shape[-1]), 64):
            part = x[..., at:at + 64]
            lanes[..., :part.shape[-1]] = combine(lanes[..., :part.shape[-1]], part)
        while lanes.shape[-1] > 1:
            half = lanes.shape[-1] // 2
            lanes = combine(lanes[..., :half], lanes[..., half:])
        blocks.append(lanes[..., 0])
    return join(blocks, combine)


def along_first(x):
    leaves = []
    for first in range(0, max(len(x), 1), 256):
        total = np.zeros(x.shape[1:], x.dtype)
        for row in x[first:first + 256]:
            total = total + row
        leaves.append(total)
    return join(leaves, np.add)


def product(a, b, leaf=256):
    leaves = []
    for first in range(0, max(a.shape[1], 1), leaf):
        total = np.zeros((len(a), b.shape[1]), "f4")
        for k in range(first, min(first + leaf, a.shape[1])):
            total = fma(a[:, k:k + 1] + 0 * total, b[k:k + 1] + 0 * total, total)
        leaves.append(total)
    return join(leaves, np.add) + np.float32(0)


def rounded(x, least, mantissa):
    """To nearest even, of a format that has so many bits of mantissa, normal from 2^least on."""
    exponents = np.maximum(np.frexp(x.astype("f8"))[1] - 1, least)
    quantum = np.exp2(exponents - mantissa)
    return (np.rint(x / quantum) * quantum).astype("f4")


def attention(q, k, v, exp, causal):
    """Of one head. `exp` takes one array."""
    queries, keys, zero = len(q), len(k), np.float32(0)
    least = np.full(queries, -np.inf, "f4")
    sees = np.arange(keys) <= np.arange(queries)[:, None] + (keys - queries) if causal else np.ones((queries, keys), bool)

    def exps(*arguments):
        flat = exp(np.concatenate([x.ravel() for x in arguments]))
        ends = np.cumsum([x.size for x in arguments])[:-1]
        return [part.reshape(x.shape) for part, x in zip(np.split(flat, ends), arguments)]

    def finite(m):
        return np.where(m == -np.inf, zero, m)

    runs = []
    for run in range(0, keys, 2048):
        acc, m, total = np.zeros((queries, v.shape[1]), "f4"), least, np.zeros(queries, "f4")
        for first in range(run, min(run + 2048, keys), 128):
            block = slice(first, min(first + 128, run + 2048, keys))
            scores = product(q, k[block].T.copy()) * np.float32(1 / np.sqrt(q.shape[1]))
            scores = np.where(sees[:, block], scores, -np.inf).astype("f4")
            larger = np.maximum(m, scores.max(axis=1))
            alpha, p = exps(m - finite(larger), scores - finite(larger)[:, None])
            total = alpha * total + along_last(p)
            acc = np.where(sees[:, first:first + 1], alpha[:, None] * acc + product(p, v[block]), acc)
            m = larger
        runs.append((acc, m, total))

    def both(left, right):
        larger = np.maximum(left[1], right[1])
        a, b = exps(left[1] - finite(larger), right[1] - finite(larger))
        return a[:, None] * left[0] + b[:, None] * right[0], larger, a * left[2] + b * right[2]

    acc, _, total = join(runs, both)
    return acc / total[:, None]


def bits(x):
    return x.view({2: "u2", 4: "u4", 8: "u8"}[x.itemsize])


class Devices(Cli):
    """Runs the program `self.file` under strict on CPU levels and emulated devices."""

    def run_on(self, device, inputs, outputs):
        """The outputs of the program on a CPU level or an emulated device."""
        if isinstance(device, tuple):
            program = self.file, "--numerics", "strict", "--backend", device[0], "--arch", device[1]
        else:
            bundle = self.folder / "p.tsrb"
            made = self.call("compile", self.file, "--emit", "bundle", "--numerics", "strict", "--target", device, "-o", bundle)
            self.assertEqual(made.status, 0, f"does not compile: {made.errors}")
            program = (bundle,)
        ran = self.call("run", *program, "--in", *(f"{name}={self.array(name, x)}" for name, x in inputs.items()),
                        "--out", *(f"{name}={self.folder / name}.out.npy" for name in outputs))
        self.assertEqual(ran.status, 0, f"does not run: {ran.errors}")
        return {name: np.load(self.folder / f"{name}.out.npy") for name in outputs}

    def levels(self):
        return LEVELS if "avx512vl" in pathlib.Path("/proc/cpuinfo").read_text() else LEVELS[:2]


class Strict(Devices):
    def numbers(self, *shape):
        """Of magnitudes so different that each order of a sum has bits of its own."""
        return (self.random.standard_normal(shape) * np.exp2(self.random.integers(-8, 8, shape))).astype("f4")

    def setUp(self):
        super().setUp()
        self.random = np.random.default_rng(20)

    def check(self, source, inputs, expected, devices):
        self.source(source)
        for device in devices:
            with self.subTest(device=device, shapes=[x.shape for x in inputs.values()]):
                for name, got in self.run_on(device, inputs, expected).items():
                    wrong = bits(got) != bits(np.asarray(expected[name]))
                    self.assertEqual(got.shape, np.shape(expected[name]))
                    self.assertEqual(np.count_nonzero(wrong), 0, f"{name}: {np.argwhere(wrong)[:3].tolist()}")

    def test_sums(self):
        for i, shape in enumerate([(1, 1), (5, 100), (2, 1025), (300, 77), (600, 33), (3, 5000)]):
            x = self.numbers(*shape)
            rows = along_last(x)
            expected = {"result0": rows, "result1": along_first(x), "result2": along_last(x.reshape(-1)), "result3": rows / np.float32(shape[1]),
                        "result4": along_last(x, np.multiply, 1)}
            with np.errstate(over="ignore", under="ignore"):
                self.check(SUMS, {"x": x}, expected, self.levels() + GPUS[i % 3:][:1])

    def test_tiles_of_kernels(self):
        for i, (m, n) in enumerate([(3, 5), (8, 100), (300, 70), (5, 3000), (600, 33), (3, 5000), (1100, 9)]):
            x = self.numbers(m, n)
            self.check(TILE.format(m, n), {"X": x}, {"R": along_last(x), "C": along_first(x)}, self.levels() + GPUS[i % 3:][:1])

    def test_sums_of_negative_zeros(self):
        """Each chain begins with +0, also where nothing is left out of a lane or a leaf."""
        for i, shape in enumerate([(64, 64), (256, 128), (512, 1024), (4, 2048)]):
            x = np.full(shape, -0.0, "f4")
            rows, columns = np.zeros(shape[0], "f4"), np.zeros(shape[1], "f4")
            expected = {"result0": rows, "result1": columns, "result2": np.float32(0), "result3": rows, "result4": rows}
            devices = self.levels() + GPUS[i % 3:][:1]
            self.check(SUMS, {"x": x}, expected, devices)
            self.check(TILE.format(*shape), {"X": x}, {"R": rows, "C": columns}, devices)

    def test_sums_of_short_axes(self):
        for empty in (False, True):
            x, y, z = (np.full(s, -0.0, "f4") if empty else self.numbers(*s) for s in ((40, 5), (40, 3, 7), (30, 2, 9, 4)))
            inner = along_last(z)
            halves = inner / np.float32(4)
            expected = {"result0": along_last(x), "result1": along_last(x) / np.float32(5), "result2": along_last(x, np.multiply, 1),
                        "result3": along_first(y.transpose(1, 0, 2)), "result4": along_first(inner.transpose(1, 0, 2)),
                        "result5": along_first(halves.transpose(1, 0, 2)) / np.float32(2)}
            self.check(SHORT, {"x": x, "y": y, "z": z}, expected, [*self.levels(), *GPUS])

    def test_memory_of_a_sum_may_be_written_next(self):
        """Threads share no sum of three elements, so each of them reads memory that the next reduction reuses."""
        x = self.numbers(3, 7)
        wide = np.zeros((3, 2048), "f4")
        wide[:, :7] = x
        total = along_last(along_last(wide)[None])[0]
        scaled = along_last(wide * total)
        expected = {"Y": x * along_last(scaled[None])[0] + total}
        self.check(SUMS_OF_SUMS, {"X": x, "Y": np.zeros_like(x)}, expected, [*self.levels(), *GPUS])

    def test_products(self):
        """Of few rows, of ragged blocks, of several leaves; the last ones are the second half of a leaf and one step more."""
        for i, (m, k, n) in enumerate([(1, 1, 1), (5, 256, 7), (5, 257, 7), (1, 1000, 33), (70, 300, 65), (9, 3000, 3), (7, 0, 5)]):
            a, b = self.numbers(m, k), self.numbers(k, n)
            expected = {"result": product(a, b)}
            self.check(PRODUCT.format("f32"), {"a": a, "b": b}, expected, self.levels() + GPUS[i % 3:][:1])
            self.check(TURNED, {"a": a, "b": np.ascontiguousarray(b.T)}, expected, self.levels()[1:])

    def test_many_leaves_of_many_blocks(self):
        """More programs than are joined together, and a number of leaves that is no power of two."""
        a, b = self.numbers(500, 1400), self.numbers(1400, 130)
        self.check(PRODUCT.format("f32"), {"a": a, "b": b}, {"result": product(a, b)}, self.levels()[1:])

    def test_narrow_products(self):
        for dtype, keep in (("bf16", 0xffff0000), ("f16", 0xffffe000)):
            a, b = self.random.standard_normal((33, 600)).astype("f4"), self.random.standard_normal((600, 40)).astype("f4")
            a, b = ((x.view("u4") & keep).astype("u4").view("f4") for x in (a, b))
            files = (a, b) if dtype == "bf16" else (a.astype("f2"), b.astype("f2"))
            self.check(PRODUCT.format(dtype), dict(zip("ab", files)), {"result": product(a, b)}, self.levels() + GPUS[:1])

    def test_the_tile_along_k_changes_nothing(self):
        a, b = self.numbers(20, 300), self.numbers(300, 40)
        for i, step in enumerate((16, 64, 100)):
            self.check(TILES.format(step), {"A": a, "B": b}, {"C": product(a, b, leaf=1 << 40)}, self.levels() + GPUS[i:][:1])

    def test_requested_tiles_of_products_change_nothing(self):
        """Tiles of k that do not divide a leaf, or are longer, and more elements than a body takes."""
        a, b = self.numbers(60, 700), self.numbers(700, 30)
        for tile in ([3, 5, 7], [128, 128, 512], [512, 256, 64]):
            self.check(TILED.format("f32", tile), {"a": a, "b": b}, {"result": product(a, b)}, self.levels())

    def test_large_blocks_of_many_leaves(self):
        """The partial results of one block take more memory than those of a group of small ones."""
        a, b = self.random.standard_normal((256, 5000)), self.random.standard_normal((5000, 256))
        source = PRODUCT.format("f64").replace("dtype=ts.f32", "dtype=ts.f64")
        self.source(source)
        device = self.levels()[-1]
        expected = self.run_on(device, {"a": a, "b": b}, ["result"])
        self.check(source.replace("@ts.jit", '@ts.op.specialize(when={"backend": "cpu"}, use={"tile_sizes": [256, 256, 64]})\n@ts.jit'),
                   {"a": a, "b": b}, expected, [device])

    def test_underflow_leaves_no_negative_zero(self):
        a, b = np.full((3, 5), -1e-30, "f4"), np.full((5, 4), 1e-30, "f4")
        self.check(PRODUCT.format("f32"), {"a": a, "b": b}, {"result": np.zeros((3, 4), "f4")}, self.levels() + GPUS[:1])

    def test_a_product_and_a_sum_round_twice(self):
        x, y, z = self.numbers(500), self.numbers(500), self.numbers(500)
        z[:250] = -x[:250] * y[:250]  # 0, and what the product has lost
        self.check(HEAD + """@ts.jit
def f(x: ts.Tensor["n", ts.f32], y: ts.Tensor["n", ts.f32], z: ts.Tensor["n", ts.f32]):
    return x * y + z
""", {"x": x, "y": y, "z": z}, {"result": x * y + z}, [*self.levels(), *GPUS])

    def test_constants(self):
        """Each operation of constants rounds as the same one of elements does."""
        a, b, c = np.float32(0.1), np.float32(0.3), np.float32(-0.03)
        self.assertNotEqual(a * b + c, np.float32(float(a) * float(b) + float(c)))
        numbers = [f"ts.f32({float(x)!r})" for x in (a, b, c)]
        x = np.zeros(20, "f4")
        self.check(HEAD + """@ts.kernel
def k(X: ts.Tensor["n", ts.f32], Y: ts.Tensor["n", ts.f32]):
    for i in ts.tile.parallel(0, n, 16):
        Y[i:i+16] = X[i:i+16] + ({} * {} + {})
""".format(*numbers), {"X": x, "Y": x}, {"Y": x + (a * b + c)}, [*self.levels(), *GPUS])

    def test_casts(self):
        """A quarter of the numbers is in the middle between two neighbours of each format."""
        formats = {"bf16": (-126, 7), "f16": (-14, 10), "fp8_e4m3": (-6, 3), "fp8_e5m2": (-14, 2)}
        few = self.random.uniform(-8, 8, 400).astype("f4")
        middle = [np.ldexp(2 * self.random.integers(1 << m, 2 << m, 400) + 1.0, self.random.integers(-4, 3, 400) - m - 1) for _, m in formats.values()]
        x = np.concatenate([few, *middle]).astype("f4")
        x = np.concatenate([x, -x])
        returned = ", ".join(f"ts.cast(ts.cast(x, ts.{name}), ts.f32)" for name in formats)
        expected = {f"result{i}": rounded(x, *f) for i, f in enumerate(formats.values())}
        self.check(HEAD + f'@ts.jit\ndef f(x: ts.Tensor["n", ts.f32]):\n    return {returned}\n', {"x": x}, expected, [*self.levels(), *GPUS])

    def test_random_numbers(self):
        x = np.zeros(200, "f4")
        self.source(HEAD + """@ts.kernel
def k(Y: ts.Tensor["n", ts.f32]):
    for i in ts.tile.parallel(0, n, 64):
        Y[i:i+64] = ts.tile.rand(6000000000, i + ts.tile.arange(64))
""")
        for device in [*self.levels(), *GPUS]:
            got = self.run_on(device, {"Y": x}, ["Y"])["Y"]
            self.assertEqual(got.tobytes(), philox(6000000000, np.arange(200)).tobytes(), device)

    def test_nans_have_one_form(self):
        special = np.array([0x7f800001, 0x7fc00123, 0xffc00000, 0xff800123, 0x7f800000, 0xff800000, 0, 0x80000000, 0x3f800000, 0xbf800000, 1], "u4")
        x, y = (v.ravel().copy().view("f4") for v in np.meshgrid(special, special))
        with np.errstate(all="ignore"):
            results = [x + y, x * y, -x, np.where(np.isnan(x) | np.isnan(y), np.nan, np.where((x < y) | (x == y) & np.signbit(x), x, y)),
                       np.where(np.isnan(x) | np.isnan(y), np.nan, np.where((x > y) | (x == y) & ~np.signbit(x), x, y)), np.sqrt(x)]
            results = [np.where(np.isnan(r), np.uint32(0x7fc00000).view("f4"), r).astype("f4") for r in results]
            results.append(np.where(x > y, x, y))  # moves what was there
        self.check(ARITHMETIC, {"x": x, "y": y}, {f"result{i}": r for i, r in enumerate(results)}, self.levels() + GPUS + [("ptx:emulated", "sm_75")])

    def test_an_emulated_device_has_the_nan_of_its_instruction(self):
        """min.NaN and max.NaN give 7fffffff (PTX ISA), which only strict replaces."""
        x, y = np.array([0x7fc00000, 0xffc00001, 0x3f800000], "u4").view("f4"), np.array([1, np.nan, 2], "f4")
        self.source(HEAD + """@ts.jit
def f(x: ts.Tensor["n", ts.f32], y: ts.Tensor["n", ts.f32]):
    return ts.minimum(x, y), ts.maximum(x, y)
""")
        for numerics, nan in (("standard", 0x7fffffff), ("strict", 0x7fc00000)):
            low, high = self.folder / "low.npy", self.folder / "high.npy"
            result = self.call("run", self.file, "--in", f"x={self.array('x', x)}", f"y={self.array('y', y)}", "--out", f"result0={low}",
                               f"result1={high}", "--numerics", numerics, "--backend", "ptx:emulated", "--arch", "sm_80")
            self.assertEqual(result.status, 0, result.errors)
            for path, last in ((low, 1), (high, 2)):
                np.testing.assert_array_equal(bits(np.load(path)), [nan, nan, bits(np.float32([last]))[0]], numerics)

    def exp(self, x):
        """Of the CPU, whose functions the hashes fix."""
        file, self.file = self.file, self.folder / "exp.py"
        try:
            self.file.write_text(HEAD + '@ts.jit\ndef f(x: ts.Tensor["n", ts.f32]):\n    return ts.exp(x)\n')
            return self.run_on(self.levels()[-1], {"x": x}, ["result"])["result"]
        finally:
            self.file = file

    def test_attention(self):
        """Of some blocks of keys, and of two runs, whose rows see different numbers of them."""
        for queries, keys, causal in ((200, 300, True), (5, 300, False), (150, 2100, True), (3, 2300, False)):
            q, k, v = (self.random.standard_normal((n, 16)).astype("f4") for n in (queries, keys, keys))
            self.source(KEYS.format(causal))
            expected = {"result": attention(q, k, v, self.exp, causal)}
            self.check(KEYS.format(causal), {"q": q, "k": k, "v": v}, expected, [*self.levels(), *GPUS])

    def test_prefill_is_decode(self):
        """A row of causal attention has the same bits if only its query and the keys that it sees are given."""
        self.source(ATTENTION)
        for length in (130, 2300):
            q, k, v = (self.random.standard_normal((2, length, 16)).astype("f4") for _ in range(3))
            device = self.levels()[-1]
            whole = self.run_on(device, {"q": q, "k": k, "v": v}, ["result"])["result"]
            for row in (0, 5, 128, length - 1):
                seen = slice(0, row + 1)
                one = self.run_on(device, {"q": q[:, row:row + 1].copy(), "k": k[:, seen].copy(), "v": v[:, seen].copy()}, ["result"])["result"]
                self.assertEqual(one.tobytes(), np.ascontiguousarray(whole[:, row:row + 1]).tobytes(), f"row {row} of {length}")
            for other in self.levels()[:-1] + GPUS:
                self.assertEqual(self.run_on(other, {"q": q, "k": k, "v": v}, ["result"])["result"].tobytes(), whole.tobytes(), other)

    def test_infinite_values_of_later_blocks_change_nothing(self):
        """Programs take as many queries as the target likes. If there are fewer of them than keys, the rows of one program end in
        different blocks of keys: then row 105 is the last one that sees no key of block 2, which begins with key 256."""
        self.source(ATTENTION)
        device = self.levels()[-1]
        for queries, key in ((300, 200), (150, 280)):
            before = 300 - queries
            q, k, v = (self.random.standard_normal((1, n, 16)).astype("f4") for n in (queries, 300, 300))
            finite = self.run_on(device, {"q": q, "k": k, "v": v}, ["result"])["result"]
            v[:, key] = np.inf
            hidden, seen = key // 128 * 128 - before, key - before
            for other in self.levels() + GPUS:
                got = self.run_on(other, {"q": q, "k": k, "v": v}, ["result"])["result"]
                self.assertEqual(got[:, :hidden].tobytes(), finite[:, :hidden].tobytes(), other)
                self.assertTrue(np.isnan(got[:, hidden:seen]).all(), other)
                self.assertTrue(np.isinf(got[:, seen:]).all(), other)

    def test_rows_do_not_depend_on_their_number(self):
        self.source(HEAD + """@ts.jit
def f(x: ts.Tensor["M", 700, ts.f32], w: ts.Tensor[700, 90, ts.f32]):
    return ts.softmax(ts.layer_norm(x) @ w)
""")
        x, w = self.numbers(50, 700), self.numbers(700, 90)
        device = self.levels()[-1]
        whole = self.run_on(device, {"x": x, "w": w}, ["result"])["result"]
        for rows in (1, 3, 17):
            part = self.run_on(device, {"x": x[20:20 + rows].copy(), "w": w}, ["result"])["result"]
            self.assertEqual(part.tobytes(), whole[20:20 + rows].tobytes(), rows)

    def test_a_schedule_with_other_tiles_has_the_same_bits_or_is_refused(self):
        self.source(HEAD + '@ts.jit\ndef f(x: ts.Tensor["M", "N", ts.f32]):\n    return ts.sum(x, axis=1)\n')
        text = self.call("compile", self.file, "--emit", "schedule", "--numerics", "strict").output
        self.assertIn(", 1024>", text)
        x = self.numbers(3, 5000)
        edited = self.folder / "edited.mlir"
        for extent, is_legal in ((1024, True), (4096, True), (512, False), (3072, False)):
            edited.write_text(text.replace(", 1024>", f", {extent}>"))
            ran = self.call("run", edited, "--in", f"x={self.array('x', x)}", "--out", f"result={self.folder / 'y.npy'}")
            self.assertEqual(ran.status == 0, is_legal, ran.errors)
            if is_legal:
                self.assertEqual(np.load(self.folder / "y.npy").tobytes(), along_last(x).tobytes(), extent)
            else:
                self.assertIn("fixed_reductions joins blocks of 1024", ran.errors)

    def test_tile_ir_is_read_back(self):
        self.source(SUMS)
        text = self.call("compile", self.file, "--emit", "tile", "--numerics", "strict").output
        self.assertIn("math.cttz", text)
        edited = self.folder / "edited.mlir"
        edited.write_text(text)
        x = self.numbers(3, 5000)
        ran = self.call("run", edited, "--in", f"x={self.array('x', x)}", "--out", f"result0={self.folder / 'y.npy'}")
        self.assertEqual(ran.status, 0, ran.errors)
        self.assertEqual(np.load(self.folder / "y.npy").tobytes(), along_last(x).tobytes())

    def test_a_tile_of_too_many_blocks_is_refused(self):
        for rows, columns, axis in ((1, 65600, 1), (16400, 1, 0)):
            self.source(HEAD + f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.f32], Y: ts.Tensor[1, ts.f32]):
    for i in ts.tile.parallel(0, 1, 1):
        Y[0:1] = ts.tile.sum(X[0:{rows}, 0:{columns}], axis={axis})
""")
            for target in ("cpu", "ptx:sm_90a"):
                self.refused(self.call("compile", self.file, "--emit", "bundle", "--numerics", "strict", "--target", target,
                                       "-o", self.folder / "p.tsrb"), "E_UNIMPLEMENTED", "at most 64 blocks are")

    def test_a_schedule_of_attention_with_other_blocks_of_keys_is_refused(self):
        self.source(ATTENTION)
        text = self.call("compile", self.file, "--emit", "schedule", "--numerics", "strict").output
        edited = self.folder / "edited.mlir"
        edited.write_text(text.replace(", 128>", ", 64>"))
        self.assertNotEqual(edited.read_text(), text)
        self.refused(self.call("compile", edited, "--emit", "tile"), "E_IR_INVALID", "fixed_reductions asks for 128")

    def test_orders_in_ir_text_that_are_not_fixed_are_refused(self):
        edited = self.folder / "edited.mlir"

        def refuse(source, level, old, new, says):
            self.source(source)
            text = self.call("compile", self.file, "--emit", level, "--numerics", "strict").output
            self.assertIn(old, text)
            edited.write_text(text.replace(old, new))
            for target in ("cpu", "ptx:sm_90a"):
                self.refused(self.call("compile", edited, "--emit", "bundle", "--target", target, "-o", self.folder / "p.tsrb"),
                             "E_UNIMPLEMENTED", says)

        sums = HEAD + '@ts.jit\ndef f(x: ts.Tensor["M", "N", ts.f32]):\n    return ts.sum(x, axis=1)\n'
        for order in ("order <lanes = 32, block = 1024>", "order <lanes = 64, block = 512>", "order <lanes = 16, chains = [4, 1]>"):
            refuse(sums, "tile", "order <lanes = 64, block = 1024>", order, "write order <lanes = 64, block = 1024> or order <lanes = 1, block = 256>")
        refuse(sums, "tile", "order <lanes = 64, block = 1024>", "", "has no order")
        refuse(PRODUCT.format("f32"), "tile", "leaf = 256", "leaf = 128", "leaves of 128 steps")
        # A sum of parts, whose blocks would not begin with the first.
        self.source(sums)
        text = self.call("compile", self.file, "--emit", "schedule", "--numerics", "strict").output
        text = text.replace("axes [1]", "axes [1] parts 2048").replace('<["M"], f32>', '<["M", "ceildiv(N, 2048)"], f32>')
        edited.write_text(text.replace('access = write, dims = ["M"]', 'access = write, dims = ["M", "ceildiv(N, 2048)"]'))
        self.refused(self.call("compile", edited, "--emit", "tile"), "E_UNIMPLEMENTED", "graph.reduce on f32 in parts")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tsr", required=True)
    options, rest = parser.parse_known_args()
    Strict.tsr = Tsr(options.tsr)
    unittest.main(argv=[sys.argv[0], *rest])
