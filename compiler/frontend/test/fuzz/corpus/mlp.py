import tessera as ts


@ts.jit
def mlp(x: ts.Tensor["M", "D", ts.f32],
        W1: ts.Tensor["D", "F", ts.f32],
        b1: ts.Tensor["F", ts.f32],
        W2: ts.Tensor["F", "D", ts.f32],
        b2: ts.Tensor["D", ts.f32]) -> ts.Tensor["M", "D", ts.f32]:
    """Two layers and a residual: bias, gelu and the residual become epilogues of the products."""
    h = ts.gelu(ts.gemm(x, W1) + b1)
    return ts.gemm(h, W2) + b2 + x
