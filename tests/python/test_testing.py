"""ts.testing: what passes, what fails, and what the message says."""
import subprocess
import sys
import unittest

import numpy as np

import tessera as ts
from tessera.testing import assert_allclose, assert_bits_equal

INF, NAN = float("inf"), float("nan")


class Testing(unittest.TestCase):
    def fails(self, words, function, *args, **keywords):
        with self.assertRaises(AssertionError) as raised:
            function(*args, **keywords)
        for word in (words,) if isinstance(words, str) else words:
            self.assertIn(word, str(raised.exception))

    def test_allclose(self):
        for dtype, epsilon in (("f8", 2.0 ** -52), ("f4", 2.0 ** -23), ("f2", 2.0 ** -10)):
            x = np.array([1, -1, 1000], dtype)
            assert_allclose(x * (1 + 7 * x.dtype.type(epsilon)), x)
            self.fails(("1 of 3 elements", "[1]"), assert_allclose, x * np.array([1, 1 + 16 * epsilon, 1], dtype), x)
        assert_allclose(np.float32([INF, -INF, NAN, 0.0]), [INF, -INF, NAN, -0.0])
        for wrong in ([INF, INF], [-INF, -INF], [NAN, -INF], [1.0, -INF]):
            self.fails("differ", assert_allclose, np.float32([INF, -INF]), wrong)
        self.fails("shape is (2,), expected (2, 1)", assert_allclose, np.ones(2), np.ones((2, 1)))
        assert_allclose(np.ones((0, 3)), np.ones((0, 3)))
        assert_allclose(np.float64(1), 1.0)

    def test_bounds(self):
        assert_allclose([1.0, 2.0], [1.5, 2.0], bound=0.5)
        assert_allclose([1.0, 2.0], [1.5, 2.5], bound=[0.5, 0.5])
        self.fails(("1 of 2", "[1]: 2.0, expected 2.5 within 0.1"), assert_allclose, [1.0, 2.0], [1.5, 2.5], bound=np.array([0.5, 0.1]))
        self.fails("differ", assert_allclose, np.array([2 ** 62]), np.array([2 ** 62 + 1]))
        self.fails("differ", assert_allclose, np.array([NAN]), np.array([1.0]), bound=INF)

    def test_complex_numbers(self):
        assert_allclose(np.array([1 + 2j]), np.array([1 + 2j]))
        assert_allclose(np.array([1 + 2j]), np.array([1 + 2.5j]), bound=0.5)
        self.fails("1 of 1", assert_allclose, np.array([1 + 2j]), np.array([1 + 5j]))
        self.fails("1 of 1", assert_allclose, np.array([1.0]), np.array([1 + 5j]))

    def test_integers_are_exact(self):
        assert_allclose(np.array([2 ** 53]), np.array([2.0 ** 53]))
        for got, want in ((2 ** 53 + 1, 2 ** 53), (2 ** 53 + 1, 2.0 ** 53), (True, False), (0, NAN), (1, INF)):
            self.fails("1 of 1", assert_allclose, np.array([got]), np.array([want]))
        self.fails("1 of 1", assert_allclose, np.array([2 ** 64 - 1], "u8"), np.array([-1]))

    def test_arrays_of_tessera(self):
        x = ts.asarray(np.linspace(-3, 3, 100, dtype="f4"), ts.bf16)
        assert_allclose(x, np.linspace(-3, 3, 100))
        self.fails("differ", assert_allclose, x, np.linspace(-3, 3, 100) * 1.1)
        assert_allclose(ts.ones((2, 2)), np.ones((2, 2)))
        for dtype in ("fp8_e4m3", "fp8_e5m2", "f16"):
            assert_allclose(ts.asarray(np.float32([1, 2, 4]), dtype), [1, 2, 4])

    def test_bits(self):
        assert_bits_equal(np.float32([NAN, 0.0]), np.float32([NAN, 0.0]))
        self.fails(("1 of 2", "[1]: 0x80000000, expected 0x00000000"), assert_bits_equal, np.float32([1, -0.0]), np.float32([1, 0.0]))
        self.fails("it is f32[1], expected f64[1]", assert_bits_equal, np.float32([1]), np.array([1.0]))
        self.fails("it is f32[1], expected f32[]", assert_bits_equal, np.float32([1]), np.float32(1))
        self.fails("[]: 0x3f800000", assert_bits_equal, np.float32(1), np.float32(2))
        assert_bits_equal(ts.ones(3), np.ones(3, "f4"))
        assert_bits_equal(np.asfortranarray(np.arange(6).reshape(2, 3)), np.arange(6).reshape(2, 3))
        x = ts.asarray(np.float32([1, 2]), ts.bf16)
        assert_bits_equal(x, ts.asarray(np.float32([1, 2]), ts.bf16))
        self.fails("[1]: 0x4000, expected 0x4040", assert_bits_equal, x, ts.asarray(np.float32([1, 3]), ts.bf16))
        assert_bits_equal(ts.zeros((0, 3)), np.zeros((0, 3), "f4"))

    def test_it_is_imported_on_use(self):
        program = "import sys, tessera as ts; assert 'tessera.testing' not in sys.modules; ts.testing.assert_bits_equal(1, 1)"
        subprocess.run([sys.executable, "-c", program], check=True)


if __name__ == "__main__":
    unittest.main()
