"""Kernels and graph functions of a file, called on arrays: results, variants, compilation ahead, bundles, texts."""
import copy
import enum
import linecache
import math
import os
import pathlib
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import traceback
import unittest
from unittest import mock

import numpy as np

import tessera as ts
from tessera import _names, op

BLOCK = 64


@ts.kernel
def saxpy(x: ts.Tensor["n", ts.f32], y: ts.Tensor["n", ts.f32], alpha: ts.f32 = 2.0) -> ts.Tensor["n", ts.f32]:
    """y = alpha * x + y"""
    for i in ts.tile.parallel(0, n, BLOCK):
        y[i:i+BLOCK] = alpha * x[i:i+BLOCK] + y[i:i+BLOCK]
    return y


@ts.jit
def loss(x, y, W):
    return ts.mse(ts.gemm(x, W), y)


@ts.jit
def parts(x: ts.Tensor["M", "N", ts.f32]):
    return x + 1.0, x, x[1:, :]


def extremes(x):
    return ts.max(x, axis=1), ts.min(x, axis=1)


def beside_parameter(x):
    return x, ts.min(x, axis=1)


def before_parameter(x):
    return ts.max(x, axis=1), ts.min(x, axis=1), x


@ts.jit
def pair_of_op(x):
    return ts.topk(x, 1)


@ts.jit
def pair_of_helper(x):
    return extremes(x)


@ts.jit
def pair_under_a_name(x: ts.Tensor["M", "N", ts.f32]):
    both = extremes(x)
    return both


@ts.jit
def parameter_first(x):
    return beside_parameter(x)


@ts.jit
def parameter_last(x):
    return before_parameter(x)


@ts.jit
def zipped(a, b, c, d):
    first, second = [p @ q for p, q in zip((a, b), (c, d))]
    return first, second


@ts.jit
def gated(x, h, c, W, b):
    gates = ts.sigmoid(x + h @ W + b)
    n = h.shape[1]
    i, f, g, o = gates[:, :n], gates[:, n:2*n], gates[:, 2*n:3*n], gates[:, 3*n:]
    c = f * c + i * g
    return o * c, c


@ts.jit
def added(x, y):
    return x + y


@ts.jit
def typed_gates(x: ts.Tensor["m", ts.f32], y: ts.Tensor["n", ts.f32]):
    return x[:y.shape[0]] + x[y.shape[0]:]


@ts.jit
def statistics(x):
    if x.ndim == 2:
        last = x.sum(axis=1)
    return (x.std(axis=0), x.var(axis=1), x.argmax(axis=1), x.argmin(axis=0), (x > 0.0).any(axis=1), (x > 0.0).all(axis=1),
            x.cumsum(axis=1), last)


@ts.jit
def renamed(x):
    y = x
    return y, x + 1.0


@ts.jit
def swapped(x, y):
    x, y = y, x
    return x, x + y, y


@ts.jit
def positive(a):
    return +a, a + a


@ts.jit
def unchanged(a):
    b = a
    return b


@ts.kernel
def scaled(x, y, a):
    for i in ts.tile.parallel(0, x.shape[0], 16):
        y[i:i+16] = a * x[i:i+16]


@ts.kernel.autotune(space=dict(B=[32, 64]))
def tuned(x: ts.Tensor["n", ts.f32]):
    ctx = ts.tile.context()
    for i in ts.tile.parallel(0, n, ctx.B):
        x[i:i+ctx.B] = x[i:i+ctx.B] + 1.0


def floats(*shape, seed=1):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype("f4")


@ts.jit
def halved(x: ts.Tensor[..., "2*D", ts.f32], w: ts.Tensor["D", ts.f32]) -> ts.Tensor[..., "D", ts.f32]:
    return (x[..., :D] + x[..., D:]) * w


@ts.jit
def row_sums(x, y):
    return ts.sum(x * x, axis=-1) + y


@ts.jit
def other_return(x, y):
    if x.ndim == 2:
        return x, y * 2
    return y, x * 2


@ts.jit
def other_return_first(x, y):
    if x.ndim == 1:
        return x, y * 2
    return y, x * 2


