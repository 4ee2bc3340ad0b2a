import tessera as ts

TOKENS, DEPTH, WIDTH = 64, 256, 256  # the tile of the experts' products


@ts.kernel
def group_by_expert(expert: ts.Tensor["T", ts.i32], count: ts.Tensor["E", ts.i32], members: ts.Tensor["E", "T", ts.i32]):
    """Lists the tokens of each expert, in any order: a lane per token takes the next place of its expert's list."""
    t = ts.tile.linear_id()
    if t < T:
        place = ts.tile.atomic_add(count, expert[t], 1)
        members[expert[t], place] = ts.cast(t, ts.i32)


@ts.kernel
def experts(X: ts.Tensor["T", "D", ts.f32], W: ts.Tensor["E", "D", "F", ts.f32], weight: ts.Tensor["T", ts.f32],
            count: ts.Tensor["E", ts.i32], members: ts.Tensor["E", "T", ts.i32], Y: ts.Tensor["T", "F", ts.f32]):
    """Rows of X by their expert's matrix. Rows are gathered where they are read and scattered where they are written, so that
    tokens are never sorted."""
    for e in ts.tile.parallel(E):
        for i in ts.tile.parallel(0, T, TOKENS):
            for f in ts.tile.parallel(0, F, WIDTH):
                if i < count[e]:
                    place = i + ts.tile.arange(TOKENS)
                    token = ts.tile.mask(members[e, i:i+TOKENS], place < count[e])
                    acc = ts.tile.zeros((TOKENS, WIDTH), ts.f32)
                    for d in ts.tile.range(0, D, DEPTH):
                        acc = ts.tile.mma(X[token, d:d+DEPTH], W[e, d:d+DEPTH, f:f+WIDTH], acc)
                    Y[token, f:f+WIDTH] = acc * weight[token][:, None]


@ts.jit
def moe(X: ts.Tensor["T", "D", ts.f32], router: ts.Tensor["D", "E", ts.f32], W: ts.Tensor["E", "D", "F", ts.f32]):
    """A mixture of experts: each token goes through the expert with its highest score, weighted by its probability."""
    probability = ts.softmax(X @ router)
    count, members, Y = ts.zeros((E,), ts.i32), ts.zeros((E, T), ts.i32), ts.zeros((T, F), ts.f32)
    group_by_expert(ts.argmax(probability, axis=1), count, members)
    experts(X, W, ts.max(probability, axis=1), count, members, Y)
    return Y
