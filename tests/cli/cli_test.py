#!/usr/bin/env python3
"""The command line from outside: what it accepts, what it refuses, with which code and exit status."""
import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from support.host import Tsr  # noqa: E402

SAXPY = """import tessera as ts

@ts.kernel
def saxpy(x: ts.Tensor["n", ts.f32], y: ts.Tensor["n", ts.f32], alpha: ts.f32) -> ts.Tensor["n", ts.f32]:
    i = ts.tile.linear_id()
    if i < n:
        y[i] = alpha * x[i] + y[i]
    return y
"""

SUM = """import tessera as ts

@ts.kernel.autotune(space=dict(BLOCK=[16, 32]))
def add(X: ts.Tensor["M", "N", ts.f32], Y: ts.Tensor["M", "N", ts.f32], Z: ts.Tensor["M", "N", ts.f32]):
    ctx = ts.tile.context()
    for m in ts.tile.parallel(0, M, ctx.BLOCK):
        for n in ts.tile.parallel(0, N, 16):
            Z[m:m+ctx.BLOCK, n:n+16] = X[m:m+ctx.BLOCK, n:n+16] + Y[m:m+ctx.BLOCK, n:n+16]
"""

TWO = SAXPY + "\n\n@ts.kernel\ndef other(x: ts.Tensor[4, ts.f32]):\n    x[0:4] = x[0:4] + 1.0\n"


class Cli(unittest.TestCase):
    tsr = None

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="tsr-cli-")
        self.folder = pathlib.Path(self.temporary.name)
        self.addCleanup(self.temporary.cleanup)
        self.source(SAXPY)
        self.x = self.array("x", np.arange(5, dtype="f4"))
        self.y = self.array("y", np.ones(5, "f4"))
        # Of the variables that steer Tessera none, and no configuration file; crash packs go below TMPDIR.
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("TESSERA_")} | {
            "TMPDIR": str(self.folder), "TESSERA_CONFIG": "off", "TESSERA_TUNED": "off"}

    def source(self, text, name="kernel.py"):
        self.file = self.folder / name
        self.file.write_bytes(text if isinstance(text, bytes) else text.encode())

    def array(self, name, value):
        path = self.folder / f"{name}.npy"
        np.save(path, value)
        return path

    def call(self, *words, **popen):
        popen.setdefault("env", self.environment)
        return self.tsr.call(*words, **popen)

    def run_saxpy(self, *more, x=None, y=None, alpha="2"):
        return self.call("run", self.file, "--in", f"x={x or self.x}", f"y={y or self.y}", "--scalar", f"alpha={alpha}",
                         *more)

    def refused(self, result, code, text=""):
        self.assertEqual(result.status, 1, result.errors)
        self.assertIn(f"[{code}]", result.errors)
        self.assertIn(text, result.errors)
        self.assertEqual(result.output, "")
        self.no_leftovers()

    def no_leftovers(self):
        """Nothing half-written: every file in the folder is one a test made or an output's final name."""
        self.assertEqual([p.name for p in self.folder.iterdir() if re.search(r"\.npy\.|tsr-crash", p.name)], [])


