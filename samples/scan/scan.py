import tessera as ts

BLOCK = 4096


@ts.kernel
def sum_blocks(x: ts.Tensor["n", ts.f32], sums: ts.Tensor["blocks", ts.f32]):
    for i in ts.tile.parallel(0, n, BLOCK):
        sums[i // BLOCK] = ts.tile.sum(x[i:i+BLOCK])


@ts.kernel
def scan_sums(sums: ts.Tensor["blocks", ts.f32]):
    """One program, in place: the blocks are few."""
    carry = 0.0
    for i in ts.tile.range(0, blocks, BLOCK):
        s = sums[i:i+BLOCK]
        sums[i:i+BLOCK] = ts.tile.cumsum(s, axis=0) + carry
        carry += ts.tile.sum(s)


@ts.kernel
def scan_blocks(x: ts.Tensor["n", ts.f32], sums: ts.Tensor["blocks", ts.f32]):
    for i in ts.tile.parallel(0, n, BLOCK):
        x[i:i+BLOCK] = ts.tile.cumsum(x[i:i+BLOCK], axis=0) + sums[i // BLOCK - 1]  # 0 before the first block


@ts.jit
def scan(x: ts.Tensor["n", ts.f32]) -> ts.Tensor["n", ts.f32]:
    """The running sum of x, in place: reduce, then scan. Programs may run in any order, so that a block cannot wait for the one
    before it; what the blocks carry is a pass of its own."""
    sums = ts.zeros((ts.cdiv(n, BLOCK),), ts.f32)
    sum_blocks(x, sums)
    scan_sums(sums)
    scan_blocks(x, sums)
    return x
