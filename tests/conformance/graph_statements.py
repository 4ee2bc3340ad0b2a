"""Random programs of statements in graph functions: many in one function, each with its own result."""
import numpy as np

import reference
from cases import program, want
from statements import Program, Type, accepted, in_files

PROGRAMS, BATCH = 500, 10
M, N, RUNS = 3, 5, 2
NAMES = {"x": Type("f32", ("M", "N")), "y": Type("f32", ("N",)), "k": Type("i32", ("M", "N")), "c": Type("i32", ("N",)), "p": Type("f32"), "q": Type("i32")}


def data(run):
    rng = np.random.default_rng(100 + run)
    halves = lambda *shape: rng.integers(-8, 9, shape) / 2
    return {"x": ("f32", halves(M, N)), "y": ("f32", halves(N)), "k": ("i32", rng.integers(-9, 10, (M, N))), "c": ("i32", rng.integers(-9, 10, N))}, \
        {"p": [1.5, -2.0][run], "q": [3, -5][run]}


def draw(seed, attempt):
    d = Program(seed, attempt, "graph")
    d.type = Type(d.pick(["f32", "i32"]), d.pick([("M", "N"), ("N",)]))
    return d.draw(NAMES, d.type)


def source(drawn):
    extents = {"M": '"M"', "N": '"N"'} if drawn[0].seed // BATCH % 2 else {"M": str(M), "N": str(N)}
    params = [f"{n}: ts.{t.dtype}" if t.shape is None else f"{n}: ts.Tensor[{', '.join(extents[d] for d in t.shape)}, ts.{t.dtype}]" for n, t in NAMES.items()]
    head = "".join("".join(d.head) + "\n" for d in drawn)
    body = "".join("\n".join(d.lines) + "\n" for d in drawn)
    # A parameter that is handed back is no result.
    return f"{head}@ts.jit\ndef graph({', '.join(params)}):\n{body}    return {', '.join(f'{d.result} + 1' for d in drawn)}\n"


def evaluate(text, d):
    """The result per run, by the reference."""
    names, _ = reference.load(text, unrolled=True)
    out = []
    for run in range(RUNS):
        inputs, scalars = data(run)
        arguments = [reference.V(t, v.astype(reference.NUMPY[t])) for t, v in inputs.values()]
        arguments += [reference.V("f32", np.float32(scalars["p"])), reference.V("i32", np.int32(scalars["q"]))]
        with np.errstate(all="ignore"):
            result = names["graph"](*arguments)
        if (result.dtype, len(result.shape)) != (d.type.dtype, len(d.type.shape)):
            raise TypeError(f"{result.dtype} {result.shape} is not a result")
        out.append(result.a)
    return out


def build(seed):
    return accepted(seed, lambda attempt: draw(seed, attempt), lambda d: evaluate(source([d]), d))


def case(text, drawn, values):
    p = program(f"statements/graph/{drawn[0].seed}", text, kernel="graph")
    for run in range(RUNS):
        inputs, scalars = data(run)
        outputs = {f"result{i}" if len(drawn) > 1 else "result": want(d.type.dtype, v[run]) for i, (d, v) in enumerate(zip(drawn, values))}
        p.run({"M": M, "N": N} if drawn[0].seed // BATCH % 2 else {}, inputs, outputs, scalars)
    return p


def programs(count=PROGRAMS, first=0):
    return in_files(count, first, BATCH, build, source, case)