class Run(Cli):
    def test_runs_and_writes(self):
        out = self.folder / "out.npy"
        result = self.run_saxpy("--out", f"y={out}")
        self.assertEqual((result.status, result.output, result.errors), (0, "", ""))
        np.testing.assert_array_equal(np.load(out), 2 * np.arange(5, dtype="f4") + 1)
        self.no_leftovers()

    def test_check_goes_with_an_architecture_in_the_backends_name(self):
        self.source("""import tessera as ts

@ts.kernel
def race(x: ts.Tensor["n", ts.f32], y: ts.Tensor["m", ts.f32]):
    i = ts.tile.linear_id()
    if i < n:
        y[0] = x[i]
""")
        words = ["run", self.file, "--in", f"x={self.x}", f"y={self.y}"]
        for backend in (["--backend", "ptx:emulated:sm_90a"], ["--backend", "ptx:emulated", "--arch", "sm_90a"]):
            with self.subTest(backend=backend):
                unchecked = self.call(*words, *backend, "--verbose")
                self.assertEqual(unchecked.status, 0, unchecked.errors)
                self.assertIn("ptx:emulated:sm_90a,", unchecked.errors + unchecked.output)
                result = self.call(*words, *backend, "--check")
                self.assertEqual(result.status, 1, result.errors)
                self.assertIn("[E_EMU_RACE]", result.errors)
        self.refused(self.call(*words, "--backend", "cpu", "--check"), "E_OPTION_VALUE", "--check is for emulated backends")

    def test_a_race_is_the_programs_own_fault_wherever_its_kernel_is_launched(self):
        self.source("""import tessera as ts

@ts.kernel
def race(x: ts.Tensor["n", ts.f32], y: ts.Tensor[1, ts.f32]):
    i = ts.tile.linear_id()
    if i < n:
        y[0] = x[i]

@ts.kernel
def telling(x: ts.Tensor["n", ts.f32], y: ts.Tensor[1, ts.f32]):
    i = ts.tile.linear_id()
    ts.tile.assert_(i >= 0, "a lane has a number")
    if i < n:
        y[0] = x[i]

@ts.jit
def f(x: ts.Tensor["n", ts.f32]):
    y = ts.zeros((1,))
    race(x, y)
    return y
""")
        self.environment["TESSERA_DEBUG"] = "on"  # or assert_ does nothing
        y = ["--out", f"y={self.folder / 'y.npy'}"]
        step = "function f: step 1 (kernel f.race): "
        for name, where, words in (("race", "", y), ("telling", "kernel telling: ", y),
                                   ("f", step, ["--out", f"result={self.folder / 'y.npy'}"])):
            with self.subTest(kernel=name):
                result = self.call("run", self.file, "--kernel", name, "--in", f"x={self.x}", *words, "--backend",
                                   "ptx:emulated:sm_90a", "--check")
                self.assertEqual(result.status, 1, result.errors)
                self.assertIn(f"[E_EMU_RACE] {where}{self.file}:", result.errors)

    def test_reads_fortran_order_and_big_endian(self):
        self.source(SUM)
        a, b = np.arange(6, dtype="f4").reshape(2, 3), np.ones((2, 3), ">f4")
        out = self.folder / "z.npy"
        result = self.call("run", self.file, "--in", f"X={self.array('X', np.asfortranarray(a))}",
                           f"Y={self.array('Y', b)}", "--out", f"Z={out}")
        self.assertEqual(result.status, 0, result.errors)
        np.testing.assert_array_equal(np.load(out), a + 1)

    def test_empty_tensors_run_and_do_nothing(self):
        out = self.folder / "out.npy"
        e = self.array("e", np.zeros(0, "f4"))
        result = self.run_saxpy("--out", f"y={out}", x=e, y=e)
        self.assertEqual(result.status, 0, result.errors)
        self.assertEqual(np.load(out).shape, (0,))

    def test_time_prints_one_line(self):
        result = self.run_saxpy("--time", "3")
        self.assertEqual(result.status, 0, result.errors)
        self.assertRegex(result.output, r"^saxpy: median [\d.]+ (us|ms|s), min [\d.]+ (us|ms|s) \(3 runs\), [\d.]+ GB/s of arguments\n$")

    def test_timed_runs_do_not_change_the_result(self):
        out = self.folder / "out.npy"
        self.assertEqual(self.run_saxpy("--time", "5", "--out", f"y={out}").status, 0)
        np.testing.assert_array_equal(np.load(out), 2 * np.arange(5, dtype="f4") + 1)

    def test_verbose_says_what_was_chosen(self):
        self.source(SUM)
        x = self.array("X", np.ones((40, 33), "f4"))
        result = self.call("run", self.file, "--in", f"X={x}", f"Y={x}", "--set", "BLOCK=32", "-v")
        self.assertEqual(result.status, 0, result.errors)
        for text in ("backend      cpu", "numerics standard", "grid         2 x 3 programs", "BLOCK=32",
                     "specialized  ", "fallbacks    ", "compile      ", "run          "):
            self.assertIn(text, result.errors)

    def test_raw_reads_and_writes_bits(self):
        self.source("import tessera as ts\n\n@ts.kernel\ndef copy(x: ts.Tensor[\"n\", ts.bf16], y: ts.Tensor[\"n\", ts.bf16]):\n"
                    "    for i in ts.tile.parallel(0, n, 8):\n        y[i:i+8] = x[i:i+8]\n")
        bits = np.array([0x3F80, 0xC000, 0x7F80, 0x7FC1, 1], "u2")
        out = self.folder / "out.npy"
        result = self.call("run", self.file, "--raw", "--in", f"x={self.array('b', bits)}", "--out", f"y={out}")
        self.assertEqual(result.status, 0, result.errors)
        np.testing.assert_array_equal(np.load(out), bits)
        self.refused(self.call("run", self.file, "--in", f"x={self.array('b', bits)}"), "E_ARG_DTYPE", "give --raw")

    def test_packed_dtypes_travel_as_bytes_or_as_two_to_a_byte(self):
        self.source("import tessera as ts\n\n@ts.kernel\ndef copy(x: ts.Tensor[\"n\", ts.i4], y: ts.Tensor[\"n\", ts.i4]):\n"
                    "    for i in ts.tile.parallel(0, n, 8):\n        y[i:i+8] = x[i:i+8]\n")
        values, out = np.array([-8, 7, 0, -1, 3], "i1"), self.folder / "out.npy"
        result = self.call("run", self.file, "--in", f"x={self.array('v', values)}", "--out", f"y={out}")
        self.assertEqual(result.status, 0, result.errors)
        np.testing.assert_array_equal(np.load(out), values)
        self.refused(self.call("run", self.file, "--in", f"x={self.array('v', np.array([7, 8], 'i1'))}"),
                     "E_ARG_DTYPE", "i4 holds -8 to 7")
        packed = np.array([0x78, 0xF0], "u1")  # the low half is the first element: -8, 7, 0, -1
        result = self.call("run", self.file, "--raw", "--in", f"x={self.array('p', packed)}", "--out", f"y={out}")
        self.assertEqual(result.status, 0, result.errors)
        np.testing.assert_array_equal(np.load(out), packed)
        self.source("import tessera as ts\n\n@ts.kernel\ndef copy(x: ts.Tensor[\"n\", ts.i8], y: ts.Tensor[\"n\", ts.i4]):\n"
                    "    for i in ts.tile.parallel(0, n, 8):\n        y[i:i+8] = ts.tile.cast(x[i:i+8], ts.i4)\n")
        result = self.call("run", self.file, "--raw", "--in", f"x={self.array('v', values)}", "--out", f"y={out}")
        self.refused(result, "E_ARG_SHAPE", "leave out --raw")

    def test_every_numerics_profile_runs_or_says_why_not(self):
        for profile in ("fast", "standard", "deterministic", "strict"):
            result = self.run_saxpy("--numerics", profile)
            if result.status != 0:
                self.refused(result, "E_UNIMPLEMENTED", profile)


