#!/usr/bin/env python3
"""Holds graph_model against computation in the dtypes themselves: every case of the graph families is computed once more
by NumPy in f32 (f64 for f64) with each op's result rounded, and must lie within the model's bounds."""
import contextlib
import math
import unittest
import warnings
from unittest import mock

import numpy as np

import graph
import graph_model as g
import graph_random
from dtypes import DTYPES, cast, quantize

RANDOM = 100


@contextlib.contextmanager
def quiet():
    """Empty means, overflows and the like are among the cases."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def wide(t):
    """The values as an op computes with them."""
    return t.v.astype("f8" if t.dtype == "f64" or not t.is_float else "f4")


def made(dtype, v):
    return g.exact(dtype, quantize(np.asarray(v, "f8"), dtype) if DTYPES[dtype].is_float else v)


UNARY = {"neg": np.negative, "abs": np.abs, "relu": lambda x: np.maximum(x, 0), "exp": np.exp, "exp2": np.exp2, "log": np.log,
         "log2": np.log2, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "tanh": np.tanh, "sin": np.sin, "cos": np.cos,
         "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "silu": lambda x: x / (1 + np.exp(-x)),
         "erf": lambda x: np.vectorize(math.erf, otypes=[x.dtype])(x),
         "gelu": lambda x: x * x.dtype.type(0.5) * (1 + np.vectorize(math.erf, otypes=[x.dtype])(x / np.sqrt(x.dtype.type(2)))),
         "gelu_tanh": lambda x: x.dtype.type(0.5) * x * (1 + np.tanh(x.dtype.type(math.sqrt(2 / math.pi)) * (x + x.dtype.type(0.044715) * x * x * x)))}
UNARY |= {**g.ROUNDINGS, "sign": np.sign}
BINARY = {"fmod": np.fmod, "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "minimum": np.minimum, "maximum": np.maximum, "pow": np.power}

UNROUNDED = {name: getattr(g, name) for name in ("unary", "binary", "where", "cast", "reduce", "matmul")}


def unary(name, x):
    if name in g.PREDICATES or not x.is_float:
        return UNROUNDED["unary"](name, x)
    return made(x.dtype, UNARY[name](wide(x)))


def binary(name, a, b):
    if name in BINARY and a.is_float:
        return made(a.dtype, BINARY[name](wide(a), wide(b)))
    return UNROUNDED["binary"](name, a, b)


def matmul(a, b, dtype=None):
    if not a.is_float:
        return UNROUNDED["matmul"](a, b, dtype)
    return made(dtype or ("f32" if a.dtype.startswith("fp") else a.dtype), np.matmul(wide(a), wide(b)))


def reduce(kind, x, axes=None, keepdims=False):
    if not x.is_float or kind not in ("sum", "mean", "prod"):
        return UNROUNDED["reduce"](kind, x, axes, keepdims)
    return made(x.dtype, getattr(np, kind)(wide(x), axis=g._axes(x, axes), keepdims=keepdims))


def softmax(x, axis=-1, log=False):
    v = wide(x)
    d = v - np.max(v, axis=axis, keepdims=True, initial=-np.inf)
    total = np.sum(np.exp(d), axis=axis, keepdims=True)
    return made(x.dtype, d - np.log(total) if log else np.exp(d) / total)


def scaled(x, y, axis, gamma, beta):
    shape = [1] * y.ndim
    shape[axis] = -1
    y = y * wide(gamma).reshape(shape) if gamma is not None else y
    return made(x.dtype, y + wide(beta).reshape(shape) if beta is not None else y)


def layer_norm(x, gamma=None, beta=None, axis=-1, eps=1e-5):
    v = wide(x)
    d = v - np.mean(v, axis=axis, keepdims=True)
    return scaled(x, d / np.sqrt(np.mean(d * d, axis=axis, keepdims=True) + v.dtype.type(eps)), axis, gamma, beta)


def rms_norm(x, gamma=None, eps=1e-6):
    v = wide(x)
    return scaled(x, v / np.sqrt(np.mean(v * v, axis=-1, keepdims=True) + v.dtype.type(eps)), -1, gamma, None)


def attention(q, k, v, causal=False, scale=None):
    """As a streaming kernel does it, in blocks of 32 keys with a running maximum."""
    if q.v.ndim > 2:
        times = q.shape[-3] // k.shape[-3]
        k, v = (g.exact(t.dtype, np.repeat(t.v, times, axis=-3)) for t in (k, v))
    sq, sk = q.shape[-2], k.shape[-2]
    x, y, z = wide(q), wide(k), wide(v)
    one = x.dtype.type
    top = np.full((*q.shape[:-1], 1), -np.inf, x.dtype)
    total, acc = np.zeros_like(top), np.zeros(q.shape, x.dtype)
    for at in range(0, sk, 32):
        s = x @ np.swapaxes(y[..., at:at + 32, :], -1, -2) * one(scale or 1 / math.sqrt(q.shape[-1]))
        if causal:
            s = np.where(np.arange(at, min(at + 32, sk))[None] > np.arange(sq)[:, None] + (sk - sq), -np.inf, s).astype(x.dtype)
        high = np.maximum(top, s.max(-1, keepdims=True))
        safe = np.where(np.isfinite(high), high, 0).astype(x.dtype)
        p, alpha = np.exp(s - safe), np.exp(top - safe)
        total = total * alpha + p.sum(-1, keepdims=True)
        acc = acc * alpha + quantize(p.astype("f8"), q.dtype).astype(x.dtype) @ z[..., at:at + 32, :]
        top = high
    return made(q.dtype, np.divide(acc, total, out=np.zeros_like(acc), where=total > 0))


def mse(a, b):
    return made(g.accumulator(a.dtype), np.mean((wide(a) - wide(b)) ** 2))


def cross_entropy(x, y, ignore_index=-100):
    v = wide(x)
    d = v - v.max(-1, keepdims=True)
    losses = [np.log(np.exp(row).sum()) - row[label] if 0 <= label < len(row) else np.nan
              for row, label in zip(d, y.v) if label != ignore_index]
    return made(g.accumulator(x.dtype), np.mean(losses))


def simulated_cast(x, dtype):
    return g.exact(dtype, cast(x.v, x.dtype, dtype))


SIMULATED = {"unary": unary, "binary": binary, "matmul": matmul, "reduce": reduce, "softmax": softmax, "layer_norm": layer_norm,
             "rms_norm": rms_norm, "attention": attention, "mse": mse, "cross_entropy": cross_entropy, "cast": simulated_cast}


class Model(unittest.TestCase):
    def agree(self, name, model, simulated):
        for output, want in model.items():
            got = simulated[output]
            self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape), name)
            bound = 0 if want.bound is None else want.bound
            with quiet():
                largest = DTYPES[want.dtype].largest if DTYPES[want.dtype].is_float else 0
                near = (np.abs(got.values - want.values) <= bound) | (np.isnan(got.values) & np.isnan(want.values))
                near |= (got.values == want.values) | (np.isinf(got.values) & (np.abs(want.values) > largest / 2) & (largest > 0))
            self.assertTrue(np.all(near), f"{name} {output}: {got.values[~near][:3]} instead of {want.values[~near][:3]}, "
                            f"{np.broadcast_to(bound, near.shape)[~near][:3]} allowed")

    def families(self, programs):
        with quiet():
            model = list(programs())
            with mock.patch.multiple(g, **SIMULATED):
                again = list(programs())
        for p, q in zip(model, again, strict=True):
            for r, s in zip(p.runs, q.runs, strict=True):
                self.agree(f"{p.name} {r.dims}", r.outputs, s.outputs)
        return model

    def test_every_op_lies_within_its_bound(self):
        self.assertGreater(len(self.families(graph.programs)), 400)

    def test_random_graphs_lie_within_their_bounds(self):
        for seed in (*range(RANDOM), *range(graph_random.SORTED, graph_random.SORTED + RANDOM // 4)):
            with quiet():
                builder = graph_random.Builder(seed)
                p = builder.program()
                with mock.patch.multiple(g, **SIMULATED):
                    simulated = builder.evaluate()
            for r, s in zip(p.runs, simulated, strict=True):
                self.agree(f"{p.name} {r.dims}\n{p.source}", r.outputs, s)

    def test_bounds_are_not_empty_words(self):
        """Every random graph's bounds are small beside its values, and single ops round once."""
        x = g.exact("f32", np.linspace(0.5, 2, 100))
        self.assertLess(g.binary("add", x, x).spread(), 2.0**-22)
        self.assertLess(g.softmax(x).spread(), 1e-5)
        self.assertLess(g.unary("exp", x).spread(), 1e-6)
        self.assertLess(g.binary("add", g.cast(x, "bf16"), g.cast(x, "bf16")).spread(), 2.0**-7)
        with self.assertRaises(g.Ambiguous):
            g.binary("lt", g.unary("exp", x), g.unary("exp", x))


if __name__ == "__main__":
    unittest.main()
