"""Tiles that reach past a tensor's edge, through every operation that mixes elements, along every axis. A body runs twice:
compiled, and by CPython over the NumPy model of this file, where a tile says for each element whether it is masked. What
a store leaves alone keeps the value it had, so that a result which is wrongly in bounds shows."""
import types

import numpy as np

import product_sums
from cases import program, want
from dtypes import random

OLD = 77.0  # in every element of an output before the program runs
LOWEST, HIGHEST = -np.inf, np.inf


class Tile:
    """Values; for each axis which positions are in bounds; and flags for the rest, arrays of the tile's rank. One that was
    broadcast along an axis has extent 1 there."""
    __array_ufunc__ = None

    def __init__(self, values, axes=None, flags=()):
        self.values = np.asarray(values, "f8")
        self.axes = [np.ones(n, bool) for n in self.values.shape] if axes is None else axes
        self.flags = list(flags)

    shape = property(lambda self: self.values.shape)

    @property
    def inside(self):
        result = np.ones(self.shape, bool)
        for flags in self.flags:
            result &= flags
        for axis, mask in enumerate(self.axes):
            result &= mask.reshape([-1 if a == axis else 1 for a in range(len(self.axes))])
        return result

    def filled(self, value):
        return np.where(self.inside, self.values, value)

    def __getitem__(self, index):
        """x[:, None] and its like."""
        values, axes = self.values[index], iter(self.axes)
        return Tile(values, [np.ones(1, bool) if part is None else next(axes) for part in index], [f[index] for f in self.flags])

    @property
    def T(self):
        return Tile(self.values.T, self.axes[::-1], [f.T for f in self.flags])

    def __neg__(self):
        return Tile(-self.values, self.axes, self.flags)


def meet(masks):
    """Where all are true; the very mask that limits, if it is one."""
    limits = list({id(m): m for m in masks if not m.all()}.values()) or [masks[0]]
    return np.logical_and.reduce(limits) if len(limits) > 1 else limits[0]


def stretched(x, shape):
    """A number, or a tile of another shape, as a tile of this shape."""
    if not isinstance(x, Tile):
        return Tile(np.full(shape, x))
    axes = [np.full(n, mask[0]) if len(mask) == 1 else mask for mask, n in zip(x.axes, shape)]
    return Tile(np.broadcast_to(x.values, shape), axes, [f.reshape((1,) * (len(shape) - f.ndim) + f.shape) for f in x.flags])


def together(*operands):
    shape = np.broadcast_shapes(*(x.shape for x in operands if isinstance(x, Tile)))
    return [stretched(x, shape) for x in operands]


def elementwise(f):
    def g(*operands):
        tiles = together(*operands)
        return Tile(f(*(t.values for t in tiles)), [meet(masks) for masks in zip(*(t.axes for t in tiles))],
                    [flags for t in tiles for flags in t.flags])
    return g


