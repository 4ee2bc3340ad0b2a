"""Random programs of statements in kernels: many in one kernel, each with its own row of the results.

A kernel runs one lane per element, tiles of a grid, or returns its results; which one, the seed says.
"""
import numpy as np

import reference
from cases import program, want
from statements import Program, Type, accepted, in_files

PROGRAMS, BATCH = 600, 20
LANES, RUNS = 21, 2  # lanes: a whole vector and part of one, for every width of vectors
NAMES = {"X": Type("X"), "I": Type("I"), "p": Type("f32"), "q": Type("i32")}
PARAMS = 'X: ts.Tensor["m", ts.f32], I: ts.Tensor["m", ts.i32], A: ts.Tensor[8, 8, ts.f32], p: ts.f32, q: ts.i32'


def data(run):
    rng = np.random.default_rng(run)
    halves = lambda *shape: rng.integers(-8, 9, shape) / 2
    return {"X": ("f32", halves(32)), "I": ("i32", rng.integers(-9, 10, 32)), "A": ("f32", halves(8, 8)), "W": ("f32", halves(32))}, \
        {"p": [1.5, -2.0][run], "q": [3, -5][run]}


def form_of(seed):
    return ["lane", "tile", "returned"][seed // BATCH % 3]


def draw(seed, attempt):
    form = form_of(seed)
    d = Program(seed, attempt, "lane" if form == "lane" else "tile")
    names = dict(NAMES)
    if form == "lane":
        names |= {"x": Type("f32"), "k": Type("i32"), "W": Type("W"), "i": Type("at")}
    else:
        names |= {"x": Type("f32", (8,)), "k": Type("i32", (8,)), "a": Type("f32", (4, 8))}
        names |= {"W": Type("W"), "g": Type("at")} if form == "tile" else {}
    d.dtype = d.pick(["f32", "i32"])
    return d.draw(names, Type(d.dtype, None if form == "lane" else (8,)))


def source(drawn):
    form = form_of(drawn[0].seed)
    head = "".join("".join(d.head) + "\n" for d in drawn)
    rows = {"f32": f'F: ts.Tensor[{len(drawn)}, "m", ts.f32]', "i32": f'J: ts.Tensor[{len(drawn)}, "m", ts.i32]'}
    if form == "returned":
        body = "    x = X[0:8]\n    k = I[0:8]\n    a = A[0:4, 0:8]\n"
        types = ", ".join(f"ts.Tensor[8, ts.{d.dtype}]" for d in drawn)
        body += "".join("\n".join(d.lines) + "\n" for d in drawn) + f"    return {', '.join(d.result for d in drawn)}\n"
        return f"{head}@ts.kernel\ndef kernel({PARAMS}) -> {types if len(drawn) == 1 else f'({types})'}:\n{body}"
    params = f'{PARAMS}, {"n: ts.i64, " if form == "lane" else ""}W: ts.Tensor["m", ts.f32], {rows["f32"]}, {rows["i32"]}'
    if form == "lane":
        body = '    i = ts.tile.linear_id()\n    if i < n:\n        x = X[i]\n        k = I[i]\n'
        at, first = "i", "W[i] = X[i]"
    else:
        body = '    for g in ts.tile.parallel(0, 16, 8):\n        x = X[g:g+8]\n        k = I[g:g+8]\n        a = A[0:4, 0:8]\n'
        at, first = "g:g+8", "W[g] = X[g]"
    for slot, d in enumerate(drawn):
        row = "F" if d.dtype == "f32" else "J"
        body += "\n".join("    " + line for line in [f"    {first}", *d.lines, f"    {row}[{slot}, {at}] = {d.result}"]) + "\n"
    return f"{head}@ts.kernel\ndef kernel({params}):\n{body}"


def evaluate(text, d):
    """What the program's results are, by the reference: per run the written values, and W where the form has it."""
    names, module = reference.load(text)
    form, out = form_of(d.seed), []
    for run in range(RUNS):
        inputs, scalars = data(run)
        X, I, A, W = (reference.Tensor(inputs[name][0], inputs[name][1].astype(reference.NUMPY[inputs[name][0]])) for name in "XIAW")
        arguments = [X, I, A, reference.V("f32", np.float32(scalars["p"])), reference.V("i32", np.int32(scalars["q"]))]
        F, J = (reference.Tensor(t, np.zeros((1, 32), reference.NUMPY[t])) for t in ("f32", "i32"))
        with np.errstate(all="ignore"):
            if form == "returned":
                result = names["kernel"](*arguments)
                if result.dtype != d.dtype or result.shape != (8,):
                    raise TypeError(f"{result.dtype} {result.shape} is not a result")
                out.append((result.a, None))
                continue
            for module.lane in range(LANES if form == "lane" else 1):
                names["kernel"](*arguments, *([LANES] if form == "lane" else []), W, F, J)
        out.append(((F if d.dtype == "f32" else J).a[0], W.a))
    return out


def build(seed):
    return accepted(seed, lambda attempt: draw(seed, attempt), lambda d: evaluate(source([d]), d))


def case(text, drawn, values):
    form = form_of(drawn[0].seed)
    p = program(f"statements/{form}/{drawn[0].seed}", text)
    for run in range(RUNS):
        inputs, scalars = data(run)
        if form == "returned":
            outputs = {f"result{i}" if len(drawn) > 1 else "result": want(d.dtype, v[run][0]) for i, (d, v) in enumerate(zip(drawn, values))}
        else:
            outputs = {"W": want("f32", values[-1][run][1], initial=inputs["W"][1])}
            for row, dtype in (("F", "f32"), ("J", "i32")):
                rows = np.array([v[run][0] if d.dtype == dtype else np.zeros(32) for d, v in zip(drawn, values)])
                outputs[row] = want(dtype, rows, initial=np.zeros(rows.shape))
        lanes = {"n": LANES} if form == "lane" else {}
        p.run({"m": 32}, {name: inputs[name] for name in "XIA"}, outputs, scalars | lanes)
    return p


def programs(count=PROGRAMS, first=0):
    return in_files(count, first, BATCH, build, source, case)
