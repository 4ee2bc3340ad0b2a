#!/usr/bin/env python3
"""The table of requests in docs/language.md is true: each row has a program here, which is compiled for every column's target and
run where it may run. A cell says that the request `works` (what is compiled changes), is `met` without a change, has `no effect` (the artifact's
fallbacks name it), or is refused with a code."""
import argparse
import json
import pathlib
import re
import sys
import tempfile
import unittest

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from support.host import Tsr  # noqa: E402

DOCUMENT = ROOT / "docs" / "language.md"
TARGETS = {"`cpu`": "cpu:x86-64-v3", "GPUs": "ptx:sm_80"}
HEAD = "import tessera as ts\n\n"


def tiles(body, decorator="@ts.kernel", tensor="ts.f32", setup=""):
    """A kernel over X that runs `body` for each tile of 32."""
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    return (f"{HEAD}{decorator}\ndef k(X: ts.Tensor[\"n\", {tensor}]):\n{setup}    for i in ts.tile.parallel(0, n, 32):\n{lines}")


def shared(arguments):
    return tiles("r[:] = ts.tile.zeros((4,))\ns[:] = X[i:i+32]\nX[i:i+32] = s[:] + ts.tile.sum(r[:])",
                 setup=f"    r = ts.tile.alloc_shared((4,), ts.f32)\n    s = ts.tile.alloc_shared((32,), ts.f32{arguments})\n")


def tuned(extent, tunable="parts"):
    return tiles(f"X[i:i+32] = X[i:i+32] + ts.tile.full((32,), 1.0 * {extent}, ts.f32)",
                 f"@ts.kernel.autotune(space=dict({tunable}=[4, 8]))", setup="    ctx = ts.tile.context()\n")


def product(policy, more=""):
    return (f"{HEAD}@ts.kernel\ndef k(X: ts.Tensor[16, 16, \"{policy}\"], Y: ts.Tensor[16, 16, ts.f32]):\n"
            f"    Y[:, :] = ts.tile.cast(ts.tile.mma(X[:, :], X[:, :]{more}), ts.f32)\n")


def looped(stages):
    return (f"{HEAD}@ts.kernel\ndef k(X: ts.Tensor[64, 512, ts.bf16], Y: ts.Tensor[64, 64, ts.f32]):\n"
            "    acc = ts.tile.zeros((64, 64), ts.f32)\n"
            f"    for j in ts.tile.range(0, 512, 32, stages={stages}):\n        acc = ts.tile.mma(X[:, j:j+32], X[:, j:j+32].T, acc)\n"
            "    Y[:, :] = acc\n")


def graph(expression, decorator="@ts.jit", tensor='"n", 16, ts.f32'):
    return f"{HEAD}{decorator}\ndef k(X: ts.Tensor[{tensor}]):\n    return {expression}\n"


def specialized(backend):
    return f'@ts.op.specialize(when={{"backend": "{backend}"}}, use={{"tile_sizes": [16, 8, 24]}})\n'


PLAIN = tiles("X[i:i+32] = X[i:i+32] * X[i:i+32] + 1.0")
SUM = tiles("X[i:i+32] = X[i:i+32] - ts.tile.sum(X[i:i+32])")
FENCE = "X[i:i+32] = X[i:i+32] + 1.0\nts.tile.fence(order=\"{}\", scope=\"{}\")\nX[i:i+32] = X[i:i+32] + 1.0"
ATOMIC = "ts.tile.atomic_add(X, i, 1.0, order=\"{}\", scope=\"{}\")"


def decorated(arguments):
    return tiles("X[i:i+32] = X[i:i+32] + 1.0", f"@ts.kernel({arguments})")


class Case:
    """What asks for something, what does not (None: there is no such program), and words of the report."""

    def __init__(self, asks, plain=None, *, options=(), report="has no effect", stage="target", edit=None, shape=None):
        self.asks, self.plain, self.options, self.report, self.stage, self.edit, self.shape = asks, plain, options, report, stage, edit, shape


