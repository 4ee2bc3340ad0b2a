"""Results larger than the caches, whose whole vectors the CPU stores past them (docs/decisions/0146)."""
import unittest

import numpy as np

import tessera as ts

LARGE = 16 << 20  # bytes


@ts.jit
def linear(x: ts.Tensor["n", ts.f32]):
    return x * 2.0 + 1.0


@ts.jit
def narrowed(x: ts.Tensor["R", "C", ts.f32]):
    return ts.cast(x, ts.f16)


@ts.jit
def bytes_of(x: ts.Tensor["n", ts.i32]):
    return ts.cast(x, ts.i8)


@ts.jit
def wide(x: ts.Tensor["n", ts.f64]):
    return x + 1.0


@ts.jit
def layer_norm(x: ts.Tensor["R", "C", ts.f32], gamma: ts.Tensor["C", ts.f32], beta: ts.Tensor["C", ts.f32]):
    return ts.layer_norm(x, gamma, beta)


@ts.jit
def softmax(x: ts.Tensor["R", "C", ts.f32]):
    return ts.softmax(x)


@ts.jit
def transposed(x: ts.Tensor["R", "C", ts.f32]):
    return x.T


@ts.jit
def joined(x: ts.Tensor["R", "C", ts.f32]):
    return ts.concat([x, x[:, :1]], axis=1)


@ts.kernel
def put(x: ts.Tensor["n", ts.f32], y: ts.Tensor["n", ts.f32]):
    for i in ts.tile.parallel(0, n, 1000):
        y[i:i+1000] = x[i:i+1000] - 3.0


def numbers(*shape, dtype="f4"):
    return np.random.default_rng(7).integers(-100, 100, shape).astype(dtype)


class LargeResults(unittest.TestCase):
    def test_one_axis(self):
        for n in (LARGE // 4 - 1, LARGE // 4, LARGE // 4 + 37):
            x = numbers(n)
            np.testing.assert_array_equal(np.asarray(linear(x)), x * 2 + 1)
        x = numbers(LARGE // 8 + 5, dtype="f8")
        np.testing.assert_array_equal(np.asarray(wide(x)), x + 1)
        x = numbers(LARGE + 77, dtype="i4")
        np.testing.assert_array_equal(np.asarray(bytes_of(x)), x.astype("i1"))

    def test_rows_of_any_length(self):
        for columns in (64, 1000, 1001, 4099):
            x = numbers(LARGE // 2 // columns + 3, columns)
            np.testing.assert_array_equal(np.asarray(narrowed(x)), x.astype("f2"))
            np.testing.assert_array_equal(np.asarray(joined(x)), np.concatenate([x, x[:, :1]], axis=1))
            np.testing.assert_array_equal(np.asarray(transposed(x)), x.T)

    def test_norms(self):
        for columns in (128, 1024, 3001):
            x = numbers(LARGE // 4 // columns + 1, columns) / 50
            gamma, beta = numbers(columns), numbers(columns)
            centred = x.astype("f8") - x.mean(axis=1, keepdims=True, dtype="f8")
            want = centred / np.sqrt((centred ** 2).mean(axis=1, keepdims=True) + 1e-5) * gamma + beta
            np.testing.assert_allclose(np.asarray(layer_norm(x, gamma, beta)), want, atol=2e-3)
            e = np.exp(x.astype("f8"))
            np.testing.assert_allclose(np.asarray(softmax(x)), e / e.sum(axis=1, keepdims=True), rtol=2e-5)

    def test_any_address(self):
        n = LARGE // 4 + 1000
        x = numbers(n)
        for offset in (0, 1, 3, 16):
            memory = np.full(n + 64, 9, "f4")
            first = (-memory.ctypes.data // 4) % 16 + offset
            put(x, memory[first:first + n])
            np.testing.assert_array_equal(memory[first:first + n], x - 3)
            self.assertTrue((memory[:first] == 9).all() and (memory[first + n:] == 9).all())


if __name__ == "__main__":
    unittest.main()
