"""Arrays of dtypes that a library adds to NumPy: bfloat16, float8_e4m3fn, ... of ml_dtypes. Where that is not installed, a stand-in
(added.c) registers dtypes of the same names and sizes. Bits are compared, which both have."""
import importlib.util
import os
import subprocess
import sys
import unittest

import numpy as np

import tessera as ts

HAS_STAND_IN = importlib.util.find_spec("added") is not None
if importlib.util.find_spec("ml_dtypes") is not None:
    import ml_dtypes as library
elif HAS_STAND_IN:
    import added as library
    sys.modules["ml_dtypes"] = library
else:
    raise unittest.SkipTest("neither ml_dtypes nor NumPy's headers are installed")

# name -> dtype, and the bits of 1, 1.5 and -2 by the formats' definitions
FORMATS = {"bfloat16": ("bf16", "u2", [0x3F80, 0x3FC0, 0xC000]), "float8_e4m3fn": ("fp8_e4m3", "u1", [0x38, 0x3C, 0xC0]),
           "float8_e5m2": ("fp8_e5m2", "u1", [0x3C, 0x3E, 0xC0]), "float6_e2m3fn": ("fp6_e2m3", "u1", [0x08, 0x0C, 0x30]),
           "float6_e3m2fn": ("fp6_e3m2", "u1", [0x0C, 0x0E, 0x30]), "float4_e2m1fn": ("fp4_e2m1", "u1", [0x2, 0x3, 0xC])}
FORMATS = {name: row for name, row in FORMATS.items() if hasattr(library, name)}


def array(name, bits):
    return np.array(bits, FORMATS[name][1]).view(getattr(library, name))


@ts.jit
def widened(x):
    return ts.cast(x, ts.f32)


@ts.jit
def same(x, y):
    return ts.where(x == x, x, y)


class Added(unittest.TestCase):
    def test_every_dtype_is_read(self):
        for name, (dtype, integer, bits) in FORMATS.items():
            with self.subTest(name):
                x = array(name, [bits, bits])
                np.testing.assert_array_equal(widened(x), [[1, 1.5, -2]] * 2)
                self.assertEqual(ts.asarray(x).dtype, dtype)
                np.testing.assert_array_equal(ts.asarray(x, dtype=ts.f32).numpy(), [[1, 1.5, -2]] * 2)

    def test_results_are_of_the_library(self):
        for name, (dtype, integer, bits) in FORMATS.items():
            with self.subTest(name):
                x = array(name, [bits])
                y = ts.reshape(x, (3, 1))
                self.assertEqual((type(y), y.dtype), (np.ndarray, x.dtype))
                self.assertEqual(y.view(integer).tolist(), [[b] for b in bits])
        x = array("bfloat16", FORMATS["bfloat16"][2])
        self.assertEqual(ts.cast(np.float32([1, 1.5, -2]), ts.bf16).dtype, x.dtype)
        self.assertEqual(same(x, x).view("u2").tolist(), FORMATS["bfloat16"][2])

    def test_elements_are_changed_in_place(self):
        @ts.kernel
        def doubled(x: ts.Tensor["n", ts.bf16]) -> ts.Tensor["n", ts.bf16]:
            for i in ts.tile.parallel(0, n, 16):
                x[i:i+16] = x[i:i+16] + x[i:i+16]
            return x

        x = array("bfloat16", [0x3F80, 0x3FC0, 0xC000])
        self.assertIs(doubled(x), x)
        self.assertEqual(x.view("u2").tolist(), [0x4000, 0x4040, 0xC080])
        x.flags.writeable = False
        with self.assertRaises(ts.ArgumentError):
            doubled(x)

    def test_layouts(self):
        @ts.kernel
        def copied(x, y):
            for i in ts.tile.parallel(0, x.shape[0], 16):
                y[i:i+16] = ts.tile.cast(x[i:i+16], ts.f32)

        wide = array("bfloat16", [0x3F80, 0, 0x3FC0, 0, 0xC000, 0])
        for x, wanted in ((wide[::2], [1, 1.5, -2]), (wide[1::2], [0, 0, 0]), (wide[:1:2], [1])):
            y = np.zeros(len(wanted), "f4")
            copied(x, y)
            self.assertEqual(y.tolist(), wanted)
        self.assertEqual(ts.asarray(array("bfloat16", 0x3FC0), ts.f32).numpy().tolist(), 1.5)  # 0-d
        self.assertEqual(widened(array("bfloat16", np.zeros((0, 3)))).shape, (0, 3))

    def test_numpy_of_an_array(self):
        for name, (dtype, integer, bits) in FORMATS.items():
            with self.subTest(name):
                x = ts.asarray(np.float32([1, 1.5, -2]), dtype)
                y = x.numpy()
                self.assertEqual((y.dtype, y.view(integer).tolist()), (np.dtype(getattr(library, name)), bits))
                y.view(integer)[0] = bits[2]  # the same memory
                self.assertEqual(ts.asarray(x, ts.f32).numpy()[0], -2)
        kept = ts.asarray([1.0], ts.bf16).numpy()
        self.assertEqual(kept.view("u2").tolist(), [0x3F80])

    def test_arrays_like_them(self):
        x = array("bfloat16", [0x3F80])
        self.assertEqual(ts.zeros_like(x).dtype, ts.bf16)
        self.assertEqual(ts.full(2, 1.5, x.dtype).dtype, ts.bf16)
        ts.testing.assert_allclose(x, [1.0])
        ts.testing.assert_bits_equal(x, ts.asarray([1.0], ts.bf16))

    def test_what_is_refused(self):
        for name, words in (("int4", "x.astype('int8')"), ("float8_e8m0fnu", "x.astype('float32')")):
            if not hasattr(library, name):
                continue
            x = np.zeros(3, "u1").view(getattr(library, name))
            for call in (lambda: widened(x), lambda: ts.asarray(x)):
                with self.assertRaises(ts.ArgumentError) as raised:
                    call()
                self.assertEqual(raised.exception.code, "E_ARG_DTYPE")
                self.assertIn(name, str(raised.exception))
                self.assertIn(words, str(raised.exception))
        with self.assertRaises(ts.ArgumentError) as raised:
            same(array("bfloat16", [0x3F80]), np.ones(1, "f4")[::1].astype(">f4"))
        self.assertEqual(raised.exception.code, "E_ARG_DTYPE")

    @unittest.skipUnless(HAS_STAND_IN, "needs the stand-in")
    def test_the_library_is_not_imported(self):
        """Without ml_dtypes in the process its arrays are read, too, and results are arrays of Tessera."""
        code = ("import sys, added, numpy as np, tessera as ts\n"
                "x = np.uint16([0x3F80]).view(added.bfloat16)\n"
                "assert isinstance(ts.exp(x), ts.Array)\n"
                "assert ts.asarray(x, ts.f32).numpy()[0] == 1\n"
                "assert 'ml_dtypes' not in sys.modules\n")
        result = subprocess.run([sys.executable, "-c", code], env=os.environ, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == "__main__":
    unittest.main()
