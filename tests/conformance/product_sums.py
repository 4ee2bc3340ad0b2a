"""Sums of products through one accumulator, `acc = mma(a, b, acc)`: in a loop, unrolled, written out, and mixtures of them. The
family `masked` runs them. An element is masked where all products of the sum are masked by the same bounds; a product leaves
the others alone that it masks."""
import numpy as np

from cases import program, want

OLD = 77.0  # in every element of an output before the program runs
ROWS, COLUMNS, DEPTH = 8, 16, 4


def window(x, row, column, shape):
    """Part of a matrix; which of its rows and of its columns the matrix has."""
    rows, columns = (np.arange(start, start + n) for start, n in zip((row, column), shape))
    there = [(at >= 0) & (at < n) for at, n in zip((rows, columns), x.shape)]
    values = np.zeros(shape)
    values[np.ix_(*there)] = x[np.ix_(rows[there[0]], columns[there[1]])]
    return values, *there


def summed(start, rows_inside, columns_inside, products):
    """`products`: (a, its rows, what masks them, b, its columns, what masks them). Returns the values, and which rows and columns
    are in bounds."""
    values = np.array(start)
    for a, rows, _, b, columns, _ in products:
        values = np.where(rows[:, None] & columns[None, :], values + a @ b, values)
    inside = [rows_inside, columns_inside]
    for axis, mask, key in ((0, 1, 2), (1, 4, 5)):
        if len({p[key] for p in products}) == 1:
            inside[axis] = inside[axis] & products[0][mask]
    return values, *inside


def outputs(values, rows, columns):
    """The sum itself, that of its rows, and the largest of each column, each stored where it is in bounds."""
    O, S, L = (np.full(shape, OLD) for shape in ((ROWS + 3, COLUMNS + 3), ROWS + 3, COLUMNS + 3))
    inside = rows[:, None] & columns[None, :]
    O[:ROWS, :COLUMNS][inside] = values[inside]
    S[:ROWS][rows] = np.where(inside, values, 0).sum(1)[rows]
    L[:COLUMNS][columns] = np.where(inside, -np.abs(values) - 1, -np.inf).max(0)[columns]
    return {name: want("f32", x, initial=np.full(x.shape, OLD)) for name, x in (("O", O), ("S", S), ("L", L))}


STORES = f"""    O[0:{ROWS}, 0:{COLUMNS}] = acc
    S[0:{ROWS}] = ts.tile.row_sum(acc)
    L[0:{COLUMNS}] = ts.tile.max(-ts.tile.abs(acc) - 1.0, axis=0)
"""
RESULTS = f"O: ts.Tensor[{ROWS + 3}, {COLUMNS + 3}, ts.f32], S: ts.Tensor[{ROWS + 3}, ts.f32], L: ts.Tensor[{COLUMNS + 3}, ts.f32]"
STARTS = {"zeros": f"ts.tile.zeros(({ROWS}, {COLUMNS}), ts.f32)", "ones": f"ts.tile.full(({ROWS}, {COLUMNS}), 1.0, ts.f32)", "loaded": f"B[0:{ROWS}, 0:{COLUMNS}]"}
# {tap} is a product onto acc with the number of the tap in place of {{t}}.
FORMS = {"unrolled": "for t in ts.static_range(3):\n    {tap:t}", "written": "{tap:0}\n{tap:1}\n{tap:2}", "loop": "for t in ts.tile.range(0, 3, 1):\n    {tap:t}",
         "first": "{tap:0}\nfor t in ts.tile.range(1, 3, 1):\n    {tap:t}", "last": "for t in ts.tile.range(0, 2, 1):\n    {tap:t}\n{tap:2}",
         "nested": "for u in ts.tile.range(0, 1, 1):\n    for t in ts.static_range(3):\n        {tap:t}", "inner": "for u in ts.static_range(3):\n    for t in ts.tile.range(u, u + 1, 1):\n        {tap:t}",
         "helper": "for t in ts.static_range(3):\n    acc = tapped(acc, {args:t})", "all-taken": "for t in ts.static_range(3):\n    if c > t - 9:\n        {tap:t}",
         "inner-last": "for u in ts.tile.range(0, 1, 1):\n    {tap:0}\n    {tap:1}\n    for t in ts.tile.range(2, 3, 1):\n        {tap:t}",
         "taken-in-loop": "for t in ts.tile.range(0, 3, 1):\n    if c > t - 9:\n        {tap:t}", "then-taken-in-loop": "{tap:0}\nfor t in ts.tile.range(1, 3, 1):\n    if c > t - 9:\n        {tap:t}",
         "while": "t = 0\nwhile t < 3:\n    {tap:t}\n    t = t + 1", "then-while": "{tap:0}\nt = 1\nwhile t < 3:\n    {tap:t}\n    t = t + 1",
         "in-branch": "if c > -9:\n    for t in ts.static_range(3):\n        {tap:t}"}


