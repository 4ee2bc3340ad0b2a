import tessera as ts

ROWS = 16  # sequences per program


@ts.kernel
def recurrence(gates: ts.Tensor["T", "B", 4, "H", ts.f32], U: ts.Tensor["H", 4, "H", ts.f32], Y: ts.Tensor["T", "B", "H", ts.f32]):
    """The steps of a sequence depend on each other: a program takes some sequences through all of them, and keeps their states
    in tiles. `gates` holds what the inputs add to the four gates."""
    ctx = ts.tile.context()
    for b in ts.tile.parallel(0, B, ROWS):
        h = ts.tile.zeros((ROWS, ctx.H), ts.f32)
        c = ts.tile.zeros((ROWS, ctx.H), ts.f32)
        for t in ts.tile.range(T):
            enter = ts.tile.sigmoid(ts.tile.mma(h, U[:, 0, :]) + gates[t, b:b+ROWS, 0, :])
            keep = ts.tile.sigmoid(ts.tile.mma(h, U[:, 1, :]) + gates[t, b:b+ROWS, 1, :])
            new = ts.tile.tanh(ts.tile.mma(h, U[:, 2, :]) + gates[t, b:b+ROWS, 2, :])
            leave = ts.tile.sigmoid(ts.tile.mma(h, U[:, 3, :]) + gates[t, b:b+ROWS, 3, :])
            c = keep * c + enter * new
            h = leave * ts.tile.tanh(c)
            Y[t, b:b+ROWS, :] = h


@ts.jit
def lstm(X: ts.Tensor["T", "B", "D", ts.f32], W: ts.Tensor["D", 4, "H", ts.f32], U: ts.Tensor["H", 4, "H", ts.f32],
         bias: ts.Tensor[4, "H", ts.f32]) -> ts.Tensor["T", "B", "H", ts.f32]:
    """A layer of LSTM cells. The inputs' part of all gates and steps is one product; only the states' part is sequential."""
    gates = ts.gemm(X.reshape(T * B, D), W.reshape(D, 4 * H)) + bias.reshape(4 * H)
    Y = ts.zeros((T, B, H), ts.f32)
    recurrence(gates.reshape(T, B, 4, H), U, Y)
    return Y
