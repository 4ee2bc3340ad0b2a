#!/usr/bin/env python3
"""The bits of the profile strict over time: results of small programs against the hashes in strict_hashes.txt.

A hash that changes is a change of what strict promises: it needs an entry in CHANGELOG.md, and then `--record` writes the file anew.
Inputs are made of integers alone, so no library's random numbers or functions can change them. docs/strict.md."""
import argparse
import hashlib
import pathlib
import sys
import unittest

import numpy as np

from cli_test import Tsr
from strict_test import GPUS, Devices

HASHES = pathlib.Path(__file__).with_name("strict_hashes.txt")
SHAPES = {"x": (7, 1300), "y": (7, 1300), "w": (7, 1300), "z": (3, 5, 67), "a": (9, 600), "b": (600, 21), "q": (4, 150, 16), "k": (4, 150, 16), "v": (4, 150, 16)}

FUNCTIONS = ["exp", "expm1", "log", "log1p", "log10", "sin", "cos", "tan", "asin", "atan", "sinh", "cosh", "tanh", "atanh", "sigmoid", "erf",
             "erfc", "gelu", "silu", "sqrt", "rsqrt", "cbrt"]

# Name, parameters (a letter of SHAPES and a dtype) and what is returned.
PROGRAMS = [
    *((f"{name}-{dtype}", f"x:{dtype}", f"ts.{name}(x)") for name in FUNCTIONS for dtype in ("f32", "f64")),
    ("exp-bf16", "x:bf16", "ts.exp(x)"),
    ("tanh-f16", "x:f16", "ts.tanh(x)"),
    ("power", "x:f32 y:f32", "ts.pow(ts.abs(x), y)"),
    ("atan2", "x:f32 y:f32", "ts.atan2(x, y)"),
    ("hypot", "x:f32 y:f32", "ts.hypot(x, y)"),
    ("quotient", "x:f32 y:f32", "x / y", "ts.fmod(x, y)"),
    ("multiply-and-add", "x:f32 y:f32", "x * y + x"),
    ("extremes", "x:f32 y:f32", "ts.minimum(x, y)", "ts.maximum(x, y)"),
    ("narrow", "x:f32", "ts.cast(x, ts.bf16)", "ts.cast(x, ts.f16)", "ts.cast(ts.cast(x, ts.fp8_e4m3), ts.f32)", "ts.cast(ts.cast(x, ts.fp8_e5m2), ts.f32)"),
    ("integers", "x:f32", "ts.cast(x * 100.0, ts.i32)", "ts.round(x * 100.0)"),
    ("sums", "w:f32", "ts.sum(w, axis=1)", "ts.sum(w, axis=0)", "ts.sum(w)"),
    ("sums-f64", "w:f64", "ts.sum(w, axis=1)", "ts.sum(w, axis=0)", "ts.sum(w)"),
    ("sums-bf16", "w:bf16", "ts.sum(w, axis=1)", "ts.sum(w, axis=0)"),
    ("sums-of-middle-axes", "z:f32", "ts.sum(z, axis=1)", "ts.sum(z, axis=(0, 2))"),
    ("statistics", "w:f32", "ts.mean(w, axis=1)", "ts.var(w, axis=1)", "ts.std(w, axis=0)", "ts.norm(w, axis=1)"),
    ("factors", "w:f32", "ts.prod(w, axis=0)", "ts.prod(w, axis=1)"),
    ("scans", "w:f32", "ts.cumsum(w, axis=1)", "ts.cumsum(w, axis=0)", "ts.cumprod(w, axis=0)"),
    ("softmax", "w:f32", "ts.softmax(w)", "ts.softmax(w, axis=0)"),
    ("log_softmax", "w:f32", "ts.log_softmax(w)", "ts.logsumexp(w, axis=1)"),
    ("norms", "w:f32", "ts.layer_norm(w)", "ts.rms_norm(w)"),
    ("order", "w:f32", "ts.argmax(w, axis=1)", "ts.argmin(w, axis=0)", "ts.sort(w, axis=1)"),
    *((f"matmul-{dtype}", f"a:{dtype} b:{dtype}", "ts.matmul(a, b)") for dtype in ("f32", "f64", "bf16", "f16")),
    ("matmul-of-narrow-to-f32", "a:bf16 b:bf16", "ts.matmul(a, b, dtype=ts.f32)"),
    ("matmul-of-one-row", "a:f32 b:f32", "ts.matmul(a[3:4], b)"),
    ("matmul-transposed", "a:f32", "ts.gemm(a, a, trans_b=True)"),
    ("matmul-batched", "q:f32 k:f32", 'ts.einsum("hqd,hkd->hqk", q, k)'),
    ("matmul-gelu", "a:f32 b:f32", "ts.gelu(ts.matmul(a, b) + 1.0)"),
    ("attention", "q:f32 k:f32 v:f32", "ts.flash_attention(q, k, v)"),
    ("attention-causal", "q:f32 k:f32 v:f32", "ts.flash_attention(q, k, v, causal=True)"),
    ("attention-bf16", "q:bf16 k:bf16 v:bf16", "ts.flash_attention(q, k, v, causal=True)"),
    ("attention-capped", "q:f32 k:f32 v:f32", "ts.flash_attention(q, k, v, softcap=5.0)"),
    ("attention-of-one-query", "q:f32 k:f32 v:f32", "ts.flash_attention(q[:, 0:1], k, v)"),
    ("moves", "x:f32", "ts.flip(x, axis=1)", "ts.roll(x, 5, axis=1)", "ts.transpose(x)", "ts.where(x > 0.0, x, 0.0)"),
]

