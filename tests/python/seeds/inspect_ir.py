kernel = gemm_tile.jit(M=4096,N=4096,K=4096)
print(kernel.inspect_ir("tile"))     # Portable Tile IR
print(kernel.inspect_ir("target"))   # NVIDIA PTX / CUDA Tile IR
