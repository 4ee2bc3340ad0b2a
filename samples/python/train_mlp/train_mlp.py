"""A network of two layers learns a function: the loss, its derivatives and the step are graph functions, written out by hand. The
derivatives are compared with NumPy's in double precision, and the step is timed beside NumPy's."""
# mypy: disable-error-code="name-defined, valid-type, type-arg, index, no-untyped-def"
import time
from typing import Any

import numpy as np

import tessera as ts


@ts.jit
def forward(x, W1, b1, W2):
    h = ts.maximum(ts.matmul(x, W1) + b1, 0.0)
    return h, ts.matmul(h, W2)


@ts.jit
def loss(x, y, W1, b1, W2):
    h, out = forward(x, W1, b1, W2)
    return ts.mse(out, y)


@ts.jit
def gradients(x, y, W1, b1, W2):
    h, out = forward(x, W1, b1, W2)
    d_out = (out - y) * (2.0 / (y.shape[0] * y.shape[1]))
    d_h = ts.where(h > 0.0, ts.matmul(d_out, W2, trans_b=True), 0.0)
    return ts.matmul(x, d_h, trans_a=True), ts.sum(d_h, axis=0), ts.matmul(h, d_out, trans_a=True)


@ts.jit
def moved(W, dW, rate):
    return W - dW * rate


def by_numpy(x: Any, y: Any, W1: Any, b1: Any, W2: Any) -> Any:
    h = np.maximum(x @ W1 + b1, 0)
    d_out = (h @ W2 - y) * (2 / y.size)
    d_h = np.where(h > 0, d_out @ W2.T, 0)
    return x.T @ d_h, d_h.sum(0), h.T @ d_out


def main() -> None:
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, (512, 8)).astype("f4")
    y = (x[:, :2] ** 2).sum(1, keepdims=True).astype("f4")
    weights = [rng.uniform(-0.5, 0.5, shape).astype("f4") for shape in ((8, 64), (64,), (64, 1))]

    got = gradients(x, y, *weights)
    want = by_numpy(*(a.astype("f8") for a in (x, y, *weights)))
    for a, b in zip(got, want):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)

    first, start, steps = float(loss(x, y, *weights)), time.perf_counter(), 400
    for _ in range(steps):
        weights = [moved(W, dW, np.float32(0.2)) for W, dW in zip(weights, gradients(x, y, *weights))]
    seconds, last = time.perf_counter() - start, float(loss(x, y, *weights))
    start = time.perf_counter()
    for _ in range(steps):
        by_numpy(x, y, *weights)
    assert last < first / 20, (first, last)
    print(f"train_mlp: the loss falls from {first:.3f} to {last:.4f} in {steps} steps of {1e6 * seconds / steps:.0f} us, NumPy "
          f"{1e6 * (time.perf_counter() - start) / steps:.0f} us for the derivatives; {sum(b.size for b in want)} derivatives right")


if __name__ == "__main__":
    main()
