"""Random graph functions: DAGs of 3 to 15 ops over symbolic dims, against graph_model.

The text of the function and its value on every run's data grow side by side. A step that would decide something by
rounding, leave the dtype's range, or make a value whose bound says little about it is not taken: what is generated is
well-conditioned, and its tolerance is the bound. The seeds are fixed: a failure has a name, and

    graph_random.py SEED

prints its source.
"""
import math
import sys

import numpy as np

import graph_model as g
from cases import Want, program
from dtypes import random

PROGRAMS = 40
SORTED = 1_000_000  # programs of seeds from here on also sort
SIZES = [2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 33]
ONE_LARGE = [64, 65, 129]
ELEMENTS = 8192
# dtype -> (how often, largest spread a value may have, largest magnitude)
DTYPES = {"f32": (0.55, 1e-3, 1e6), "bf16": (0.15, 0.2, 1e4), "f16": (0.2, 0.05, 2e3), "f64": (0.1, 1e-9, 1e9)}


class Rejected(Exception):
    pass


class Builder:
    def __init__(self, seed):
        self.seed, self.rng = seed, np.random.default_rng(seed)
        self.dtype = str(self.rng.choice(list(DTYPES), p=[p for p, *_ in DTYPES.values()]))
        self.zeros = self.rng.random() < 0.15  # an empty dim in one of the runs: no slices then
        self.dims = ["M", "N", "K"][: 2 + int(self.rng.random() < 0.6)] + ([16] if self.rng.random() < 0.4 else [])
        self.runs = [self.sizes(i) for i in range(3)]
        self.params, self.lines, self.used = {}, [], set()
        self.steps = []  # (name, function of the environment)
        self.values = []  # (name, dims) of the main dtype, params first
        self.masks = []  # of bool
        self.env = [{} for _ in self.runs]
        self.inputs = [{} for _ in self.runs]

    # -- what there is to draw from --

    def sizes(self, i):
        symbols = [d for d in self.dims if isinstance(d, str)]
        run = {d: int(self.rng.choice(SIZES)) for d in symbols}
        large = str(self.rng.choice(symbols))
        if i == 0:
            run[large] = int(self.rng.choice(ONE_LARGE))
        if i == 2:
            run[large] = 0 if self.zeros else 2
        if self.zeros and i == 1:
            run[large] = 1
        return run

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, items):
        if not items:
            raise Rejected
        return items[int(self.rng.integers(len(items)))]

    def value(self, *accept):
        """A value whose dims every predicate takes; more often one that nothing uses yet."""
        fitting = [v for v in self.values if all(f(v[1]) for f in accept)]
        fresh = [v for v in fitting if v[0] not in self.used]
        return self.pick(fresh if fresh and self.chance(0.7) else fitting)

    def param(self, name, dims, dtype, low=-2.0, high=2.0, ids_of=None):
        self.params[name] = (dims, dtype)
        for i, run in enumerate(self.runs):
            shape = tuple(d if isinstance(d, int) else run[d] for d in dims)
            data = random(dtype, shape, 1000 * self.seed + 10 * i + len(self.params), low, high)
            if ids_of is not None:  # some outside
                data = np.abs(data) % (run.get(ids_of, ids_of if isinstance(ids_of, int) else 0) + 2) - 1
            self.inputs[i][name] = (dtype, data)
            self.env[i][name] = g.exact(dtype, data)

    # -- steps --

    def sound(self, t):
        _, spread, largest = DTYPES[self.dtype]
        finite = t.v[np.isfinite(t.v)] if t.is_float else t.v
        if t.v.size > ELEMENTS or np.any(np.abs(finite) > largest) or not np.all(np.isfinite(t.e)):
            raise Rejected
        if t.is_float and (t.spread() > spread or np.any(np.isinf(t.v))):
            raise Rejected

    def emit(self, text, dims, model, *operands, mask=False):
        """Adds `v3 = text`, where model(env) is its value. `operands` count as used."""
        made = []
        with np.errstate(all="ignore"):
            for env in self.env:
                try:
                    t = model(env)
                except g.Ambiguous:
                    raise Rejected from None
                self.sound(t)
                made.append(t)
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        self.steps.append((name, model))
        for env, t in zip(self.env, made):
            env[name] = t
        self.used.update(operands)
        (self.masks if mask else self.values).append((name, dims))

    def constant(self):
        return float(np.round(self.rng.uniform(0.25, 2), 2)) * (1 if self.chance(0.7) else -1)

    def number(self, value):
        return g.exact(self.dtype, np.float64(np.float32(value)) if self.dtype != "f64" else value)

    def unary(self):
        name, dims = self.value()
        ops = {"neg": "-{}", "abs": "ts.abs({})", "relu": "ts.relu({})", "tanh": "ts.tanh({})", "sigmoid": "ts.sigmoid({})", "erf": "ts.erf({})",
               "silu": "ts.silu({})", "gelu": "ts.gelu({})", "gelu_tanh": 'ts.gelu({}, approximate="tanh")', "exp": "ts.exp({})", "exp2": "ts.exp2({})",
               "sin": "ts.sin({})", "cos": "ts.cos({})", "log": "ts.log({})", "sqrt": "ts.sqrt({})", "rsqrt": "ts.rsqrt({})", "log2": "ts.log2({})"}
        op = self.pick(list(ops))
        if op in ("log", "log2", "sqrt", "rsqrt"):  # of something positive
            self.emit(ops[op].format(f"ts.abs({name}) + 1.0"), dims,
                      lambda e: g.unary(op, g.binary("add", g.unary("abs", e[name]), self.number(1))), name)
        else:
            self.emit(ops[op].format(name), dims, lambda e: g.unary(op, e[name]), name)

    def broadcast(self, a, b):
        """The dims two values broadcast to, or nothing."""
        out = []
        for i in range(1, max(len(a), len(b)) + 1):
            x, y = a[-i] if i <= len(a) else 1, b[-i] if i <= len(b) else 1
            if x != y and 1 not in (x, y):
                return None
            out.append(y if x == 1 else x)
        return tuple(reversed(out))

    def binary(self):
        a, da = self.value()
        b, db = self.value(lambda d: self.broadcast(da, d) is not None)
        op, text = self.pick([("add", "{} + {}"), ("sub", "{} - {}"), ("mul", "{} * {}"), ("minimum", "ts.minimum({}, {})"), ("maximum", "ts.maximum({}, {})"), ("div", "{} / {}")])
        dims = self.broadcast(da, db)
        if op == "div":
            self.emit(f"{a} / (1.0 + {b} * {b})", dims,
                      lambda e: g.binary("div", e[a], g.binary("add", self.number(1), g.binary("mul", e[b], e[b]))), a, b)
        else:
            self.emit(text.format(a, b), dims, lambda e: g.binary(op, e[a], e[b]), a, b)

    def scalar(self):
        a, dims = self.value()
        c = self.constant() if self.dtype in ("f32", "f64") else float(self.rng.integers(1, 9)) / 4  # exact in every dtype
        op, text = self.pick([("mul", "{} * {}"), ("add", "{} + {}"), ("sub", "{} - {}")])
        self.emit(text.format(a, c), dims, lambda e: g.binary(op, e[a], self.number(c)), a)

    def matmul(self):
        a, da = self.value(lambda d: 2 <= len(d) <= 3)
        b, db = self.value(lambda d: len(d) == 2 and (d[0] == da[-1] or d[1] == da[-1]))
        flip = db[0] != da[-1] or (db[1] == da[-1] and self.chance(0.5))
        k, scale = da[-1], 0.25
        self.emit(f"({a} @ {b}{'.T' if flip else ''}) * {scale}", (*da[:-1], db[0] if flip else db[1]),
                  lambda e: g.binary("mul", g.matmul(e[a], g.transposed(e[b]) if flip else e[b]), self.number(scale)), a, b)

    def reduction(self):
        a, dims = self.value(lambda d: len(d) > 0)
        kind = self.pick(["sum", "mean", "max", "min"])
        if self.zeros and kind != "sum":
            kind = "sum"  # the others of nothing are infinite, or no number
        axes = tuple(sorted(int(x) for x in self.rng.permutation(len(dims))[: int(self.rng.integers(1, min(len(dims), 2) + 1))]))
        keep = self.chance(0.5)
        out = tuple(1 if i in axes else d for i, d in enumerate(dims) if keep or i not in axes)
        axis = axes[0] - (len(dims) if self.chance(0.5) else 0) if len(axes) == 1 else axes
        self.emit(f"ts.{kind}({a}, axis={axis}{', keepdims=True' if keep else ''})", out, lambda e: g.reduce(kind, e[a], axes, keep), a)

    def sort(self):
        a, dims = self.value(lambda d: len(d) > 0)
        axis, flag = int(self.rng.integers(len(dims))), self.chance(0.5)
        if self.chance(0.5):
            self.emit(f"ts.sort({a}, axis={axis}, descending={flag})", dims, lambda e: g.sort(e[a], axis, flag), a)
            return
        k = int(self.rng.integers(1, 4))
        if any(e[a].shape[axis] < k for e in self.env):
            raise Rejected
        self.emit(f"ts.topk({a}, {k}, axis={axis}, largest={flag})[0]", (*dims[:axis], k, *dims[axis + 1:]), lambda e: g.sort(e[a], axis, flag, k), a)

    def normalise(self):
        a, dims = self.value(lambda d: len(d) > 0)
        op = self.pick(["softmax", "log_softmax", "layer_norm", "rms_norm"])
        scales = [v for v in self.values if v[1] == dims[-1:]]
        if op in ("softmax", "log_softmax"):
            axis = int(self.rng.integers(len(dims)))
            self.emit(f"ts.{op}({a}, axis={axis})", dims, lambda e: g.softmax(e[a], axis, op == "log_softmax"), a)
        elif scales and self.chance(0.6):
            w = self.pick(scales)[0]
            f = g.layer_norm if op == "layer_norm" else g.rms_norm
            self.emit(f"ts.{op}({a}, {w}, eps=0.01)", dims, lambda e: f(e[a], e[w], eps=0.01), a, w)
        else:
            f = g.layer_norm if op == "layer_norm" else g.rms_norm
            self.emit(f"ts.{op}({a}, eps=0.01)", dims, lambda e: f(e[a], eps=0.01), a)

    def shape(self):
        a, dims = self.value(lambda d: len(d) > 0)
        choice = int(self.rng.integers(6))
        plain = [i for i, d in enumerate(dims) if d in self.dims and isinstance(d, str)]
        if choice == 0 and len(dims) >= 2:
            self.emit(f"{a}.T", (*dims[:-2], dims[-1], dims[-2]), lambda e: g.transposed(e[a]), a)
        elif choice == 1 and len(dims) == 3:
            perm = tuple(int(x) for x in self.rng.permutation(3))
            self.emit(f"ts.transpose({a}, {perm})", tuple(dims[i] for i in perm), lambda e: g.moved(lambda v: np.transpose(v, perm), e[a]), a)
        elif choice == 2 and len(dims) >= 2 and len(plain) == len(dims) and len(set(dims)) == len(dims):
            merged = f"{dims[0]} * {dims[1]}"
            out = (("product", *sorted(dims[:2])), *dims[2:])
            shape = f"({', '.join([merged, *dims[2:]])},)"
            self.emit(f"ts.reshape({a}, {shape})", out, lambda e: g.moved(lambda v: v.reshape(v.shape[0] * v.shape[1], *v.shape[2:]), e[a]), a)
        elif choice == 3 and not self.zeros and plain:
            axis = self.pick(plain)
            first = self.chance(0.5)
            index = ", ".join([":"] * axis + ["1:" if first else f":{dims[axis]} - 1"])
            cut = (slice(None),) * axis + (slice(1, None) if first else slice(None, -1),)
            self.emit(f"{a}[{index}]", (*dims[:axis], ("short", dims[axis]), *dims[axis + 1:]), lambda e: g.moved(lambda v: v[cut], e[a]), a)
        elif choice == 4 and plain:
            axis = self.pick(plain)
            b = self.pick([v for v in self.values if len(v[1]) == len(dims) and v[1][:axis] == dims[:axis] and v[1][axis + 1:] == dims[axis + 1:] and v[1][axis] in self.dims and isinstance(v[1][axis], str)])
            out = (*dims[:axis], ("sum", *sorted((dims[axis], b[1][axis]))), *dims[axis + 1:])
            self.emit(f"ts.concat([{a}, {b[0]}], axis={axis})", out, lambda e: g.moved(lambda *v: np.concatenate(v, axis), e[a], e[b[0]]), a, b[0])
        elif choice == 5 and len(dims) <= 2:
            axis = int(self.rng.integers(len(dims) + 1))
            index = ", ".join([":"] * axis + ["None"] + [":"] * (len(dims) - axis))
            self.emit(f"{a}[{index}]", (*dims[:axis], 1, *dims[axis:]), lambda e: g.moved(lambda v: np.expand_dims(v, axis), e[a]), a)
        else:
            raise Rejected

    def compare(self):
        a, dims = self.value()
        t = round(float(self.rng.uniform(-1, 1)), 2) if self.dtype in ("f32", "f64") else float(self.rng.integers(-4, 5)) / 4
        op, symbol = self.pick([("lt", "<"), ("ge", ">=")])
        self.emit(f"{a} {symbol} {t}", dims, lambda e: g.binary(op, e[a], self.number(t)), a, mask=True)

    def choose(self):
        if not self.masks or self.chance(0.5):
            self.compare()
        m, dm = self.pick(self.masks)
        a, da = self.value(lambda d: self.broadcast(dm, d) is not None)
        out = self.broadcast(dm, da)
        b, db = self.value(lambda d: self.broadcast(out, d) is not None)
        self.emit(f"ts.where({m}, {a}, {b})", self.broadcast(out, db), lambda e: g.where(e[m], e[a], e[b]), m, a, b)

    def lookup(self):
        table, dims = self.value(lambda d: len(d) == 2 and d[0] in self.dims)
        name, count = f"ids{len(self.params)}", self.pick([d for d in self.dims if isinstance(d, str)])
        if len(self.params) >= 5:
            raise Rejected
        self.param(name, (count,), "i32", ids_of=dims[0])
        try:
            self.emit(f"ts.embedding({table}, {name})", (count, *dims[1:]), lambda e: g.gather(e[table], e[name]), table)
        except Rejected:
            del self.params[name]
            for inputs in self.inputs:
                del inputs[name]
            raise

    def attend(self):
        q, dq = self.value(lambda d: len(d) == 2 and isinstance(d[1], int))
        k, dk = self.value(lambda d: len(d) == 2 and d[1] == dq[1])
        v = self.pick([x for x in self.values if x[1] == dk])[0]
        causal = self.chance(0.5)
        self.emit(f"ts.op.flash_attention({q}, {k}, {v}, causal={causal})", dq, lambda e: g.attention(e[q], e[k], e[v], causal), q, k, v)

    # -- the whole --

    def grow(self):
        steps = [(self.unary, 3), (self.binary, 4), (self.scalar, 1), (self.matmul, 3), (self.reduction, 2), (self.normalise, 2), (self.shape, 3),
                 (self.choose, 1), (self.lookup, 0.5), (self.attend, 0.5)]
        if self.seed >= SORTED:
            steps.append((self.sort, 6))
        weights = np.array([w for _, w in steps]) / sum(w for _, w in steps)
        for i in range(int(self.rng.integers(1, 5))):
            rank = int(self.rng.choice([1, 2, 3], p=[0.2, 0.6, 0.2]))
            dims = tuple(self.dims[int(self.rng.integers(len(self.dims)))] for _ in range(rank))
            if i == 0:
                dims = (self.dims[0], self.dims[1])
            if all(math.prod(d if isinstance(d, int) else run[d] for d in dims) <= ELEMENTS for run in self.runs):
                self.param(f"x{i}", dims, self.dtype)
                self.values.append((f"x{i}", dims))
        wanted = int(self.rng.integers(3, 16))
        for _ in range(20 * wanted):
            if len(self.lines) >= wanted:
                break
            try:
                steps[int(self.rng.choice(len(steps), p=weights))][0]()
            except Rejected:
                pass

    def results(self):
        """What nothing uses, three at most, the last first."""
        made = [(n, d) for n, d in self.values if n not in self.params]
        unused = [n for n, _ in made if n not in self.used]
        return (unused or [made[-1][0]])[-3:]

    def program(self):
        self.grow()
        results = self.results()
        live = self.live(results)
        params = ", ".join(f"{name}: ts.Tensor[" + ", ".join(f'"{d}"' if isinstance(d, str) else str(d) for d in dims) + f", ts.{dtype}]"
                           for name, (dims, dtype) in self.params.items())
        body = "".join(f"    {line}\n" for i, line in enumerate(self.lines) if f"v{i}" in live)
        p = program(f"graph-random/{self.seed}", f"@ts.jit\ndef f{self.seed}({params}):\n{body}    return {', '.join(results)}\n")
        for run, env, inputs in zip(self.runs, self.env, self.inputs):
            p.run(run, inputs, self.outputs(env, results))
        return p

    def evaluate(self):
        """The results once more, by graph_model as it is now: outputs per run."""
        results, out = self.results(), []
        for inputs in self.inputs:
            env = {name: g.exact(*data) for name, data in inputs.items()}
            for name, model in self.steps:
                env[name] = model(env)
            out.append(self.outputs(env, results))
        return out

    def outputs(self, env, results):
        names = ["result"] if len(results) == 1 else [f"result{i}" for i in range(len(results))]
        return {n: self.wanted(env[r]) for n, r in zip(names, results)}

    def live(self, results):
        live = set(results)
        for i in reversed(range(len(self.lines))):
            if f"v{i}" in live:
                text = self.lines[i].split("=", 1)[1]
                live |= {w for w in (f"v{j}" for j in range(i)) if w in _words(text)}
        return live

    @staticmethod
    def wanted(t):
        return Want(t.dtype, t.shape, t.v, **({} if t.exact() else {"bound": t.e}))


def _words(text):
    return set("".join(c if c.isalnum() or c == "_" else " " for c in text).split())


def build(seed):
    return Builder(seed).program()


def programs(count=PROGRAMS, first=0):
    for seed in range(first, first + count):
        yield build(seed)
    for seed in range(SORTED + first, SORTED + first + count // 4):
        yield build(seed)


if __name__ == "__main__":
    print(build(int(sys.argv[1])).source)
