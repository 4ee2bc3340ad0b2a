#!/usr/bin/env python3
"""print and assert_ of kernels, from the shell: the order of lines, what is left out, lanes, loops, failures, targets."""
import argparse
import re
import sys
import unittest

import numpy as np
from cli_test import Cli, Tsr

HEAD = "import tessera as ts\n\n@ts.kernel\n"


class Reports(Cli):
    def setUp(self):
        super().setUp()
        self.environment["TESSERA_DEBUG"] = "on"

    def lines(self, text, *words, **arrays):
        """Runs the kernel; returns the status and the lines of standard error, without file and line."""
        self.source(HEAD + text)
        words = list(words)
        for name, value in arrays.items():
            words += ["--in", f"{name}={self.array(name, value)}"]
        result = self.call("run", self.file, *words)
        lines = [line for line in result.errors.splitlines() if "the results are not kept" not in line]
        return result.status, [re.sub(r"^.*kernel\.py:\d+: ", "", line) for line in lines]

    def test_programs_are_in_order(self):
        text = """def k(X: ts.Tensor["M", "N", ts.i32]):
    for i in ts.tile.parallel(0, M, 2):
        for j in ts.tile.parallel(0, N, 3):
            ts.tile.print("{}", X[i:i+2, j:j+3])
            ts.tile.print("then")
"""
        x = np.arange(20, dtype="i4").reshape(4, 5)
        status, lines = self.lines(text, X=x)
        expected = []
        for i in range(2):
            for j in range(2):
                rows = [[str(x[2 * i + r, c]) if c < 5 else "." for c in range(3 * j, 3 * j + 3)] for r in range(2)]
                tile = "[" + " ".join("[" + " ".join(row) + "]" for row in rows) + "]"
                expected += [f"program ({i}, {j}): {tile}", f"program ({i}, {j}): then"]
        self.assertEqual((status, lines), (0, expected))

    def test_it_is_off_by_default(self):
        text = """def k(X: ts.Tensor["n", ts.f32]):
    for i in ts.tile.parallel(0, n, 4):
        ts.tile.print("x = {}", X[i:i+4])
        ts.tile.assert_(X[i:i+4] > 5, "small")
"""
        for value in ("off", ""):
            self.environment["TESSERA_DEBUG"] = value
            note = f"{self.file}: note: print in line 6 has no effect: TESSERA_DEBUG=on in the environment compiles it"
            self.assertEqual(self.lines(text, X=np.zeros(9, "f4")), (0, [note]))
        metadata = self.call("compile", self.file, "--emit", "metadata").output
        self.assertNotIn("reports", metadata)
        self.environment["TESSERA_DEBUG"] = "yes"
        self.assertIn("TESSERA_DEBUG is 'yes'; expected on or off: using off", self.call("run", self.file).errors)

    def test_what_is_over_the_limit_is_counted(self):
        status, lines = self.lines("""def k(X: ts.Tensor["n", ts.i32]):
    for i in ts.tile.parallel(0, n, 1):
        ts.tile.print("{}", X[i])
""", X=np.arange(1000, dtype="i4"))
        self.assertEqual((status, len(lines), lines[-1]), (0, 65, "64 of 1000 records shown"))
        self.assertEqual(lines[:-1], sorted(lines[:-1], key=lambda line: int(line.split()[1].strip(":"))))

    def test_in_lanes_and_loops(self):
        status, lines = self.lines("""def k(X: ts.Tensor["n", ts.f32], Y: ts.Tensor["n", ts.f32]):
    i = ts.tile.linear_id()
    if i < n:
        s = 0.0
        for j in range(3):
            if X[i] > 1.0:
                ts.tile.print("step {}: {:.1f}", j, s)
            s += X[i]
        Y[i] = s
""", X=np.array([1, 2, 0, 4], "f4"))
        self.assertEqual((status, lines), (0, [f"lane {i}: step {j}: {j * x:.1f}" for i, x in ((1, 2), (3, 4)) for j in range(3)]))

    def test_implicit_iterators_and_helpers(self):
        status, lines = self.lines("""def k(A: ts.Tensor["M", "K", ts.f32], B: ts.Tensor["K", "N", ts.f32], C: ts.Tensor["M", "N", ts.f32]):
    a = A[tile_m:tile_m+2, tile_k:tile_k+2]
    b = B[tile_k:tile_k+2, tile_n:tile_n+2]
    acc = ts.tile.mma(a, b)
    show(acc)
    C[tile_m:tile_m+2, tile_n:tile_n+2] = acc

def show(x):
    ts.tile.print("acc", x)
""", A=np.ones((3, 5), "f4"), B=np.ones((5, 2), "f4"))
        self.assertEqual((status, lines), (0, ["program (0, 0): acc [[5 5] [5 5]]", "program (1, 0): acc [[5 5] [. .]]"]))

    def test_a_failed_assertion(self):
        text = """def k(X: ts.Tensor["n", ts.i64], Y: ts.Tensor["n", ts.i64]):
    for i in ts.tile.parallel(0, n, 4):
        x = X[i:i+4]
        ts.tile.assert_(x % 5 != 0, "a multiple: {}", x)
        Y[i:i+4] = x
"""
        x = np.arange(1, 12, dtype="i8")
        status, lines = self.lines(text, X=x)
        self.assertEqual(status, 1)
        self.assertIn("assertion failed in program 1: a multiple: [5 6 7 8] (2 failures)", lines[0])
        self.refused(self.call("run", self.file, "--in", f"X={self.array('X', x)}"), "E_ASSERT", "kernel k: ")
        self.assertEqual(self.lines(text, X=np.ones(11, "i8")), (0, []))  # masked elements are no failure

    def test_scalars_of_every_dtype(self):
        for dtype, value in (("f64", 0.1), ("f16", 0.5), ("bf16", 2.0), ("i8", -7), ("u16", 65535), ("u64", 2**64 - 1), ("bool", True)):
            status, lines = self.lines(f"""def k(Y: ts.Tensor[1, ts.f32], a: ts.{dtype}):
    ts.tile.print("a", a)
    Y[0] = 1.0
""", "--scalar", f"a={str(value).lower()}")
            shown = {"bf16": "2"}.get(dtype, str(value))
            self.assertEqual((status, lines), (0, [f"program 0: a {shown}"]), dtype)

    def test_the_deterministic_profile_takes_them(self):
        text = """def k(X: ts.Tensor["n", ts.f32]):
    for i in ts.tile.parallel(0, n, 4):
        ts.tile.print("{}", X[i:i+4])
"""
        self.assertEqual(self.lines(text, "--numerics", "deterministic", X=np.ones(2, "f4")), (0, ["program 0: [1 1 . .]"]))

    def test_every_target_compiles_them(self):
        self.source(HEAD + """def k(X: ts.Tensor["n", ts.f32], Y: ts.Tensor["n", ts.f32]):
    for i in ts.tile.parallel(0, n, 64):
        ts.tile.print("x = {}", X[i:i+64])
        ts.tile.assert_(X[i:i+64] > 0, "no")
        Y[i:i+64] = X[i:i+64]
""")
        for target in ("cpu", "cpu:x86-64-v2", "ptx:sm_80", "rocm:gfx90a", "levelzero:pvc"):
            result = self.call("compile", self.file, "--target", target, "--emit", "asm")
            self.assertEqual(result.status, 0, result.errors)
            metadata = self.call("compile", self.file, "--target", target, "--emit", "metadata").output
            self.assertIn("reports:\n", metadata)
            self.assertRegex(metadata, r'kind: assert, of: program, at: "[^"]*kernel.py:7", text: "no"')

    def test_the_text_of_ir_has_them(self):
        self.source(HEAD + """def k(X: ts.Tensor["n", ts.f32]):
    for i in ts.tile.parallel(0, n, 4):
        ts.tile.print("x = {}", X[i:i+4])
""")
        for level in ("graph", "tile"):
            ir = self.folder / f"{level}.mlir"
            result = self.call("compile", self.file, "--emit", level, "-o", ir)
            self.assertEqual(result.status, 0, result.errors)
            result = self.call("compile", ir, "--emit", "metadata")
            self.assertIn('text: "x = {}", values: ["f32[4]"]', result.output, result.errors)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tsr", required=True)
    options, rest = parser.parse_known_args()
    Cli.tsr = Tsr(options.tsr)
    unittest.main(argv=[sys.argv[0], *rest])
