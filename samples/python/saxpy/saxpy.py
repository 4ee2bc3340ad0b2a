"""y = alpha * x + y on arrays of NumPy, in place. Prints the time of a call beside NumPy's."""
# mypy: disable-error-code="name-defined, valid-type, type-arg, index, no-untyped-def"
import time
from collections.abc import Callable

import numpy as np

import tessera as ts


@ts.kernel
def saxpy(x: ts.Tensor["n", ts.f32], y: ts.Tensor["n", ts.f32], alpha: ts.f32) -> ts.Tensor["n", ts.f32]:
    i = ts.tile.linear_id()
    if i < n:
        y[i] = alpha * x[i] + y[i]
    return y


def best(call: Callable[[], object], repeats: int = 20) -> float:
    """The shortest time of a call, in microseconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e6 * min(times)


def main() -> None:
    rng = np.random.default_rng(1)
    for n in (1000, 1_000_000):
        x, y = rng.uniform(-1, 1, n).astype("f4"), rng.uniform(-1, 1, n).astype("f4")
        want = 2.5 * x.astype("f8") + y
        assert saxpy(x, y, 2.5) is y
        np.testing.assert_allclose(y, want, rtol=1e-6, atol=1e-6)
        print(f"saxpy n={n}: {best(lambda: saxpy(x, y, 0.5)):.1f} us, NumPy {best(lambda: np.add(0.5 * x, y, out=y)):.1f} us, "
              f"{n} elements right")


if __name__ == "__main__":
    main()
