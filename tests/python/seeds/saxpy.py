import tessera as ts

@ts.kernel
def saxpy(x: ts.Tensor["n", ts.f32], 
          y: ts.Tensor["n", ts.f32], 
          alpha: ts.f32) -> ts.Tensor["n", ts.f32]:
    """Simple SAXPY: y = alpha * x + y"""
    i = ts.tile.linear_id()
    if i < n:
        y[i] = alpha * x[i] + y[i]
    return y
