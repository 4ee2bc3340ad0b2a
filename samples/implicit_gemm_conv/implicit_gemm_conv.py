import tessera as ts

PIXELS, FILTERS = 64, 64  # rows and columns of a program's part of the product


@ts.kernel.autotune(space=dict(CHANNELS=[64, 16, 4]))
def implicit_gemm_conv(X: ts.Tensor["N", "H", "W", "C", ts.f32],
                       F: ts.Tensor["R", "S", "C", "K", ts.f32],
                       Y: ts.Tensor["N", "H", "W", "K", ts.f32]) -> ts.Tensor["N", "H", "W", "K", ts.f32]:
    """A 2-D convolution (stride 1, padded to the same size) as a product of pixels by R*S*C and R*S*C by filters.

    The first matrix is never built: each step gathers the rows that it needs from the image."""
    BC = ts.tile.context().CHANNELS

    for i in ts.tile.parallel(0, N * H * W, PIXELS):
        for k in ts.tile.parallel(0, K, FILTERS):
            pixel = i + ts.tile.arange(PIXELS)
            n = pixel // (H * W)
            h = pixel // W % H
            w = pixel % W
            acc = ts.tile.zeros((PIXELS, FILTERS), ts.f32)
            for r in ts.tile.range(R):
                for s in ts.tile.range(S):
                    for c in ts.tile.range(0, C, BC):
                        x = X[n, h + r - R // 2, w + s - S // 2, c:c+BC]
                        # A pixel outside of the image is masked: its row of `acc` stays as it is.
                        acc = ts.tile.mma(x, F[r, s, c:c+BC, k:k+FILTERS], acc)
            Y[n, h, w, k:k+FILTERS] = acc
    return Y
