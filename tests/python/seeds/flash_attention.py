@ts.kernel.autotune(
    space=dict(
        BLOCK_M=[64, 128],
        BLOCK_N=[64, 128],
        num_warps=[4, 8],
        num_stages=[2, 3]
    )
)
def flash_attention(Q: ts.Tensor["B*H", "S", "D", ts.bf16],
                   K: ts.Tensor["B*H", "S", "D", ts.bf16],
                   V: ts.Tensor["B*H", "S", "D", ts.bf16],
                   is_causal: bool = True) -> ts.Tensor["B*H", "S", "D", ts.bf16]:
    """Flash Attention with online softmax"""
    
    # Tile configuration from autotuner
    ctx = ts.tile.context()
    BM, BN = ctx.BLOCK_M, ctx.BLOCK_N
    
    # Allocate shared memory
    smem_q = ts.tile.alloc_shared((BM, ctx.D), ts.bf16)
    smem_k = ts.tile.alloc_shared((BN, ctx.D), ts.bf16)
    smem_v = ts.tile.alloc_shared((BN, ctx.D), ts.bf16)
    
    # Initialize accumulators
    acc = ts.tile.zeros((BM, ctx.D), ts.f32)
    m_i = ts.tile.full((BM,), -float('inf'), ts.f32)
    l_i = ts.tile.zeros((BM,), ts.f32)
    
    # Main loop with online softmax
    for q_block in ts.tile.range(0, ctx.S, BM):
        # Load Q block
        ts.tile.cp_async(smem_q, Q[q_block:q_block+BM])
        
        for kv_block in ts.tile.range(0, ctx.S, BN):
            # Load K,V blocks
            ts.tile.cp_async(smem_k, K[kv_block:kv_block+BN])
            ts.tile.cp_async(smem_v, V[kv_block:kv_block+BN])
            ts.tile.barrier()
            
            # Compute attention scores
            scores = ts.tile.mma(smem_q, smem_k.T) * (1.0 / math.sqrt(ctx.D))
            
            # Apply causal mask if needed
            if is_causal:
                scores = ts.tile.causal_mask(scores, q_block, kv_block)
            
            # Online softmax update
            m_new = ts.tile.row_max(scores)
            m_i_new = ts.tile.maximum(m_i, m_new)
            
            # Compute correction factors
            alpha = ts.tile.exp(m_i - m_i_new)
            beta = ts.tile.exp(m_new - m_i_new)
            
            # Update accumulator
            p = ts.tile.exp(scores - m_i_new)
            l_i = alpha * l_i + beta * ts.tile.row_sum(p)
            acc = alpha * acc + ts.tile.mma(p, smem_v)
            
            m_i = m_i_new
    
    # Finalize
    return ts.tile.cast(acc / l_i[:, None], ts.bf16)