class Arguments(Cli):
    def test_wrong_dtype(self):
        self.refused(self.run_saxpy(x=self.array("d", np.arange(5.0))), "E_ARG_DTYPE", "x is f32")

    def test_wrong_rank(self):
        self.refused(self.run_saxpy(x=self.array("d", np.zeros((5, 1), "f4"))), "E_ARG_RANK")

    def test_fixed_extent(self):
        self.source(TWO)
        bad = self.array("bad", np.zeros(5, "f4"))
        self.refused(self.call("run", self.file, "--kernel", "other", "--in", f"x={bad}"), "E_ARG_SHAPE")

    def test_symbol_clash_names_both(self):
        result = self.run_saxpy(x=self.array("d", np.zeros(6, "f4")))
        self.refused(result, "E_DIM_CLASH", "dim n is 6 by dim 0 of x but 5 by dim 0 of y")

    def test_dim_option_clashes_too(self):
        self.refused(self.run_saxpy("--dim", "n=6"), "E_DIM_CLASH", "--dim")
        self.refused(self.run_saxpy("--dim", "m=6"), "E_DIM_UNKNOWN")

    def test_missing_argument(self):
        self.refused(self.call("run", self.file, "--in", f"x={self.x}", "--scalar", "alpha=1"), "E_ARG_MISSING", "y has no value")
        self.refused(self.call("run", self.file, "--in", f"x={self.x}", f"y={self.y}"), "E_ARG_MISSING", "alpha")

    def test_unknown_argument(self):
        self.refused(self.run_saxpy("--in", f"z={self.x}"), "E_ARG_UNKNOWN", "no parameter z")
        self.refused(self.run_saxpy("--out", f"x={self.folder}/o.npy"), "E_ARG_UNKNOWN", "does not write")
        self.refused(self.run_saxpy("--scalar", "beta=1"), "E_ARG_UNKNOWN")

    def test_duplicate_argument(self):
        self.refused(self.run_saxpy("--in", f"x={self.x}"), "E_ARG_DUPLICATE", "names x twice")
        self.refused(self.run_saxpy("--scalar", "alpha=3"), "E_ARG_DUPLICATE")

    def test_scalars(self):
        for bad in ("two", "", "1e99", "0x", "1 2"):
            self.assertEqual(self.run_saxpy(alpha=bad).status, 1, bad)
        for good in ("inf", "-inf", "nan", "-1.5e3"):
            self.assertEqual(self.run_saxpy(alpha=good).status, 0, good)

    def test_tunables(self):
        self.source(SUM)
        x = self.array("X", np.ones((4, 4), "f4"))
        run = lambda value: self.call("run", self.file, "--in", f"X={x}", f"Y={x}", "--set", value)
        self.assertEqual(run("BLOCK=32").status, 0)
        self.refused(run("BLOCK=48"), "E_TUNABLE_VALUE", "BLOCK is one of 16, 32")
        self.refused(run("BLOKC=32"), "E_TUNABLE_UNKNOWN", "did you mean BLOCK?")

    def test_a_dim_that_nothing_carries(self):
        self.source("import tessera as ts\n\n@ts.kernel\ndef fill(y: ts.Tensor[\"n\", ts.f32]):\n    i = ts.tile.linear_id()\n"
                    "    if i < n:\n        y[i] = 3.0\n")
        out = self.folder / "out.npy"
        self.refused(self.call("run", self.file, "--out", f"y={out}"), "E_DIM_MISSING", "--dim n=N")
        self.assertEqual(self.call("run", self.file, "--out", f"y={out}", "--dim", "n=7").status, 0)
        np.testing.assert_array_equal(np.load(out), np.full(7, 3, "f4"))

    def test_strides(self):
        self.source("import tessera as ts\n\n@ts.kernel\n"
                    "def twice(X: ts.Tensor[\"M\", \"N\", ts.f32, ts.strides(\"ldx\", 1)],\n"
                    "          Y: ts.Tensor[\"M\", \"N\", ts.f32, ts.strides(1, \"ldy\")]):\n"
                    "    for i in ts.tile.parallel(0, M, 8):\n        Y[i:i+8, 0:N] = 2.0 * X[i:i+8, 0:N]\n")
        x, out = np.arange(6, dtype="f4").reshape(3, 2), self.folder / "out.npy"
        words = ("run", self.file, "--in", f"X={self.array('x', x)}", "--out", f"Y={out}", "--dim")
        for given in (["N=2"], ["ldx=2"], ["ldx=100", "ldy=3"]):
            result = self.call(*words, *given)
            self.assertEqual(result.status, 0, result.errors)
            np.testing.assert_array_equal(np.load(out), 2 * x)
            out.unlink()
        self.refused(self.call(*words, "ldx=0"), "E_ARG_SHAPE", "different elements of the file share memory")
        self.array("x", np.ones((3, 2), "f4"))  # equal rows may be one
        self.assertEqual(self.call(*words, "ldx=0").status, 0)
        out.unlink()
        self.assertIn("let elements share memory", self.call(*words, "ldy=2").errors)
        self.refused(self.call(*words, "ldx=-1"), "E_OPTION_VALUE")
        self.refused(self.call(*words, f"ldx={2**61}"), "E_OUT_OF_MEMORY")
        self.assertFalse(out.exists())
        kernel = json.loads(self.call("kernels", self.file, "--json").output)[0]
        self.assertEqual([p.get("strides") for p in kernel["params"]], [["ldx", "1"], ["1", "ldy"]])
        self.assertEqual(kernel["dims"], ["M", "N", "ldx", "ldy"])
        self.assertIn("strides [1, ldy]", self.call("kernels", self.file).output)

    def test_strides_that_tensors_share(self):
        self.source("from tessera import Tensor, f32, kernel, strides, tile\n\n@kernel\n"
                    "def both(X: Tensor[\"M\", \"N\", f32, strides(\"ld\", 1)], Y: Tensor[\"M\", \"K\", f32, strides(\"ld\", 1)], "
                    "Z: Tensor[\"M\", \"K\", f32]):\n    for i in tile.parallel(0, M, 8):\n        Z[i:i+8, 0:K] = Y[i:i+8, 0:K]\n")
        y, out = np.arange(60, dtype="f4").reshape(6, 10), self.folder / "out.npy"
        words = ("run", self.file, "--in", f"X={self.array('x', y[:, :4])}", f"Y={self.array('y', y)}", "--out", f"Z={out}")
        self.assertEqual(self.call(*words).errors, "")
        np.testing.assert_array_equal(np.load(out), y)
        out.unlink()
        self.source(self.file.read_text().replace('Y: Tensor["M", "K", f32, strides("ld", 1)]', 'Y: Tensor["M", "K", f32, strides("s", "s")]'))
        self.refused(self.call(*words), "E_DIM_MISSING", "no tensor overlaps itself")

    def test_choosing_a_kernel(self):
        self.source(TWO)
        self.refused(self.run_saxpy(), "E_KERNEL_UNKNOWN", "saxpy, other")
        self.refused(self.run_saxpy("--kernel", "sxapy"), "E_KERNEL_UNKNOWN", "did you mean saxpy?")
        self.assertEqual(self.run_saxpy("--kernel", "saxpy").status, 0)

    def test_options(self):
        self.refused(self.run_saxpy("--tmie", "3"), "E_UNKNOWN_OPTION", "did you mean --time?")
        self.refused(self.run_saxpy("--time", "0"), "E_OPTION_VALUE")
        self.refused(self.run_saxpy("--time"), "E_OPTION_VALUE")
        self.refused(self.run_saxpy("--in", "x"), "E_OPTION_VALUE")
        self.refused(self.run_saxpy("another.py"), "E_OPTION_VALUE")
        self.refused(self.call("run"), "E_NO_FILE")
        self.refused(self.call("rnu"), "E_UNKNOWN_COMMAND", "did you mean run?")

    def test_the_program_comes_before_its_arguments(self):
        self.source(SAXPY.replace("alpha * x[i]", "alhpa * x[i]"))
        self.refused(self.call("run", self.file), "E_UNDEFINED_NAME")
        self.source(SAXPY)
        self.refused(self.call("run", self.file, "--numerics", "no_such"), "E_NUMERICS_UNKNOWN", "no_such")
        self.refused(self.call("run", self.file, "--backend", "no_such"), "E_BACKEND_UNKNOWN", "no_such")

    def test_the_environment_chooses(self):
        self.environment["TESSERA_NUMERICS"] = "sloppy"
        self.refused(self.run_saxpy(), "E_NUMERICS_UNKNOWN", "TESSERA_NUMERICS")
        self.assertEqual(self.run_saxpy("--numerics", "fast").status, 0)
        self.environment["TESSERA_BACKEND"] = "foo"
        result = self.call("backends")
        self.assertEqual(result.status, 1)
        self.assertIn("TESSERA_BACKEND=foo: there is no such backend", result.errors)

    def test_plugins_in_the_environment(self):
        self.environment["TESSERA_PROBE"] = "note"  # what a manifest promises does not make a null backend the best
        result = self.call("backends")
        self.assertEqual((result.status, result.errors), (0, ""))
        self.assertRegex(result.output, r"(?m)^\* cpu ")
        self.environment["TESSERA_BACKENDS_DISABLE"] = "cpu"
        result = self.call("backends")
        self.assertEqual(result.status, 1)
        self.assertIn("TSRP-120", result.errors)
        self.assertRegex(result.output, r"(?m)^  cpu +refused .* TSRP-120 TESSERA_BACKENDS_DISABLE names cpu")

    def test_a_cache_size_that_is_none_is_a_warning(self):
        self.environment["TESSERA_CACHE_SIZE"] = "1 GB"
        result = self.run_saxpy()
        self.assertEqual(result.status, 0, result.errors)
        self.assertEqual(result.errors.count("tsr: warning: TESSERA_CACHE_SIZE is '1 GB', which is not a size"), 1)

    def test_a_misspelt_variable_is_a_warning(self):
        """Of every command, once; but of none that completes words while a line is edited."""
        bundle = self.folder / "k.tsrb"
        self.assertEqual(self.call("compile", self.file, "--emit", "bundle", "-o", bundle).status, 0)
        space = self.folder / "space.py"
        space.write_text(SUM)
        tuned = self.call("tune", space, "--dim", "M=1", "N=1", "--database", self.folder / "tune.db")
        self.assertEqual(tuned.status, 0, tuned.errors)
        words = {"run": (self.file, "--in", f"x={self.x}", f"y={self.y}", "--scalar", "alpha=2"),
                 "compile": (self.file, "--emit", "tile"), "kernels": (self.file,), "inspect": (bundle,), "backends": (),
                 "cache": ("path",), "new-plugin": ("mapper", "mine", "--dir", self.folder / "mine"),
                 "tune": ("--list", "--database", self.folder / "tune.db"), "profile": (space, "--dim", "M=1", "N=1", "--runs", "1"),
                 "explain": ("E_INTERNAL",), "version": (), "help": ()}
        commands = re.findall(r"(?m)^  (\S+) {2,}\S", self.call("help").output)
        self.assertLessEqual(set(words), set(commands))
        self.assertLessEqual(set(commands), {*words, "complete"}, "a command that this test does not try")
        self.environment["TESSERA_BAKEND"] = "cpu"
        warning = "tsr: warning: unknown environment variable TESSERA_BAKEND, did you mean TESSERA_BACKEND?\n"
        for command, rest in words.items():
            with self.subTest(command):
                result = self.call(command, *rest)
                self.assertEqual(result.status, 0, result.errors)
                self.assertEqual(result.errors.count(warning), 1, result.errors)
        self.assertEqual(self.call("complete", "ba").errors, "")

    def test_a_fallback_is_a_note(self):
        self.source((ROOT / "samples" / "gemm" / "gemm.py").read_text())
        a = self.array("a", np.ones((4, 4), "f4"))
        words = ("run", self.file, "--in", f"A={a}", f"B={a}", f"C={a}", "--out", f"C={self.folder}/c.npy")
        self.assertRegex(self.call(*words).errors, r"^\S*kernel\.py: note: cpu: swizzle=\"xor\" has no effect: .+\n$")
        self.assertNotIn("note:", self.call(*words, "--verbose").errors)

    def test_a_run_without_outputs_says_so(self):
        self.assertIn("note: the results are not kept", self.run_saxpy().errors)

    def test_unknown_names(self):
        self.refused(self.run_saxpy("--numerics", "sloppy"), "E_NUMERICS_UNKNOWN", "fast, standard, deterministic, strict")
        self.refused(self.run_saxpy("--backend", "cup"), "E_BACKEND_UNKNOWN", "did you mean cpu?")
        self.refused(self.run_saxpy("--backend", "ptx"), "E_BACKEND_UNUSABLE", "ptx")


