"""Graph functions that move elements, scan and contract them, against NumPy: exact, or in double with a tolerance."""
import itertools
import math

import numpy as np

from cases import program, want
from dtypes import DTYPES, random, wrap

SIZES = [{"B": 2, "M": 3, "N": 5}, {"B": 1, "M": 1, "N": 1}, {"B": 3, "M": 17, "N": 33}, {"B": 2, "M": 33, "N": 70}, {"B": 1, "M": 2, "N": 519}]
EMPTY = [{"B": 2, "M": 0, "N": 3}, {"B": 2, "M": 3, "N": 0}, {"B": 0, "M": 2, "N": 2}]
MOVED = ("f32", "i32", "bool", "bf16", "f64", "u8", "fp8_e4m3")
PRECISION = {"f64": 1e-11, "f32": 2e-5, "bf16": 2e-2, "f16": 2e-3}


def case(name, params, body, reference, sizes, result=None, tolerance=None, make=None, scalars=None, dims=None, family="indexing"):
    """params: name -> (dims, dtype). `reference` takes the arrays, floats in double, and gives the result of dtype `result`,
    exact unless there is a tolerance. `make(name, shape, run, rng)` makes the values of a parameter, or None."""
    signature = ", ".join(f"{n}: ts.{dtype}" if extents is None else
                          f"{n}: ts.Tensor[{', '.join(repr(d) if isinstance(d, int) else chr(34) + d + chr(34) for d in extents)}, ts.{dtype}]"
                          for n, (extents, dtype) in params.items())
    p = program(f"{family}/{name}", f"@ts.jit\ndef f({signature}):\n    return {body}\n", dims=dims or {})
    first = next(iter(params.values()))[1]
    for seed, run in enumerate(sizes):
        inputs = {}
        for i, (n, (extents, dtype)) in enumerate(params.items()):
            if extents is None:
                continue
            shape = tuple(d if isinstance(d, int) else run[d] for d in extents)
            made = make(n, shape, run, np.random.default_rng(97 * seed + i)) if make else None
            inputs[n] = (dtype, random(dtype, shape, 97 * seed + i) if made is None else made)
        with np.errstate(all="ignore"):
            got = reference(*(v.astype("f8") if DTYPES[t].is_float else v for t, v in inputs.values()))
        p.run(run, inputs, {"result": want(result or first, np.asarray(got), **(tolerance or {}))}, scalars)
    return p


def close(dtype, scale=1.0):
    return {"rtol": PRECISION[dtype], "atol": PRECISION[dtype] * scale} if DTYPES[dtype].is_float else None


# ---- slices ----

def slices():
    for dtype in MOVED:
        params = {"x": (("B", "M", "N"), dtype)}
        for name, text, sizes in (("step", "x[:, :, ::2]", SIZES + EMPTY), ("step-rows", "x[:, ::3]", SIZES + EMPTY), ("step-all", "x[::2, ::3, ::4]", SIZES + EMPTY),
                                  ("reversed", "x[:, :, ::-1]", SIZES + EMPTY), ("reversed-rows", "x[:, ::-1]", SIZES + EMPTY), ("reversed-all", "x[::-1, ::-1, ::-1]", SIZES + EMPTY)):
            yield case(f"slice/{name}/{dtype}", params, text, lambda x, t=text: eval(t), sizes)
    params, some = {"x": (("B", "M", "N"), "f32")}, [s for s in SIZES if s["N"] >= 5 and s["M"] >= 3]
    for name, text in (("start", "x[:, 1::2]"), ("end", "x[:, :, :5:2]"), ("both", "x[:, 1:3, 1:5:3]"), ("back-from", "x[:, :, 3::-1]"), ("back-to", "x[:, :, :1:-2]"),
                       ("back-both", "x[:, :, 4:1:-2]"), ("from-end", "x[:, :, -5:-1:2]"), ("back-end", "x[:, :, -2:-5:-1]"), ("index", "x[0, ::2, -1]"), ("index-back", "x[0, :, ::-1]"),
                       ("mixed", "x[:, 1:, ::-1]"), ("new-axis", "x[:, None, ::2]"), ("empty", "x[:, :, 2:2:3]"), ("empty-back", "x[:, :, 2:2:-1]"), ("past-end", "x[:, :, 3:1:4]"), ("long-step", "x[:, :, ::1000]"),
                       ("twice", "x[:, :, ::2][:, :, ::-1]"), ("of-sum", "(x + x)[:, ::-1, ::2]")):
        yield case(f"slice/{name}", params, text, lambda x, t=text: eval(t), some)
    yield case("slice/dims", params, "x[:, :, M - 1::-1] + x[:, :, M - 1::-1]", lambda x: x[:, :, x.shape[1] - 1::-1] * 2, [s for s in SIZES if s["N"] >= s["M"]], tolerance={"ulps": 1})
    # What is outside a slice is no element of a reduction: 0 would be the largest.
    for axis in (0, 1, 2):
        for kind, text, own in (("steps", "x[::-1, ::3, ::2]", np.s_[::-1, ::3, ::2]), ("reversed", "x[:, :, ::-1]", np.s_[:, :, ::-1])):
            yield case(f"slice/max-{kind}-{axis}", params, f"ts.max(-ts.exp({text}), axis={axis})", lambda x, a=axis, o=own: (-np.exp(x[o])).max(a),
                       SIZES, tolerance=close("f32"))
            yield case(f"slice/argmax-{kind}-{axis}", params, f"ts.argmax(-ts.abs({text}), axis={axis})", lambda x, a=axis, o=own: (-np.abs(x[o])).argmax(a).astype("i4"), SIZES, result="i32")
    yield case("slice/softmax", params, "ts.softmax(-ts.exp(x[:, :, ::-1]))", lambda x: (lambda e: e / e.sum(-1, keepdims=True))(np.exp(-np.exp(x[:, :, ::-1].astype("f8")))), SIZES,
               tolerance=close("f32"))
    yield case("slice/fused", params, "ts.exp(x[:, :, ::-1]) * x[:, ::-1]", lambda x: np.exp(x[:, :, ::-1]) * x[:, ::-1], SIZES, tolerance=close("f32"))
    # Also of few elements or none such slices are empty.
    for name, text in (("after-end", "x[:, :, 4::4]"), ("before-begin", "x[:, :, :3:-4]")):
        yield case(f"slice/{name}", params, text, lambda x, t=text: eval(t), SIZES + EMPTY)
    for axis in ("None", "0", "1", "-1", "(0, 2)", "(0, 1, 2)"):
        yield case(f"flip/{axis}", params, f"ts.flip(x, axis={axis})", lambda x, a=eval(axis): np.flip(x, a), SIZES + EMPTY)
    yield case("flip/vector", {"x": (("N",), "i64")}, "ts.flip(x)", lambda x: x[::-1], SIZES + EMPTY[:2])
    stencil = lambda x: x[:, 1:-1, 1:-1] * 4.0 - x[:, :-2, 1:-1] - x[:, 2:, 1:-1] - x[:, 1:-1, :-2] - x[:, 1:-1, 2:]
    yield case("slice/stencil", params, "x[:, 1:-1, 1:-1] * 4.0 - x[:, :-2, 1:-1] - x[:, 2:, 1:-1] - x[:, 1:-1, :-2] - x[:, 1:-1, 2:]", stencil,
               [s for s in SIZES if s["M"] >= 2 and s["N"] >= 2], tolerance=close("f32", 50))
    yield case("slice/two-groups", params, "(x[:, 1:] - x[:, :-1]) * ts.sum(x[:, 1:], axis=-1, keepdims=True)", lambda x: (x[:, 1:] - x[:, :-1]) * x[:, 1:].sum(-1, keepdims=True),
               [s for s in SIZES if s["M"] >= 2], tolerance=close("f32", 500))
    for shift, axis in (("3", "None"), ("-2", "1"), ("7", "(0, -1)"), ("(1, -1)", "(1, 2)"), ("(2, 5)", "(0, 0)"), ("0", "1")):
        yield case(f"roll/{shift}/{axis}", params, f"ts.roll(x, {shift}, axis={axis})", lambda x, s=eval(shift), a=eval(axis): np.roll(x, s, a), SIZES + EMPTY)
    yield case("roll/dims", params, "ts.roll(x, (M, -B), (2, 1))", lambda x: np.roll(x, (x.shape[1], -x.shape[0]), (2, 1)), SIZES + EMPTY)
    yield case("slice/pairs", {"x": (("M", 2), "f32")}, "ts.stack([x[:, 0] - x[:, 1], x[:, 0] + x[:, 1]], axis=-1)[:, ::-1]",
               lambda x: np.stack([x[:, 0] + x[:, 1], x[:, 0] - x[:, 1]], -1), SIZES, tolerance={"ulps": 1})

    yield case("slice/pairs-kept", {"x": (("B", "M", 2), "f32")}, "ts.stack([x[..., 0] * 2.0, x[..., 1] + ts.cast(ts.arange(M), ts.f32), ts.full((B, M), 3.0)], axis=-1)",
               lambda x: np.stack([x[..., 0] * 2, x[..., 1] + np.arange(x.shape[1]), np.full(x.shape[:2], 3.0)], -1), SIZES + EMPTY[:1], tolerance={"ulps": 1})
    yield case("slice/columns", {"x": (("M", 3), "f32"), "c": (("M",), "f32")}, "ts.stack([x[:, 0] * c, ts.where(x[:, 1] > c, x[:, 2], 1.0)], axis=1)",
               lambda x, c: np.stack([x[:, 0] * c, np.where(x[:, 1] > c, x[:, 2], 1.0)], 1), SIZES + EMPTY[:1], tolerance={"ulps": 1})
    yield case("slice/middle", {"x": (("B", 2, "N"), "f32"), "c": (("N",), "f32"), "d": (("B", 1), "f32")}, "x[:, 0] * c + x[:, 1] * d",
               lambda x, c, d: x[:, 0] * c + x[:, 1] * d, SIZES + EMPTY[1:], tolerance=close("f32"))
    yield case("slice/rows", {"x": ((2, "M"), "f32"), "c": (("M",), "f32")}, "ts.exp(x[0]) * x[1] + c",
               lambda x, c: np.exp(x[0]) * x[1] + c, SIZES + EMPTY[:1], tolerance=close("f32"))
    yield case("slice/past-empty", params, "x[:, :, 1::2] + x[:, :, 1::2]", lambda x: x[:, :, 1::2] * 2, SIZES + EMPTY, tolerance={"ulps": 1})


