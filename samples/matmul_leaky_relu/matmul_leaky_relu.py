import tessera as ts


def leaky_relu(x, slope):
    return ts.where(x >= 0.0, x, slope * x)


@ts.kernel.autotune(space=dict(BLOCK_M=[96, 48, 192],
                               BLOCK_N=[256, 128, 64],
                               BLOCK_K=[256, 512, 128]))
def matmul_leaky_relu(A: ts.Tensor["M", "K", ts.f32],
                      B: ts.Tensor["K", "N", ts.f32],
                      C: ts.Tensor["M", "N", ts.f32],
                      slope: ts.f32 = 0.01) -> ts.Tensor["M", "N", ts.f32]:
    """C = leaky_relu(A @ B): the activation is applied to the accumulator, before it is stored for the first time."""
    ctx = ts.tile.context()
    BM, BN, BK = ctx.BLOCK_M, ctx.BLOCK_N, ctx.BLOCK_K

    for m in ts.tile.parallel(0, M, BM):
        for n in ts.tile.parallel(0, N, BN):
            acc = ts.tile.zeros((BM, BN), ts.f32)
            for k in ts.tile.range(0, K, BK):
                acc = ts.tile.mma(A[m:m+BM, k:k+BK], B[k:k+BK, n:n+BN], acc)
            C[m:m+BM, n:n+BN] = leaky_relu(acc, slope)
    return C