class Files(Cli):
    def test_no_such_file(self):
        self.refused(self.run_saxpy(x=self.folder / "none.npy"), "E_FILE_READ", "No such file")
        self.refused(self.call("run", self.folder / "none.py"), "E_FILE_READ", "No such file")

    def test_truncated_input(self):
        self.x.write_bytes(self.x.read_bytes()[:-1])
        self.refused(self.run_saxpy(), "E_NPY_FORMAT", "truncated")
        self.x.write_bytes(self.x.read_bytes()[:20])
        self.refused(self.run_saxpy(), "E_NPY_FORMAT")

    def test_not_an_npy_file(self):
        self.x.write_text("1, 2, 3\n")
        self.refused(self.run_saxpy(), "E_NPY_FORMAT", "not a .npy file")
        np.savez(self.folder / "archive.npz", x=np.zeros(3))
        self.refused(self.run_saxpy(x=self.folder / "archive.npz"), "E_NPY_FORMAT")
        np.save(self.folder / "object.npy", np.array([{}], dtype=object))
        self.refused(self.run_saxpy(x=self.folder / "object.npy"), "E_NPY_FORMAT", "dtype")

    def test_output_that_cannot_be_written(self):
        self.refused(self.run_saxpy("--out", f"y={self.folder}/none/y.npy"), "E_OUTPUT_WRITE", "No such file")
        self.refused(self.run_saxpy("--out", f"y={self.folder}"), "E_OUTPUT_WRITE", "directory")
        self.refused(self.run_saxpy("--out", "y=/proc/y.npy"), "E_OUTPUT_WRITE")
        self.refused(self.run_saxpy("--out", "y=/dev/full"), "E_OUTPUT_WRITE", "No space left")

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_read_only_folder(self):
        locked = self.folder / "locked"
        locked.mkdir()
        locked.chmod(0o500)
        self.refused(self.run_saxpy("--out", f"y={locked}/y.npy"), "E_OUTPUT_WRITE", "Permission denied")

    def test_a_failed_run_leaves_old_outputs(self):
        out = self.array("out", np.full(5, 9, "f4"))
        self.refused(self.run_saxpy("--out", f"y={out}", x=self.array("d", np.zeros(6, "f4"))), "E_DIM_CLASH")
        np.testing.assert_array_equal(np.load(out), np.full(5, 9, "f4"))

    def test_an_output_may_replace_its_input(self):
        self.assertEqual(self.run_saxpy("--out", f"y={self.y}").status, 0)
        np.testing.assert_array_equal(np.load(self.y), 2 * np.arange(5, dtype="f4") + 1)

    def test_more_memory_than_there_is(self):
        self.source("import tessera as ts\n\n@ts.kernel\ndef ones(Z: ts.Tensor[\"M\", \"N\", ts.f32]):\n"
                    "    for m in ts.tile.parallel(0, M, 8):\n        for n in ts.tile.parallel(0, N, 8):\n"
                    "            Z[m:m+8, n:n+8] = ts.tile.full((8, 8), 1.0, ts.f32)\n")
        for m, n in ((1 << 30, 1 << 14), (1 << 40, 1 << 40)):
            self.refused(self.call("run", self.file, "--dim", f"M={m}", f"N={n}", "--out", f"Z={self.folder}/z.npy"),
                         "E_OUT_OF_MEMORY")