def spelled(form, a, b):
    text = form
    for t in "t012":
        text = text.replace("{tap:" + t + "}", f"acc = ts.tile.mma({a}, {b}, acc)".replace("@", t)).replace("{args:" + t + "}", f"{a}, {b}".replace("@", t))
    return "\n".join("    " + line for line in text.split("\n")) + "\n"


def kernel(name, parameters, before, start, form, a, b):
    helper = "def tapped(acc, a, b):\n    return ts.tile.mma(a, b, acc)\n\n" if "tapped" in form else ""
    return program(f"masked/sum/{name}", f"""{helper}@ts.kernel
def k({parameters}, B: ts.Tensor["P", "Q", ts.f32], at: ts.Tensor[3, ts.i64], c: ts.i32, {RESULTS}):
    i = at[0]
    j = at[1]
    d = at[2]
{before}    acc = {STARTS[start]}
{spelled(form, a, b)}{STORES}""")


def data(rows, columns, depth, seed=1):
    rng = np.random.default_rng(seed)
    return rng.integers(-4, 5, (rows, depth)) * 1.0, rng.integers(-4, 5, (3, depth, columns)) * 1.0


# Rows and columns of the tensor, its depth, the first row and column, and the distance of the taps. The last tap, or all of
# them, may have no row in the tensor.
SIZES = [(8, 16, 4, 0, 0, 1), (5, 11, 3, 0, 0, 1), (13, 16, 4, 8, 0, 1), (13, 20, 4, 8, 16, 2), (2, 16, 4, 0, 0, 3), (1, 1, 1, 0, 0, 0), (30, 40, 4, 8, 8, 1),
         (30, 13, 2, 8, 0, 30), (4, 16, 4, 0, -5, -6), (0, 16, 4, 0, 0, 1), (6, 16, 0, 0, 0, 1)]


def starts(start, p=5, q=9):
    rows, columns = np.ones(ROWS, bool), np.ones(COLUMNS, bool)
    values = np.full((ROWS, COLUMNS), float(start == "ones"))
    bias = np.arange(p * q).reshape(p, q) - 20.0
    if start == "loaded":
        rows, columns = np.arange(ROWS) < p, np.arange(COLUMNS) < q
        values[:p, :q] = bias
    return (values, rows, columns), bias


def taps(x, w, i, j, d):
    """The products of the three taps: rows of x at distances of d, columns of w from j on."""
    products = []
    for t in range(3):
        a, rows, _ = window(x, i + (t - 1) * d, 0, (ROWS, DEPTH))
        b, _, columns = window(w[t], 0, j, (DEPTH, COLUMNS))
        products.append((a, rows, t, b, columns, 0))
    return products


