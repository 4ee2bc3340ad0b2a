"""Which arrays share memory: compared with NumPy's exact answer."""
import unittest

import numpy as np

import tessera as ts

as_strided = np.lib.stride_tricks.as_strided


@ts.kernel
def copy1(a: ts.Tensor["n", ts.f32, ts.strides("s")], b: ts.Tensor["n", ts.f32, ts.strides("t")]):
    for i in ts.tile.parallel(0, n, 16):
        b[i:i+16] = a[i:i+16] + 1.0


@ts.kernel
def copy2(a: ts.Tensor["m", "n", ts.f32, ts.strides("s", "u")], b: ts.Tensor["m", "n", ts.f32, ts.strides("t", "v")]):
    for i in ts.tile.parallel(0, m, 4):
        for j in ts.tile.parallel(0, n, 16):
            b[i:i+4, j:j+16] = a[i:i+4, j:j+16] + 1.0


@ts.kernel
def into(a, b):
    for i in ts.tile.parallel(0, b.shape[0], 16):
        b[i:i+16] = ts.tile.cast(a[i:i+16], ts.f32)


class Overlap(unittest.TestCase):
    def refused(self, kernel, a, b, words):
        with self.assertRaises(ts.ArgumentError) as raised:
            kernel(a, b)
        self.assertEqual(raised.exception.code, "E_ARG_OVERLAP")
        self.assertIn(words, str(raised.exception))

    def test_interleaved(self):
        base = np.arange(40, dtype="f4")
        copy1(base[::2], base[1::2])
        np.testing.assert_array_equal(base[1::2], base[::2] + 1)
        table = np.arange(24, dtype="f4").reshape(4, 6)
        copy2(table[:, :3], table[:, 3:])
        np.testing.assert_array_equal(table[:, 3:], table[:, :3] + 1)
        copy2(table[::2], table[1::2])
        np.testing.assert_array_equal(table[1::2], table[::2] + 1)
        copy2(table.T[:3], table.T[3:])
        large = np.zeros((3000, 2000), "f4")  # found without a long search
        copy2(large[:, :1000], large[:, 1000:])
        copy2(large[:, ::2], large[:, 1::2])

    def test_shared(self):
        base = np.arange(40, dtype="f4")
        table = np.arange(24, dtype="f4").reshape(4, 6)
        self.refused(copy1, base[::2][:10], base[::3][:10], "shares memory with a")
        self.refused(copy2, table[:, :3], table[:, 2:5], "shares memory with a")
        self.refused(copy2, table[:3], table[1:], "shares memory with a")
        self.refused(copy1, base, base, "shares memory with a")
        self.refused(into, base.view("u1")[3::4][:20], base[:20], "shares memory with a")
        into(base.view("u1")[2::8], base[1::2])

    def test_elements_at_one_place(self):
        x = np.ones(5, "f4")
        self.refused(copy1, x, as_strided(np.zeros(9, "f4"), (5,), (0,)), "has elements that share memory")
        windows = as_strided(np.zeros(20, "f4"), (4, 3), (8, 4))
        self.refused(copy2, np.ones((4, 3), "f4"), windows, "has elements that share memory")
        copy1(as_strided(x, (5,), (0,)), np.zeros(5, "f4"))  # read only
        copy2(np.ones((1, 3), "f4"), windows[:1])
        copy2(np.ones((0, 3), "f4"), windows[:0])

    def test_random(self):
        draw = np.random.default_rng(5)
        found = {True: 0, False: 0}
        for _ in range(600):
            base = np.zeros(60, "f4")
            shape = tuple(draw.integers(1, 5, 2))
            views = []
            for _ in range(2):
                while True:
                    steps, offset = draw.integers(0, 12, 2), draw.integers(0, 30)
                    end = offset + sum((s - 1) * t for s, t in zip(shape, steps))
                    if end < 60:
                        break
                views.append(as_strided(base[offset:], shape, tuple(4 * int(t) for t in steps)))
            a, b = views
            itself = len({sum(i * t for i, t in zip(at, b.strides)) for at in np.ndindex(*shape)}) < b.size
            shares = np.shares_memory(a, b)
            try:
                copy2(a, b)
            except ts.ArgumentError as e:
                self.assertEqual(e.code, "E_ARG_OVERLAP")
                if "elements that share" not in str(e):
                    self.assertTrue(shares, (shape, a.strides, b.strides))
                found[True] += 1
            else:
                self.assertFalse(shares or itself, (shape, a.strides, b.strides))
                np.testing.assert_array_equal(b, 1)
                found[False] += 1
        self.assertGreater(min(found.values()), 50)


if __name__ == "__main__":
    unittest.main()
