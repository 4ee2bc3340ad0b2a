"""Arguments of calls: each kind of array, dtype and layout is accepted with the right bits, or refused by its code."""
import array
import ctypes
import math
import os
import tempfile
import threading
import unittest

import numpy as np

import tessera as ts

DTYPES = ("f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?")


@ts.kernel
def copy(x, y):
    for i in ts.tile.parallel(0, x.shape[0], 16):
        y[i:i+16] = x[i:i+16]


@ts.kernel
def add(x: ts.Tensor["n", ts.f32], y: ts.Tensor["n", ts.f32], a: ts.f32 = 0.0):
    for i in ts.tile.parallel(0, n, 16):
        y[i:i+16] = x[i:i+16] + a


@ts.kernel
def scalars(out: ts.Tensor[6, ts.f64], a: ts.i32, b: ts.u8, c: ts.f16, d: bool, e: ts.bf16, f: ts.i64):
    for i in ts.tile.parallel(0, 1, 1):
        out[i:i+1] = ts.tile.full((1,), ts.tile.cast(a, ts.f64), ts.f64)
        out[i+1:i+2] = ts.tile.full((1,), ts.tile.cast(b, ts.f64), ts.f64)
        out[i+2:i+3] = ts.tile.full((1,), ts.tile.cast(c, ts.f64), ts.f64)
        out[i+3:i+4] = ts.tile.full((1,), 1.0 if d else 0.0, ts.f64)
        out[i+4:i+5] = ts.tile.full((1,), ts.tile.cast(e, ts.f64), ts.f64)
        out[i+5:i+6] = ts.tile.full((1,), ts.tile.cast(f, ts.f64), ts.f64)


@ts.jit
def doubled(x):
    return x + x


@ts.kernel
def glu(X: ts.Tensor["M", "2*K", ts.f32], Y: ts.Tensor["M", "K", ts.f32]):
    for m in ts.tile.parallel(0, M, 8):
        for k in ts.tile.parallel(0, K, 16):
            Y[m:m+8, k:k+16] = X[m:m+8, k:k+16] * X[m:m+8, K+k:K+k+16]