class Calls(unittest.TestCase):
    def test_any_number_of_dims(self):
        w = floats(3)
        for shape in ((), (4,), (1, 1), (2, 0), (2, 3, 4), (5,)):
            x = floats(*shape, 6)
            np.testing.assert_array_equal(halved(x, w), (x[..., :3] + x[..., 3:]) * w)
            np.testing.assert_array_equal(halved(w=w, x=x), (x[..., :3] + x[..., 3:]) * w)
        self.assertEqual(halved(ts.ones((2, 2, 6)), ts.ones(3)).shape, (2, 2, 3))
        try:
            halved(floats(4, 7), w)
        except ts.ArgumentError as e:
            self.assertEqual([frame.name for frame in traceback.extract_tb(e.__traceback__)], ["test_any_number_of_dims"])
        self.assertIn("graph.", halved.jit(**{"...": 2}).inspect_ir("graph"))
        for code, call in (("E_ARG_RANK", lambda: halved(np.full((), 1, "f4"), w)), ("E_ARG_SHAPE", lambda: halved(floats(4, 7), w)),
                           ("E_ARG_MISSING", lambda: halved(floats(4, 6))), ("E_ARG_TYPE", lambda: halved("x", w))):
            with self.assertRaises(ts.ArgumentError) as raised:
                call()
            self.assertEqual(raised.exception.code, code, raised.exception)

    def test_in_place_returns_the_same_object(self):
        for n in (0, 1, 63, 64, 65, 1009):
            x, y = floats(n), floats(n, seed=2)
            want = 2.5 * x.astype("f8") + y
            self.assertIs(saxpy(x, y, 2.5), y)
            np.testing.assert_allclose(y, want, rtol=1e-6, atol=1e-6)

    def test_keywords_and_defaults(self):
        x, y = floats(10), np.zeros(10, "f4")
        saxpy(y=y, x=x)
        np.testing.assert_array_equal(y, 2 * x)
        saxpy(x, alpha=-1, y=y)
        np.testing.assert_allclose(y, x, rtol=1e-6)

    def test_results_are_of_the_arguments_kind(self):
        x, y, W = floats(33, 20), floats(33, 7), floats(20, 7)
        got = loss(x, y, W)
        self.assertIsInstance(got, np.ndarray)
        self.assertEqual(got.shape, ())
        np.testing.assert_allclose(got, ((x.astype("f8") @ W - y) ** 2).mean(), rtol=1e-5)
        array = loss(ts.asarray(x), ts.asarray(y), ts.asarray(W))
        self.assertIsInstance(array, ts.Array)
        self.assertEqual(array.numpy(), got)

    def test_several_values(self):
        x = floats(5, 3)
        a, b, c = parts(x)
        np.testing.assert_array_equal(a, x + 1)
        self.assertIs(b, x)
        np.testing.assert_array_equal(c, x[1:])

    def test_tuples_of_one_expression(self):
        x = floats(5, 3)
        for function in (pair_of_op, pair_of_helper, pair_under_a_name):
            a, b = function(x)
            np.testing.assert_array_equal(a.ravel(), x.max(1))
            np.testing.assert_array_equal(b.ravel(), x.argmax(1) if function is pair_of_op else x.min(1))
        values, places = ts.topk(x, 2)
        np.testing.assert_array_equal(values, -np.sort(-x, 1)[:, :2])
        np.testing.assert_array_equal(places, np.argsort(-x, 1)[:, :2])
        y, s = renamed(x)
        self.assertIs(y, x)
        np.testing.assert_array_equal(s, x + 1)
        z = floats(5, 3, seed=2)
        a, s, b = swapped(x, z)
        self.assertIs(a, z)
        self.assertIs(b, x)
        np.testing.assert_array_equal(s, x + z)
        y, s = positive(x)
        self.assertIs(y, x)
        np.testing.assert_array_equal(s, x + x)
        m = floats(4, 4)
        for got in zipped(m, m, m, m):
            np.testing.assert_allclose(got, m @ m, rtol=1e-5)
        with self.assertRaisesRegex(ts.CompileError, "E_RETURN_TYPE.*computes nothing: what it returns is its parameter 'a'"):
            unchanged(x)
        for function in (parameter_first, parameter_last):
            with self.assertRaisesRegex(ts.UnsupportedError, "E_UNIMPLEMENTED(.|\n)*return the parameter by its own name"):
                function(x)

    def test_returns_of_different_parameters_are_refused(self):
        for function in (other_return, other_return_first):
            with self.assertRaisesRegex(ts.UnsupportedError, "E_UNIMPLEMENTED(.|\n)*in each return"):
                function(floats(3), floats(3))

    def test_extents_that_depend_on_each_other(self):
        """Dims of their own do not say that one extent is four times another: the code is for the values of the call."""
        for size in (5, 5, 6, 1, 4):  # 1 and 4 = 4 * 1: other patterns
            x, h, c, W, b = floats(3, 4 * size), floats(3, size), floats(3, size, seed=2), floats(size, 4 * size), floats(4 * size)
            got = gated(x, h, c, W, b)
            gates = 1 / (1 + np.exp(-(x + h.astype("f8") @ W + b)))
            i, f, g, o = np.split(gates, 4, axis=1)
            for found, want in zip(got, (o * (f * c + i * g), f * c + i * g)):
                np.testing.assert_allclose(found, want, rtol=1e-5)
        with self.assertRaisesRegex(ts.CompileError, r"E_SHAPE.*\[3, 5\] and .*\[3, 6\] do not broadcast: 5 and 6 differ"):
            added(floats(3, 5), floats(3, 6))
        with self.assertRaisesRegex(ts.CompileError, "E_SHAPE.*would have to equal"):  # its types promise all n and m
            typed_gates(floats(8), floats(4))

    def test_methods_of_numpy(self):
        x = floats(4, 6)
        got = statistics(x)
        for found, want in zip(got, (x.std(0), x.var(1), x.argmax(1), x.argmin(0), (x > 0).any(1), (x > 0).all(1), x.cumsum(1), x.sum(1))):
            np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-6)

    def test_one_variant_serves_a_pattern(self):
        compiled = []
        original = ts.Kernel._compile
        try:
            ts.Kernel._compile = lambda self, types, shapes: compiled.append(dict(types)) or original(self, types, shapes)
            for n in (2, 3, 100):
                x, y = floats(n), np.zeros(n, "f4")
                scaled(x, y, 3.0)
                np.testing.assert_array_equal(y, 3 * x)
            self.assertEqual(len(compiled), 1, compiled)
            x, y = floats(20).astype("f8"), np.zeros(20)
            for number in (0.1, np.float64(0.1)):  # a float is f64 beside arrays of f64: as f32 it would be another number
                y[:] = 0
                scaled(x, y, number)
                np.testing.assert_array_equal(y, 0.1 * x)
            self.assertEqual(len(compiled), 2)
            self.assertEqual(compiled[1], {"x": "tessera.Tensor['d0', tessera.f64]", "y": "tessera.Tensor['d0', tessera.f64]",
                                           "a": "tessera.f64"})
        finally:
            ts.Kernel._compile = original

    def test_short_rows_are_constants(self):
        compiled = []
        original = ts.Kernel._compile
        try:
            ts.Kernel._compile = lambda self, types, shapes: compiled.append(dict(types)["x"]) or original(self, types, shapes)
            for shape in ((9, 3), (5, 3), (3, 3), (3, 8), (2, 7), (4, 2, 4), (2, 5, 4)):
                x, y = floats(*shape), floats(*shape[:-1])
                np.testing.assert_allclose(row_sums(x, y), (x.astype("f8") ** 2).sum(-1) + y, rtol=1e-5, atol=1e-6)
        finally:
            ts.Kernel._compile = original
        # equal extents are the same constant; 3 rows of 8 and 2 of 7 are one pattern
        self.assertEqual([t.removeprefix("tessera.Tensor[").removesuffix(", tessera.f32]") for t in compiled],
                         ["'d0', 3", "3, 3", "'d0', 'd1'", "4, 2, 4", "'d0', 'd1', 4"])

    def test_strided_arrays_are_passed_as_they_are(self):
        base, out = floats(60), np.zeros(40, "f4")
        scaled(base[::3], out[::2], 2.0)
        np.testing.assert_array_equal(out[::2], 2 * base[::3])
        np.testing.assert_array_equal(out[1::2], 0)

    def test_tiles_for_some_targets(self):
        """Above or below ts.jit or alone, in methods, with arrays for the sizes; the first request that holds counts."""
        def tile(function, target):
            text = str(function.inspect_ir("schedule", target=target))
            return [int(number) for number in re.search(r"matmul.*?\btile = array<i64: (.*?)>", text)[1].split(",")]

        class Layer:
            @ts.op.specialize(when={"backend": "cpu", "arch": "x86-64-v3"}, use={"tile_sizes": np.array([16, 24, 40])})
            @ts.jit(capture_graph=True)
            @ts.op.specialize(when=dict(backend="ptx"), use=dict(tile_sizes=(32, 32, 8)))
            def product(A: ts.Tensor["M", "K", ts.f32], B: ts.Tensor["K", "N", ts.f32]):
                return A @ B

        self.assertEqual(tile(Layer.product, "cpu:x86-64-v3"), [16, 24, 40])
        self.assertEqual(tile(Layer.product, "ptx:sm_80"), [32, 32, 8])
        self.assertNotIn(tile(Layer.product, "cpu:x86-64-v4"), ([16, 24, 40], [32, 32, 8]))
        A, B = floats(50, 30), floats(30, 20)
        for _ in range(3):  # the later calls replay
            np.testing.assert_allclose(Layer.product(A, B), A @ B, rtol=1e-4, atol=1e-5)

        for when, use in (({}, {"tile_sizes": [8, 8, 8]}), ({"device": "ptx"}, {"tile_sizes": [8, 8, 8]}), ({"backend": 3}, {"tile_sizes": [8, 8, 8]}),
                          ({"backend": "ptx"}, {"num_warps": 4}), ({"backend": "ptx"}, {"tile_sizes": [8, 8]}),
                          ({"backend": "ptx"}, {"tile_sizes": [8, 8, 0]}), ({"backend": "ptx"}, {"tile_sizes": "888"})):
            with self.subTest(when=when, use=use), self.assertRaisesRegex(ts.ArgumentError, r"\[E_DECORATOR\]"):
                ts.op.specialize(when=when, use=use)
        with self.assertRaisesRegex(ts.ArgumentError, r"\[E_DECORATOR\] 'product' has a decorator of Tessera already"):
            ts.jit(Layer.product)
        with self.assertRaisesRegex(ts.ArgumentError, r"\[E_DECORATOR\] @ts.op.specialize is for graph functions, and 'saxpy' is a kernel"):
            ts.op.specialize(when={"arch": "sm_90"}, use={"tile_sizes": [8, 8, 8]})(saxpy)

    def test_operations_are_called_on_arrays(self):
        x = floats(5, 12)
        np.testing.assert_allclose(ts.softmax(x).sum(axis=1), np.ones(5), rtol=1e-6)
        np.testing.assert_allclose(op.relu(x), np.maximum(x, 0))
        np.testing.assert_allclose(ts.sum(x, axis=0), x.sum(0), rtol=1e-5, atol=1e-6)

    def test_operations_copy_strided_arrays(self):
        x = floats(5, 12)
        for strided in (x.T, x[::2, ::-1], x[:, :0], ts.asarray(x).numpy().T):
            np.testing.assert_array_equal(ts.sort(strided), np.sort(strided))
        np.testing.assert_array_equal(ts.concat((x[:, ::2], x[:, 1::2])), np.concatenate((x[:, ::2], x[:, 1::2])))

    def test_messages_of_operations_have_their_names(self):
        with self.assertRaisesRegex(ts.ArgumentError, "b has its bytes in another order"):
            ts.gemm(floats(2, 2), np.ones((2, 2), ">f4"))

    def test_patterns_of_operations_are_forgotten(self):
        def call(i):
            self.assertEqual(op.pad(np.ones(1, "f4"), 1, value=float(i)).tolist(), [i, 1, i])

        with mock.patch.object(_names, "_KEPT", 3):
            for i in range(20):
                call(i)
                call(0)  # used each time, so it is kept
                self.assertLessEqual(len(op.pad._compiled), 3)
                self.assertLessEqual(sum("op.pad" in name for name in linecache.cache), 3)
            self.assertIn("0.0", str([*op.pad._compiled]))

    def test_constants_of_operations(self):
        class Axis(enum.IntEnum):
            LAST = 1

        class Words(str):
            __repr__ = None

        x = floats(3, 4)
        for axis in (1, Axis.LAST, -1, np.int64(1), np.int8(-1)):
            np.testing.assert_allclose(ts.sum(x, axis=axis), x.sum(1), rtol=1e-5)
        for value in (0.0, -0.0, 0.0, np.float64(0.5), float("inf"), Axis.LAST, np.float32(2.5), np.int64(3)):
            padded = op.pad(x[0], (0, 1), value=value)[-1]
            self.assertEqual((padded, math.copysign(1, padded)), (value, math.copysign(1, value)))
        self.assertEqual(_names.written(Words("a")), "'a'")
        self.assertEqual([_names.written(v) for v in (True, Axis.LAST, np.float64(1), -0.0, None, "1", x)],
                         ["True", "1", "1.0", "-0.0", "None", "'1'", None])

    def test_dtypes_that_numpy_lacks(self):
        x = floats(8, 8)
        half = ts.asarray(x, dtype=ts.bf16)
        self.assertEqual((half.dtype, half.shape, half.nbytes), (ts.bf16, (8, 8), 128))
        back = ts.asarray(half, ts.f32).numpy()
        np.testing.assert_allclose(back, x, rtol=2 ** -8)
        with self.assertRaisesRegex(ts.ArgumentError, "E_ARG_DTYPE.*NumPy has no bf16"):
            half.numpy()

    def test_dims_that_must_be_known(self):
        for d in (8, 16):
            q, k, v = floats(2, 5, d), floats(2, 7, d, seed=2), floats(2, 7, d, seed=3)
            scores = q.astype("f8") @ k.transpose(0, 2, 1) / np.sqrt(d)
            weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
            np.testing.assert_allclose(op.flash_attention(q, k, v), weights @ v, rtol=1e-4, atol=1e-5)

    def test_any_number_of_query_heads_for_a_key_head(self):
        @ts.jit
        def grouped(q: ts.Tensor["G*Hk", "S", 16, ts.f32], k: ts.Tensor["Hk", "T", 16, ts.f32], v: ts.Tensor["Hk", "T", 16, ts.f32]):
            return op.flash_attention(q, k, v)

        def heads(hq, hk):
            return floats(hq, 5, 16), floats(hk, 33, 16, seed=2), floats(hk, 33, 16, seed=3)
        for hq, hk in ((1, 1), (2, 2), (6, 2), (7, 1), (12, 3), (0, 2), (0, 0)):
            q, k, v = heads(hq, hk)
            wide, values = (np.repeat(t.astype("f8"), hq // max(hk, 1), axis=0) for t in (k, v))
            weights = np.exp(q @ wide.transpose(0, 2, 1) / 4)
            np.testing.assert_allclose(grouped(q, k, v), weights / weights.sum(-1, keepdims=True) @ values, rtol=1e-4, atol=1e-5)
        for hq, hk in ((5, 2), (1, 2), (3, 0)):
            with self.assertRaisesRegex(ts.ArgumentError, r"G\*Hk heads of q are no multiple of Hk heads of k"):
                grouped(*heads(hq, hk))

    def test_attention_keeps_nan(self):
        q, k, v = floats(2, 20, 32), floats(2, 9, 32, seed=2), floats(2, 9, 32, seed=3)
        q[0, 3, 5] = np.nan
        y = op.flash_attention(q, k, v)
        self.assertTrue(np.isnan(y[0, 3]).all())
        self.assertEqual(np.isnan(y).sum(), 32)

    def test_scores_that_are_rounded_to_integers(self):
        """The second product of a loop has other dtypes than the first."""
        @ts.kernel
        def quantised(Q: ts.Tensor["M", 32, ts.f32], K: ts.Tensor["N", 32, ts.f32], V: ts.Tensor["N", 32, ts.i8], Y: ts.Tensor["M", 32, ts.i32]):
            for m in ts.tile.parallel(0, M, 16):
                q, total = Q[m:m+16, :], ts.tile.zeros((16, 32), ts.i32)
                for n in ts.tile.range(0, N, 32):
                    scores = ts.tile.mma(q, K[n:n+32, :].T)
                    total = ts.tile.mma(ts.tile.cast(ts.tile.round(scores), ts.i8), V[n:n+32, :], total)
                Y[m:m+16, :] = total

        Q, K, V, Y = ((np.arange(rows * 32) * step % 7 - 3).reshape(rows, 32).astype(dtype) for rows, step, dtype in
                      ((21, 3, "f4"), (70, 5, "f4"), (70, 11, "i1"), (21, 0, "i4")))
        quantised(Q, K, V, Y)
        np.testing.assert_array_equal(Y, (Q @ K.T).astype("i4") @ V.astype("i4"))

    def test_autotuned(self):
        x = np.zeros(100, "f4")
        tuned(x)
        tuned.jit(B=64)(x)
        np.testing.assert_array_equal(x, 2)
        self.assertIn("B: 64", tuned.jit(B=64).metadata)
        self.assertIn("B: 32", tuned.jit().metadata)


class Ahead(unittest.TestCase):
    def test_levels(self):
        compiled = saxpy.jit(n=1024)
        for level, word in (("graph", "graph."), ("tile", "tile."), ("target", "func"), ("asm", "ret")):
            self.assertIn(word, compiled.inspect_ir(level))
        @ts.jit
        def attention(q: ts.Tensor["B", "S", "D", ts.f32], k: ts.Tensor["B", "S", "D", ts.f32]):
            return op.flash_attention(q, k, k)

        self.assertIn("graph.", attention.inspect_ir("graph"))  # the code needs D
        with self.assertRaisesRegex(ts.CompileError, "E_DIM_NOT_STATIC"):
            attention.jit()
        with self.assertRaisesRegex(ts.ArgumentError, "E_LEVEL_UNKNOWN"):
            compiled.inspect_ir("sass")

    def test_copies_of_ir(self):
        text = saxpy.inspect_ir("graph")
        for other in (copy.copy(text), copy.deepcopy(text), pickle.loads(pickle.dumps(text))):
            self.assertEqual(other, text)

    def test_signature(self):
        x, y, alpha, n = saxpy.jit().signature
        self.assertEqual((x["name"], x["kind"], x["dtype"], x["dims"], x["writes"]), ("x", "tensor", "f32", ["n"], False))
        self.assertTrue(y["writes"])
        self.assertEqual((alpha["kind"], n["kind"]), ("scalar", "dim"))

    def test_defaults(self):
        x, y = floats(10), np.zeros(10, "f4")
        saxpy.jit()(x, y)
        np.testing.assert_array_equal(y, 2 * x)

    def test_another_target(self):
        text = saxpy.jit(target="ptx:sm_90").inspect_ir("asm")
        self.assertIn(".target sm_90", text)
        with self.assertRaisesRegex(ts.BackendError, "E_BACKEND_UNUSABLE"):
            saxpy.jit(target="ptx:sm_90")(floats(4), floats(4))

    def test_a_bundle_needs_no_compiler(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "saxpy.tsrb"
            saxpy.jit().save(path)
            program = textwrap.dedent(f"""
                import numpy as np, tessera as ts
                x, y = np.arange(5, dtype="f4"), np.ones(5, "f4")
                ts.load({str(path)!r})["saxpy"](x, y, 3.0)
                assert (y == 3 * x + 1).all(), y
                assert "libtessera-compiler" not in open("/proc/self/maps").read()
            """)
            subprocess.run([sys.executable, "-c", program], check=True)
            with self.assertRaisesRegex(ts.ArgumentError, "E_KERNEL_UNKNOWN.*\n.*saxpy"):
                ts.load(path)["other"]
        with self.assertRaises(ts.Error):
            ts.load("/nonexistent.tsrb")

    def test_no_compiler(self):
        """The package and the library in a folder of their own, as in the packages, of which the compiler is another."""
        package = pathlib.Path(ts.__file__).parent
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(package, f"{folder}/python/tessera", ignore=shutil.ignore_patterns("__pycache__"))
            os.mkdir(f"{folder}/lib")
            shutil.copy(package.parents[1] / "lib/libtessera.so.1", f"{folder}/lib")
            program = pathlib.Path(folder) / "program.py"
            program.write_text(textwrap.dedent("""
                import tessera as ts
                @ts.jit
                def f(x):
                    return x + x
                for call in (lambda: f(ts.ones(3)), lambda: ts.exp(ts.ones(3))):
                    try:
                        call()
                    except ts.BackendError as e:
                        print(e.code, "libtessera-compiler" in e.hint)
            """))
            done = subprocess.run([sys.executable, program], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": f"{folder}/python"})
        self.assertEqual((done.stdout, done.stderr), ("E_NO_COMPILER True\n" * 2, ""))

    def test_a_text(self):
        module = ts.compile("import tessera as ts\n\n@ts.jit\ndef f(x):\n    return x * K\n", constants={"K": 3.0})
        self.assertEqual(list(module), ["f"])
        np.testing.assert_array_equal(module.f(np.ones(3, "f4")), 3)
        self.assertIn("f", module)
        self.assertNotIn("g", module)
        self.assertTrue(hasattr(module, "f") and not hasattr(module, "g"))
        self.assertIs(module.get("f"), module.f)
        self.assertIs(module.get("g", 3), 3)
        with self.assertRaisesRegex(AttributeError, "'g'"):
            module.g
        with self.assertRaisesRegex(ts.CompileError, r"E_SYNTAX(.|\n)*k\.py:2"):
            ts.compile("x = 1\ny = = 2\n", filename="k.py")


class Process(unittest.TestCase):
    def test_profiles(self):
        x = floats(100)
        before = saxpy.jit().metadata
        with ts.numerics.profile("fast"):
            self.assertIn("numerics: fast", saxpy.jit().metadata)
            saxpy(x, x.copy())
        self.assertEqual(saxpy.jit().metadata, before)
        for wrong in ("no such profile", "strict\0", 3, []):
            with self.assertRaises(ts.ArgumentError):
                ts.numerics.profile(wrong)
        self.assertEqual(saxpy.jit().metadata, before)

    def test_a_profile_compiles_anew(self):
        """Also where the first call of the process came before the first profile."""
        program = ("import tessera as ts\nm = ts.compile('import tessera as ts\\n@ts.jit\\ndef f(x):\\n    return x + x\\n')\n"
                   "x = bytearray(8)\nprint(m.f._code(x).info[2], end=' ')\nfor profile in ('fast', None, 'fast'):\n"
                   "    ts.numerics.profile(profile)\n    print(m.f._code(x).info[2], end=' ')\n")
        printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
        self.assertEqual(printed, "standard fast standard fast ")

    def test_texts_keep_their_names(self):
        text = "import tessera as ts\n@ts.jit\ndef f(x):\n    return x\n"
        files = {ts.compile(text, filename="kept.py").f.__wrapped__.__code__.co_filename for _ in range(5)}
        self.assertEqual(files, {"kept.py"})
        other = ts.compile(text + "\n", filename="kept.py").f.__wrapped__.__code__.co_filename
        self.assertNotIn(other, files)

    def test_capabilities(self):
        caps = ts.runtime.capabilities()
        self.assertIn("bf16", caps["tensorcore"])
        self.assertEqual(len(ts.runtime.devices()), 1)
        self.assertIn("cpu", [b["name"] for b in ts.runtime.backends()])
        self.assertGreater(ts.runtime.memory_info()["total_bytes"], 0)
        ts.runtime.synchronize()

    def test_backends(self):
        with self.assertRaises(ts.BackendError):
            ts.runtime.select_backend("no such backend")
        ts.runtime.select_backend("cpu")
        ts.runtime.select_backend(None)

    def test_import_loads_neither_numpy_nor_the_compiler(self):
        program = ("import sys; before = set(sys.modules); import tessera; "
                   "slow = {'logging', 'typing', 're', 'inspect', 'json', 'threading', 'numpy'} & (set(sys.modules) - before); "
                   "assert not slow, slow; maps = open('/proc/self/maps').read(); "
                   "assert 'libtessera.so' in maps; "
                   "found = [name for name in ('libLLVM', 'libtessera-compiler', 'libtessera-tuner', 'libsqlite', 'libcuda') if name in maps]; assert not found, found")
        subprocess.run([sys.executable, "-c", program], check=True)

    def test_names_that_are_not_built(self):
        with self.assertRaisesRegex(ts.UnsupportedError, "tessera.optim"):
            from tessera import optim  # noqa: F401
        self.assertFalse(hasattr(ts, "no_such_name"))


if __name__ == "__main__":
    unittest.main()
