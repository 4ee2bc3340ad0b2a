"""Numbers: constants that have a dtype, `ts.u32(7)`, and integers of Python."""
import math
import unittest

import numpy as np

import tessera as ts


class Constants(unittest.TestCase):
    def test_numbers_with_a_dtype(self):
        polynomial, parts, whole = ts.u32(0xEDB88320), (ts.f64(0.1), ts.f32(math.inf)), ts.i64(np.int32(3))

        @ts.kernel
        def k(x: ts.Tensor["n", ts.u32], y: ts.Tensor["n", ts.f64], z: ts.Tensor["n", ts.f32], w: ts.Tensor["n", ts.i64], a: ts.f64 = ts.f64(0.1)):
            for i in ts.tile.parallel(0, n, 16):
                x[i:i+16] = x[i:i+16] ^ polynomial
                y[i:i+16] = y[i:i+16] * parts[0] + a
                z[i:i+16] = ts.minimum(z[i:i+16], parts[1])
                w[i:i+16] = ts.cast(w[i:i+16], ts.i32) * whole

        @ts.jit
        def mixed(x):
            return x + parts[0]

        x, y, z, w = np.arange(20, dtype="u4"), np.ones(20), np.ones(20, "f4"), np.arange(20)
        k(x, y, z, w)
        np.testing.assert_array_equal(x, np.arange(20, dtype="u4") ^ np.uint32(0xEDB88320))
        np.testing.assert_array_equal(y, np.full(20, 0.1 + 0.1))
        np.testing.assert_array_equal(z, np.ones(20, "f4"))
        np.testing.assert_array_equal(w, 3 * np.arange(20))
        with self.assertRaisesRegex(ts.CompileError, "E_TYPE_MIX"):  # no literal
            mixed(np.ones(3, "f4"))
        np.testing.assert_array_equal(mixed(np.ones(3)), np.full(3, 1.1))
        for wrong in (lambda: ts.f32(np.ones(3)), lambda: ts.f32("1"), lambda: ts.f32(None), lambda: (ts.f16 @ ts.accum(ts.f32))(1.0)):
            with self.assertRaisesRegex(ts.ArgumentError, "E_ARG_TYPE"):
                wrong()
        module = ts.compile("import tessera as ts\nK = ts.u8(250)\n\n@ts.jit\ndef f(x: ts.Tensor['n', ts.u8]):\n    return x + K\n", filename="constant.py")
        np.testing.assert_array_equal(module["f"](np.arange(9, dtype="u1")), np.arange(250, 259).astype("u1"))

    def test_constants_compute_as_the_compiler_does(self):
        operations = ("{0} + {1}", "{0} - {1}", "{1} - {0}", "{0} * {1}", "{0} // {1}", "{0} % {1}", "{1} // {0}", "{0} & {1}", "{0} | {1}", "{0} ^ {1}",
                      "{0} << {1}", "{0} >> {1}", "-{0}", "~{0}", "{0} * 3 - 1", "7 - {0}", "+{0}")
        for dtype, pairs in (("u32", ((7, 2), (2**32 - 1, 5))), ("i8", ((100, 3), (-128, 7))), ("u8", ((200, 3),)), ("i64", ((2**63 - 1, 2),)),
                             ("f32", ((0.1, 3.7), (1e38, -0.3))), ("f64", ((0.1, 3.7),)), ("f16", ((0.1, 3.7), (60000.0, 0.7)))):
            used = [o for o in operations if dtype[0] != "f" or not set("/%&|^<>~") & set(o)] + (["{0} / {1}"] if dtype[0] == "f" else [])
            for x, y in pairs:
                here, text = [], "import tessera as ts\n"
                for i, operation in enumerate(used):
                    words = operation.format(f"ts.{dtype}({x!r})", f"ts.{dtype}({y!r})")
                    here.append(eval(words))
                    text += f"K{i} = {words}\n"
                text += f"\n@ts.kernel\ndef k(Y: ts.Tensor[{len(used)}, ts.{dtype}]):\n    for one in ts.tile.parallel(0, 1):\n"
                text += "".join(f"        Y[{i}] = K{i}\n" for i in range(len(used)))
                want = np.zeros(len(used), {"u": "u", "i": "i", "f": "f"}[dtype[0]] + str(int(dtype[1:]) // 8))
                ts.compile(text, filename="computed.py").k(want)
                for operation, found, expected in zip(used, here, want):
                    with self.subTest(dtype=dtype, operation=operation, x=x, y=y):
                        self.assertEqual(found.dtype, getattr(ts, dtype))
                        self.assertEqual(found.value, expected.item())
        K = ts.u32(2) * 2**31 + 9  # wraps

        @ts.kernel
        def add(x: ts.Tensor["n", ts.u32]):
            for i in ts.tile.parallel(0, n, 16):
                x[i:i+16] = x[i:i+16] + K

        x = np.arange(3, dtype="u4")
        add(x)
        self.assertEqual(x.tolist(), [9, 10, 11])
        self.assertTrue(ts.f32(2.0) > 1 and ts.i32(3) == 3 and ts.i32(3) != ts.i32(4) and {ts.i32(3): 1}[ts.i32(3)] == 1)
        for wrong, code in ((lambda: ts.u8(1) + 256, "E_LITERAL_RANGE"), (lambda: ts.i32(1) / 2, "E_TYPE"), (lambda: ts.i32(1) % 0, "E_DIVISION_BY_ZERO"),
                            (lambda: ts.i32(1) << 32, "E_LITERAL_RANGE")):
            with self.assertRaisesRegex(ts.ArgumentError, code):
                wrong()
        self.assertTrue(ts.bf16(1) == ts.bf16(1) and ts.bf16(1) != ts.bf16(2) and ts.fp8_e4m3(1) == 1 and ts.bool(True) == ts.bool(1))
        for found in (ts.f32(2) + np.float32(1), np.float32(1) + ts.f32(2), np.int64(1) + ts.f32(2)):
            self.assertEqual((found.dtype, found.value), (ts.f32, 3))
        self.assertEqual((ts.f32(1) + 10**400).value, np.inf)
        for wrong in (lambda: ts.i32(1) + 0.5, lambda: ts.i32(1) + ts.i64(1), lambda: ts.f32(1) // 2, lambda: ts.bf16(1) + 1, lambda: 2 ** ts.i32(1),
                      lambda: -ts.bf16(1), lambda: ~ts.f32(1), lambda: np.ones(3) * ts.f32(2), lambda: ts.f32(2) * np.ones(3)):
            with self.assertRaises(TypeError):
                wrong()

    def test_constants_as_arguments(self):
        @ts.kernel
        def scaled(x: ts.Tensor["n", ts.f32], a: ts.f32, times: ts.i32 = 1):
            for i in ts.tile.parallel(0, n, 16):
                x[i:i+16] = x[i:i+16] * a * ts.f32(times)

        x = np.ones(5, "f4")
        scaled(x, ts.f32(1.5) + 0.5, ts.i32(3))
        self.assertEqual(x.tolist(), [6] * 5)
        with self.assertRaisesRegex(ts.ArgumentError, "E_ARG_TYPE"):
            scaled(x, 1.0, ts.f32(3))
        with self.assertRaisesRegex(ts.ArgumentError, "E_ARG_RANGE"):
            scaled(x, ts.f64(1e300))

        @ts.jit
        def of(x, a):
            return x * a

        self.assertEqual(of(np.ones(3, "f2"), ts.f16(2)).dtype, np.float16)
        self.assertEqual(of(np.ones(3, "f2"), ts.f32(2)).dtype, np.float32)
        self.assertEqual(of(np.ones(3, "i4"), ts.i64(2)).dtype, np.int64)

    def test_integers_beside_floats(self):
        @ts.jit
        def mixed(x, k):
            return x * k + (k + 1) / 2, ts.where(x > k, x, k), x ** -k, ts.maximum(x, 2 * k - 3), 1.0 / k + x, x + ts.sqrt(k)

        @ts.kernel
        def scaled(x, y, k):
            for i in ts.tile.parallel(0, x.shape[0], 16):
                y[i:i+16] = k * x[i:i+16] + (k // 2) * k / k

        for dtype, bound in ((np.float16, 2e-3), (np.float32, 1e-6), (np.float64, 1e-14)):
            x = (np.arange(20) / 4 + 1).astype(dtype)
            w = x.astype("f8")
            for k in (2, 3, np.int32(5), -1):
                k = int(k) if k == -1 else k
                with np.errstate(invalid="ignore"):
                    want = (w * k + (k + 1) / 2, np.where(w > k, w, k), w ** -float(k), np.maximum(w, 2 * k - 3), 1 / k + w, w + np.sqrt(float(k)))
                for found, expected in zip(mixed(x, k), want):
                    self.assertEqual(found.dtype, dtype)
                    np.testing.assert_allclose(found, expected, rtol=bound, atol=bound)
            y = np.zeros_like(x)
            scaled(x, y, 3)
            np.testing.assert_allclose(y, 3 * w + 1, rtol=bound)

        @ts.jit
        def whole(i, k):
            return i * k + (k - 1), i[k]

        i = np.arange(10, dtype="i4")
        found, element = whole(i, 3)
        self.assertEqual((found.dtype, element), (np.int32, 3))
        np.testing.assert_array_equal(found, i * 3 + 2)
        with self.assertRaisesRegex(ts.CompileError, "E_TYPE_MIX"):  # beside bool it is no number of that dtype
            mixed(np.ones(3, "bool"), 1)


if __name__ == "__main__":
    unittest.main()
