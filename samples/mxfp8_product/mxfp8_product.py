import tessera as ts

SHARED = 32                      # elements along K that share a scale
BLOCK_M, BLOCK_N = 64, 128


def scale_of(exponent):
    """E8M0: a power of two by its biased exponent."""
    return ts.exp2(ts.cast(exponent, ts.f32) - 127.0)


@ts.kernel
def mxfp8_product(A: ts.Tensor["M", "32*G", ts.fp8_e4m3], scale_a: ts.Tensor["M", "G", ts.u8],
                  B: ts.Tensor["32*G", "N", ts.fp8_e4m3], scale_b: ts.Tensor["G", "N", ts.u8],
                  C: ts.Tensor["M", "N", ts.f32]) -> ts.Tensor["M", "N", ts.f32]:
    """C = A @ B of numbers in the OCP format MXFP8: 32 neighbours along K share a scale of 8 bits."""
    for m in ts.tile.parallel(0, M, BLOCK_M):
        for n in ts.tile.parallel(0, N, BLOCK_N):
            acc = ts.tile.zeros((BLOCK_M, BLOCK_N), ts.f32)
            for g in ts.tile.range(G):
                part = ts.tile.mma(A[m:m+BLOCK_M, SHARED*g:SHARED*g+SHARED], B[SHARED*g:SHARED*g+SHARED, n:n+BLOCK_N])
                acc += part * scale_of(scale_a[m:m+BLOCK_M, g])[:, None] * scale_of(scale_b[g, n:n+BLOCK_N])[None, :]
            C[m:m+BLOCK_M, n:n+BLOCK_N] = acc
    return C