class Sources(Cli):
    def rejected(self, text):
        """A bad program: diagnostics with a code, status 1, and quickly."""
        self.source(text)
        result = self.call("run", self.file, timeout=60)
        self.assertEqual(result.status, 1, result.errors[-2000:])
        self.assertRegex(result.errors, r"\[E_[A-Z0-9_]+\]")
        return result

    def test_syntax_error_has_a_place_and_a_caret(self):
        result = self.rejected(SAXPY.replace("alpha * x[i]", "alpha * * x[i]"))
        self.assertRegex(result.errors, r"kernel\.py:7:\d+: error: \[E_[A-Z0-9_]+\]")
        self.assertIn("^", result.errors)

    def test_binary(self):
        self.rejected(bytes(range(256)) * 40)
        self.rejected(b"\x7fELF" + os.urandom(4096))
        self.rejected(SAXPY.encode().replace(b"alpha * x", b"alpha\0* x"))

    def test_a_nul_byte_is_one_error(self):
        errors = self.rejected("import tessera as ts\n\0\n").errors
        self.assertIn("line 2 holds a NUL byte", errors)
        self.assertEqual(errors.count("error:"), 1)

    def test_empty(self):
        self.rejected("")
        self.rejected("import tessera as ts\n")

    def test_ten_megabytes(self):
        self.rejected(SAXPY + "# padding\n" * 1_000_000 + "def broken(\n")
        self.rejected("x = " + "1 + " * 2_600_000 + "1\n")
        self.rejected("a" * 10_000_000)

    def test_nested_ten_thousand_deep(self):
        for opening, closing in (("(", ")"), ("[", "]"), ("-", ""), ("not ", "")):
            self.rejected(SAXPY.replace("alpha * x[i]", opening * 10_000 + "alpha" + closing * 10_000))
        blocks = "".join(" " * (8 + i) + "if i < n:\n" for i in range(10_000))
        self.rejected(SAXPY.replace("        y[i] = alpha * x[i] + y[i]\n", blocks + " " * 10_008 + "y[i] = alpha\n"))

    def test_a_type_error_names_the_line(self):
        self.source(SAXPY.replace("alpha: ts.f32", "alpha: ts.i32"))
        self.assertRegex(self.run_saxpy().errors, r"kernel\.py:7:\d+: error: \[E_TYPE_MIX\]")