def convolutions():
    """Each tap reads other rows of X: none of the rows is masked. The columns are masked where those of the weights are."""
    for start in STARTS:
        for name, form in FORMS.items():
            p = kernel(f"taps/{start}/{name}", 'X: ts.Tensor["M", "D", ts.f32], W: ts.Tensor[3, "D", "N", ts.f32]', "", start, form,
                       f"X[i+(@-1)*d:i+(@-1)*d+{ROWS}, 0:{DEPTH}]", f"W[@, 0:{DEPTH}, j:j+{COLUMNS}]")
            for m, n, k, i, j, d in SIZES:
                x, w = data(m, n, k)
                products = taps(x, w, i, j, d)
                first, bias = starts(start)
                p.run({"M": m, "D": k, "N": n, "P": 5, "Q": 9}, {"X": ("f32", x), "W": ("f32", w), "B": ("f32", bias), "at": ("i64", np.array([i, j, d], "i8"))},
                      outputs(*summed(*first, products)), {"c": 0})
            yield p


def staged():
    """Factors in shared memory, which every tap copies anew."""
    for name, loop in (("unrolled", "ts.static_range(3)"), ("loop", "ts.tile.range(0, 3, 1)")):
        form = f"""for t in {loop}:
    ts.tile.cp_async(s, X[i+(t-1)*d:i+(t-1)*d+{ROWS}, 0:{DEPTH}])
    ts.tile.barrier()
    acc = ts.tile.mma(s, W[t, 0:{DEPTH}, j:j+{COLUMNS}], acc)
    ts.tile.barrier()"""
        p = kernel(f"staged/{name}", 'X: ts.Tensor["M", "D", ts.f32], W: ts.Tensor[3, "D", "N", ts.f32]', f"    s = ts.tile.alloc_shared(({ROWS}, {DEPTH}), ts.f32)\n", "ones", form, "", "")
        for m, n, k, i, j, d in SIZES:
            x, w = data(m, n, k)
            products = taps(x, w, i, j, d)
            first, bias = starts("ones")
            p.run({"M": m, "D": k, "N": n, "P": 5, "Q": 9}, {"X": ("f32", x), "W": ("f32", w), "B": ("f32", bias), "at": ("i64", np.array([i, j, d], "i8"))},
                  outputs(*summed(*first, products)), {"c": 0})
        yield p


def scaled():
    """Between products the sum is a tile like others: what is computed from it is masked where it is, and with it the next sum."""
    p = kernel("scaled", 'X: ts.Tensor["M", "D", ts.f32], W: ts.Tensor[3, "D", "N", ts.f32]', "", "ones", "{tap:0}\nacc = acc * 2.0\n{tap:1}\n{tap:2}",
               f"X[i+(@-1)*d:i+(@-1)*d+{ROWS}, 0:{DEPTH}]", f"W[@, 0:{DEPTH}, j:j+{COLUMNS}]")
    for m, n, k, i, j, d in SIZES:
        x, w = data(m, n, k)
        products = taps(x, w, i, j, d)
        first, bias = starts("ones")
        values, *inside = summed(*first, products[:1])
        p.run({"M": m, "D": k, "N": n, "P": 5, "Q": 9}, {"X": ("f32", x), "W": ("f32", w), "B": ("f32", bias), "at": ("i64", np.array([i, j, d], "i8"))},
              outputs(*summed(values * 2, *inside, products[1:])), {"c": 0})
    yield p


