import tessera as ts


@ts.kernel.autotune(space=dict(ROWS=[8, 16, 4], COLS=[256, 512, 128]))
def layer_norm(X: ts.Tensor["R", "C", ts.f32],
               gamma: ts.Tensor["C", ts.f32],
               beta: ts.Tensor["C", ts.f32],
               Y: ts.Tensor["R", "C", ts.f32],
               eps: ts.f32 = 1e-5) -> ts.Tensor["R", "C", ts.f32]:
    """Y = (X - mean) / sqrt(var + eps) * gamma + beta along the last axis, for rows of any length.

    The variance is the mean of the squared distances from the mean, in a pass of its own: mean(x^2) - mean(x)^2 would
    cancel where the mean is large."""
    ctx = ts.tile.context()
    BR, BC = ctx.ROWS, ctx.COLS

    for r in ts.tile.parallel(0, R, BR):
        total = ts.tile.zeros((BR,), ts.f32)
        for c in ts.tile.range(0, C, BC):
            total = total + ts.tile.row_sum(X[r:r+BR, c:c+BC])
        mean = total / C

        squares = ts.tile.zeros((BR,), ts.f32)
        for c in ts.tile.range(0, C, BC):
            d = X[r:r+BR, c:c+BC] - mean[:, None]  # columns past the end stay masked: they add nothing
            squares = squares + ts.tile.row_sum(d * d)
        scale = ts.tile.rsqrt(squares / C + eps)

        for c in ts.tile.range(0, C, BC):
            d = (X[r:r+BR, c:c+BC] - mean[:, None]) * scale[:, None]
            Y[r:r+BR, c:c+BC] = d * gamma[c:c+BC][None, :] + beta[c:c+BC][None, :]
    return Y
