"""Names: what a person may call kernels, dims, parameters and tunables, whatever else is called so."""
import numpy as np

from cases import program, want
from dtypes import random

# Functions that generated code calls or LLVM knows, what linkers and loaders look for, words of C, of YAML and of the
# compiler's own text forms.
LIBRARY = """fmod fmodf fma fmaf exp expf exp2 exp2f log logf log2 log2f sqrt sqrtf tanh tanhf pow powf sin sinf cos cosf
sincos sincosf erf erff floor floorf ceil ceilf trunc truncf rint rintf round roundf fmax fmaxf fmin fminf ldexp frexp
copysignf memcpy memset memmove memcmp malloc free abort exit printf strlen __extendhfsf2 __truncsfhf2 __gnu_h2f_ieee
__gnu_f2h_ieee __powisf2 __powidf2 __divti3 __udivti3 __muloti4 __floattidf __tls_get_addr __memcpy_chk""".split()
LINKER = "main _start _init _fini _end _edata _etext __bss_start _DYNAMIC _GLOBAL_OFFSET_TABLE_ etext environ".split()
WORDS = """int double struct register auto void static goto asm llvm ptr module func mma read kernels dynamic_shared
tsr_kernel_other tsr_kernel_ null true yes no on off y nan inf""".split()
INDEX_FUNCTIONS = "floordiv mod ceildiv min max".split()

# Remainders, exponentials, products and copies: what becomes a call on one processor or another.
OTHER = """@ts.kernel
def other(X: ts.Tensor[64, ts.f32], A: ts.Tensor[8, 8, ts.f32], H: ts.Tensor[64, ts.f16], Z: ts.Tensor[64, ts.f32],
          P: ts.Tensor[8, 8, ts.f32], C: ts.Tensor[64, ts.f16], D: ts.Tensor[64, ts.f64]):
    for i in ts.tile.parallel(0, 64, 64):
        x = X[0:64]
        Z[0:64] = x % 3.0 + ts.tile.exp(x) + ts.tile.tanh(x)
        P[0:8, 0:8] = ts.tile.mma(A[0:8, 0:8], A[0:8, 0:8])
        C[0:64] = H[0:64] + ts.tile.cast(1.0, ts.f16)
        D[0:64] = ts.tile.cast(x, ts.f64) % 3.0
"""


def writer(name, value):
    return f"""@ts.kernel
def {name}(Y: ts.Tensor["n", ts.f32]):
    i = ts.tile.linear_id()
    if i < n:
        Y[i] = {value}.0

"""


def kernels():
    """All names in one image, each with a kernel of its own, and a kernel that needs the functions so called."""
    x, a, h = random("f32", (64,), 1), random("f32", (8, 8), 2), random("f16", (64,), 3)
    z = np.mod(x, 3.0) + np.exp(x) + np.tanh(x)
    outputs = {"Z": want("f32", z, rtol=1e-6, atol=1e-6), "P": want("f32", a @ a, rtol=1e-5, atol=1e-5),
               "C": want("f16", h + 1, ulps=0.5), "D": want("f64", np.mod(x, 3.0), ulps=0.5)}
    for group, names in (("library", LIBRARY), ("linker", LINKER), ("words", WORDS), ("index", INDEX_FUNCTIONS)):
        source = "".join(writer(name, i + 1) for i, name in enumerate(names)) + OTHER
        p = program(f"kernel/{group}/other", source, kernel="other", whole=True)
        yield p.run({}, {"X": ("f32", x), "A": ("f32", a), "H": ("f16", h)}, outputs)
        last = program(f"kernel/{group}/{names[-1]}", source, kernel=names[-1], whole=True)
        yield last.run({"n": 5}, {}, {"Y": want("f32", np.full(5, float(len(names))))})


def dims():
    for name in INDEX_FUNCTIONS + WORDS + LIBRARY[:4]:
        # In the grid, in a mask, in a bound; twice in one expression, and beside the function it is called like.
        p = program(f"dim/{name}", f"""@ts.kernel
def k(X: ts.Tensor["{name}", "N", ts.f32], Z: ts.Tensor["{name}", "N", ts.f32]):
    for a in ts.tile.parallel(0, {name}, 4):
        for b in ts.tile.parallel(0, ts.minimum(N, {name} * {name}), 8):
            Z[a:a+4, b:b+8] = X[a:a+4, b:b+8] + ts.f32({name} // 2)
""")
        x = random("f32", (5, 19), 1)
        yield p.run({name: 5, "N": 19}, {"X": ("f32", x)}, {"Z": want("f32", x + 2, ulps=0.5)})
        # Extents that are expressions: of parts, of a product.
        p = program(f"dim/graph/{name}", f"""@ts.jit
def f(x: ts.Tensor["{name}", "M*{name}", ts.f32]):
    return x[0:{name} // 2, 1:].sum(axis=0) * {name}
""")
        x = random("f32", (5, 15), 2)
        yield p.run({name: 5, f"M*{name}": 15}, {"x": ("f32", x)},
                    {"result": want("f32", x[0:2, 1:].sum(0) * 5, rtol=1e-6, atol=1e-6)})


def parameters():
    for name in INDEX_FUNCTIONS + WORDS + LIBRARY[:4]:
        p = program(f"scalar/{name}", f"""@ts.kernel
def k(Z: ts.Tensor["N", ts.f32], {name}: ts.i32):
    for a in ts.tile.parallel(0, ts.minimum({name}, N), 4):
        Z[a:a+4] = ts.tile.full((4,), 1.0, ts.f32)
""")
        yield p.run({"N": 10}, {}, {"Z": want("f32", np.r_[np.ones(8), np.zeros(2)], initial=np.zeros(10))}, {name: 6})
        p = program(f"tensor/{name}", f"""@ts.jit
def f({name}: ts.Tensor["N", ts.f32]):
    return {name} + 1.0
""")
        x = random("f32", (9,), 1)
        yield p.run({"N": 9}, {name: ("f32", x)}, {"result": want("f32", x + 1, ulps=0.5)})
        p = program(f"tunable/{name}", f"""@ts.kernel.autotune(space=dict({name}=[4, 8]))
def k(X: ts.Tensor["N", ts.f32], Z: ts.Tensor["N", ts.f32]):
    ctx = ts.tile.context()
    for a in ts.tile.parallel(0, N, ctx.{name}):
        Z[a:a+ctx.{name}] = X[a:a+ctx.{name}]
""", tunables={name: 8})
        x = random("f32", (19,), 1)
        yield p.run({"N": 19}, {"X": ("f32", x)}, {"Z": want("f32", x)})


def programs():
    yield from kernels()
    yield from dims()
    yield from parameters()