class Compile(Cli):
    def test_every_stage(self):
        marks = {"graph": "graph.", "schedule": "schedule.", "tile": "tile.", "target": "llvm.", "asm": "saxpy",
                 "metadata": "name: saxpy"}
        for stage, mark in marks.items():
            result = self.call("compile", self.file, "--emit", stage)
            self.assertEqual(result.status, 0, (stage, result.errors))
            self.assertIn(mark, result.output, stage)

    def test_object_goes_to_a_file(self):
        out = self.folder / "k.o"
        result = self.call("compile", self.file, "--emit", "object", "-o", out)
        self.assertEqual(result.status, 0, result.errors)
        self.assertEqual(out.read_bytes()[:4], b"\x7fELF")

    def test_output_is_deterministic(self):
        once, again = (self.call("compile", self.file, "--emit", "asm").output for _ in range(2))
        self.assertEqual(once, again)

    def test_snapshots(self):
        folder = self.folder / "ir"
        result = self.call("compile", self.file, "--emit", "asm", f"--print-ir-after-all={folder}", "-o", self.folder / "k.s")
        self.assertEqual(result.status, 0, result.errors)
        self.assertGreater(len(list(folder.iterdir())), 3)

    def test_refusals(self):
        self.refused(self.call("compile", self.file), "E_OPTION_VALUE", "--emit")
        self.refused(self.call("compile", self.file, "--emit", "tiel"), "E_OPTION_VALUE", "did you mean tile?")
        self.refused(self.call("compile", self.file, "--emit", "tile", "--target", "cuda"), "E_TARGET_UNKNOWN")
        self.refused(self.call("compile", self.file, "--emit", "tile", "--target", "cpu:"), "E_TARGET_UNKNOWN")
        self.refused(self.call("compile", self.file, "--emit", "tile", "--numerics", "exact"), "E_NUMERICS_UNKNOWN")
        self.refused(self.call("compile", self.file, "--emit", "tile", "--dim", "m=4"), "E_DIM_UNKNOWN")
        self.refused(self.call("compile", self.file, "--emit", "tile", "-o", self.folder / "none" / "x"), "E_OUTPUT_WRITE")

    def test_unknown_cpu(self):
        result = self.call("compile", self.file, "--emit", "asm", "--target", "cpu:z80")
        self.assertEqual(result.status, 1, result.errors)
        self.assertRegex(result.errors, r"\[E_[A-Z0-9_]+\]")

    def test_gpus(self):
        result = self.call("compile", self.file, "--emit", "asm", "--target", "ptx:sm_90")
        self.assertEqual((result.status, result.errors), (0, ""))
        self.assertIn(".target sm_90", result.output)
        for target, known in (("ptx:sm_20", "ptx:sm_75, ptx:sm_80"), ("rocm", "rocm:gfx90a, rocm:gfx942, rocm:gfx1100"),
                              ("levelzero:dg9", "levelzero:pvc")):
            result = self.call("compile", self.file, "--emit", "asm", "--target", target)
            self.refused(result, "E_TARGET_UNKNOWN", known)
        spirv = self.call("compile", self.file, "--emit", "metadata", "--target", "levelzero:pvc")
        self.assertEqual((spirv.status, spirv.errors), (0, ""))
        alias = self.call("compile", self.file, "--emit", "metadata", "--target", "level_zero:pvc")
        self.assertEqual(alias, spirv)