# ---- parts of a last axis ----

def joins():
    """Vectors of several tensors are merged, and vectors of one are taken apart: each number of parts has shuffles of its own."""
    sizes = SIZES + EMPTY + [{"B": 1, "M": 3, "N": 2050}]
    for dtype in ("f32", "f64", "bf16", "i8", "bool"):
        for count in (2, 3, 5, 8, 9):
            names = ["x", "y", "x", "x", "y", "y", "y", "x", "y"][:count]
            yield case(f"join/stack-{count}/{dtype}", {n: (("B", "M", "N"), dtype) for n in "xy"}, f"ts.stack([{', '.join(names)}], axis=-1)",
                       lambda x, y, names=names: np.stack([{"x": x, "y": y}[n] for n in names], -1), sizes)
            yield case(f"join/part-{count}/{dtype}", {"x": (("B", "N", count), dtype)}, f"x[:, :, {count - 1}]", lambda x: x[:, :, -1], sizes)
        for step in (-4, -3, -2, 3, 4, 5):
            yield case(f"join/step{step}/{dtype}", {"x": (("M", "N"), dtype)}, f"x[:, ::{step}]", lambda x, s=step: x[:, ::s], sizes)
    for axis in range(3):  # of slices: parts that begin, end and repeat anywhere, in one launch
        at = lambda text, axis=axis: f"x[{':, ' * axis}{text}]"
        text = f"ts.concat([{at('1:')}, {at('::-1')}, x, {at('::2')}, {at(':1')}], axis={axis})"
        for dtype in ("f32", "i8", "bool"):
            yield case(f"join/slices-{axis}/{dtype}", {"x": (("B", "M", "N"), dtype)}, text,
                       lambda x, a=axis: np.concatenate([v.swapaxes(0, a) for v in (lambda y: (y[1:], y[::-1], y, y[::2], y[:1]))(x.swapaxes(0, a))], a),
                       [s for s in sizes if all(s.values())])
    # The slice that begins the join is read by something else, too.
    yield case("join/read-twice/f32", {"x": (("B", "M"), "f32")}, "ts.concat([x[:1], x[1:]], axis=0) * x[0]",
               lambda x: x * x[:1], [{"B": b, "M": m} for b, m in ((1, 1), (2, 3), (65, 130))])
    yield case("join/read-twice/reshaped/f32", {"x": (("B", "M"), "f32")}, "ts.concat([ts.reshape(x[:1], (M,)), x[0], ts.reshape(x[1:2], (M,))], axis=0)",
               lambda x: np.concatenate([x[0], x[0], x[1]]), [{"B": b, "M": m} for b, m in ((2, 3), (65, 130))])
    for axis, dims in enumerate((("K", "B", "M", "N"), ("B", "K", "M", "N"), ("B", "M", "K", "N"), ("B", "M", "N", "K"))):
        other = tuple("M" if d == "K" else d for d in dims)
        for dtype in ("f32", "i8"):
            yield case(f"join/concat-{axis}/{dtype}", {"x": (dims, dtype), "y": (other, dtype)}, f"ts.concat([x, y, x], axis={axis})",
                       lambda x, y, axis=axis: np.concatenate([x, y, x], axis), [s | {"K": k} for s, k in zip(SIZES + EMPTY, (1, 2, 0, 7, 3, 4, 1, 5))])


