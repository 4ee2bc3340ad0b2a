#include "bench/CliffCases.h"

namespace tessera::bench {

const char *const cliffPrograms = R"py(
import tessera as ts


@ts.jit
def product(a: ts.Tensor["M", "K", ts.f32], b: ts.Tensor["K", "N", ts.f32]):
    return a @ b


@ts.jit
def transposed(a: ts.Tensor["K", "M", ts.f32], b: ts.Tensor["K", "N", ts.f32]):
    return a.T @ b


@ts.jit
def batch(a: ts.Tensor["B", "M", "K", ts.f32], b: ts.Tensor["B", "K", "N", ts.f32]):
    return a @ b


@ts.jit
def decode(q: ts.Tensor["H", 1, "D", ts.f32], k: ts.Tensor["H", "S", "D", ts.f32], v: ts.Tensor["H", "S", "D", ts.f32]):
    return ts.flash_attention(q, k, v)


@ts.jit
def row_argmax(x: ts.Tensor["R", "C", ts.f32]):
    return ts.argmax(x, axis=1)


@ts.jit
def argmax(x: ts.Tensor["n", ts.f32]):
    return ts.argmax(x)


@ts.kernel
def row_cummax(x: ts.Tensor["R", "C", ts.f32], result: ts.Tensor["R", "C", ts.f32]):
    for r in ts.tile.parallel(0, R, 8):
        result[r:r+8, :] = ts.tile.cummax(x[r:r+8, :], axis=1)


@ts.jit
def column_sums(x: ts.Tensor["R", "C", ts.f32]):
    return ts.sum(x, axis=0)


@ts.kernel
def histogram(x: ts.Tensor["n", ts.f32], counts: ts.Tensor["bins", ts.i32]):
    i = ts.tile.linear_id()
    if i < n:
        part = x[i] * ts.f32(bins)
        if part >= 0.0 and part < ts.f32(bins):
            ts.tile.atomic_add(counts, ts.i32(part), 1)


@ts.jit
def softmax(x: ts.Tensor["R", "C", ts.f32]):
    return ts.softmax(x)


@ts.jit
def layer_norm(x: ts.Tensor["R", "C", ts.f32], gamma: ts.Tensor["C", ts.f32], beta: ts.Tensor["C", ts.f32]):
    return ts.layer_norm(x, gamma, beta)


@ts.jit
def linear(x: ts.Tensor["n", ts.f32]):
    return x * 2.0 + 1.0


@ts.jit
def linear_column(x: ts.Tensor["n", 1, ts.f32]):
    return x * 2.0 + 1.0


@ts.jit
def transpose(x: ts.Tensor["R", "C", ts.f32]):
    return ts.transpose(x)


@ts.jit
def plus_row(x: ts.Tensor["R", "C", ts.f32], row: ts.Tensor["C", ts.f32]):
    return x + row


@ts.jit
def plus_image(x: ts.Tensor["B", "R", "C", ts.f32], image: ts.Tensor["R", "C", ts.f32]):
    return x + image


@ts.jit
def largest(x: ts.Tensor["R", "C", ts.f32]):
    return ts.max(x)


@ts.kernel
def group_sum(x: ts.Tensor["n", ts.f32], total: ts.Tensor[1, ts.f32]):
    i = ts.tile.linear_id()
    part = ts.tile.group.sum(x[i])
    if i < n:
        if ts.tile.local_id() == 0:
            ts.tile.atomic_add(total, 0, part)


@ts.kernel
def box_sum(x: ts.Tensor["H", "W", ts.f32], result: ts.Tensor["H", "W", ts.f32]):
    i = ts.tile.linear_id()
    if i < H * W:
        p = i // W
        q = i % W
        sum = 0.0
        for r in range(5):
            for s in range(5):
                sum += x[p + r - 2, q + s - 2]
        result[p, q] = sum
)py";

} // namespace tessera::bench
