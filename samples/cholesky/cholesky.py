import tessera as ts


@ts.kernel
def cholesky(A: ts.Tensor["B", "N", "N", ts.f32], L: ts.Tensor["B", "N", "N", ts.f32]) -> ts.Tensor["B", "N", "N", ts.f32]:
    """A = L @ L.T for a batch of symmetric positive definite matrices, a program each.

    Column j of L is that of A less the columns before it, each times its element j, over the root of the pivot. Shared memory
    holds L by columns, so that every step works on neighbours; A's column is read as its row."""
    ctx = ts.tile.context()
    N = ctx.N
    for b in ts.tile.parallel(B):
        columns = ts.tile.alloc_shared((N, N), ts.f32)
        for j in ts.tile.range(N):
            column = A[b, j, :]
            for k in ts.tile.range(j):
                column -= columns[k, 0:N] * columns[k, j:j+1]
            columns[j, 0:N] = column
            column *= ts.rsqrt(columns[j, j:j+1])
            columns[j, 0:N] = ts.tile.where(ts.tile.arange(N) >= j, column, 0.0)
        L[b, :, :] = columns[0:N, 0:N].T
    return L