# ---- orders of axes ----

def orders():
    """Axes that stay next to each other are one; a tile spans the last axis of both orders."""
    for perm in itertools.permutations(range(4)):
        for dtype in ("f32", "i8") if perm in ((0, 2, 3, 1), (3, 2, 1, 0)) else ("i16",):
            yield case(f"order/{''.join(map(str, perm))}/{dtype}", {"x": (("B", "M", "N", "K"), dtype)}, f"x.transpose{perm}",
                       lambda x, p=perm: x.transpose(p), [s | {"K": k} for s, k in zip(SIZES[:4] + EMPTY[:1], (3, 1, 5, 66, 2))])


# ---- borders and repetitions ----

def borders():
    widths = {"one": "2", "pair": "(1, 2)", "each": "((0, 0), (1, 0), (2, 3))", "rows": "((0, 0), (2, 1), (0, 0))", "batch": "((1, 1), (0, 0), (0, 0))", "none": "0"}
    for name, text in widths.items():
        for dtype in MOVED if name in ("each", "rows") else ("f32",):
            params, value = {"x": (("B", "M", "N"), dtype)}, {"bool": "True"}.get(dtype, "3" if not DTYPES[dtype].is_float else "1.5")
            yield case(f"pad/constant-{name}/{dtype}", params, f"ts.pad(x, {text}, value={value})",
                       lambda x, t=text, v=value: np.pad(x, eval(t), constant_values=eval(v)), SIZES + EMPTY)
            yield case(f"pad/zero-{name}/{dtype}", params, f"ts.pad(x, {text})", lambda x, t=text: np.pad(x, eval(t)), SIZES + EMPTY)
        for mode in ("edge", "reflect", "symmetric", "wrap"):
            sizes = [s for s in SIZES if s["M"] >= 3 and s["N"] >= 4 and (s["B"] > 2 or name not in ("one", "pair", "batch"))] + [{"B": 3, "M": 4, "N": 4}]
            for dtype in MOVED if name == "each" else ("f32",):
                yield case(f"pad/{mode}-{name}/{dtype}", {"x": (("B", "M", "N"), dtype)}, f"ts.pad(x, {text}, mode=\"{mode}\")",
                           lambda x, t=text, m=mode: np.pad(x, eval(t), mode=m), sizes)
    params = {"x": (("M", "N"), "f32")}
    yield case("pad/edge-long", params, "ts.pad(x, ((70, 3), (5, 600)), mode=\"edge\")", lambda x: np.pad(x, ((70, 3), (5, 600)), mode="edge"), SIZES)
    yield case("pad/constant-long", params, "ts.pad(x, ((70, 3), (5, 600)), value=-1.0)", lambda x: np.pad(x, ((70, 3), (5, 600)), constant_values=-1), SIZES + EMPTY[:2])
    yield case("pad/dims", params, "ts.pad(x, ((0, M), (N, 1)))", lambda x: np.pad(x, ((0, x.shape[0]), (x.shape[1], 1))), SIZES)
    yield case("pad/parameter", params | {"v": (None, "f32")}, "ts.pad(x, 1, value=v)", lambda x: np.pad(x, 1, constant_values=-2.5), SIZES, scalars={"v": -2.5})
    yield case("pad/infinity", params, "ts.pad(x, 1, value=-math.inf)", lambda x: np.pad(x, 1, constant_values=-np.inf), SIZES)
    yield case("pad/stencil", {"x": (("N",), "f32")}, "ts.pad(x, 1)[2:] + ts.pad(x, 1)[:N]", lambda x: (lambda p: p[2:] + p[:-2])(np.pad(x, 1)), SIZES, tolerance={"ulps": 1})
    yield case("pad/fused", params, "ts.exp(ts.pad(x * 2.0, 1, value=1.0)) + 1.0", lambda x: np.exp(np.pad(x * 2, 1, constant_values=1)) + 1, SIZES, tolerance=close("f32"))
    yield case("pad/reduced", params, "ts.sum(ts.pad(x, 1, value=1.0), axis=-1)", lambda x: np.pad(x, 1, constant_values=1).sum(-1), SIZES, tolerance=close("f32", 50))
    for dtype in MOVED:
        params = {"x": (("M", "N"), dtype)}
        for repeats in ("2", "(2, 3)", "(3, 1)", "(2, 1, 2)", "(1, 1)", "(0, 2)"):
            yield case(f"tile/{repeats}/{dtype}", params, f"ts.op.tile(x, {repeats})", lambda x, r=eval(repeats): np.tile(x, r), SIZES + EMPTY[:2])
        for repeats, axis in ((2, 0), (3, 1), (3, -1), (1, 1), (0, 1), (2, None)):
            yield case(f"repeat/{repeats}-{axis}/{dtype}", params, f"ts.repeat(x, {repeats}, axis={axis})", lambda x, r=repeats, a=axis: np.repeat(x, r, a), SIZES + EMPTY[:2])
    yield case("repeat/dim", {"x": (("M", "B"), "f32")}, "ts.repeat(x, B, axis=1)", lambda x: np.repeat(x, x.shape[1], 1), SIZES)
    # More repeated axes than there is room for at once.
    deep = [{"B": 2, "M": 3, "N": 2}, {"B": 1, "M": 1, "N": 1}]
    for repeats in ((2, 3, 2, 1, 3), (2, 2, 2, 2, 2), (1, 2, 3, 2, 2, 2)):
        yield case(f"tile/rank5/{repeats}", {"x": (("B", "M", 1, "N", 2), "f32")}, f"ts.op.tile(x, {repeats})", lambda x, r=repeats: np.tile(x, r), deep)
    yield case("tile/rank8", {"x": (("B", 1, 1, "M", 1, 1, "N", 1), "i32")}, "ts.op.tile(x, (1, 2, 3, 1, 2, 1, 1, 2))", lambda x: np.tile(x, (1, 2, 3, 1, 2, 1, 1, 2)), deep)
    yield case("tile/dim", {"x": (("M", "B"), "f32")}, "ts.op.tile(x, (B, 2))", lambda x: np.tile(x, (x.shape[1], 2)), SIZES)


# ---- gathers ----

def inside(n, ids):
    return (ids >= 0) & (ids < n)


