import tessera as ts
from tessera import tile as t, i32
N = 4
def h(a, b=2):
    if a > b:
        return a
    return b
@ts.kernel
def k(x: ts.Tensor["M", N, ts.i8 @accum(f32)], c: ts.Tensor["M", i32], s: i32 = 3) -> ts.Tensor["M", i32]:
    acc = t.zeros((16,), i32)
    j = 0
    while j < s:
        if h(j, 1) == 2 and not j:
            acc += t.arange(16)
        else:
            acc -= 1
        j += 1
    t.atomic_add(c, t.arange(16), acc, order="relaxed")
    v = x[tile_m:tile_m+16, :]
    c[tile_m:tile_m+16] = t.cast(t.sum(v, axis=1), i32)
    return c
@ts.kernel
def g(x: ts.Tensor["n", ts.f32]) -> ts.Tensor["n", ts.f32]:
    i = ts.tile.linear_id()
    return x[i] * 2