class Information(Cli):
    def test_help_everywhere(self):
        for words in (["help"], ["--help"], ["run", "--help"], ["help", "compile"], ["compile", "-h"], ["explain", "--help"]):
            result = self.call(*words)
            self.assertEqual((result.status, result.errors), (0, ""), words)
            self.assertIn("usage: tsr", result.output)
        self.assertIn("--in", self.call("run", "--help").output)

    def test_backends(self):
        result = self.call("backends")
        self.assertEqual(result.status, 0)
        self.assertRegex(result.output, r"(?m)^\* cpu ")

    def test_version(self):
        result = self.call("version")
        self.assertRegex(result.output, r"tessera \d+\.\d+\.\d+\nabi \d+\.\d+\ncompiler \S")

    def test_every_code_of_the_tool_is_explained(self):
        listed = re.findall(r"^([EW]_\w+)", self.call("explain", "--list").output, re.MULTILINE)
        used = set()
        for path in (ROOT / "core").rglob("*.cpp"):
            if "test" not in path.parts:
                used |= set(re.findall(r'"(W_[A-Z0-9_]+)"', path.read_text()))
        for path in set((ROOT / "tools" / "tsr").glob("*.cpp")) - {ROOT / "tools" / "tsr" / "Codes.cpp"}:
            used |= set(re.findall(r'"(E_[A-Z0-9_]*[A-Z0-9])"', path.read_text()))
        self.assertEqual(used - set(listed), set())
        self.assertEqual(len(listed), len(set(listed)))
        for code in listed:
            self.assertRegex(self.call("explain", code).output, rf"^{code}: .+\n\n.+")

    def test_explain(self):
        self.assertIn("one value per call", self.call("explain", "e_dim_clash").output)
        self.refused(self.call("explain", "E_NOPE"), "E_OPTION_VALUE")
        self.refused(self.call("explain"), "E_OPTION_VALUE")

    def test_no_colours_in_a_pipe(self):
        self.assertNotIn("\033", self.call("rnu").errors)


