"""The kernels that speed.py times: as a user writes them, without tile sizes chosen for a device; `gemm_wide` has those that suit Hopper."""
import tessera as ts


@ts.kernel
def gemm(A: ts.Tensor["M", "K", ts.bf16], B: ts.Tensor["K", "N", ts.bf16], C: ts.Tensor["M", "N", ts.bf16]):
    for m in ts.tile.parallel(0, M, 128):
        for n in ts.tile.parallel(0, N, 128):
            acc = ts.tile.zeros((128, 128), ts.f32)
            for k in ts.tile.range(0, K, 32, stages=3):
                acc = acc + ts.tile.mma(A[m:m+128, k:k+32], B[k:k+32, n:n+128])
            C[m:m+128, n:n+128] = ts.tile.cast(acc, ts.bf16)


@ts.kernel
def gemm_wide(A: ts.Tensor["M", "K", ts.bf16], B: ts.Tensor["K", "N", ts.bf16], C: ts.Tensor["M", "N", ts.bf16]):
    for m in ts.tile.parallel(0, M, 128):
        for n in ts.tile.parallel(0, N, 256):
            acc = ts.tile.zeros((128, 256), ts.f32)
            for k in ts.tile.range(0, K, 64):
                acc = acc + ts.tile.mma(A[m:m+128, k:k+64], B[k:k+64, n:n+256])
            C[m:m+128, n:n+256] = ts.tile.cast(acc, ts.bf16)


@ts.kernel
def gemm_fp8(A: ts.Tensor["M", "K", ts.fp8_e4m3], B: ts.Tensor["N", "K", ts.fp8_e4m3], C: ts.Tensor["M", "N", ts.bf16]):
    for m in ts.tile.parallel(0, M, 128):
        for n in ts.tile.parallel(0, N, 128):
            acc = ts.tile.zeros((128, 128), ts.f32)
            for k in ts.tile.range(0, K, 64, stages=3):
                acc = acc + ts.tile.mma(A[m:m+128, k:k+64], B[n:n+128, k:k+64].T)
            C[m:m+128, n:n+128] = ts.tile.cast(acc, ts.bf16)


@ts.jit
def product(A: ts.Tensor["M", "K", ts.bf16], B: ts.Tensor["K", "N", ts.bf16]) -> ts.Tensor["M", "N", ts.bf16]:
    return A @ B


@ts.jit
def softmax(X: ts.Tensor["R", 4096, ts.f32]) -> ts.Tensor["R", 4096, ts.f32]:
    return ts.op.softmax(X)


@ts.jit
def layer_norm(X: ts.Tensor["R", 4096, ts.f32], G: ts.Tensor[4096, ts.f32], B: ts.Tensor[4096, ts.f32]) -> ts.Tensor["R", 4096, ts.f32]:
    return ts.op.layer_norm(X, G, B)


@ts.kernel
def gelu(X: ts.Tensor["n", ts.bf16], Y: ts.Tensor["n", ts.bf16]):
    for i in ts.tile.parallel(0, n, 2048):
        x = ts.tile.cast(X[i:i+2048], ts.f32)
        Y[i:i+2048] = ts.tile.cast(0.5 * x * (1.0 + ts.tile.tanh(0.7978845608 * (x + 0.044715 * x * x * x))), ts.bf16)


@ts.kernel
def transpose(X: ts.Tensor["R", "C", ts.f32], Y: ts.Tensor["C", "R", ts.f32]):
    for r in ts.tile.parallel(0, R, 64):
        for c in ts.tile.parallel(0, C, 64):
            Y[c:c+64, r:r+64] = X[r:r+64, c:c+64].T


@ts.kernel
def row_sum(X: ts.Tensor["R", "C", ts.f32], Y: ts.Tensor["R", ts.f32]):
    for r in ts.tile.parallel(0, R, 8):
        total = ts.tile.zeros((8,), ts.f32)
        for c in ts.tile.range(0, C, 512):
            total = total + ts.tile.row_sum(X[r:r+8, c:c+512])
        Y[r:r+8] = total