def take(x, ids, axis):
    n = x.shape[axis]
    if n == 0:
        return np.zeros(x.shape[:axis] + ids.shape + x.shape[axis + 1:], x.dtype)
    out = np.take(x, np.clip(ids, 0, n - 1), axis)
    ok = inside(n, ids).reshape(ids.shape + (1,) * (x.ndim - axis - 1))
    return np.where(ok, out, 0)


def take_along(x, ids, axis):
    n = x.shape[axis]
    at = list(np.meshgrid(*(np.arange(s) for s in ids.shape), indexing="ij"))
    if n == 0:
        return np.zeros(ids.shape, x.dtype)
    at[axis] = np.clip(ids, 0, n - 1)
    return np.where(inside(n, ids), x[tuple(at)], 0)


def gather_nd(x, ids, batch=0):
    k = ids.shape[-1]
    out = np.zeros(ids.shape[:-1] + x.shape[batch + k:], x.dtype)
    for place in np.ndindex(*ids.shape[:-1]):
        at = place[:batch] + tuple(ids[place])
        if all(0 <= i < n for i, n in zip(at, x.shape)):
            out[place] = x[at]
    return out


def gathers():
    def ids(axis):
        def make(name, shape, run, rng):
            return None if name == "x" else rng.integers(-2, (run["B"], run["M"], run["N"])[axis] + 2, shape)
        return make
    sizes = [{**s, "I": i, "J": j} for s, i, j in zip(SIZES + EMPTY, (7, 1, 20, 3, 9, 4, 4, 2), (2, 1, 3, 5, 1, 0, 3, 2))]
    for dtype in MOVED:
        for axis, index in itertools.product((0, 1, 2), ("i32", "i64")):
            x = {"x": (("B", "M", "N"), dtype)}
            if dtype != "f32" and index == "i64":
                continue
            yield case(f"gather/{axis}/{dtype}/{index}", x | {"i": (("I",), index)}, f"ts.gather(x, i, axis={axis})", lambda x, i, a=axis: take(x, i, a), sizes, make=ids(axis))
            yield case(f"gather/{axis}-matrix/{dtype}/{index}", x | {"i": (("I", "J"), index)}, f"ts.take(x, i, axis={axis - 3})", lambda x, i, a=axis: take(x, i, a), sizes, make=ids(axis))
            yield case(f"gather/{axis}-scalar/{dtype}/{index}", x | {"i": ((1,), index)}, f"ts.gather(x, i[0], axis={axis})", lambda x, i, a=axis: take(x, i[0], a), sizes, make=ids(axis))
            yield case(f"gather_elements/{axis}/{dtype}/{index}", x | {"i": (tuple("I" if a == axis else d for a, d in enumerate("BMN")), index)},
                       f"ts.gather_elements(x, i, axis={axis})", lambda x, i, a=axis: take_along(x, i, a), sizes, make=ids(axis))
    x = {"x": (("B", "M", "N"), "f32")}
    shorter = [s for s in sizes if s["M"] >= 2]
    yield case("gather_elements/shorter", x | {"i": (("B", 2, "I"), "i32")}, "ts.gather_elements(x, i, axis=2)", lambda x, i: take_along(x, i, 2), shorter, make=ids(2))
    yield case("gather_elements/alias", x | {"i": (("B", "M", 3), "i64")}, "ts.take_along_axis(x, i)", lambda x, i: take_along(x, i, 2), sizes, make=ids(2))
    yield case("gather/vector", {"x": (("N",), "f32"), "i": (("I",), "i32")}, "ts.gather(x, i)", lambda x, i: take(x, i, 0), sizes, make=ids(2))
    yield case("gather/computed", x | {"i": (("I",), "i32")}, "ts.gather(x, i * 2 + 1, axis=1) * 2.0", lambda x, i: take(x, i * 2 + 1, 1) * 2, sizes, make=ids(1))
    yield case("gather/argmax", x, "ts.take_along_axis(x, ts.argmax(x, axis=-1, keepdims=True))", lambda x: x.max(-1, keepdims=True), SIZES)
    yield case("gather/batched", x | {"i": (("B", "I"), "i32")}, "ts.gather_nd(x, i[:, :, None], batch_dims=1)", lambda x, i: gather_nd(x, i[..., None], 1), sizes, make=ids(1))

    def many(counts):
        def make(name, shape, run, rng):
            return None if name == "x" else np.stack([rng.integers(-1, run[d] + 1, shape[:-1]) for d in counts], -1)
        return make
    for dtype in ("f32", "i64", "bool"):
        x = {"x": (("B", "M", "N"), dtype)}
        for index in ("i32", "i64"):
            yield case(f"gather_nd/1/{dtype}/{index}", x | {"i": (("I", 1), index)}, "ts.gather_nd(x, i)", gather_nd, sizes, make=many("B"))
            yield case(f"gather_nd/2/{dtype}/{index}", x | {"i": (("I", "J", 2), index)}, "ts.gather_nd(x, i)", gather_nd, sizes, make=many("BM"))
            yield case(f"gather_nd/3/{dtype}/{index}", x | {"i": (("I", 3), index)}, "ts.gather_nd(x, i)", gather_nd, sizes, make=many("BMN"))
            yield case(f"gather_nd/batch/{dtype}/{index}", x | {"i": (("B", "I", 2), index)}, "ts.gather_nd(x, i, batch_dims=1)", lambda x, i: gather_nd(x, i, 1), sizes, make=many("MN"))