class Cache(Cli):
    def setUp(self):
        super().setUp()
        self.cache = self.folder / "cache"
        self.environment["TESSERA_CACHE_DIR"] = str(self.cache)

    def held(self):
        return json.loads(self.call("cache", "stat", "--json").output)

    def test_a_known_program_loads_no_compiler(self):
        self.environment["LD_DEBUG"] = "files"
        self.assertIn("libtessera-compiler", self.run_saxpy().errors)
        out = self.folder / "out.npy"
        result = self.run_saxpy("--out", f"y={out}")
        self.assertEqual(result.status, 0, result.errors)
        self.assertNotIn("libtessera-compiler", result.errors)
        self.assertNotIn("libLLVM", result.errors)
        np.testing.assert_array_equal(np.load(out), 2 * np.arange(5, dtype="f4") + 1)
        self.file.write_text(SAXPY + "# a comment more\n")
        self.assertIn("libtessera-compiler", self.run_saxpy().errors)

    def test_stat_path_and_clear(self):
        self.assertEqual(self.call("cache", "path").output, f"{self.cache}\n")
        self.assertEqual(self.held(), {"directory": str(self.cache), "entries": 0, "bytes": 0, "limit": 1 << 30})
        self.assertEqual(self.run_saxpy().status, 0)
        held = self.held()
        self.assertEqual(held["entries"], 4)  # the compiler's files, the signature, the source, the bundle
        self.assertEqual(held["bytes"], sum(f.stat().st_size for f in self.cache.glob("*.entry")))
        self.assertEqual(self.call("cache", "stat").output,
                         f"{self.cache}: 4 entries, {held['bytes']} of {1 << 30} bytes\n")
        self.assertEqual(self.call("cache", "clear").output, f"4 entries deleted, {held['bytes']} bytes\n")
        self.assertEqual(self.held()["entries"], 0)
        self.run_saxpy()
        cleared = self.call("cache", "clear", "--json")
        self.assertEqual((cleared.status, json.loads(cleared.output)["entries"]), (0, 0))

    def test_off(self):
        self.environment["TESSERA_CACHE_DIR"] = "off"
        self.assertEqual(self.call("cache", "path").output, "off\n")
        self.assertEqual(self.call("cache", "stat").output, "off\n")
        self.assertEqual(self.call("cache", "clear").output, "0 entries deleted, 0 bytes\n")

    def test_actions_there_are_not(self):
        self.refused(self.call("cache", "empty"), "E_OPTION_VALUE", "stat, clear or path")
        self.refused(self.call("cache"), "E_OPTION_VALUE", "stat, clear or path")

    def test_a_size_that_is_none_is_said(self):
        self.environment["TESSERA_CACHE_SIZE"] = "abc"
        result = self.run_saxpy()
        self.assertEqual(result.status, 0)
        self.assertIn("TESSERA_CACHE_SIZE is 'abc', which is not a size", result.errors)


class Failures(Cli):
    def test_a_crash_leaves_a_pack(self):
        """Whatever ends the working process, the supervising one reports it: here a signal from outside."""
        process = subprocess.Popen([self.tsr.program, "run", self.file, "--in", f"x={self.x}", f"y={self.y}", "--scalar",
                                    "alpha=1", "--time", "1000000"], env=self.environment, stderr=subprocess.PIPE)
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        deadline = time.monotonic() + 20
        while not children.read_text().split() and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(int(children.read_text().split()[0]), signal.SIGSEGV)
        errors = process.communicate(timeout=120)[1].decode()
        self.assertEqual(process.returncode, 2, errors)
        self.assertIn("[E_INTERNAL]", errors)
        pack = pathlib.Path(re.search(r"crash pack: (\S+)", errors).group(1))
        self.assertEqual((pack / "source.py").read_text(), SAXPY)
        self.assertIn("signal 11", (pack / "options.txt").read_text())
        self.assertIn("E_INTERNAL", (pack / "log.txt").read_text() + errors)
        self.assertTrue((pack / "ir-3-tile.mlir").exists())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tsr", default=str(ROOT / "build/release/bin/tsr"))
    known, rest = parser.parse_known_args()
    Cli.tsr = Tsr(known.tsr)
    unittest.main(argv=sys.argv[:1] + rest)