def images():
    """A window of 3 x 3 over an image, rows by an integer index: all pixels of a tap are masked above and below the image."""
    for name, form in {"unrolled": "for u in ts.static_range(3):\n    for v in ts.static_range(3):\n        TAP", "loops": "for u in ts.tile.range(0, 3, 1):\n    for v in ts.tile.range(0, 3, 1):\n        TAP",
                       "outer-loop": "for u in ts.tile.range(0, 3, 1):\n    for v in ts.static_range(3):\n        TAP", "inner-loop": "for u in ts.static_range(3):\n    for v in ts.tile.range(0, 3, 1):\n        TAP"}.items():
        body = form.replace("TAP", "acc = ts.tile.mma(X[h+u-1, w+v-1:w+v+7, 0:4], K[u, v, 0:4, 0:16], acc)").replace("\n", "\n            ")
        p = program(f"masked/sum/image/{name}", f"""@ts.kernel
def k(X: ts.Tensor["H", "W", "C", ts.f32], K: ts.Tensor[3, 3, "C", "F", ts.f32], Y: ts.Tensor["H", "W", "F", ts.f32], S: ts.Tensor["H", "W", ts.f32]):
    for h in ts.tile.parallel(0, H, 1):
        for w in ts.tile.parallel(0, W, 8):
            acc = ts.tile.zeros((8, 16), ts.f32)
            {body}
            Y[h, w:w+8, 0:16] = ts.tile.maximum(acc, -9.0)
            S[h, w:w+8] = ts.tile.row_sum(acc)
""")
        for h, w, c, f in ((5, 13, 3, 11), (1, 1, 4, 16), (2, 8, 4, 16), (3, 17, 1, 1), (1, 9, 2, 5)):
            rng = np.random.default_rng(h)
            X, K = rng.integers(-4, 5, (h, w, c)) * 1.0, rng.integers(-4, 5, (3, 3, c, f)) * 1.0
            padded = np.pad(X, ((1, 1), (1, 1), (0, 0)))
            Y = sum(padded[u:u+h, v:v+w] @ K[u, v] for u in range(3) for v in range(3))
            p.run({"H": h, "W": w, "C": c, "F": f}, {"X": ("f32", X), "K": ("f32", K)},
                  {"Y": want("f32", np.maximum(Y, -9), initial=np.full(Y.shape, OLD)), "S": want("f32", Y.sum(2), initial=np.full((h, w), OLD))})
        yield p


def same_bounds():
    """Scores of two parts of each query and key: rows and columns past the end are masked in both products."""
    for name, form in FORMS.items():
        p = kernel(f"same/{name}", 'X: ts.Tensor["M", "D", ts.f32], W: ts.Tensor[3, "D", "N", ts.f32]', "", "ones", form,
                   f"X[i:i+{ROWS}, 0:{DEPTH}]", f"W[@, 0:{DEPTH}, j:j+{COLUMNS}]")
        for m, n, k, i, j, d in SIZES:
            x, w = data(m, n, k)
            a, rows, _ = window(x, i, 0, (ROWS, DEPTH))
            products = []
            for t in range(3):
                b, _, columns = window(w[t], 0, j, (DEPTH, COLUMNS))
                products.append((a, rows, 0, b, columns, 0))
            first, bias = starts("ones")
            p.run({"M": m, "D": k, "N": n, "P": 5, "Q": 9}, {"X": ("f32", x), "W": ("f32", w), "B": ("f32", bias), "at": ("i64", np.array([i, j, d], "i8"))},
                  outputs(*summed(*first, products)), {"c": 0})
        yield p
    # Two tensors with one dim.
    p = program("masked/sum/two-tensors", f"""@ts.kernel
def k(Q: ts.Tensor["M", 4, ts.f32], K: ts.Tensor["N", 4, ts.f32], R: ts.Tensor["M", 2, ts.f32], T: ts.Tensor["N", 2, ts.f32], {RESULTS}):
    acc = ts.tile.mma(Q[0:8, :], K[0:16, :].T)
    acc = ts.tile.mma(R[0:8, :], T[0:16, :].T, acc)
{STORES}""")
    for m, n in ((8, 16), (5, 11), (1, 1), (0, 3), (20, 20)):
        rng = np.random.default_rng(m)
        Q, K, R, T = (rng.integers(-4, 5, shape) * 1.0 for shape in ((m, 4), (n, 4), (m, 2), (n, 2)))
        values, (rows, columns) = np.zeros((8, 16)), (np.arange(8) < m, np.arange(16) < n)
        values[:m, :n] = (Q @ K.T + R @ T.T)[:8, :16]
        p.run({"M": m, "N": n}, {"Q": ("f32", Q), "K": ("f32", K), "R": ("f32", R), "T": ("f32", T)}, outputs(values, rows, columns))
    yield p