def subscripts():
    """Tensors of indices in a subscript, as NumPy's: those of a dim of n elements are within [-n, n)."""
    def by(**axes):
        def make(name, shape, run, rng):
            n = run[axes[name]] if name in axes else 0
            return rng.integers(-n, n, shape) if n else np.zeros(shape, "i8") if name in axes else None
        return make
    sizes = [{**s, "I": i, "J": j} for s, i, j in zip(SIZES, (7, 1, 20, 3, 9), (2, 1, 3, 5, 1))]
    none = [{"B": 2, "M": 3, "N": 5, "I": 0, "J": 2}, {"B": 2, "M": 0, "N": 3, "I": 0, "J": 0}, {"B": 0, "M": 2, "N": 2, "I": 0, "J": 1}]
    i, j, ij = {"i": (("I",), "i32")}, {"j": (("J", 1), "i64")}, {"i": (("I", "J"), "i32")}
    for dtype in MOVED:
        x = {"x": (("B", "M", "N"), dtype)}
        for name, params, text, make in (("rows", i, "x[i]", by(i="B")), ("columns", i, "x[:, :, i]", by(i="N")), ("middle", ij, "x[:, i]", by(i="M")),
                                         ("paired", i | j, "x[:, j, i]", by(i="N", j="M")), ("slice", i, "x[::2, i, ::-2]", by(i="M"))):
            if dtype != "f32" and name in ("rows", "middle"):
                continue
            yield subscript(f"{name}/{dtype}", x | params, text, sizes + none, make)
    x = {"x": (("B", "M", "N"), "f32")}
    for name, params, text, make in (("three", i | j, "x[i, j, i]", by(i="B", j="B")), ("apart", i | j, "x[j, :, i]", by(i="N", j="B")), ("number", i, "x[:, 0, i]", by(i="N")), ("number-and-rest", i, "x[:, 0, ..., i]", by(i="N")),
                                     ("number-apart", i, "x[0, :, i]", by(i="N")), ("last", i, "x[..., i, -1]", by(i="M")), ("new-axis", i, "x[:, None, i]", by(i="M")),
                                     ("new-axis-after", i, "x[i, :, None]", by(i="B")), ("new-axis-between", i, "x[i, None, i]", by(i="B")), ("part", i, "x[i, :-1, 1:]", by(i="B")),
                                     ("computed", i, "x[:, i // 2 + 0 * i] * 2.0", by(i="M")), ("position", {}, "x[:, :, ts.arange(N) - 1]", by()),
                                     ("shifted", {}, "x[:, (ts.arange(M) + 1) % M]", by()), ("of-sum", i, "(x + x)[i]", by(i="B"))):
        if name == "three":
            make = lambda name, shape, run, rng: None if name == "x" else rng.integers(-1, 1, shape)
        yield subscript(name, x | params, text, sizes, make)
    for name, params, text, make in (("list", {}, "x[[0, -1, 0]]", by()), ("list-dims", {}, "x[:, [M - 1, 0]]", by()), ("list-one", {}, "x[..., [0]]", by()), ("list-none", {}, "x[:, []]", by()),
                                     ("list-apart", {}, "x[[-1, 0], :, [0, -1]]", by()), ("list-beside-tensor", i, "x[:, i[:, None], [0, -1]]", by(i="M")), ("list-computed", i, "x[:, [i[0], -1]]", by(i="M")),
                                     ("list-slice", {}, "x[:, ::-1, [-1, 0]]", by()), ("tuple", {}, "x[(0, -1)]", by()), ("tuple-of-tensors", i, "x[(0, i, i)]", by(i="M")),
                                     ("tuple-rest", {}, "x[(..., None, 0)]", by()), ("tuple-none", {}, "x[()]", by()),
                                     # A comma makes the subscript a tuple, and a tuple in it is read as a list.
                                     ("comma", {}, "x[(0, -1),]", by()), ("comma-none", {}, "x[(),]", by()), ("comma-list", {}, "x[[0, -1],]", by()), ("comma-number", {}, "x[-1,]", by()),
                                     ("tuple-in-tuple", {}, "x[((0, -1),)]", by()), ("tuples-in-tuple", {}, "x[((0, -1), (-1, 0))]", by()), ("tuple-and-number", {}, "x[(0, -1), 0]", by())):
        if name == "tuple-of-tensors":
            make = lambda name, shape, run, rng: None if name == "x" else rng.integers(-1, 1, shape)
        yield subscript(name, x | params, text, sizes, make)
    for name, text in (("list-reversed", "x[:, [-1, -2]]"), ("list-steps", "x[..., [4, 2, 0]]"), ("list-range-and-number", "x[0, :, [1, 2]]"), ("list-ranges", "x[:, [0, 1], [1, 0]]")):
        yield subscript(name, x, text, [s for s in sizes if s["M"] >= 2 and s["N"] >= 5], by())
    for index in ("i8", "i16", "u8", "u16", "u32", "i64"):
        low = 0 if index[0] == "u" else 1
        yield subscript(f"index/{index}", x | {"i": (("I",), index)}, "x[:, i]", sizes,
                        lambda name, shape, run, rng, low=low: None if name == "x" else rng.integers(-low * run["M"], run["M"], shape))
    yield from unsigned_scalars()
    # As the elements of a gather, those outside are 0.
    outside = lambda name, shape, run, rng: None if name == "x" else rng.integers(-2 * run["M"] - 1, 2 * run["M"] + 1, shape)
    yield case("subscript/outside", x | i, "x[:, i]", lambda x, i: take(x, np.where(i < 0, i + x.shape[1], i), 1), sizes + none[:1], make=outside)


