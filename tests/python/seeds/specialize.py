@op.specialize(when={"backend":"rocm"}, use={"tile_sizes":[128,128,32]})
def my_gemm(A,B): return op.matmul(A,B)
