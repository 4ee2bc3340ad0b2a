import tessera as ts


@ts.kernel
def dropout(x: ts.Tensor["n", ts.f32],
            y: ts.Tensor["n", ts.f32],
            seed: ts.i64,
            p: ts.f32 = 0.5) -> ts.Tensor["n", ts.f32]:
    """y = x / (1 - p) where a random number is not below p, else 0.

    The number is a function of the seed and the element alone. So nothing but the seed is kept for the backward pass,
    which is the same kernel on the gradient: the mask is computed again, not stored."""
    i = ts.tile.linear_id()
    if i < n:
        y[i] = x[i] / (1.0 - p) if ts.tile.rand(seed, i) >= p else 0.0
    return y
