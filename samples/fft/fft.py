import math

import tessera as ts

SIGNALS = 16  # per program


def rotations(products, n):
    """Cosines and sines of -2 pi products / n: the complex numbers exp(-2 pi i products / n)."""
    angle = ts.cast(products % n, ts.f32) * (-2.0 * math.pi / n)
    return ts.cos(angle), ts.sin(angle)


@ts.kernel
def fft(re: ts.Tensor["B", "N", ts.f32], im: ts.Tensor["B", "N", ts.f32],
        out_re: ts.Tensor["B", "N", ts.f32], out_im: ts.Tensor["B", "N", ts.f32]):
    """The discrete Fourier transform of each row; N is a power of two.

    With N = R * C and the row as a matrix of R rows: transforms of its columns, rotations, transforms of its rows. The short
    transforms are products with matrices of R * R and C * C numbers, which a program computes once for its signals."""
    ctx = ts.tile.context()
    R = 2 ** (int(math.log2(ctx.N)) // 2)
    C = ctx.N // R
    r = ts.tile.arange(R)
    c = ts.tile.arange(C)
    columns_re, columns_im = rotations(r[:, None] * r[None, :], R)
    rows_re, rows_im = rotations(c[:, None] * c[None, :], C)
    twiddle_re, twiddle_im = rotations(r[:, None] * c[None, :], ctx.N)

    for first in ts.tile.parallel(0, B, SIGNALS):
        for b in ts.tile.range(first, ts.minimum(first + SIGNALS, B)):
            x = ts.tile.reshape(re[b, :], (R, C))
            y = ts.tile.reshape(im[b, :], (R, C))
            u = ts.tile.mma(columns_re, x) - ts.tile.mma(columns_im, y)
            v = ts.tile.mma(columns_re, y) + ts.tile.mma(columns_im, x)
            x = u * twiddle_re - v * twiddle_im
            y = u * twiddle_im + v * twiddle_re
            u = ts.tile.mma(x, rows_re) - ts.tile.mma(y, rows_im)
            v = ts.tile.mma(x, rows_im) + ts.tile.mma(y, rows_re)
            out_re[b, :] = ts.tile.reshape(u.T, (ctx.N,))  # element [i, j] is frequency i + R * j
            out_im[b, :] = ts.tile.reshape(v.T, (ctx.N,))
