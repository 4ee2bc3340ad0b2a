import tessera as ts


@ts.kernel
def add(x: ts.Tensor["n", ts.f32],
        y: ts.Tensor["n", ts.f32],
        z: ts.Tensor["n", ts.f32]) -> ts.Tensor["n", ts.f32]:
    i = ts.tile.linear_id()
    if i < n:
        z[i] = x[i] + y[i]
    return z


@ts.jit
def product(a: ts.Tensor["m", "k", ts.f32], b: ts.Tensor["k", "n", ts.f32]) -> ts.Tensor["m", "n", ts.f32]:
    return ts.matmul(a, b)