class Arguments(unittest.TestCase):
    def refused(self, code, call, *words):
        with self.assertRaises(ts.Error) as raised:
            call()
        self.assertEqual(raised.exception.code, code, raised.exception)
        for word in words:
            self.assertIn(word, str(raised.exception))

    def test_every_dtype(self):
        for dtype in DTYPES:
            with self.subTest(dtype):
                x = np.random.default_rng(1).integers(0, 2 if dtype == "?" else 100, 40).astype(dtype)
                y = np.zeros_like(x)
                copy(x, y)
                np.testing.assert_array_equal(x, y)
                self.assertEqual(ts.asarray(x).numpy().dtype, x.dtype)
                np.testing.assert_array_equal(ts.asarray(x).numpy(), x)

    def test_layouts(self):
        base = np.arange(90, dtype="f4")
        y = np.zeros(30, "f4")
        for x in (base[:30], base[::3], base.reshape(30, 3)[:, 1], np.broadcast_to(np.float32(7), (30,))):
            copy(x, y)
            np.testing.assert_array_equal(y, x)
        self.refused("E_ARG_STRIDES", lambda: copy(base[29::-1], y), "x", "negative", "np.ascontiguousarray(x)")
        self.refused("E_ARG_STRIDES", lambda: add(base[::3], y), "x", "not contiguous")
        self.refused("E_ARG_STRIDES", lambda: doubled(np.asfortranarray(np.ones((3, 4), "f4"))), "not contiguous")
        for call, is_offered in ((lambda: add(base[::3], y), True), (lambda: doubled(base[::3]), False)):  # graph functions take no strides
            with self.assertRaises(ts.Error) as raised:
                call()
            self.assertEqual("declare its strides" in str(raised.exception), is_offered, raised.exception)
        np.testing.assert_array_equal(doubled(np.asfortranarray(np.ones((1, 4), "f4"))), 2)  # contiguous both ways

    def test_shapes(self):
        for shape in ((0,), (1,), (3, 0), (0, 3), (1, 1), (17, 1, 5)):
            x = np.ones(shape, "f4")
            got = doubled(x)
            self.assertEqual(got.shape, shape)
            np.testing.assert_array_equal(got, 2)
        self.assertEqual(doubled(np.full((), 3, "f4")).shape, ())
        self.refused("E_ARG_RANK", lambda: add(np.ones((2, 3), "f4"), np.ones(6, "f4")), "x", "f32[2, 3]", "1 dims")
        self.refused("E_ARG_RANK", lambda: doubled(np.ones((1,) * 9, "f4")), "9 dims")
        self.refused("E_ARG_SHAPE", lambda: add(np.ones(3, "f4"), np.ones(4, "f4")), "n is 3 (dim 0 of x)", "dim 0 of y is 4")

    def test_extents_that_are_expressions(self):
        X, Y = np.random.default_rng(1).uniform(-1, 1, (5, 38)).astype("f4"), np.zeros((5, 19), "f4")
        glu(X, Y)
        np.testing.assert_allclose(Y, X[:, :19] * X[:, 19:], rtol=1e-6)
        self.refused("E_ARG_SHAPE", lambda: glu(X[:, :37].copy(), Y), "dim 1 of X is 2*K")

    def test_read_only(self):
        x, y = np.ones(5, "f4"), np.zeros(5, "f4")
        x.flags.writeable = False
        add(x, y, 1.0)
        np.testing.assert_array_equal(y, 2)
        y.flags.writeable = False
        self.refused("E_ARG_READONLY", lambda: add(x, y), "y")
        add(bytes(20) and np.frombuffer(bytes(20), "f4"), np.zeros(5, "f4"))

    def test_overlap(self):
        x = np.ones(20, "f4")
        self.refused("E_ARG_OVERLAP", lambda: add(x, x), "y is written and shares memory with x")
        self.refused("E_ARG_OVERLAP", lambda: add(x[:10], x[5:15]))
        add(x[:10], x[10:])

    def test_memory_that_is_no_whole_number_of_elements(self):
        raw = np.zeros(4 * 10 + 1, "u1")
        self.refused("E_ARG_ALIGNMENT", lambda: add(raw[1:].view("f4"), np.zeros(10, "f4")), "x")
        record = np.zeros(10, dtype=[("a", "u1"), ("b", "f4")])
        self.refused("E_ARG_ALIGNMENT", lambda: add(record["b"], np.zeros(10, "f4")))

    def test_elements_that_the_language_does_not_have(self):
        y = np.zeros(3, "f4")
        self.refused("E_ARG_DTYPE", lambda: add(np.ones(3, ">f4"), y), "another order")
        for x in (np.array([None] * 3), np.zeros(3, "M8[s]"), np.array(["a"] * 3), np.zeros(3, "c8"), np.zeros(3, [("a", "f4")]),
                  np.zeros(3, np.longdouble)):
            self.refused("E_ARG_DTYPE", lambda: add(x, y), "x")
        for dtype, words in (("c8", "x.view('float32').reshape(*x.shape, 2)"), ("c16", "x.view('float64')"),
                             (">c8", "x.astype(x.dtype.newbyteorder('='))"), ("G", "x.astype('complex128')"), (object, "x.astype('float32')"),
                             ("M8[s]", "x.view('int64')"), ("m8[ns]", "x.view('int64')"), ("S3", "np.unique(x"), ("U3", "np.unique(x"),
                             ([("a", "f4")], "np.ascontiguousarray(x['field'])"), ("g", "x.astype('float32')")):
            x = np.zeros(3, dtype)
            for call in (lambda: add(x, y), lambda: ts.asarray(x), lambda: ts.exp(x)):
                self.refused("E_ARG_DTYPE", call, words)
        with self.assertRaises(ts.Error) as raised:
            doubled(np.zeros(3, np.clongdouble))
        self.assertNotIn(".view(", str(raised.exception))  # no dtype has the size of its parts
        pairs = np.array([1 + 2j, 3 - 4j], "c8")  # as the hint says
        np.testing.assert_array_equal(doubled(pairs.view("float32").reshape(*pairs.shape, 2)), [[2, 4], [6, -8]])
        self.refused("E_ARG_DTYPE", lambda: add(np.ones(3), y), "x is f64[3], expected elements of f32")

    def test_elements_that_share_a_byte(self):
        @ts.kernel
        def unpack(q: ts.Tensor["n", ts.u4], y: ts.Tensor["n", ts.i32]):
            for i in ts.tile.parallel(0, n, 16):
                y[i:i+16] = ts.tile.cast(q[i:i+16], ts.i32)

        @ts.kernel
        def twice(x: ts.Tensor["n", ts.f32]):
            for i in ts.tile.parallel(0, n, 16):
                x[i:i+16] = x[i:i+16] + x[i:i+16]

        @ts.jit
        def pack(x: ts.Tensor["n", ts.f32]) -> ts.Tensor["n", ts.i4]:
            return ts.cast(x, ts.i4)
        x = np.ones(3, "f4")
        for call, says in ((lambda: unpack(np.zeros(5, "u1"), np.zeros(10, "i4")), "unpack: q is a tensor of u4(.|\n)*as u8"),
                           (lambda: pack(x), "pack: the result is a tensor of i4"), (lambda: ts.cast(x, ts.i4), "the result is a tensor of i4")):
            with self.assertRaisesRegex(ts.UnsupportedError, "E_UNIMPLEMENTED.*" + says):
                call()
        for call in (lambda: ts.asarray(x, ts.u4), lambda: ts.empty(3, ts.i4)):
            self.refused("E_ARG_DTYPE", call, "two of them share a byte")
        # what needs no array goes on
        self.assertEqual([a["dtype"] for a in unpack.jit().signature], ["u4", "i32", "i64"])
        with tempfile.TemporaryDirectory() as folder:
            unpack.save(folder + "/unpack.tsrb")
            ts.load(folder + "/unpack.tsrb")
            with self.assertRaisesRegex(ts.UnsupportedError, "q is a tensor of u4"):
                ts.load(folder + "/unpack.tsrb").unpack(np.zeros(5, "u1"), np.zeros(10, "i4"))
        twice(x)
        self.assertEqual(x.tolist(), [2, 2, 2])

    def test_numbers_that_mean_more(self):
        x, y = np.ones(3, "f4"), np.zeros(3, "f4")
        for number in (np.complex64(3 + 4j), 3 + 4j, np.timedelta64(5, "s"), np.datetime64("2020-01-01")):
            self.refused("E_ARG_TYPE", lambda: add(x, y, number), "a is a scalar of f32")

    def test_text_with_a_nul(self):
        for call in (lambda: ts.runtime.select_backend("cpu\0junk"), lambda: ts.runtime.set_mapper("default\0junk"),
                     lambda: add.jit(target="cpu\0junk"), lambda: add.jit(numerics="strict\0junk"), lambda: ts.load("a\0b")):
            with self.assertRaisesRegex(ValueError, r"embedded null character|found '\w+\\x00\w+'"):
                call()

    def test_failures_that_are_not_the_arguments(self):
        class Index:
            def __index__(self):
                raise MemoryError

        @ts.kernel
        def fill(y: ts.Tensor["n", ts.i32], a: ts.i32):
            for i in ts.tile.parallel(0, n, 16):
                y[i:i+16] = a
        with self.assertRaises(MemoryError):
            fill(np.zeros(3, "i4"), Index())
        released = memoryview(bytearray(16)).cast("f")
        released.release()
        self.refused("E_ARG_TYPE", lambda: add(released, np.zeros(4, "f4")), "released memoryview")

    def test_results_that_the_launch_refuses(self):
        for x in (np.ones((3, 8), "f4"), ts.ones((3, 8))):
            values, indices = ts.topk(x, 3)
            self.assertEqual((values.shape, indices.shape), ((3, 3), (3, 3)))
            for k in (9, 2**40):  # the second one's results would need terabytes
                self.refused("TSR_EINVAL", lambda: ts.topk(x, k), f"found {k}")

    def test_producers_without_a_module(self):
        class Producer:
            def __dlpack__(self, **kwargs):
                return np.ones(3, "f4").__dlpack__()

            def __dlpack_device__(self):
                return 1, 0

        @ts.jit
        def twice(x):
            return x + x
        for module in ("gone.submodule", None):
            self.assertEqual(twice(type("Own", (Producer,), {"__module__": module})()).numpy().tolist(), [2, 2, 2])

    def test_kinds_of_arrays(self):
        want = np.arange(6, dtype="f4")
        with tempfile.NamedTemporaryFile() as file:
            file.write(want.tobytes())
            file.flush()
            mapped = np.memmap(file.name, "f4", "r")
            for x in (want, mapped, memoryview(want), array.array("f", want), (ctypes.c_float * 6)(*want), ts.asarray(want),
                      want.view(type("Own", (np.ndarray,), {}))):
                y = np.zeros(6, "f4")
                add(x, y, 1.0)
                np.testing.assert_array_equal(y, want + 1)
        self.refused("E_ARG_TYPE", lambda: add(np.ma.masked_array(want, want > 3), np.zeros(6, "f4")), "masked")
        self.refused("E_ARG_TYPE", lambda: add([1.0, 2.0], np.zeros(2, "f4")), "x")
        self.refused("E_ARG_TYPE", lambda: add(None, np.zeros(2, "f4")))
        self.refused("E_ARG_TYPE", lambda: add(3.0, np.zeros(2, "f4")), "x is a tensor")

    def test_counts_and_names(self):
        x, y = np.ones(3, "f4"), np.ones(3, "f4")
        self.refused("E_ARG_COUNT", lambda: add(x, y, 1.0, 2.0), "takes 3 arguments, found 4")
        self.refused("E_ARG_MISSING", lambda: add(x), "'y'")
        self.refused("E_ARG_UNKNOWN", lambda: add(x, y, alpha=1.0), "'alpha'")
        self.refused("E_ARG_DUPLICATE", lambda: add(x, y, x=x), "'x'")

    def test_scalars(self):
        out = np.zeros(6)
        scalars(out, -7, 255, 1.5, True, 0.1, 2 ** 62)
        self.assertEqual(out.tolist(), [-7, 255, 1.5, 1, 0.10009765625, 2 ** 62])  # 0.1 in bf16
        scalars(out, np.int8(3), np.uint64(2), np.float32(0.5), np.bool_(False), 3, -2 ** 63)
        self.assertEqual(out.tolist(), [3, 2, 0.5, 0, 3, -2 ** 63])
        scalars(out, -2 ** 31, 0, 65504.0, False, -0.0, 2 ** 63 - 1)
        self.assertEqual(out.tolist(), [-2 ** 31, 0, 65504, 0, 0, 2 ** 63])
        self.assertEqual(math.copysign(1, out[4]), -1)
        good = dict(a=1, b=1, c=1.0, d=True, e=1.0, f=1)
        for name, value, code in (("a", 2 ** 31, "E_ARG_RANGE"), ("a", -2 ** 31 - 1, "E_ARG_RANGE"), ("b", -1, "E_ARG_RANGE"),
                                  ("b", 256, "E_ARG_RANGE"), ("c", 1e6, "E_ARG_RANGE"), ("e", 1e39, "E_ARG_RANGE"),
                                  ("f", 2 ** 63, "E_ARG_RANGE"), ("a", True, "E_ARG_TYPE"), ("a", 1.0, "E_ARG_TYPE"),
                                  ("d", 1, "E_ARG_TYPE"), ("c", "1", "E_ARG_TYPE"), ("c", 10 ** 400, "E_ARG_RANGE"),
                                  ("a", np.ones(1, "i4"), "E_ARG_TYPE"), ("c", None, "E_ARG_TYPE")):
            before = out.copy()
            with self.subTest(name=name, value=value):
                with self.assertRaisesRegex(ts.ArgumentError, rf"{code}\W+(scalars: )?{name} (=|is) "):
                    scalars(out, **{**good, name: value})
                np.testing.assert_array_equal(out, before)
        scalars(out, **{**good, "c": float("inf"), "e": float("nan")})
        self.assertTrue(math.isinf(out[2]) and math.isnan(out[4]))

    def test_dlpack(self):
        want = np.arange(12, dtype="f4").reshape(3, 4)

        class Old:  # a producer of DLPack 0.x
            def __init__(self, x):
                self.x = x

            def __dlpack__(self, stream=None):
                return self.x.__dlpack__()

            def __dlpack_device__(self):
                return self.x.__dlpack_device__()

        class New(Old):  # and one of 1.x, over this package's exporter
            def __dlpack__(self, *, stream=None, max_version=None, **more):
                return ts.asarray(self.x).__dlpack__(max_version=max_version)

        for producer in (Old(want), New(want)):
            got = ts.from_dlpack(producer)
            self.assertEqual((got.shape, got.dtype), ((3, 4), ts.f32))
            np.testing.assert_array_equal(got.numpy(), want)
            y = np.zeros(12, "f4")
            add(Old(want.ravel()), y)
            np.testing.assert_array_equal(y, want.ravel())
        np.testing.assert_array_equal(np.from_dlpack(ts.asarray(want)), want)
        shared = ts.from_dlpack(Old(want))
        want[0, 0] = 100
        self.assertEqual(shared.numpy()[0, 0], 100)

        class Used(Old):
            capsule = None

            def __dlpack__(self, stream=None):
                self.capsule = self.capsule or self.x.__dlpack__()
                return self.capsule

        used = Used(want)
        ts.from_dlpack(used)
        self.refused("E_ARG_DLPACK", lambda: ts.from_dlpack(used), "has been used")

        class Wrong(Old):
            def __dlpack__(self, stream=None):
                return 3

        self.refused("E_ARG_DLPACK", lambda: ts.from_dlpack(Wrong(want)), "no DLPack capsule")

    def test_threads(self):
        failures = []

        def work(seed):
            x = np.random.default_rng(seed).uniform(-1, 1, 999).astype("f4")
            y = np.zeros_like(x)
            for i in range(200):
                add(x, y, float(i))
                if not np.array_equal(y, x + np.float32(i)):
                    failures.append((seed, i))

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_a_forked_child(self):
        x, y = np.ones(100, "f4"), np.zeros(100, "f4")
        add(x, y, 1.0)
        child = os.fork()
        if child == 0:
            try:
                add(x, y, 2.0)
                os._exit(0 if (y == 3).all() else 1)
            except BaseException:
                os._exit(2)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)


if __name__ == "__main__":
    unittest.main()