def skipped():
    """Taps that an if leaves out. The sum has the bounds that all products up to the last one taken have, these included."""
    p = kernel("skipped", 'X: ts.Tensor["M", "D", ts.f32], W: ts.Tensor[3, "D", "N", ts.f32]', "", "ones", "for t in ts.static_range(3):\n    if c // 2 ** t % 2 == 1:\n        {tap:t}",
               f"X[i+(@-1)*d:i+(@-1)*d+{ROWS}, 0:{DEPTH}]", f"W[@, 0:{DEPTH}, j:j+{COLUMNS}]")
    for c in range(8):
        for m, n, k, i, j, d in ((5, 11, 3, 0, 0, 1), (13, 20, 4, 8, 16, 2), (2, 16, 4, 0, 0, 3)):
            x, w = data(m, n, k)
            (values, *everywhere), bias = starts("ones")
            inside, products = everywhere, []
            for t in range(3):
                a, rows, _ = window(x, i + (t - 1) * d, 0, (ROWS, DEPTH))
                b, _, columns = window(w[t], 0, j, (DEPTH, COLUMNS))
                products.append((a, rows, t, b, columns, 0))
                if c >> t & 1:
                    values, *_ = summed(values, *everywhere, products[-1:])
                    _, *inside = summed(values, *everywhere, products)
            p.run({"M": m, "D": k, "N": n, "P": 5, "Q": 9}, {"X": ("f32", x), "W": ("f32", w), "B": ("f32", bias), "at": ("i64", np.array([i, j, d], "i8"))},
                  outputs(values, *inside), {"c": c})
    yield p


def gathers():
    """Rows by tiles of indices. exp(0) is not 0, and a weight may be infinite: what a tap masks must not reach the sum."""
    for name, form in FORMS.items():
        for kind, a in (("taps", f"ts.tile.exp(X[r + (@-1)*d, 0:{DEPTH}])"), ("same", f"ts.tile.exp(X[r, 0:{DEPTH}])"),
                        ("part", f"ts.tile.mask(ts.tile.exp(X[r + (@-1)*d, 0:{DEPTH}]), keep)"), ("mask", f"ts.tile.mask(X[i:i+{ROWS}, 0:{DEPTH}] + 1.0, (ts.tile.arange({ROWS}) % 3 != @)[:, None])")):
            p = kernel(f"gather/{kind}/{name}", f'X: ts.Tensor["M", "D", ts.f32], W: ts.Tensor[3, "D", "N", ts.f32], I: ts.Tensor[{ROWS}, ts.i32]',
                       f"    r = ts.tile.cast(I[0:{ROWS}], ts.i64)\n    keep = (ts.tile.arange({ROWS}) % 4 != 3)[:, None]\n", "ones", form, a, f"W[@, 0:{DEPTH}, j:j+{COLUMNS}]")
            for m, n, k, i, j, d in SIZES:
                x, w = data(m, n, k)
                x[...] = 0
                if m and n and k:
                    w[1, 0, 0] = np.inf
                index = np.array([0, -1, m - 1, m, 2, 1, 1, 9])
                products = []
                for t in range(3):
                    b, _, columns = window(w[t], 0, j, (DEPTH, COLUMNS))
                    at = index + (t - 1) * d if kind in ("taps", "part") else index
                    rows = (at >= 0) & (at < m)
                    keep = np.arange(ROWS) % 4 != 3
                    key = 0 if kind == "same" else t
                    if kind == "mask":
                        _, rows, _ = window(x, i, 0, (ROWS, DEPTH))
                        rows, keep = rows & (np.arange(ROWS) % 3 != t), rows
                    values = np.zeros((ROWS, DEPTH))
                    values[:, :k] = 1
                    both = rows & keep if kind == "part" else rows
                    products.append((values, both, key, b, columns, 0))
                first, bias = starts("ones")
                values, rows, columns = summed(*first, products)
                # What all taps have in common: `keep`, and the rows of the tensor.
                if kind in ("part", "mask"):
                    rows = rows & keep
                p.run({"M": m, "D": k, "N": n, "P": 5, "Q": 9}, {"X": ("f32", x), "W": ("f32", w), "B": ("f32", bias), "I": ("i32", index), "at": ("i64", np.array([i, j, d], "i8"))},
                      outputs(values, rows, columns), {"c": 0})
            yield p