NUMPY = {"f32": "f4", "f64": "f8", "f16": "f2", "bf16": "f4"}
CLEARED = {"f32": 0, "f64": 0, "f16": 0, "bf16": 0xffff}  # bits of f32 that a file of bf16 has not


def mixed(counter):
    """Splitmix64 (Steele, Lea and Flood, 2014) of each counter."""
    with np.errstate(over="ignore"):
        z = counter * np.uint64(0x9e3779b97f4a7c15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
        return z ^ (z >> np.uint64(31))


def numbers(letter, dtype):
    """Of exponents -6 to 3 and both signs; of each 128 elements one is 0, -0, subnormal, infinite or a NaN with a payload in `x` and `y`."""
    shape = SHAPES[letter]
    word = mixed(np.arange(1, np.prod(shape) + 1, dtype="u8") + np.uint64(ord(letter) << 32))
    bits = ((word & 0x807fffff) | ((word >> np.uint64(32)) % 10 + 121 << 23)).astype("u4")
    if letter in "xy":
        special = np.array([0, 0x80000000, 1, 0x80012345, 0x7f800000, 0xff800000, 0x7fc12345, 0xff800123], "u4")
        bits = np.where(word >> np.uint64(57) == 0, special[(word >> np.uint64(40)) % 8], bits)
    with np.errstate(all="ignore"):
        return (bits & np.uint32(~CLEARED[dtype] & 0xffffffff)).view("f4").astype(NUMPY[dtype]).reshape(shape)


class Hashes(Devices):
    record = False

    def hash_on(self, device, parameters, count):
        """A hash over the bytes of all results."""
        names = [f"result{i}" for i in range(count)] if count > 1 else ["result"]
        results = self.run_on(device, {letter: numbers(letter, dtype) for letter, dtype in parameters}, names)
        return hashlib.sha256(b"".join(results[name].tobytes() for name in names)).hexdigest()[:32]

    def test_hashes(self):
        expected = dict(line.split() for line in HASHES.read_text().splitlines()) if HASHES.exists() else {}
        levels = self.levels()
        found = {}
        for i, (name, words, *returned) in enumerate(PROGRAMS):
            parameters = [word.split(":") for word in words.split()]
            tensors = (f"{letter}: ts.Tensor[{', '.join(map(str, SHAPES[letter]))}, ts.{dtype}]" for letter, dtype in parameters)
            self.source(f"import tessera as ts\n\n\n@ts.jit\ndef f({', '.join(tensors)}):\n    return {', '.join(returned)}\n")
            for device in levels[-1:] if self.record else levels + GPUS[i % 3:][:1]:
                with self.subTest(program=name, device=device):
                    found[name] = self.hash_on(device, parameters, len(returned))
                    if not self.record:
                        self.assertEqual(found[name], expected.get(name))
        if self.record:
            self.assertEqual(len(found), len(PROGRAMS), "a program failed; nothing is recorded")
            HASHES.write_text("".join(f"{name} {value}\n" for name, value in found.items()))
        else:
            self.assertEqual(list(expected), [name for name, *_ in PROGRAMS])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tsr", required=True)
    parser.add_argument("--record", action="store_true", help="write strict_hashes.txt anew")
    options, rest = parser.parse_known_args()
    Hashes.tsr = Tsr(options.tsr)
    Hashes.record = options.record
    unittest.main(argv=[sys.argv[0], *rest])
