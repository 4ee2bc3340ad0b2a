import tessera as ts


@ts.kernel.autotune(space=dict(ROWS=[8, 16, 4], COLS=[256, 512, 128]))
def softmax(X: ts.Tensor["R", "C", ts.f32],
            Y: ts.Tensor["R", "C", ts.f32]) -> ts.Tensor["R", "C", ts.f32]:
    """Y = softmax(X) along the last axis, for rows of any length: one pass for maximum and sum, one to write."""
    ctx = ts.tile.context()
    BR, BC = ctx.ROWS, ctx.COLS

    for r in ts.tile.parallel(0, R, BR):
        m = ts.tile.full((BR,), -float('inf'), ts.f32)  # running maximum of each row
        l = ts.tile.zeros((BR,), ts.f32)                # sum of exp(x - m) so far
        for c in ts.tile.range(0, C, BC):
            x = X[r:r+BR, c:c+BC]
            m_new = ts.tile.maximum(m, ts.tile.row_max(x))
            # A row that was all -inf so far must not give exp(-inf + inf).
            shift = ts.tile.where(m_new == -float('inf'), 0.0, m_new)
            l = l * ts.tile.exp(m - shift) + ts.tile.row_sum(ts.tile.exp(x - shift[:, None]))
            m = m_new

        for c in ts.tile.range(0, C, BC):
            Y[r:r+BR, c:c+BC] = ts.tile.exp(X[r:r+BR, c:c+BC] - m[:, None]) / l[:, None]
    return Y