def followed():
    """Operations between the tensor and the product: what they give is masked in a loop as it is without one."""
    for kind, a in {"flipped-rows": f"ts.tile.flip(X[i:i+{ROWS}, 0:{DEPTH}], axis=0)", "flipped": f"ts.tile.flip(X[i:i+{ROWS}, 0:{DEPTH}], axis=1)", "scanned": f"ts.tile.cumsum(X[i:i+{ROWS}, 0:{DEPTH}], axis=1)",
                    "sliced": f"X[i:i+{2 * ROWS}, 0:{DEPTH}][3:{3 + ROWS}, :]", "sorted": f"ts.tile.sort(X[i:i+{ROWS}, 0:{DEPTH}])", "shared": "s[r, :]",
                    "filled": f"ts.tile.mask(X[i:i+{ROWS}, 0:{DEPTH}], ts.tile.fill_masked(r > 1, False)[:, None])",
                    "chosen": f"X[i:i+{ROWS}, 0:{DEPTH}] if c > 0 else X[i+1:i+{ROWS + 1}, 0:{DEPTH}]"}.items():
        for name in ("unrolled", "loop", "while", "inner-last"):
            before = f"    r = I[0:{ROWS}]\n" if kind in ("shared", "filled") else ""
            if kind == "shared":
                before += f"    s = ts.tile.alloc_shared(({ROWS}, {DEPTH}), ts.f32)\n    s[:, :] = X[i:i+{ROWS}, 0:{DEPTH}]\n    ts.tile.barrier()\n"
            p = kernel(f"followed/{kind}/{name}", 'X: ts.Tensor["M", "D", ts.f32], W: ts.Tensor[3, "D", "N", ts.f32], I: ts.Tensor["n", ts.i32]', before, "ones", FORMS[name], a, f"W[@, 0:{DEPTH}, j:j+{COLUMNS}]")
            for m, n, k, i, j, d in SIZES:
                x, w = data(m, n, k)
                index = np.array([0, -1, 3, 8, 2, 1, 7, 9][:8 if kind == "shared" else 7])
                values, rows, depth = window(x, i + {"sliced": 3, "chosen": 1}.get(kind, 0), 0, (ROWS, DEPTH))
                if kind in ("flipped", "sorted"):
                    values = values[:, ::-1] if kind == "flipped" else np.sort(np.where(depth, values, np.inf), axis=1)
                    depth = depth[::-1] if kind == "flipped" else depth
                    values = np.where(depth & np.isfinite(values), values, 0)
                elif kind == "flipped-rows":
                    values, rows = values[::-1], rows[::-1]
                elif kind == "scanned":
                    values = np.where(depth, np.cumsum(values, axis=1), 0)
                elif kind == "shared":
                    rows = (index >= 0) & (index < ROWS)
                    values = np.where(rows[:, None], values[np.where(rows, index, 0)], 0)
                elif kind == "filled":
                    rows = rows & np.append(index > 1, False)
                products = []
                for t in range(3):
                    b, _, columns = window(w[t], 0, j, (DEPTH, COLUMNS))
                    products.append((values, rows, 0, b, columns, 0))
                first, bias = starts("ones")
                p.run({"M": m, "D": k, "N": n, "P": 5, "Q": 9, "n": len(index)}, {"X": ("f32", x), "W": ("f32", w), "B": ("f32", bias), "I": ("i32", index), "at": ("i64", np.array([i, j, d], "i8"))},
                      outputs(*summed(*first, products)), {"c": 0})
            yield p


def programs():
    yield from convolutions()
    yield from staged()
    yield from scaled()
    yield from images()
    yield from same_bounds()
    yield from skipped()
    yield from gathers()
    yield from followed()
