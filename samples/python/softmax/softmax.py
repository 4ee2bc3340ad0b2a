"""The rows of a matrix to probabilities: a kernel that is written out, and the operation of the library. Both are compared with NumPy."""
# mypy: disable-error-code="name-defined, valid-type, type-arg, index, no-untyped-def"
import numpy as np

import tessera as ts

ROWS = 4


@ts.kernel
def softmax(x: ts.Tensor["M", "N", ts.f32], y: ts.Tensor["M", "N", ts.f32]):
    for m in ts.tile.parallel(0, M, ROWS):
        top = ts.tile.full((ROWS,), -float("inf"), ts.f32)
        for k in ts.tile.range(0, N, 64):
            top = ts.tile.maximum(top, ts.tile.row_max(x[m:m+ROWS, k:k+64]))
        total = ts.tile.zeros((ROWS,), ts.f32)
        for k in ts.tile.range(0, N, 64):
            total += ts.tile.row_sum(ts.tile.exp(x[m:m+ROWS, k:k+64] - top[:, None]))
        for k in ts.tile.range(0, N, 64):
            y[m:m+ROWS, k:k+64] = ts.tile.exp(x[m:m+ROWS, k:k+64] - top[:, None]) / total[:, None]


def main() -> None:
    for shape in ((1, 1), (37, 129), (256, 1000)):
        x = np.random.default_rng(1).uniform(-5, 5, shape).astype("f4")
        y = np.empty_like(x)
        softmax(x, y)
        wide = np.exp(x - x.max(axis=1, keepdims=True).astype("f8"))
        want = wide / wide.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(ts.softmax(x), want, rtol=1e-5, atol=1e-7)
        print(f"softmax {shape[0]} x {shape[1]}: {x.size} elements right")


if __name__ == "__main__":
    main()
