@ts.kernel
def gemm(A: ts.Tensor["M", "K", ts.bf16],
         B: ts.Tensor["K", "N", ts.bf16],
         C: ts.Tensor["M", "N", ts.f32]) -> ts.Tensor["M", "N", ts.f32]:
    """Matrix multiplication using tensor cores"""
    # Allocate shared memory tiles
    smem_a = ts.tile.alloc_shared((64, 32), ts.bf16, swizzle="xor")
    smem_b = ts.tile.alloc_shared((32, 64), ts.bf16, swizzle="xor")
    
    # Load tiles asynchronously
    ts.tile.cp_async(smem_a, A[tile_m:tile_m+64, tile_k:tile_k+32])
    ts.tile.cp_async(smem_b, B[tile_k:tile_k+32, tile_n:tile_n+64])
    ts.tile.barrier()
    
    # Compute using tensor cores
    acc = ts.tile.mma(smem_a, smem_b, accumulator=ts.f32)
    
    # Store result
    C[tile_m:tile_m+64, tile_n:tile_n+64] += acc
    return C