for _name, _f in {"add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide, "lt": np.less, "gt": np.greater, "ge": np.greater_equal, "mod": np.mod, "ne": np.not_equal}.items():
    setattr(Tile, f"__{_name}__", lambda a, b, f=_f: elementwise(f)(a, b))
    setattr(Tile, f"__r{_name}__", lambda a, b, f=_f: elementwise(f)(b, a))


def where(c, x, y):
    """In bounds where the condition is and the element that it chooses."""
    c, x, y = together(c, x, y)
    chosen = np.where(c.values != 0, x.inside, y.inside)
    # An interval that both have stays one: a reduction passes it on. What is chosen varies along both axes here.
    axes = [m if m is n else np.ones_like(m) for m, n in zip(x.axes, y.axes)]
    axes = [meet(masks) for masks in zip(axes, c.axes)]
    return Tile(np.where(c.values != 0, x.values, y.values), axes, [chosen, *c.flags])


def mask(x, keep):
    x, stretched_keep = together(x, keep)
    rank = len(x.shape)
    return Tile(x.values, [meet(masks) for masks in zip(x.axes, stretched_keep.axes)],
                [*x.flags, *stretched_keep.flags, (keep.values != 0).reshape((1,) * (rank - keep.values.ndim) + keep.shape)])


def fill_masked(x, value):
    return Tile(x.filled(value))


def lines(x, axis):
    """The flags of whole lines along the axis."""
    return [f.squeeze(axis) for f in x.flags if f.shape[axis] == 1]


def reduction(f, neutral):
    def g(x, axis=None):
        if axis is None:
            return f(x.filled(neutral))
        return Tile(f(x.filled(neutral), axis=axis), [m for a, m in enumerate(x.axes) if a != axis % x.values.ndim], lines(x, axis))
    return g


def position(f, neutral):
    """Of a line with no element in bounds the first one that the tensor has."""
    def g(x, axis=None):
        if axis is None:
            first = [np.argmax(mask) for mask in x.axes]
            return max(f(x.filled(neutral)), np.ravel_multi_index(first, x.shape))
        axis %= x.values.ndim
        result = reduction(f, neutral)(x, axis)
        result.values = np.maximum(result.values, np.argmax(x.axes[axis]))
        return result
    return g


def scan(f, neutral):
    return lambda x, axis: Tile(f(x.filled(neutral), axis=axis), x.axes, x.flags)


def mma(a, b, acc=0.0):
    with np.errstate(invalid="ignore"):
        product = a.filled(0) @ b.filled(0)
    acc = stretched(acc, product.shape)
    flags = [f[:, None] for f in lines(a, 1)] + [f[None, :] for f in lines(b, 0)]
    return Tile(product + acc.values, [meet((a.axes[0], acc.axes[0])), meet((b.axes[1], acc.axes[1]))], flags + acc.flags)


def reshape(x, shape):
    """Axes in front and at the end that stay as they are keep their masks; the rest has flags."""
    result, front, back = Tile(x.values.reshape(shape)), 0, 0
    while front < min(len(shape), len(x.shape)) and shape[front] == x.shape[front]:
        front += 1
    while back < min(len(shape), len(x.shape)) - front and shape[-1 - back] == x.shape[-1 - back]:
        back += 1
    result.axes[:front] = x.axes[:front]
    result.axes[len(shape) - back:] = x.axes[len(x.shape) - back:]
    result.flags = [x.inside.reshape(shape)]
    return result


def concat(items, axis=0):
    """An axis across the joint keeps a mask that all have."""
    result = Tile(np.concatenate([x.values for x in items], axis), flags=[np.concatenate([x.inside for x in items], axis)])
    for a, masks in enumerate(zip(*(x.axes for x in items))):
        if a != axis and all(m is masks[0] for m in masks):
            result.axes[a] = masks[0]
    return result


class Tensor:
    def __init__(self, values):
        self.values = np.asarray(values, "f8")

    def _parts(self, index):
        index = index if isinstance(index, tuple) else (index,)
        return [range(p.start, p.stop) if isinstance(p, slice) else p for p in index]

    def _gather(self, parts):
        """Elements at the positions of one tile of rank 1, and of slices."""
        at = next(axis for axis, p in enumerate(parts) if isinstance(p, Tile))
        index = parts[at]
        positions = np.where(index.inside, index.values, -1).astype(int)
        inside = (positions >= 0) & (positions < self.values.shape[at])
        shape = [len(p.values) if isinstance(p, Tile) else len(p) for p in parts]
        values, axes = np.zeros(shape), []
        for axis, p in enumerate(parts):
            axes.append(index.axes[0] if axis == at else np.array([0 <= i < self.values.shape[axis] for i in p]))
        for place in np.ndindex(*shape):
            where = tuple(positions[k] if axis == at else parts[axis][k] for axis, k in enumerate(place))
            if all(0 <= i < n for i, n in zip(where, self.values.shape)):
                values[place] = self.values[where]
        thin = [-1 if axis == at else 1 for axis in range(len(shape))]
        return Tile(values, axes, [inside.reshape(thin), *(f.reshape(thin) for f in index.flags)])

    def __getitem__(self, index):
        parts = self._parts(index)
        if any(isinstance(p, Tile) for p in parts):
            return self._gather(parts)
        masks = [np.array([0 <= i < n for i in p]) if isinstance(p, range) else 0 <= p < n for p, n in zip(parts, self.values.shape)]
        values = np.zeros([len(p) for p in parts if isinstance(p, range)])
        axes = [m for m in masks if isinstance(m, np.ndarray)]
        inside = all(m for m in masks if not isinstance(m, np.ndarray))
        axes[0] = axes[0] & inside
        if inside:
            grid = np.ix_(*(np.array(p)[m] if isinstance(p, range) else np.array([p]) for p, m in zip(parts, masks)))
            source = self.values[grid].reshape([int(m.sum()) for m in axes])
            values[np.ix_(*(np.flatnonzero(m) for m in axes))] = source
        return Tile(values, axes)

    def __setitem__(self, index, value):
        parts = self._parts(index)
        for at in np.argwhere(value.inside):
            along = iter(at)
            place = tuple(p[next(along)] if isinstance(p, range) else p for p in parts)
            if all(0 <= i < n for i, n in zip(place, self.values.shape)):
                self.values[place] = value.values[tuple(at)]


TILE = types.SimpleNamespace(
    sum=reduction(np.sum, 0), prod=reduction(np.prod, 1), max=reduction(np.max, LOWEST), min=reduction(np.min, HIGHEST),
    row_sum=lambda x: TILE.sum(x, axis=-1), row_max=lambda x: TILE.max(x, axis=-1), row_min=lambda x: TILE.min(x, axis=-1),
    argmax=position(np.argmax, LOWEST), argmin=position(np.argmin, HIGHEST), cumsum=scan(np.cumsum, 0), cummax=scan(np.maximum.accumulate, LOWEST),
    mma=mma, where=where, mask=mask, fill_masked=fill_masked, reshape=reshape, concat=concat, exp=elementwise(np.exp), maximum=elementwise(np.maximum), abs=elementwise(np.abs),
    full=lambda shape, value, dtype: Tile(np.full(shape, value)), zeros=lambda shape, dtype: Tile(np.zeros(shape)),
    arange=lambda n: Tile(np.arange(n)), cast=lambda x, dtype: x, range=range)
MODEL = types.SimpleNamespace(tile=TILE, f32="f32", i32="i32")

# name: (body, outputs). X is M x N, W is K x N, V is N x D and T is M x N x D; the tiles are of 8 x 16, 8 x 16,
# 16 x 8 and 8 x 16 x 4 elements. `c` is a scalar.
BODIES = {}
for _op in ("sum", "prod", "max", "min"):
    for _axis in (0, 1):
        BODIES[f"{_op}/{_axis}"] = (f"A = ts.tile.{_op}(-ts.tile.abs(x) - 1.0, axis={_axis})", "A")
    for _axis in (0, 1, 2):
        BODIES[f"{_op}-of-3/{_axis}"] = (f"B = ts.tile.{_op}(-ts.tile.abs(t) - 1.0, axis={_axis})", "B")
for _op in ("argmax", "argmin"):
    for _axis in (0, 1):
        BODIES[f"{_op}/{_axis}"] = (f"A = ts.tile.cast(ts.tile.{_op}(x, axis={_axis}), ts.f32)", "A")
for _op in ("cumsum", "cummax"):
    for _axis in (0, 1):
        BODIES[f"{_op}/{_axis}"] = (f"B = ts.tile.{_op}(-ts.tile.abs(x), axis={_axis})", "B")
BODIES |= {
    "twice/sum-max": ("A = ts.tile.max(ts.tile.sum(-ts.tile.abs(t) - 1.0, axis=2), axis=1)", "A"),
    "twice/max-sum": ("A = ts.tile.sum(ts.tile.exp(ts.tile.max(t, axis=0)), axis=0)", "A"),
    "product": ("B = ts.tile.mma(x, v)", "B"),
    "product/turned": ("B = ts.tile.mma(x, w.T)", "B"),
    "product/both-turned": ("B = ts.tile.mma(v.T, x.T)", "B"),
    "product/onto-ones": ("B = ts.tile.mma(x, v, ts.tile.full((8, 8), 1.0, ts.f32))", "B"),
    "product/keys": ("s = ts.tile.mma(x, w.T)\nA = ts.tile.row_max(-ts.tile.abs(s) - 1.0)", "A"),
    "product/queries": ("s = ts.tile.mma(x, w.T)\nA = ts.tile.max(-ts.tile.abs(s) - 1.0, axis=0)", "A"),
    "product/sum": ("s = ts.tile.mma(x, w.T)\nA = ts.tile.row_sum(ts.tile.exp(s))", "A"),
    "product/of-product": ("s = ts.tile.mma(x, w.T)\nB = ts.tile.mma(ts.tile.exp(s), w)", "B"),
    "softmax": ("e = ts.tile.exp(x - ts.tile.row_max(x)[:, None])\nB = e / ts.tile.row_sum(e)[:, None]", "B"),
    "attention": ("s = ts.tile.mma(x, w.T)\np = ts.tile.exp(s - ts.tile.row_max(s)[:, None])\nB = ts.tile.mma(p, w) / ts.tile.row_sum(p)[:, None]", "B"),
    "nearest": ("d = ts.tile.row_sum(x * x)[:, None] - 2.0 * ts.tile.mma(x, w.T) + ts.tile.row_sum(w * w)[None, :]\n"
                "A = ts.tile.cast(ts.tile.argmin(d, axis=1), ts.f32)", "A"),
    "transpose": ("A = ts.tile.row_max(-ts.tile.abs(x.T) - 1.0)", "A"),
    "where/fill": ("y = ts.tile.where(ts.tile.arange(16)[None, :] < c, x, 5.0)\nB = y", "B"),
    "where/fill-sum": ("y = ts.tile.where(ts.tile.arange(16)[None, :] < c, x, 5.0)\nA = ts.tile.row_sum(y)", "A"),
    "where/fill-exp-sum": ("y = ts.tile.where(ts.tile.arange(16)[None, :] < c, x, 5.0)\nA = ts.tile.row_sum(ts.tile.exp(y))", "A"),
    "where/condition": ("B = ts.tile.where(x > 0.0, x, 5.0)", "B"),
    "where/condition-sum": ("A = ts.tile.row_sum(ts.tile.where(x > 0.0, 1.0, 5.0))", "A"),
    "where/other": ("B = ts.tile.where(ts.tile.arange(16)[None, :] >= c, x, w)", "B"),
    "where/rows": ("B = ts.tile.where(ts.tile.arange(8)[:, None] < c, ts.tile.row_max(x)[:, None], w)", "B"),
    "where/cumsum": ("B = ts.tile.cumsum(ts.tile.where(ts.tile.arange(16)[None, :] < c, x, 5.0), axis=1)", "B"),
    "where/product": ("B = ts.tile.mma(ts.tile.where(ts.tile.arange(16)[None, :] < c, x, 5.0), ts.tile.full((16, 8), 1.0, ts.f32))", "B"),
    "reshape/split": ("B = ts.tile.reshape(ts.tile.row_max(x), (2, 4))", "B"),
    "reshape/merge": ("A = ts.tile.reshape(x, (128,))", "A"),
    "reshape/max": ("A = ts.tile.max(ts.tile.reshape(-ts.tile.abs(x) - 1.0, (8, 4, 4)), axis=2)", "A"),
    "reshape/kept": ("B = ts.tile.max(ts.tile.reshape(-ts.tile.abs(x) - 1.0, (8, 4, 4)), axis=1)", "B"),
    "concat/0": ("B = ts.tile.concat((x, w), axis=0)", "B"),
    "concat/1": ("B = ts.tile.concat((x, w), axis=1)", "B"),
    "concat/same-rows": ("y = ts.tile.concat((x, -x), axis=1)\nA = ts.tile.row_max(-ts.tile.abs(y) - 1.0)", "A"),
    "concat/end": ("y = ts.tile.concat((ts.tile.full((8, 16), 2.0, ts.f32), W[0:8, 0:16]), axis=0)\nA = ts.tile.sum(ts.tile.exp(y), axis=0)", "A"),
    "concat/1-max": ("A = ts.tile.row_max(ts.tile.concat((-ts.tile.abs(x) - 1.0, -ts.tile.abs(w) - 2.0), axis=1))", "A"),
    "concat/0-sum": ("A = ts.tile.sum(ts.tile.exp(ts.tile.concat((x, w), axis=0)), axis=0)", "A"),
    "choice": ("y = x if c > 8 else ts.tile.where(ts.tile.arange(16)[None, :] < c, x, 5.0)\nB = y", "B"),
    "branch": ("y = x\nif c > 8:\n    y = ts.tile.where(ts.tile.arange(16)[None, :] < c, x, 5.0)\nB = y\nA = ts.tile.row_sum(ts.tile.exp(y))", "AB"),
    "loop/product": ("acc = ts.tile.full((8, 8), 1.0, ts.f32)\nfor k in ts.tile.range(0, 16, 8):\n"
                     "    acc = ts.tile.mma(X[i:i+8, j+k:j+k+8], W[0:8, j+k:j+k+8].T, acc)\nB = acc\nA = ts.tile.row_max(-ts.tile.abs(acc) - 1.0)", "AB"),
    "loop/scaled-product": ("acc = ts.tile.zeros((8, 16), ts.f32)\nfor k in ts.tile.range(0, 8, 4):\n    p = ts.tile.exp(ts.tile.mma(x, W[k:k+4, 0:16].T))\n"
                            "    acc = ts.tile.mma(p, W[k:k+4, 0:16], acc * ts.tile.row_sum(p)[:, None])\nB = acc\nA = ts.tile.row_max(-ts.tile.abs(acc) - 1.0)", "AB"),
    "loop/nested-product": ("acc = ts.tile.zeros((8, 8), ts.f32)\nfor h in ts.tile.range(0, 2, 1):\n    for k in ts.tile.range(0, 16, 8):\n"
                            "        acc = ts.tile.mma(x[:, :], w.T, acc)\nA = ts.tile.row_max(-ts.tile.abs(acc) - 1.0)", "A"),
}
# Masks of whole rows and columns: what is gathered (I has -1, repeated and too large indices), and `mask`.
_ROWS = {"gather": "g = X[r, j:j+16]", "gather-columns": "g = X[i:i+8, q]", "mask-rows": "g = ts.tile.mask(x, (ts.tile.arange(8) % 3 != 1)[:, None])",
         "mask-columns": "g = ts.tile.mask(x, (ts.tile.arange(16) % 3 != 1)[None, :])",
         "mask-rows-and-some": "g = ts.tile.mask(ts.tile.mask(x, (ts.tile.arange(8) % 3 != 1)[:, None]), x > 0.0)",
         "mask-of-gather": "g = ts.tile.mask(X[r, j:j+16], (ts.tile.arange(16) < c)[None, :])", "mask-of-row": "g = ts.tile.mask(x, (ts.tile.row_sum(x) > 0.0)[:, None])",
         "masked-index": "g = X[ts.tile.mask(r, ts.tile.arange(8) != 2), j:j+16]"}
_USES = {"sum": ("A = ts.tile.row_sum(ts.tile.exp(g))", "A"), "max": ("A = ts.tile.row_max(-ts.tile.abs(g) - 1.0)", "A"), "max/0": ("A = ts.tile.max(-ts.tile.abs(g) - 1.0, axis=0)", "A"),
         "prod": ("A = ts.tile.prod(g, axis=0)", "A"), "argmin": ("A = ts.tile.cast(ts.tile.argmin(g, axis=1), ts.f32)", "A"),
         "argmin/all": ("A = ts.tile.cast(ts.tile.arange(8) * 0 + ts.tile.argmin(g), ts.f32)", "A"), "cumsum": ("B = ts.tile.cumsum(g + 1.0, axis=1)", "B"),
         "softmax": ("e = ts.tile.exp(g - ts.tile.row_max(g)[:, None])\nB = e / ts.tile.row_sum(e)[:, None]", "B"),
         "product": ("B = ts.tile.mma(ts.tile.exp(g), v)", "B"), "product/second": ("B = ts.tile.mma(w, ts.tile.exp(g).T)", "B"), "product/turned": ("B = ts.tile.mma(ts.tile.exp(g).T, w)", "B"),
         "product/keys": ("s = ts.tile.mma(w, g.T)\nA = ts.tile.row_max(-ts.tile.abs(s) - 1.0)", "A"), "product/queries": ("s = ts.tile.mma(g, w.T)\nA = ts.tile.max(-ts.tile.abs(s) - 1.0, axis=0)", "A"),
         "attention": ("s = ts.tile.mma(g, w.T)\np = ts.tile.exp(s - ts.tile.row_max(s)[:, None])\nB = ts.tile.mma(p, w) / ts.tile.row_sum(p)[:, None]", "B"),
         "twice": ("A = ts.tile.row_sum(ts.tile.exp(ts.tile.mma(g, v)))", "A"), "filled": ("B = ts.tile.mma(ts.tile.fill_masked(g, 2.0), v)", "B"), "transposed": ("A = ts.tile.sum(ts.tile.exp(g.T), axis=0)", "A"),
         "branch": ("y = g\nif c > 8:\n    y = g * 2.0\nA = ts.tile.row_sum(ts.tile.exp(y))\nB = y", "AB"), "branch/one": ("y = ts.tile.exp(x)\nif c > 8:\n    y = ts.tile.exp(g)\nA = ts.tile.row_sum(y)\nB = ts.tile.mma(y, v)", "AB"),
         "branch/columns": ("y = ts.tile.exp(g).T\nif c > 8:\n    y = y + 1.0\nA = ts.tile.sum(y, axis=0)", "A"), "choice": ("y = g if c > 8 else g + 1.0\nA = ts.tile.row_sum(ts.tile.exp(y))", "A"),
         "updated": ("for k in ts.tile.range(0, 3, 1):\n    g = g * 2.0 - 1.0\nB = g\nA = ts.tile.row_max(-ts.tile.abs(g) - 1.0)", "AB")}
for _name, _rows in _ROWS.items():
    for _use, (_body, _outputs) in _USES.items():
        BODIES[f"lines/{_name}/{_use}"] = (f"{_rows}\n{_body}", _outputs)
BODIES |= {
    "lines/loop/gather": ("acc = ts.tile.full((8, 8), 1.0, ts.f32)\nfor k in ts.tile.range(0, 16, 8):\n    acc = ts.tile.mma(X[r, j+k:j+k+8], W[0:8, j+k:j+k+8].T, acc)\n"
                          "B = acc\nA = ts.tile.row_max(-ts.tile.abs(acc) - 1.0)", "AB"),
    "lines/loop/index-inside": ("acc = ts.tile.full((8, 8), 1.0, ts.f32)\nfor k in ts.tile.range(0, 16, 8):\n    acc = ts.tile.mma(X[I[0:8], j+k:j+k+8], W[0:8, j+k:j+k+8].T, acc)\n"
                                "B = acc\nA = ts.tile.row_max(-ts.tile.abs(acc) - 1.0)", "AB"),
    "lines/loop/mask": ("keep = (ts.tile.arange(8) % 3 != 1)[:, None]\nacc = ts.tile.full((8, 8), 1.0, ts.f32)\nfor k in ts.tile.range(0, 16, 8):\n"
                        "    acc = ts.tile.mma(ts.tile.mask(ts.tile.exp(X[i:i+8, j+k:j+k+8]), keep), W[0:8, j+k:j+k+8].T, acc)\nB = acc", "B"),
    "lines/loop/both": ("acc = ts.tile.zeros((8, 8), ts.f32)\nfor k in ts.tile.range(0, 16, 8):\n    acc = ts.tile.mma(X[r, j+k:j+k+8], X[I[0:8], j+k:j+k+8].T, acc)\nB = acc", "B"),
    "lines/loop/scaled": ("acc = ts.tile.zeros((8, 16), ts.f32)\nfor k in ts.tile.range(0, 8, 4):\n    p = ts.tile.exp(ts.tile.mma(X[r, 0:16], W[k:k+4, 0:16].T))\n"
                          "    acc = ts.tile.mma(p, W[k:k+4, 0:16], acc * ts.tile.row_sum(p)[:, None])\nB = acc\nA = ts.tile.row_max(-ts.tile.abs(acc) - 1.0)", "AB"),
}
# (M, N), (K), (D), starts of x
EXTENTS = [(8, 16, 8, 4, 0, 0), (5, 7, 3, 3, 0, 0), (8, 13, 8, 4, 0, 0), (3, 16, 1, 4, 0, 0), (1, 1, 1, 1, 0, 0), (20, 40, 8, 4, 16, 32), (20, 40, 5, 2, 14, 30),
           (20, 40, 8, 4, -3, 0), (20, 40, 8, 4, 0, -5), (20, 40, 8, 4, -3, -5)]


def programs():
    yield from product_sums.programs()
    for name, (body, outputs) in BODIES.items():
        lines = "\n".join("    " + line for line in body.split("\n"))
        # An output is larger than the tile by three elements along each axis.
        example = run(body, (8, 16, 8, 4, 0, 0), 4)[0]
        text, parameters = [], []
        for o in outputs:
            shape = example[o].shape
            index = ", ".join(f"0:{n}" for n in shape)
            text.append(f"    O{o}[{index}] = {o}")
            parameters.append(f"O{o}: ts.Tensor[{', '.join(str(n + 3) for n in shape)}, ts.f32]")
        loads = "    x = X[i:i+8, j:j+16]\n    w = W[0:8, 0:16]\n    v = V[0:16, 0:8]\n    t = T[i:i+8, j:j+16, 0:4]\n    r = I[0:8]\n    q = I[0:16]\n"
        p = program(f"masked/{name}", f"""@ts.kernel
def k(X: ts.Tensor["M", "N", ts.f32], W: ts.Tensor["K", "Q", ts.f32], V: ts.Tensor["Q", "D", ts.f32], T: ts.Tensor["M", "N", "D", ts.f32],
      I: ts.Tensor["P", ts.i32], at: ts.Tensor[2, ts.i64], c: ts.i32, {', '.join(parameters)}):
    i = at[0]
    j = at[1]
{loads}{lines}
{chr(10).join(text)}
""")
        for extents in EXTENTS:
            for c in (4, 12):
                results, inputs = run(body, extents, c)
                wanted = {}
                for o in outputs:
                    out = Tensor(np.full([n + 3 for n in example[o].shape], OLD))
                    out[tuple(slice(0, n) for n in example[o].shape)] = results[o]
                    wanted[f"O{o}"] = want("f32", out.values, initial=np.full(out.values.shape, OLD), rtol=1e-5, atol=1e-5)
                m, n, k, d, i, j = extents
                p.run({"M": m, "N": n, "K": k, "Q": inputs["W"].shape[1], "D": d, "P": len(inputs["I"])},
                      {**{name: ("i32" if name == "I" else "f32", values) for name, values in inputs.items()}, "at": ("i64", np.array([i, j], "i8"))}, wanted, {"c": c})
        yield p


def run(body, extents, c):
    m, n, k, d, i, j = extents
    q = min(n, 16)
    inputs = {name: random("f32", shape, seed, -1, 1) for seed, (name, shape) in
              enumerate({"X": (m, n), "W": (k, q), "V": (q, d), "T": (m, n, d)}.items())}
    inputs["I"] = np.array([0, -1, m - 1, m, 2, n - 1, 1, 1, n, -7, m + 5, n // 2, 3])[:11 + c % 3]
    tensors = {name: Tensor(values) for name, values in inputs.items()}
    names = dict(ts=MODEL, **tensors, c=c, i=i, j=j, x=tensors["X"][i:i+8, j:j+16], w=tensors["W"][0:8, 0:16], v=tensors["V"][0:16, 0:8],
                 t=tensors["T"][i:i+8, j:j+16, 0:4], r=tensors["I"][0:8], q=tensors["I"][0:16])
    with np.errstate(all="ignore"):
        exec(body, names)
    return names, inputs
