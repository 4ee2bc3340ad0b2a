import tessera as ts

ROWS, COLS = 8, 256


def normalised(X, mean, rstd, r, c):
    return (X[r:r+ROWS, c:c+COLS] - mean[r:r+ROWS][:, None]) * rstd[r:r+ROWS][:, None]


@ts.kernel
def input_gradient(dY: ts.Tensor["R", "C", ts.f32], X: ts.Tensor["R", "C", ts.f32], gamma: ts.Tensor["C", ts.f32],
                   mean: ts.Tensor["R", ts.f32], rstd: ts.Tensor["R", ts.f32], dX: ts.Tensor["R", "C", ts.f32]):
    """A program owns rows: their two sums, then dX = (g - mean(g) - x_hat * mean(g * x_hat)) * rstd with g = dY * gamma."""
    for r in ts.tile.parallel(0, R, ROWS):
        along = ts.tile.zeros((ROWS,), ts.f32)   # of g * x_hat
        total = ts.tile.zeros((ROWS,), ts.f32)   # of g
        for c in ts.tile.range(0, C, COLS):
            g = dY[r:r+ROWS, c:c+COLS] * gamma[c:c+COLS][None, :]
            along += ts.tile.row_sum(g * normalised(X, mean, rstd, r, c))
            total += ts.tile.row_sum(g)

        for c in ts.tile.range(0, C, COLS):
            g = dY[r:r+ROWS, c:c+COLS] * gamma[c:c+COLS][None, :]
            removed = (total[:, None] + normalised(X, mean, rstd, r, c) * along[:, None]) / C
            dX[r:r+ROWS, c:c+COLS] = (g - removed) * rstd[r:r+ROWS][:, None]


@ts.kernel
def weight_gradients(dY: ts.Tensor["R", "C", ts.f32], X: ts.Tensor["R", "C", ts.f32], mean: ts.Tensor["R", ts.f32],
                     rstd: ts.Tensor["R", ts.f32], dgamma: ts.Tensor["C", ts.f32], dbeta: ts.Tensor["C", ts.f32]):
    """A program owns columns and adds up their rows, always in the same order: no atomics, the same bits every time."""
    for c in ts.tile.parallel(0, C, COLS):
        gains = ts.tile.zeros((COLS,), ts.f32)
        shifts = ts.tile.zeros((COLS,), ts.f32)
        for r in ts.tile.range(0, R, ROWS):
            d = dY[r:r+ROWS, c:c+COLS]
            gains += ts.tile.sum(d * normalised(X, mean, rstd, r, c), axis=0)
            shifts += ts.tile.sum(d, axis=0)
        dgamma[c:c+COLS] = gains
        dbeta[c:c+COLS] = shifts


@ts.jit
def layer_norm_backward(dY: ts.Tensor["R", "C", ts.f32], X: ts.Tensor["R", "C", ts.f32], gamma: ts.Tensor["C", ts.f32],
                        mean: ts.Tensor["R", ts.f32], rstd: ts.Tensor["R", ts.f32]):
    """The gradients of Y = (X - mean) * rstd * gamma + beta. The forward pass keeps mean and rstd, two numbers per row."""
    dX, dgamma, dbeta = ts.zeros((R, C), ts.f32), ts.zeros((C,), ts.f32), ts.zeros((C,), ts.f32)
    input_gradient(dY, X, gamma, mean, rstd, dX)
    weight_gradients(dY, X, mean, rstd, dgamma, dbeta)
    return dX, dgamma, dbeta