CASES = {
    'alloc_shared(swizzle="xor")': Case(shared(', swizzle="xor"'), report='swizzle=\\"xor\\" has no effect'),
    "alloc_shared(align=N)": Case(shared(", align=4096"), shared(""), stage="metadata"),
    "range(stages=N)": Case(tiles("for j in ts.tile.range(0, 4, 1, stages=3):\n    X[i:i+32] = X[i:i+32] + 1.0"),
                            report="stages=3 has no effect"),
    "range(stages=N), of a loop of products": Case(looped(4), looped(2), report="stages=4 has no effect", shape=(64, 512)),
    "prefetch(slice)": Case(tiles("ts.tile.prefetch(X[i+32:i+64])\nX[i:i+32] = X[i:i+32] + 1.0"),
                            tiles("X[i:i+32] = X[i:i+32] + 1.0"), report="prefetch has no effect"),
    "order= of atomics and fence": Case(tiles(FENCE.format("seq_cst", "device")), tiles(FENCE.format("acquire", "device"))),
    "scope= of atomics and fence": Case(tiles(FENCE.format("seq_cst", "group")), tiles(FENCE.format("seq_cst", "system"))),
    "a tunable that the kernel reads": Case(tuned("ctx.parts"), tuned("ctx.parts"), options=("--set", "parts=8")),
    "a tunable that the kernel does not read": Case(tuned(3), report="tunable parts=4 has no effect"),
    "the tunable num_warps": Case(tuned(3, "num_warps"), tuned(3), report="tunable num_warps=4 has no effect"),
    "@ts.kernel.autotune(other=)": Case(tiles("X[i:i+32] = X[i:i+32] + 1.0", "@ts.kernel.autotune(space=dict(B=[1]), key=1)")),
    **{f"@ts.kernel({name}=)": Case(decorated(f"{name}={value}")) for name, value in
       {"tile": "(64, 64)", "stages": 3, "num_warps": 4, "vector": 128, "epilogue": '["bias"]'}.items()},
    "@ts.jit(capture_graph=)": Case(graph("X + 1.0", "@ts.jit(capture_graph=True)")),
    "@ts.autodiff": Case(graph("X + 1.0", "@ts.autodiff")),
    "@ts.op.specialize(when=, use=)": Case(graph("X @ X", specialized("cpu") + specialized("ptx") + "@ts.jit", "64, 64, ts.f32"),
                                            graph("X @ X", tensor="64, 64, ts.f32")),
    "@accum(f32)": Case(graph("X @ X", tensor='16, 16, "bf16 @accum(f32)"'), graph("X @ X", tensor="16, 16, ts.bf16"), stage="graph"),
    "@accum(f64) of a sum": Case(tiles("X[i:i+32] = X[i:i+32] - ts.tile.sum(X[i:i+32])", tensor='"f32 @accum(f64)"'), SUM),
    "@accum(f64) of an f32 product": Case(product("f32 @accum(f64)")),
    "@accum(f64) of softmax, a norm, a loss or attention": Case(graph("ts.softmax(X)", tensor='"n", 16, "f32 @accum(f64)"')),
    "@accum of a sum of integers": Case(tiles("X[i:i+32] = X[i:i+32] + ts.tile.sum(X[i:i+32])", tensor='"i32 @accum(f32)"')),
    "@round(rne)": Case(tiles("X[i:i+32] = X[i:i+32] + 1.0", tensor='"f32 @round(rne)"'), tiles("X[i:i+32] = X[i:i+32] + 1.0")),
    **{f"@round({mode})": Case(tiles("X[i:i+32] = X[i:i+32] + 1.0", tensor=f'"f32 @round({mode})"')) for mode in
       ("rtz", "rtp", "rtn", "stochastic")},
    "@loss_scale(S)": Case(tiles("X[i:i+32] = X[i:i+32] + 1.0", tensor='"f32 @loss_scale(128)"'),
                           report="@loss_scale(128) of 'X' has no effect"),
    "mma(accumulator=)": Case(product("f64", ", accumulator=ts.f64"), product("f32", ", accumulator=ts.f32"), stage="graph"),
    "matmul(dtype=)": Case(graph("ts.matmul(X, X, dtype=ts.f32)", tensor="16, 16, ts.bf16"), graph("X @ X", tensor="16, 16, ts.bf16"), stage="graph"),
    "gelu(approximate=)": Case(graph('ts.gelu(X, approximate="tanh")'), graph("ts.gelu(X)")),
    "--numerics fast": Case(PLAIN, PLAIN, options=("--numerics", "fast")),
    "--numerics fast, of functions": Case(*2 * (tiles("X[i:i+32] = ts.tile.exp(X[i:i+32])"),), options=("--numerics", "fast"),
                                          report="numerics fast has no effect on functions"),
    "--numerics fast, of f32 products": Case(product("f32"), options=("--numerics", "fast"),
                                             report="numerics fast has no effect on products"),
    "--numerics fast, without float arithmetic": Case(tiles("X[i:i+32] = X[i:i+32] + 1", tensor="ts.i32"), options=("--numerics", "fast"),
                                                      report="numerics fast has no effect"),
    "--numerics deterministic": Case(tiles("ts.tile.atomic_add(X, i, 1.0)"), options=("--numerics", "deterministic")),
    "--numerics strict": Case(*2 * (graph("X @ X", tensor="16, 16, ts.f32"),), options=("--numerics", "strict")),
    "--numerics strict, of group.sum of floats": Case(
        HEAD + "@ts.kernel\ndef k(X: ts.Tensor[\"n\", ts.f32]):\n    i = ts.tile.linear_id()\n    total = ts.tile.group.sum(X[i])\n"
        "    if i < n:\n        X[i] = total\n",
        options=("--numerics", "strict")),
    "--fusion none": Case(graph("ts.relu(X + 1.0) * 2.0"), graph("ts.relu(X + 1.0) * 2.0"), options=("--fusion", "none")),
    "Schedule IR: placement": Case(PLAIN, edit=('placement = "any"', 'placement = "gpu"')),
    "Schedule IR: order": Case(
        HEAD + "@ts.kernel\ndef k(X: ts.Tensor[\"n\", \"m\", ts.f32]):\n    for i in ts.tile.parallel(0, n, 8):\n"
        "        for j in ts.tile.parallel(0, m, 8):\n            X[i:i+8, j:j+8] = X[i:i+8, j:j+8] + 1.0\n",
        "", edit=("order = array<i64: 0, 1>", "order = array<i64: 1, 0>")),
    "Schedule IR: tile": Case(graph("ts.relu(X + 1.0)"), "", edit=("array<i64: ", "tile")),
    "Schedule IR: stages": Case(graph("X @ X", tensor="512, 512, ts.f32"), edit=("schedule.group matmul(", "stages"), report="stages=3 has no effect"),
    "Schedule IR: stages, of products by instructions": Case(graph("X @ X", tensor="512, 512, ts.bf16"), "",
                                                             edit=("schedule.group matmul(", "stages"),
                                                             report="stages=3 has no effect"),
}


