import math

import tessera as ts


@ts.kernel
def paged_decode(Q: ts.Tensor["B", "H", "G", "D", ts.f32],
                 K: ts.Tensor["P", "T", "H", "D", ts.f32],
                 V: ts.Tensor["P", "T", "H", "D", ts.f32],
                 table: ts.Tensor["B", "M", ts.i32],
                 lengths: ts.Tensor["B", ts.i32],
                 O: ts.Tensor["B", "H", "G", "D", ts.f32]) -> ts.Tensor["B", "H", "G", "D", ts.f32]:
    """Attention of one new token per sequence to a cache of keys and values in P pages of T tokens.

    table[b] lists the pages of sequence b, lengths[b] counts its tokens. G query heads share a head of keys and values: they
    are the rows of one product."""
    ctx = ts.tile.context()
    G, T, D = ctx.G, ctx.T, ctx.D  # extents of tiles
    scale = 1.0 / math.sqrt(D)

    for b in ts.tile.parallel(B):
        for h in ts.tile.parallel(H):
            q = Q[b, h, 0:G, :]
            top = ts.tile.full((G,), -float('inf'), ts.f32)  # running maximum of each head's scores
            total = ts.tile.zeros((G,), ts.f32)              # sum of exp(score - top) so far
            acc = ts.tile.zeros((G, D), ts.f32)
            for first in ts.tile.range(0, lengths[b], T):
                page = table[b, first // T]
                scores = ts.tile.mma(q, K[page, 0:T, h, :].T) * scale
                # The last page may not be full: what is past the sequence's end is masked.
                scores = ts.tile.mask(scores, (first + ts.tile.arange(T) < lengths[b])[None, :])
                new = ts.tile.maximum(top, ts.tile.row_max(scores))
                p = ts.tile.exp(scores - new[:, None])
                alpha = ts.tile.exp(top - new)
                total = alpha * total + ts.tile.row_sum(p)
                acc = alpha[:, None] * acc + ts.tile.mma(p, V[page, 0:T, h, :])
                top = new
            O[b, h, 0:G, :] = acc / total[:, None]
    return O
