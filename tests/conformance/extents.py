"""Extents that are expressions of dims, and programs that assume something about them."""
import numpy as np

from cases import program, want
from dtypes import quantize, random

DTYPES_TRIED = ["f64", "f32", "f16", "bf16", "fp8_e4m3", "i64", "i32", "i8", "u8", "bool"]
ENDS = (0, 1, 2, 7, 15, 16, 17, 33, 1000)


def copies():
    """Each form of an expression, with one dim that it is made of."""
    forms = {
        "plus": ("n + 1", lambda n: n + 1), "minus": ("n - 1", lambda n: n - 1), "multiple": ("3*n", lambda n: 3 * n),
        "multiple-after": ("n*3", lambda n: 3 * n), "linear": ("2*n + 5", lambda n: 2 * n + 5), "half": ("n//2", lambda n: n // 2),
        "half-up": ("ceildiv(n, 2)", lambda n: -(-n // 2)), "rest": ("n % 7", lambda n: n % 7), "square": ("(n + 1)*n", lambda n: (n + 1) * n),
        "least": ("min(n, 20)", lambda n: min(n, 20)), "most": ("max(n, 20)", lambda n: max(n, 20)),
        "nested": ("(n + 1)//2*2 - n//3", lambda n: (n + 1) // 2 * 2 - n // 3), "negative": ("1000 - n", lambda n: 1000 - n),
    }
    for name, (text, extent) in forms.items():
        p = program(f"extent/{name}", f"""@ts.kernel
def k(X: ts.Tensor["{text}", ts.f32], Z: ts.Tensor["{text}", ts.f32], N: ts.Tensor["n", ts.f32]):
    for i in ts.tile.parallel(0, X.shape[0], 16):
        Z[i:i+16] = X[i:i+16] * 2.0
""")
        for n in ENDS:
            if extent(n) < 0 or extent(n) > 10**5:
                continue
            x = random("f32", (extent(n),), 1)
            p.run({"n": n}, {"X": ("f32", x)}, {"Z": want("f32", 2 * x), "N": want("f32", np.ones(n), initial=np.ones(n))})
        yield p


def halves():
    for dtype in DTYPES_TRIED:
        p = program(f"extent/halves/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["M", "2*K", ts.{dtype}], Z: ts.Tensor["M", "K", ts.{dtype}]):
    for m in ts.tile.parallel(0, M, 4):
        for k in ts.tile.parallel(0, K, 16):
            Z[m:m+4, k:k+16] = ts.tile.maximum(X[m:m+4, k:k+16], X[m:m+4, K+k:K+k+16])
""" if dtype != "bool" else f"""@ts.kernel
def k(X: ts.Tensor["M", "2*K", ts.bool], Z: ts.Tensor["M", "K", ts.bool]):
    for m in ts.tile.parallel(0, M, 4):
        for k in ts.tile.parallel(0, K, 16):
            Z[m:m+4, k:k+16] = X[m:m+4, k:k+16] | X[m:m+4, K+k:K+k+16]
""")
        for m, k in ((1, 1), (4, 16), (5, 17), (3, 0), (0, 4)):
            x = random(dtype, (m, 2 * k), 1)
            p.run({"M": m, "K": k}, {"X": (dtype, x)}, {"Z": want(dtype, np.maximum(x[:, :k], x[:, k:]))})
        yield p


def reductions():
    """Nothing past the end of an extent that is an expression takes part."""
    for name, function, reference in (("sum", "ts.tile.sum", np.sum), ("max", "ts.tile.max", np.max), ("min", "ts.tile.min", np.min)):
        p = program(f"extent/{name}", f"""@ts.kernel
def k(X: ts.Tensor["M", "n - 1", ts.i32], Z: ts.Tensor["M", ts.i32], N: ts.Tensor["n", ts.i32]):
    for m in ts.tile.parallel(0, M, 4):
        Z[m:m+4] = {function}(X[m:m+4, 0:32], axis=1)
""")
        for n in (2, 17, 32, 33):
            x = random("i32", (5, n - 1), 1) // 64
            p.run({"M": 5, "n": n}, {"X": ("i32", x)},
                  {"Z": want("i32", reference(x, axis=1)), "N": want("i32", np.ones(n), initial=np.ones(n))})
        yield p


def places():
    """Lanes, results, batches, gathers, products, products of dims, strides."""
    p = program("extent/lanes", """@ts.kernel
def k(X: ts.Tensor["n + 1", ts.f32], Z: ts.Tensor["n", ts.f32]):
    i = ts.tile.linear_id()
    if i < n:
        Z[i] = X[i + 1] - X[i]
""")
    for n in ENDS:
        x = random("f32", (n + 1,), 1)
        p.run({"n": n}, {"X": ("f32", x)}, {"Z": want("f32", quantize(x[1:], "f32") - x[:-1])})
    yield p

    p = program("extent/result", """@ts.kernel
def k(X: ts.Tensor["2*n", ts.f32]) -> ts.Tensor["n", ts.f32]:
    return X[tile_n:tile_n+16] + X[n+tile_n:n+tile_n+16]
""")
    for n in ENDS:
        x = random("f32", (2 * n,), 1)
        p.run({"n": n}, {"X": ("f32", x)}, {"result": want("f32", x[:n] + x[n:])})
    yield p

    p = program("extent/batch", """@ts.kernel
def k(X: ts.Tensor["B + 1", "n", ts.f32], Z: ts.Tensor["B + 1", "n", ts.f32]):
    Z[tile_n:tile_n+16] = X[tile_n:tile_n+16] * 3.0
""")
    for b, n in ((0, 5), (2, 33), (4, 0)):
        x = random("f32", (b + 1, n), 1)
        p.run({"B": b, "n": n}, {"X": ("f32", x)}, {"Z": want("f32", 3 * x)})
    yield p

    p = program("extent/gather", """@ts.kernel
def k(X: ts.Tensor["2*n", ts.f32], I: ts.Tensor["m", ts.i32], Z: ts.Tensor["m", ts.f32]):
    for i in ts.tile.parallel(0, m, 16):
        Z[i:i+16] = X[I[i:i+16]]
""")
    for n in (1, 5, 20):
        x, index = random("f32", (2 * n,), 1), np.arange(-2, 2 * n + 2)
        inside = (index >= 0) & (index < 2 * n)
        z = np.where(inside, x[np.clip(index, 0, 2 * n - 1)], 7)
        p.run({"n": n, "m": len(index)}, {"X": ("f32", x), "I": ("i32", index)}, {"Z": want("f32", z, initial=np.full(len(index), 7))})
    yield p

    p = program("extent/matmul", """@ts.kernel
def k(A: ts.Tensor["M", "2*K + 1", ts.f32], B: ts.Tensor["2*K + 1", "N", ts.f32], C: ts.Tensor["M", "N", ts.f32]):
    for m in ts.tile.parallel(0, M, 16):
        for n in ts.tile.parallel(0, N, 16):
            acc = ts.tile.zeros((16, 16))
            for k in ts.tile.range(0, 2*K + 1, 8):
                acc = ts.tile.mma(A[m:m+16, k:k+8], B[k:k+8, n:n+16], acc)
            C[m:m+16, n:n+16] = acc
""")
    for m, n, k in ((1, 1, 0), (16, 16, 8), (17, 15, 21)):
        a, b = random("f32", (m, 2 * k + 1), 1), random("f32", (2 * k + 1, n), 2)
        p.run({"M": m, "N": n, "K": k}, {"A": ("f32", a), "B": ("f32", b)}, {"C": want("f32", a @ b, rtol=1e-5, atol=1e-5)})
    yield p

    p = program("extent/product", """@ts.kernel
def k(X: ts.Tensor["2*B*H + 1", ts.f32], Z: ts.Tensor["B*H", ts.f32]):
    for i in ts.tile.parallel(0, Z.shape[0], 16):
        Z[i:i+16] = X[i:i+16] + X[X.shape[0]-1]
""")
    for n in ENDS:
        x = random("f32", (2 * n + 1,), 1)
        p.run({"B*H": n}, {"X": ("f32", x)}, {"Z": want("f32", x[:n] + x[-1])})
    yield p

    p = program("extent/strides", """@ts.kernel
def k(X: ts.Tensor["M", "K", ts.f32, ts.strides("2*K", 1)], Z: ts.Tensor["M", "K", ts.f32]):
    for m in ts.tile.parallel(0, M, 4):
        for k in ts.tile.parallel(0, K, 16):
            Z[m:m+4, k:k+16] = X[m:m+4, k:k+16]
""")
    for m, k in ((3, 5), (4, 16), (1, 40)):
        x = random("f32", ((2 * m - 1) * k,), 1)  # up to the last element
        z = np.pad(x, (0, k)).reshape(m, 2 * k)[:, :k]
        p.run({"M": m, "K": k}, {"X": ("f32", x)}, {"Z": want("f32", z)})
    yield p

    p = program("extent/specialised", """@ts.kernel
def k(X: ts.Tensor["D + 1", ts.f32], Z: ts.Tensor["D", ts.f32]):
    x = X[0:D]
    Z[0:D] = x + X[1:D+1]
""", dims={"D": 8})
    x = random("f32", (9,), 1)
    yield p.run({"D": 8}, {"X": ("f32", x)}, {"Z": want("f32", x[:-1] + x[1:])})


def variants():
    """Graph functions with a variant for some dims, called with these dims and with others."""
    bodies = {
        "softmax": ("return ts.softmax(x)", lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True)),
        "sums": ("return ts.sum(x, axis=0)", lambda x: x.sum(0)),
        "transpose": ("return x.T + 1.0", lambda x: x.T + 1),
        "product": ("return x @ x.T", lambda x: x @ x.T),
        "chain": ("y = ts.softmax(x)\n    return ts.sum(y * x, axis=1) + ts.max(x, axis=1)",
                  lambda x: (np.exp(x) / np.exp(x).sum(1, keepdims=True) * x).sum(1) + x.max(1)),
    }
    for name, (body, reference) in bodies.items():
        for dims in ({"N": 24}, {"M": 17, "N": 1}, {"M": 1, "N": 300}):
            p = program(f"variant/{name}/{'-'.join(f'{d}{n}' for d, n in dims.items())}", f"""@ts.jit
def f(x: ts.Tensor["M", "N", ts.f32]):
    {body}
""", dims=dims)
            for m, n in ((17, 24), (1, 24), (17, 1), (1, 300), (17, 25), (2, 299), (64, 128)):
                x = random("f32", (m, n), 1)
                p.run({"M": m, "N": n}, {"x": ("f32", x)}, {"result": want("f32", reference(x.astype("f8")), rtol=2e-5, atol=2e-5)})
            yield p


def assumed_parts():
    """Starts that are a dim or a parameter plus a loop variable; what is known of them leaves out no mask that is needed."""
    cases = {
        "half": ("K % 16 == 0", '"2*K"', "K", lambda n, k, s: k),
        "half-unknown": ("K >= 0", '"2*K"', "K", lambda n, k, s: k),
        "second-of-three": ("K % 16 == 0", '"3*K"', "K", lambda n, k, s: k),
        "past-constant": ("K % 16 == 0", '"K + 4"', "4", lambda n, k, s: 4),
        "past-both": ("K % 16 == 0", '"2*K + 3"', "K + 3", lambda n, k, s: k + 3),
        "one-too-far": ("K % 16 == 0", '"2*K"', "K + 1", lambda n, k, s: k + 1),
        "before": ("K % 16 == 0", '"2*K"', "K - 1", lambda n, k, s: k - 1),
        "parameter": ("K % 16 == 0 and s >= 0 and s + K <= N", '"N"', "s", lambda n, k, s: s),
        "parameter-before": ("K % 16 == 0 and s + K <= N", '"N"', "s", lambda n, k, s: s),
        "parameter-past": ("K % 16 == 0 and s >= 0", '"N"', "s", lambda n, k, s: s),
        "parameter-reversed": ("K % 16 == 0 and s <= N - K and 0 <= s", '"N"', "s", lambda n, k, s: s),
        "twice": ("K % 32 == 0 and s >= 0 and s * 2 + K <= N", '"N"', "s + s", lambda n, k, s: 2 * s),
    }
    for name, (condition, extent, base, start) in cases.items():
        for form in ("parallel", "range"):
            outer, inner = ("parallel(0, M, 4)", "range(0, K, 16)") if form == "range" else ("parallel(0, M, 4)", "parallel(0, K, 16)")
            p = program(f"assume/parts/{name}/{form}", f"""@ts.kernel
def k(X: ts.Tensor["M", {extent}, ts.f32], Z: ts.Tensor["M", "K", ts.f32], L: ts.Tensor["M", "K", ts.f32], O: ts.Tensor["N", ts.f32], s: ts.i64):
    ts.assume({condition})
    for m in ts.tile.{outer}:
        for k in ts.tile.{inner}:
            x = X[m:m+4, {base}+k:{base}+k+16]
            Z[m:m+4, k:k+16] = ts.tile.fill_masked(x, 7.0)
            L[m:m+4, k:k+16] = ts.tile.broadcast(ts.tile.max(-ts.tile.abs(x) - 1.0, axis=1)[:, None], (4, 16))
""")
            for m, n, k, s in ((5, 40, 16, 3), (4, 64, 32, 0), (3, 64, 0, 5), (1, 70, 32, 17), (2, 16, 16, 0), (3, 50, 16, 40), (3, 50, 32, -7)):
                facts = {"K": k, "N": n, "s": s}
                if not eval(condition, {}, facts):
                    continue
                size = eval(extent, {}, {})
                size = eval(size, {}, facts)
                x, first = random("f32", (m, size), 1), start(n, k, s)
                padded = np.full((m, size + 400), np.nan)
                padded[:, 200:200 + size] = x
                part = padded[:, 200 + first:200 + first + k]
                largest = np.repeat(np.fmax.reduce(np.append(-np.abs(part) - 1, np.full((m, k), -np.inf), 1).reshape(m, 2, k // 16, 16), (1, 3)), 16, 1)
                p.run({"M": m, "K": k, "N": n}, {"X": ("f32", x)},
                      {"Z": want("f32", np.where(np.isnan(part), 7, part), initial=np.full((m, k), 5.0)), "L": want("f32", largest, initial=np.full((m, k), 5.0)),
                       "O": want("f32", np.ones(n), initial=np.ones(n))}, {"s": s})
            yield p


def assumed_of_parameters():
    """Conditions on the integer parameters of a graph function: what a call checks does not change what it computes."""
    for dtype, low in (("i64", -5), ("i32", -5), ("i8", -100), ("u8", 200)):
        p = program(f"assume/parameter/{dtype}", f"""@ts.jit
def f(x: ts.Tensor["n", ts.f32], low: ts.{dtype}):
    ts.assume(low * 2 != n and low != n)
    return x + 1.0
""")
        x = random("f32", (7,), 1)
        yield p.run({"n": 7}, {"x": ("f32", x)}, {"result": want("f32", x + 1)}, {"low": low})


def assumed():
    """The ends of loops whose steps divide the dims need no masks, with and without a rest along the other axis."""
    for condition, sizes in {"K % 16 == 0": ((5, 16), (4, 48), (1, 0), (9, 160)), "K % 32 == 0 and M % 4 == 0": ((4, 32), (8, 96), (0, 32)),
                             "0 < M <= 9": ((1, 3), (9, 20)), "K % 8 == 0 and K % 6 == 0": ((3, 24), (5, 48))}.items():
        for dtype in ("f32", "f16", "i32", "u8"):
            p = program(f"assume/sums/{condition}/{dtype}", f"""@ts.kernel
def k(X: ts.Tensor["M", "K", ts.{dtype}], S: ts.Tensor["M", ts.{dtype}], Z: ts.Tensor["M", "K", ts.{dtype}]):
    ts.assume({condition})
    for m in ts.tile.parallel(0, M, 4):
        low = ts.tile.max(X[m:m+4, 0:8], axis=1)
        for k in ts.tile.range(0, K, 8):
            x = X[m:m+4, k:k+8]
            low = ts.tile.minimum(low, ts.tile.min(x, axis=1))
            Z[m:m+4, k:k+8] = x
        S[m:m+4] = low
""")
            for m, k in sizes:
                if k == 0:
                    continue
                x = random(dtype, (m, k), 1)
                first = x[:, :8].max(axis=1) if m else np.zeros(0)
                p.run({"M": m, "K": k}, {"X": (dtype, x)},
                      {"Z": want(dtype, x), "S": want(dtype, np.minimum(first, x.min(axis=1)) if m else np.zeros(0))})
            yield p

    p = program("assume/matmul", """@ts.kernel
def k(A: ts.Tensor["M", "2*K", ts.f32], B: ts.Tensor["2*K", "N", ts.f32], C: ts.Tensor["M", "N", ts.f32]):
    ts.assume(K % 8 == 0 and N % 16 == 0)
    for m in ts.tile.parallel(0, M, 16):
        for n in ts.tile.parallel(0, N, 16):
            acc = ts.tile.zeros((16, 16))
            for k in ts.tile.range(0, 2*K, 16):
                acc = ts.tile.mma(A[m:m+16, k:k+16], B[k:k+16, n:n+16], acc)
            C[m:m+16, n:n+16] = acc
""")
    for m, n, k in ((1, 16, 8), (16, 32, 16), (17, 16, 40), (16, 0, 8), (5, 16, 0)):
        a, b = random("f32", (m, 2 * k), 1), random("f32", (2 * k, n), 2)
        p.run({"M": m, "N": n, "K": k}, {"A": ("f32", a), "B": ("f32", b)}, {"C": want("f32", a @ b, rtol=1e-5, atol=1e-5)})
    yield p

    p = program("assume/batch", """@ts.kernel
def k(X: ts.Tensor["B", "n", ts.f32], Z: ts.Tensor["B", ts.f32]):
    ts.assume(n % 8 == 0)
    for b in ts.tile.parallel(0, B):
        m = ts.tile.full((8,), -1e30)
        for i in ts.tile.range(0, n, 8):
            m = ts.tile.maximum(m, X[b, i:i+8])
        Z[b] = ts.tile.max(m)
""")
    for b, n in ((3, 8), (1, 64)):
        x = random("f32", (b, n), 1)
        p.run({"B": b, "n": n}, {"X": ("f32", x)}, {"Z": want("f32", x.max(axis=1))})
    yield p

    p = program("assume/scalar", """@ts.kernel
def k(X: ts.Tensor["n", ts.f32], Z: ts.Tensor["n", ts.f32], s: ts.i32, t: ts.u8):
    ts.assume(s >= 0 and n > t and s != 3)
    for i in ts.tile.parallel(0, n, 16):
        Z[i:i+16] = X[i:i+16] * s
""".replace("* s", "* ts.f32(s)"))
    x = random("f32", (20,), 1)
    p.run({"n": 20}, {"X": ("f32", x)}, {"Z": want("f32", 2 * x)}, {"s": 2, "t": 19})
    yield p


def calls():
    """Graph functions: a callee's dims follow from the extents of the arguments."""
    kernels = """@ts.kernel
def diff(X: ts.Tensor["n + 1", ts.f32], Y: ts.Tensor["n", ts.f32]):
    for i in ts.tile.parallel(0, n, 16):
        Y[i:i+16] = X[i+1:i+17] - X[i:i+16]

@ts.kernel
def pairs(X: ts.Tensor["2*K", ts.f32]) -> ts.Tensor["K", ts.f32]:
    return X[tile_k:tile_k+16] + X[K+tile_k:K+tile_k+16]

"""
    p = program("extent/graph-launch", kernels + """@ts.jit
def g(X: ts.Tensor["n + 1", ts.f32]):
    y = ts.zeros((n,), ts.f32)
    diff(X, y)
    return y
""", kernel="g")
    for n in ENDS:
        x = random("f32", (n + 1,), 1)
        p.run({"n": n}, {"X": ("f32", x)}, {"result": want("f32", quantize(x[1:], "f32") - x[:-1])})
    yield p

    p = program("extent/graph-solved", kernels + """@ts.jit
def g(X: ts.Tensor["4*n", ts.f32], Z: ts.Tensor["m", ts.f32]):
    y = pairs(X)
    z = ts.zeros((m - 1,), ts.f32)
    diff(Z, z)
    return pairs(y) * 2.0, z
""", kernel="g")
    for n, m in ((1, 1), (5, 17), (0, 2), (33, 100)):
        x, z = random("f32", (4 * n,), 1), random("f32", (m,), 2)
        y = quantize(x[:2 * n] + x[2 * n:], "f32")
        p.run({"n": n, "m": m}, {"X": ("f32", x), "Z": ("f32", z)},
              {"result0": want("f32", 2 * quantize(y[:n] + y[n:], "f32")), "result1": want("f32", z[1:] - z[:-1])})
    yield p

    p = program("extent/graph-checked", kernels + """@ts.jit
def g(X: ts.Tensor["m", ts.f32]):
    return pairs(X)
""", kernel="g")
    for m in (0, 2, 32, 34):
        x = random("f32", (m,), 1)
        p.run({"m": m}, {"X": ("f32", x)}, {"result": want("f32", x[:m // 2] + x[m // 2:])})
    yield p

    p = program("extent/graph-split", """@ts.jit
def g(W: ts.Tensor["M", "4*K", ts.f32]):
    a, b = ts.split(W, 2, axis=1)
    c, d = ts.split(a, 2, axis=1)
    return a + b, c * d
""")
    for m, k in ((1, 1), (5, 3), (2, 40), (3, 0)):
        w = random("f32", (m, 4 * k), 1)
        p.run({"M": m, "K": k}, {"W": ("f32", w)},
              {"result0": want("f32", w[:, :2 * k] + w[:, 2 * k:]), "result1": want("f32", w[:, :k] * w[:, k:2 * k])})
    yield p

    p = program("extent/graph-inlined", """def shift(x):
    return x[1:] - x[:-1]

@ts.jit
def step(X: ts.Tensor["k + 1", ts.f32]) -> ts.Tensor["k", ts.f32]:
    return shift(X)

@ts.jit
def g(X: ts.Tensor["n + 2", ts.f32]) -> ts.Tensor["n", ts.f32]:
    ts.assume(n % 2 == 0)
    return step(step(X))
""", kernel="g")
    for n in (0, 2, 16, 100):
        x = random("f32", (n + 2,), 1)
        y = quantize(x[1:] - x[:-1], "f32")
        p.run({"n": n}, {"X": ("f32", x)}, {"result": want("f32", y[1:] - y[:-1])})
    yield p

    for name, body in {"whole": 'x: ts.Tensor[7, ts.f32]):\n    return pairs(x)', "least": 'x: ts.Tensor[0, ts.f32]):\n    diff(x, x)\n    return x',
                       "clash": 'x: ts.Tensor["m", ts.f32], y: ts.Tensor["m", ts.f32]):\n    diff(x, y)\n    return y'}.items():
        yield program(f"extent/graph-refused-{name}", kernels + "@ts.jit\ndef g(" + body + "\n", kernel="g", error="E_KERNEL_ARGUMENT")
    yield program("extent/graph-refused-open", """@ts.kernel
def half(X: ts.Tensor["n // 2", ts.f32]):
    X[0] = 1.0

@ts.jit
def g(x: ts.Tensor["m", ts.f32]):
    half(x)
    return x
""", kernel="g", error="E_KERNEL_ARGUMENT")


def programs():
    for family in (copies, halves, reductions, places, variants, assumed, assumed_parts, assumed_of_parameters, calls):
        yield from family()