def table():
    """Yields (request, {target: cell}) for each row."""
    text = DOCUMENT.read_text()
    rows = re.search(r"^\| request \|.*\n\|[-| ]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    names = [cell.strip() for cell in rows.group(0).splitlines()[0].strip("|").split("|")]
    for row in rows.group(1).splitlines():
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        yield cells[0].replace("`", ""), dict(zip(names[1:], cells[1:]))


class Requests(unittest.TestCase):
    tsr = None

    def test_every_row_has_a_program_and_every_program_a_row(self):
        rows = [request for request, _ in table()]
        self.assertEqual(len(rows), len(set(rows)))
        self.assertEqual(sorted(rows), sorted(CASES))

    def compile(self, source, stage, target, options=()):
        return self.tsr.compile(source, stage, "--kernel", "k", "--target", target, *options)

    def edited(self, case, target):
        """The Schedule IR of the program before and after the edit, as files' texts."""
        before = self.compile(case.asks, "schedule", target).output
        old, new = case.edit
        self.assertIn(old, before)
        if new == "stages":
            return before, re.sub(r"(schedule\.group matmul.*?attributes \{)", r"\1stages = 3 : i64, ", before, count=1)
        if new == "tile":
            return before, re.sub(r"(tile = array<i64: (?:\d+, )*)\d+>", r"\g<1>64>", before, count=1)
        return before, before.replace(old, new, 1)

    def outputs(self, case, target, stage):
        """What is compiled with and without the request."""
        if case.edit:
            with tempfile.TemporaryDirectory() as folder:
                results = []
                for name, text in zip(("before", "after"), self.edited(case, target)):
                    path = pathlib.Path(folder) / f"{name}.mlir"
                    path.write_text(text)
                    results.append(self.tsr.call("compile", path, "--emit", stage, "--target", target))
                return results
        plain = self.compile(case.plain, stage, target) if case.plain else None
        return plain, self.compile(case.asks, stage, target, case.options)

    def check(self, request, target, cell):
        case = CASES[request]
        if cell in ("works", "met"):
            self.assertIsNotNone(case.plain, "a program without the request")
            plain, asks = self.outputs(case, target, case.stage)
            self.assertEqual((plain.status, asks.status), (0, 0), plain.errors + asks.errors)
            self.assertEqual(plain.output == asks.output, cell == "met", "what is compiled")
        elif cell == "no effect":
            _, asks = self.outputs(case, target, "metadata")
            self.assertEqual(asks.status, 0, asks.errors)
            fallbacks = re.search(r"^fallbacks: (.*)$", asks.output, re.MULTILINE).group(1)
            self.assertIn(case.report, fallbacks)
        else:
            code = re.fullmatch(r"refused: `(E_\w+)`", cell)
            self.assertIsNotNone(code, cell)
            _, asks = self.outputs(case, target, "target")
            self.assertNotEqual(asks.status, 0)
            self.assertIn(f"[{code.group(1)}]", asks.errors)

    def run_it(self, request, cell):
        """What has no effect on the CPU is reported by `tsr run -v`, too, and by a note without -v."""
        case = CASES[request]
        if cell != "no effect" or case.edit:
            return
        shape = case.shape or ((16, 16) if "16, 16" in case.asks else (100,))
        x = np.ones(shape, "i4" if "ts.i32" in case.asks else "f4")
        report = case.report.replace("\\", "")
        result = self.tsr.run(case.asks, (), {"X": x}, "--verbose", *case.options)
        self.assertEqual(result.status, 0, result.errors)
        self.assertRegex(result.errors, f"(?m)^fallbacks .*{re.escape(report)}")
        result = self.tsr.run(case.asks, (), {"X": x}, *case.options)
        self.assertRegex(result.errors, f"(?m)note: .*{re.escape(report)}")
        result = self.tsr.run(case.asks, (), {"X": x}, "--json", *case.options)
        self.assertTrue(any(report in line for line in json.loads(result.output)["fallbacks"]))


def add_tests():
    def make(request, column, cell):
        def test(self):
            self.check(request, TARGETS[column], cell)
            if column == "`cpu`":
                self.run_it(request, cell)

        return test

    for request, cells in table():
        for column, cell in cells.items():
            name = re.sub(r"\W+", "_", f"{request} {column}").strip("_")
            setattr(Requests, f"test_{name}", make(request, column, cell))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tsr", default=str(ROOT / "build/release/bin/tsr"))
    known, rest = parser.parse_known_args()
    Requests.tsr = Tsr(known.tsr)
    add_tests()
    unittest.main(argv=sys.argv[:1] + rest)
