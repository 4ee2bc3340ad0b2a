import tessera as ts

PIXELS, CHANNELS, FILTERS = 64, 64, 64  # the tile of the product: rows, its reduction's step, columns


@ts.kernel
def implicit_gemm_conv(X: ts.Tensor["N", "H", "W", "C", ts.f32],
                       F: ts.Tensor["R", "S", "C", "K", ts.f32],
                       Y: ts.Tensor["N", "H", "W", "K", ts.f32]) -> ts.Tensor["N", "H", "W", "K", ts.f32]:
    """A 2-D convolution (stride 1, padded to the same size) as a product of pixels by R*S*C and R*S*C by filters.

    The first matrix is never built: each step gathers the rows that it needs from the image."""
    for i in ts.tile.parallel(0, N * H * W, PIXELS):
        for k in ts.tile.parallel(0, K, FILTERS):
            pixel = i + ts.tile.arange(PIXELS)
            n = pixel // (H * W)
            h = pixel // W % H
            w = pixel % W
            acc = ts.tile.zeros((PIXELS, FILTERS), ts.f32)
            for r in ts.tile.range(R):
                for s in ts.tile.range(S):
                    for c in ts.tile.range(0, C, CHANNELS):
                        x = X[n, h + r - R // 2, w + s - S // 2, c:c+CHANNELS]
                        # A pixel outside of the image is masked. It counts as zeros, and its row of the product stays.
                        acc = ts.tile.mma(ts.tile.fill_masked(x, 0.0), F[r, s, c:c+CHANNELS, k:k+FILTERS], acc)
            Y[n, h, w, k:k+FILTERS] = acc
    return Y