def unsigned_scalars():
    """Where the dim is long enough, the index is negative if its bits are read as signed."""
    for dtype, k, rows, large in (("u8", 200, 257, 255), ("u16", 60000, 65537, 65535), ("u32", 3, 5, 4000000000), ("u64", 3, 5, 9000000000)):
        x, scalar = {"x": (("M", "N"), "f32")}, {"k": (None, dtype)}
        sizes = [{"M": rows, "N": n} for n in (1, 3)]
        yield case(f"subscript/scalar/{dtype}", x | scalar, "x[k]", lambda x, k=k: x[k], sizes, scalars={"k": k})
        yield case(f"subscript/scalar-in-list/{dtype}", x | scalar, "x[[k, -1]]", lambda x, k=k: x[[k, -1]], sizes, scalars={"k": k})
        yield case(f"subscript/scalar-cast/{dtype}", x | scalar, "x * ts.cast(k, ts.f32)", lambda x, k=large: x * np.float32(k), SIZES, scalars={"k": large}, tolerance={"ulps": 1})
        if dtype == "u64":  # unsigned.py has tensors of it
            continue
        yield case(f"subscript/scalar-operand/{dtype}", {"x": (("M", "N"), dtype)} | scalar, "ts.maximum(x, k) // k", lambda x, k=large: np.maximum(x, k) // k, SIZES, scalars={"k": large})
    # Two groups that differ in nothing but the sign of a scalar.
    yield case("subscript/scalar-signs", {"x": (("M", "N"), "f32"), "a": (None, "u8"), "b": (None, "i8")}, "ts.cumsum(ts.cumsum(x * ts.cast(a, ts.f32), axis=1) * ts.cast(b, ts.f32), axis=1)",
               lambda x: np.cumsum(np.cumsum(x * 200.0, 1) * -56.0, 1), SIZES, scalars={"a": 200, "b": -56}, tolerance=close("f32", 1e7))


def subscript(name, params, text, sizes, make):
    """`text` is evaluated by NumPy, too."""
    def reference(*arrays):
        return eval(text, {"ts": np}, dict(zip(params, arrays)) | {d: n for a, (dims, _) in zip(arrays, params.values()) for d, n in zip(dims, a.shape)})
    return case(f"subscript/{name}", params, text, reference, sizes, make=make)


# ---- scatters ----

def scattered(x, places, updates, reduction):
    """`places`: (index of x, index of updates) pairs; those outside x are dropped."""
    out = x.copy()
    for at, of in places:
        if all(0 <= i < n for i, n in zip(at, x.shape)):
            u = updates[of]
            out[at] = u if reduction == "none" else out[at] + u if reduction == "add" else out[at] * u if reduction == "mul" else max(out[at], u) if reduction == "max" else min(out[at], u)
    return out


def scatters():
    sizes = [{**s, "I": i} for s, i in zip(SIZES[:3] + EMPTY + [{"B": 2, "M": 9, "N": 70}], (4, 1, 40, 3, 2, 2, 70))]

    def make(axis, distinct):
        def values(name, shape, run, rng):
            if name == "x":
                return None
            if name == "u":
                return np.asarray(rng.integers(0, 2 if distinct == "bool" else 9, shape))
            n = (run["B"], run["M"], run["N"])[axis]
            if distinct is None:
                return rng.integers(-1, n + 1, shape)
            # Each index once along the axis, so that the result does not depend on the order.
            lines = np.full(shape, n) if len(shape) > 1 else None
            once = lambda: np.concatenate([rng.permutation(n), np.full(shape[axis if lines is not None else 0], n + 3)])[:shape[axis if lines is not None else 0]]
            if lines is None:
                return once()
            for place in np.ndindex(*np.delete(shape, axis)):
                at = list(place)
                at.insert(axis, slice(None))
                lines[tuple(at)] = once()
            return lines
        return values
    for dtype, reduction, axis in itertools.product(("f32", "i32", "i64", "f64", "bf16", "u8", "u32", "bool"), ("none", "add", "mul", "max", "min"), (0, 1, 2)):
        if dtype == "u32" and axis > 0:
            continue
        if (dtype == "bool" or axis == 1 and dtype != "f32") and reduction != "none":
            continue
        index = "i64" if dtype in ("i64", "f32") and axis == 0 else "i32"
        distinct = "bool" if dtype == "bool" else "once" if reduction == "none" else None
        rounded = lambda v, t=dtype: v if DTYPES[t].is_float else wrap(v, t)
        x, u = {"x": (("B", "M", "N"), dtype)}, tuple("I" if a == axis else d for a, d in enumerate("BMN"))
        tolerance = {"f32": {"rtol": 1e-5, "atol": 1e-5}, "f64": {"rtol": 1e-13, "atol": 1e-13}, "bf16": {"rtol": 1e-2, "atol": 1e-2}}.get(dtype)

        def rows(x, i, u, a=axis, r=reduction):
            return rounded(scattered(x, [(p[:a] + (int(i[p[a]]),) + p[a + 1:], p) for p in np.ndindex(*u.shape)], u, r))

        def elements(x, i, u, a=axis, r=reduction):
            return rounded(scattered(x, [(p[:a] + (int(i[p]),) + p[a + 1:], p) for p in np.ndindex(*u.shape)], u, r))
        option = f', reduction="{reduction}"' if reduction != "none" else ""
        yield case(f"scatter/{axis}-{reduction}/{dtype}", x | {"i": (("I",), index), "u": (u, dtype)}, f"ts.scatter(x, i, u, axis={axis}{option})", rows, sizes, tolerance=tolerance, make=make(axis, distinct))
        yield case(f"scatter_elements/{axis}-{reduction}/{dtype}", x | {"i": (u, index), "u": (u, dtype)}, f"ts.scatter_elements(x, i, u, axis={axis}{option})", elements, sizes, tolerance=tolerance,
                   make=make(axis, distinct))

    def nd(x, i, u, r="add"):
        k = i.shape[-1]
        return scattered(x, [(tuple(int(v) for v in i[p[:i.ndim - 1]]) + p[i.ndim - 1:], p) for p in np.ndindex(*u.shape)], u, r)

    def many(counts):
        return lambda name, shape, run, rng: None if name == "x" else np.asarray(rng.integers(0, 9, shape)) if name == "u" else np.stack(
            [rng.integers(-1, run[d] + 1, shape[:-1]) for d in counts], -1).reshape(shape)
    for dtype in ("f32", "i64"):
        x = {"x": (("B", "M", "N"), dtype)}
        tolerance = {"rtol": 1e-5, "atol": 1e-5} if dtype == "f32" else None
        for counts in ("B", "BM", "BMN"):
            k = len(counts)
            for r in ("add", "mul", "max"):
                yield case(f"scatter_nd/{k}-{r}/{dtype}", x | {"i": (("I", k), "i32"), "u": (("I", *"BMN"[k:]), dtype)}, f'ts.scatter_nd(x, i, u, reduction="{r}")', lambda x, i, u, r=r: nd(x, i, u, r), sizes,
                           tolerance=tolerance, make=many(counts))
        yield case(f"scatter_nd/matrix/{dtype}", x | {"i": (("I", "M", 1), "i64"), "u": (("I", "M", "M", "N"), dtype)}, 'ts.scatter_nd(x, i, u, reduction="add")', nd, sizes[:2], tolerance=tolerance, make=many("B"))
    x, i = {"x": (("M", "N"), "f32")}, {"i": (("I",), "i32"), "u": (("I", "N"), "f32")}
    once = lambda name, shape, run, rng: np.concatenate([rng.permutation(run["M"]), np.full(run["I"], -1)])[:run["I"]] if name == "i" else None
    replaced = lambda x, i, u: scattered(x, [((int(i[p[0]]), p[1]), p) for p in np.ndindex(*u.shape)], u, "none")
    yield case("scatter/keeps-its-operand", x | i, "ts.scatter(x, i, u) - x", lambda x, i, u: replaced(x, i, u) - x, sizes, tolerance={"ulps": 1}, make=once)
    yield case("scatter/of-computed", x | i, "ts.scatter(x * 2.0, i, u * 2.0) * 0.5", replaced, sizes, tolerance={"ulps": 1}, make=once)
    yield case("scatter/twice", x | i, "ts.scatter(ts.scatter(x, i, u), i, u * 2.0)", lambda x, i, u: replaced(x, i, u * 2), sizes, make=once)
    yield case("scatter/counts", {"i": (("I",), "i32"), "x": (("N",), "i32")}, 'ts.scatter(x * 0, i, i * 0 + 1, reduction="add")', lambda i, x: np.bincount(i[(i >= 0) & (i < len(x))], minlength=len(x)), sizes,
               make=lambda name, shape, run, rng: rng.integers(-1, run["N"] + 1, shape) if name == "i" else None)


# ---- scans ----

def scanned(f, x, axis, dtype):
    """In the dtype that the language sums in; of narrow integers i32."""
    if DTYPES[dtype].is_float:
        return f(x, axis=axis)
    if f in (np.maximum.accumulate, np.minimum.accumulate):
        return f(x, axis=axis)
    x = (x.reshape(-1) if axis is None else x).astype("i8")
    return wrap(f(x, axis=axis or 0), "i64" if dtype == "i64" else "i32")


def scans():
    functions = {"cumsum": np.cumsum, "cumprod": np.cumprod, "cummax": np.maximum.accumulate, "cummin": np.minimum.accumulate}
    for (name, f), axis in itertools.product(functions.items(), (0, 1, 2)):
        for dtype in ("f32", "f64", "bf16", "f16", "i64", "i32", "i8", "u8", "bool"):
            extremes = name in ("cummax", "cummin")
            if dtype == "bool" and extremes:
                continue
            adds = {"i64": "i64"}.get(dtype, "i32")
            result = dtype if DTYPES[dtype].is_float or extremes else adds
            # Products stay near 1.
            make = (lambda n, shape, run, rng: np.asarray(rng.choice([1.0, 1.0, -1.0, 0.5, 2.0], shape))) if name == "cumprod" and DTYPES[dtype].is_float else None
            sizes = [s for s in SIZES + EMPTY if not (name == "cumprod" and dtype == "f16" and s["N"] > 100)]
            yield case(f"scan/{name}-{axis}/{dtype}", {"x": (("B", "M", "N"), dtype)}, f"ts.{name}(x, axis={axis})", lambda x, f=f, a=axis, t=dtype: scanned(f, x, a, t), sizes, result,
                       None if extremes else close(dtype, 30), make)
    yield case("scan/whole", {"x": (("M", "N"), "f32")}, "ts.cumsum(x)", lambda x: np.cumsum(x), SIZES, tolerance=close("f32", 200))
    yield case("scan/vector", {"x": (("N",), "f64")}, "ts.cumsum(x)", np.cumsum, [{"N": n} for n in (0, 1, 2, 63, 64, 65, 4096, 4097, 10007)], tolerance=close("f64", 100))
    yield case("scan/rows", {"x": (("N", 3), "i32")}, "ts.cumsum(x, axis=0)", lambda x: wrap(np.cumsum(x, 0), "i32"), [{"N": n} for n in (0, 1, 63, 64, 65, 4097)])
    # Parts of a vector and of an outer axis, which are programs of their own, and parts of a tile that threads share.
    lengths = [{"N": n} for n in (0, 1, 1023, 1025, 8191, 8192, 8193, 16385, 24577)]
    for dtype in ("i64", "i32", "u8", "f32", "bf16"):
        for name in ("cumsum", "cumprod", "cummax", "cummin"):
            f, extremes = functions[name], name in ("cummax", "cummin")
            if DTYPES[dtype].is_float and not extremes:
                continue
            result = dtype if extremes else "i64" if dtype == "i64" else "i32"
            odd = (lambda n, shape, run, rng: 2 * rng.integers(0, 60, shape) + 1) if name == "cumprod" else None
            yield case(f"scan/parts/{name}/{dtype}", {"x": (("N",), dtype)}, f"ts.{name}(x)", lambda x, f=f, t=dtype: scanned(f, x, 0, t), lengths, result, make=odd)
            yield case(f"scan/parts/rows/{name}/{dtype}", {"x": (("M", "N"), dtype)}, f"ts.{name}(x, axis=0)", lambda x, f=f, t=dtype: scanned(f, x, 0, t),
                       [{"M": m, "N": n} for m, n in ((255, 3), (256, 129), (513, 2), (1000, 5))], result, make=odd)
    yield case("scan/parts/fused", {"x": (("N",), "f32")}, "ts.cumsum(x > 0.0) * 2 + 1", lambda x: np.cumsum(x > 0) * 2 + 1, lengths, result="i32")
    x = {"x": (("B", "M", "N"), "f32")}
    yield case("scan/fused", x, "ts.exp(ts.cumsum(x * 0.125, axis=1) * 0.25) - x", lambda x: np.exp(np.cumsum(x / 8, 1) / 4) - x, SIZES, tolerance=close("f32", 5))
    yield case("scan/of-mask", x, "ts.cumsum(x > 0.0, axis=-1)", lambda x: np.cumsum(x > 0, -1), SIZES + EMPTY, result="i32")
    yield case("scan/twice", x, "ts.cumsum(ts.cumsum(x, axis=0), axis=1)", lambda x: np.cumsum(np.cumsum(x, 0), 1), SIZES, tolerance=close("f32", 30))
    yield case("scan/reversed", x, "ts.flip(ts.cumsum(ts.flip(x, -1), axis=-1), -1)", lambda x: np.cumsum(x[..., ::-1], -1)[..., ::-1], SIZES, tolerance=close("f32", 50))
    yield case("scan/exclusive", x, "ts.pad(ts.cumsum(x, axis=-1), ((0, 0), (0, 0), (1, 0)))[:, :, :N]", lambda x: np.cumsum(x, -1) - x, SIZES, tolerance=close("f32", 50))
    nan = lambda n, shape, run, rng: np.where(rng.random(shape) < 0.02, np.nan, rng.uniform(-2, 2, shape).astype("f4"))
    for name in ("cummax", "cummin"):
        yield case(f"scan/{name}-nan", x, f"ts.{name}(x, axis=-1)", lambda x, f=functions[name]: f(x, axis=-1), SIZES, make=nan)


# ---- reductions ----

def reductions():
    few = lambda n, shape, run, rng: rng.integers(0, 3, shape)
    for name, last in itertools.product(("argmax", "argmin"), (False, True)):
        f = getattr(np, name)
        for axis in ("None", "0", "1", "-1"):
            a = eval(axis)

            def found(x, a=a, f=f):
                if not last:
                    return f(x, axis=a)
                return x.size - 1 - f(x.ravel()[::-1]) if a is None else x.shape[a] - 1 - f(np.flip(x, a), axis=a)
            for dtype in ("f32", "i32", "u8", "bool"):
                yield case(f"{name}/{last}-{axis}/{dtype}", {"x": (("B", "M", "N"), dtype)}, f"ts.{name}(x, axis={axis}, select_last={last})", found, SIZES, "i32",
                           make=(lambda n, shape, run, rng: rng.integers(0, 2, shape)) if dtype == "bool" else few)
        yield case(f"{name}/{last}-keep", {"x": (("B", "M", "N"), "i64")}, f"ts.{name}(x, axis=1, keepdims=True, select_last={last})",
                   lambda x, f=f: f(x, axis=1, keepdims=True) if not last else x.shape[1] - 1 - f(np.flip(x, 1), axis=1, keepdims=True), SIZES, "i32", make=few)
    for name, f in (("max", np.max), ("min", np.min), ("prod", np.prod), ("sum", np.sum)):
        for axis in ("None", "0", "-1", "(0, 2)"):
            make = lambda n, shape, run, rng, p=(0.9 if name == "min" else 0.1): (rng.random(shape) < p) * 1
            yield case(f"bool/{name}-{axis}", {"x": (("B", "M", "N"), "bool")}, f"ts.{name}(x, axis={axis})", lambda x, f=f, a=eval(axis): f(x.astype("i8"), axis=a), SIZES,
                       "bool" if name in ("max", "min") else "i32", make=make)
    for order, axis in itertools.product(("1", "2", "0", "math.inf"), ("None", "0", "-1", "(1, 2)")):
        at, o = eval(axis), eval(order)
        of = {0: lambda x: (x != 0) * 1.0, 1: np.abs, 2: np.square, math.inf: np.abs}[o]
        for dtype in ("f32", "f64", "bf16", "f16") if axis == "-1" else ("f32",):
            def norm(x, keep=False):
                total = (np.max if o == math.inf else np.sum)(of(x), axis=at, keepdims=keep)
                return np.sqrt(total) if o == 2 else total
            yield case(f"norm/{order}-{axis}/{dtype}", {"x": (("B", "M", "N"), dtype)}, f"ts.norm(x, ord={order}, axis={axis})", norm, SIZES, tolerance=close(dtype))
        yield case(f"norm/{order}-{axis}-keep", {"x": (("B", "M", "N"), "f32")}, f"ts.norm(x, {order}, axis={axis}, keepdims=True)", lambda x: norm(x, True), SIZES, tolerance=close("f32"))
    yield case("norm/unit", {"x": (("M", "N"), "f32")}, "x / ts.norm(x, axis=-1, keepdims=True)", lambda x: x / np.linalg.norm(x, axis=-1, keepdims=True), SIZES, tolerance=close("f32"))


# ---- einsum ----

EINSUM = [("ij,jk->ik", ("MN", "NK")), ("ij,jk", ("MN", "NK")), ("ij,kj->ik", ("MN", "KN")), ("ji,jk->ik", ("NM", "NK")), ("ji,kj->ki", ("NM", "KN")), ("ij->ji", ("MN",)),
          ("ij->", ("MN",)), ("ij->j", ("MN",)), ("ij->i", ("MN",)), ("ii->i", ("MM",)), ("ii->", ("MM",)), ("ii", ("MM",)), ("bii->bi", ("BMM",)), ("iji->j", ("MBM",)),
          ("i,i->", ("N", "N")), ("i,j->ij", ("M", "N")), ("i,i->i", ("N", "N")), ("ij,j->i", ("MN", "N")), ("ij,i->j", ("MN", "M")), ("i,ij->j", ("M", "MN")), ("ij,ij->i", ("MN", "MN")),
          ("ij,ij->", ("MN", "MN")), ("bij,bjk->bik", ("BMN", "BNK")), ("bij,jk->bik", ("BMN", "NK")), ("bij,bkj->bik", ("BMN", "BKN")), ("bij,bij->bi", ("BMN", "BMN")),
          ("bhid,bhjd->bhij", ("BHMK", "BHNK")), ("bhij,bhjd->bihd", ("BHMN", "BHNK")), ("bqhd,bkhd->bhqk", ("BMHK", "BNHK")), ("ijk,jkl->il", ("BMN", "MNK")), ("ijk,kjl->il", ("BMN", "NMK")),
          ("...ij,...jk->...ik", ("BMN", "BNK")), ("...ij,jk->...ik", ("BHMN", "NK")), ("...i->...", ("BMN",)), ("...,...->...", ("BMN", "MN")), ("...ij,...jk", ("MN", "BNK")), ("b...->...b", ("BMN",)),
          ("ij,jk,kl->il", ("MN", "NK", "KB")), ("ij,j,i->", ("MN", "N", "M")), ("i,ij,j->", ("M", "MN", "N")), ("ab,cd->abcd", ("MB", "BK")), ("ij , jk -> ik", ("MN", "NK")), ("ij,jk->i", ("MN", "NK")),
          ("bsd,dhk->bshk", ("BMN", "NHK")), ("bshk,hkd->bsd", ("BMHK", "HKN")), ("ij,kl->", ("MN", "KB"))]


def einsums():
    sizes = [{"B": 2, "M": 3, "N": 5, "K": 4, "H": 2}, {"B": 1, "M": 1, "N": 1, "K": 1, "H": 1}, {"B": 3, "M": 17, "N": 33, "K": 9, "H": 2}, {"B": 2, "M": 40, "N": 65, "K": 70, "H": 3}]
    empty = [{"B": 2, "M": 0, "N": 3, "K": 2, "H": 1}, {"B": 2, "M": 3, "N": 0, "K": 4, "H": 2}]
    for spec, shapes in EINSUM:
        params = lambda dtype: {f"x{i}": (tuple(s), dtype) for i, s in enumerate(shapes)}
        call = f'ts.einsum("{spec}", {", ".join(f"x{i}" for i in range(len(shapes)))})'
        for dtype in ("f32", "f64", "bf16", "i32", "i8") if spec in ("ij,jk->ik", "bij,bjk->bik", "ij,j->i", "ij->i", "ij,ij->i", "ij,jk,kl->il") else ("f32",):
            result = dtype if DTYPES[dtype].is_float else "i32"
            reference = lambda *x, t=result: wrap(np.einsum(spec, *x), t) if not DTYPES[t].is_float else np.einsum(spec, *x)
            total = [s for s in sizes + empty if not (spec in ("ij,kl->",) and dtype == "f32" and s["M"] > 20)]
            yield case(f"einsum/{spec.replace(' ', '_')}/{dtype}", params(dtype), call, reference, total, result, close(dtype, 500 if "->" in spec and not spec.split("->")[1].strip() else 60))
    yield case("einsum/broadcast", {"x": ((1, "N"), "f32"), "y": (("M", "N"), "f32")}, 'ts.einsum("ij,ij->ij", x, y)', lambda x, y: x * y, sizes, tolerance={"ulps": 1})
    yield case("einsum/broadcast-ellipsis", {"x": ((1, "M", "N"), "f32"), "y": (("B", "N", "K"), "f32")}, 'ts.einsum("...ij,...jk->...ik", x, y)', lambda x, y: x @ y, sizes, tolerance=close("f32", 60))
    # A product whose batch axes are transposed with the others, also where their extents agree.
    for batch in (("B", "H"), (2, 2)):
        yield case(f"einsum/product-of-transposed-{batch[0]}", {"x": ((*batch, "N", "M"), "f32"), "y": ((*batch[::-1], "N", "K"), "f32")}, "x.transpose(1, 0, 3, 2) @ y",
                   lambda x, y: x.transpose(1, 0, 3, 2) @ y, sizes, tolerance=close("f32", 60))
    yield case("einsum/one", {"x": ((1, "N"), "f32")}, 'ts.einsum("ij->i", x) * 2.0', lambda x: x.sum(1) * 2, sizes, tolerance=close("f32", 60))


def programs():
    for family in (slices, joins, orders, borders, gathers, subscripts, scatters, scans, reductions, einsums):
        yield from family()
