import math

import tessera as ts


@ts.kernel.autotune(space=dict(BLOCK_M=[64, 128],
                               BLOCK_N=[64, 128],
                               num_warps=[4, 8],
                               num_stages=[2, 3]))
def flash_attention(Q: ts.Tensor["B*H", "Sq", "D", ts.bf16],
                    K: ts.Tensor["B*H", "Sk", "D", ts.bf16],
                    V: ts.Tensor["B*H", "Sk", "D", ts.bf16],
                    O: ts.Tensor["B*H", "Sq", "D", ts.bf16],
                    is_causal: bool = True) -> ts.Tensor["B*H", "Sq", "D", ts.bf16]:
    """O = softmax(Q K^T / sqrt(D)) V with an online softmax; B*H is a launch axis (implicit batch)."""
    ctx = ts.tile.context()
    BM, BN = ctx.BLOCK_M, ctx.BLOCK_N
    scale = 1.0 / math.sqrt(ctx.D)

    smem_q = ts.tile.alloc_shared((BM, ctx.D), ts.bf16)
    smem_k = ts.tile.alloc_shared((BN, ctx.D), ts.bf16)
    smem_v = ts.tile.alloc_shared((BN, ctx.D), ts.bf16)

    for q in ts.tile.parallel(0, Sq, BM):
        acc = ts.tile.zeros((BM, ctx.D), ts.f32)
        m_i = ts.tile.full((BM,), -float('inf'), ts.f32)  # running maximum of each query's scores
        l_i = ts.tile.zeros((BM,), ts.f32)                # sum of exp(score - m_i) so far
        ts.tile.cp_async(smem_q, Q[q:q+BM, :])

        # The tile's last query sees keys up to its diagonal.
        last = min(Sk, q + BM + Sk - Sq) if is_causal else Sk
        for kv in ts.tile.range(0, last, BN, stages=ctx.num_stages):
            ts.tile.barrier()  # the previous iteration has read K and V
            ts.tile.cp_async(smem_k, K[kv:kv+BN, :])
            ts.tile.cp_async(smem_v, V[kv:kv+BN, :])
            ts.tile.barrier()

            scores = ts.tile.mma(smem_q, smem_k.T) * scale
            if is_causal:
                # Bottom-right aligned: the last query sees the last key.
                scores = ts.tile.causal_mask(scores, q + (Sk - Sq), kv)

            m_new = ts.tile.maximum(m_i, ts.tile.row_max(scores))
            # A row without a visible key keeps m_new = -inf; shifting by 0 gives p = 0 instead of NaN.
            shift = ts.tile.where(m_new == -float('inf'), 0.0, m_new)
            alpha = ts.tile.exp(m_i - shift)
            p = ts.tile.exp(scores - shift[:, None])
            l_i = alpha * l_i + ts.tile.row_sum(p)
            acc = alpha[:, None] * acc + ts.tile.mma(ts.tile.cast(p, ts.bf16), smem_v)
            m_i = m_new

        out = ts.tile.where(l_i[:, None] > 0.0, acc / l_i[:, None], 0.0)
        O[q:q+BM, :] = ts.tile.cast(out, ts.bf16)
    return O
