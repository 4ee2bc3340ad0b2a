#!/usr/bin/env python3
"""Bundles from the shell: made, inspected, and refused when damaged."""
import argparse
import itertools
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from support.host import Tsr  # noqa: E402

TWO = """import tessera as ts

@ts.kernel
def saxpy(x: ts.Tensor["n", ts.f32], y: ts.Tensor["n", ts.f32], alpha: ts.f32):
    i = ts.tile.linear_id()
    if i < n:
        y[i] = alpha * x[i] + y[i]

@ts.kernel.autotune(space=dict(BLOCK=[16, 32]))
def copy(X: ts.Tensor["M", "N", ts.f32], Y: ts.Tensor["M", "N", ts.f32]):
    ctx = ts.tile.context()
    for m in ts.tile.parallel(0, M, ctx.BLOCK):
        for n in ts.tile.parallel(0, N, 16):
            Y[m:m+ctx.BLOCK, n:n+16] = X[m:m+ctx.BLOCK, n:n+16]
"""

# A tile's extent is N, and so is the width of an attention.
SPECIALISED = """import tessera as ts

@ts.kernel
def rows(X: ts.Tensor["M", "N", ts.f32], Y: ts.Tensor["M", ts.f32]):
    for m in ts.tile.parallel(0, M, 4):
        Y[m:m+4] = ts.tile.row_sum(X[m:m+4, :])

@ts.jit
def wide(X: ts.Tensor["M", "N", ts.f32]):
    return ts.flash_attention(X, X, X)
"""

SOFTMAX = """import tessera as ts

@ts.jit
def rows(x: ts.Tensor["M", "N", ts.f32]):
    return ts.softmax(x)
"""

MAP = """import tessera as ts

@ts.jit
def twice(x: ts.Tensor["M", "N", ts.f32]):
    return x * 2.0
"""

OPEN = """import tessera as ts

@ts.kernel
def double(x: ts.Tensor["M", "N", ts.f32], y: ts.Tensor["M", "N", ts.f32]):
    for m in ts.tile.parallel(0, M, 4):
        y[m:m+4, :] = x[m:m+4, :] + x[m:m+4, :] + ts.tile.zeros((4, N))

@ts.jit
def twice(x: ts.Tensor["M", "N", ts.f32]):
    y = ts.zeros(x.shape, ts.f32)
    double(x, y)
    return y
"""

ATTENTION = """import tessera as ts

@ts.jit
def attend(q: ts.Tensor["S", 40, ts.bf16], k: ts.Tensor["T", 40, ts.bf16], v: ts.Tensor["T", 40, ts.bf16]):
    return ts.flash_attention(q, k, v)
"""

LEVELS = "cpu:x86-64-v2,cpu:x86-64-v3,cpu:x86-64-v4"


class Bundles(unittest.TestCase):
    tsr = None
    damage = None

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="tsr-bundle-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.source = self.folder / "two.py"
        self.source.write_text(TWO)

    def compile(self, *words):
        return self.tsr.call("compile", self.source, "--emit", "bundle", *words)

    def made(self, *words):
        """The path of a bundle, compiled."""
        out = self.folder / "made.tsrb"
        result = self.compile("-o", out, *words)
        self.assertEqual((result.status, result.output, result.errors), (0, "", ""))
        return out

    def inspected(self, path):
        result = self.tsr.call("inspect", path, "--json")
        self.assertEqual(result.status, 0, result.errors)
        return json.loads(result.output)

    def refused(self, result, code, text):
        self.assertEqual(result.status, 1, result.errors)
        self.assertIn(f"[{code}]", result.errors)
        self.assertIn(text, result.errors)
        self.assertEqual(result.output, "")

    def damaged(self, path, kind):
        out = self.folder / f"{kind}.tsrb"
        subprocess.run([self.damage, kind, path, out], check=True)
        return out


class Make(Bundles):
    def test_a_product_fits_64_kilobytes(self):
        """The body of a product is in every bundle that has one. Targets have different bodies and micro-kernels."""
        targets = ("cpu:x86-64-v3", "cpu:znver4", "cpu:sapphirerapids")
        for dtype, target in itertools.product(("f32", "f64", "bf16", "f16", "i8"), targets):
            with self.subTest(dtype=dtype, target=target):
                self.source.write_text(f"""import tessera as ts

@ts.jit
def product(a: ts.Tensor["M", "K", ts.{dtype}], b: ts.Tensor["K", "N", ts.{dtype}]):
    return a @ b
""")
                self.assertLessEqual(self.made("--target", target).stat().st_size, 64 << 10)

    def test_holds_every_kernel_for_this_machine(self):
        result = self.compile()
        self.assertEqual((result.status, result.output, result.errors), (0, "", ""))
        bundle = self.inspected(self.folder / "two.tsrb")
        self.assertEqual(len(bundle["images"]), 1)
        image = bundle["images"][0]
        self.assertRegex(image["target"], "^cpu:.+")
        self.assertEqual([e["name"] for e in image["entries"]], ["saxpy", "copy"])
        self.assertEqual(bundle["ir"], [])

    def test_one_image_per_target(self):
        bundle = self.inspected(self.made("--target", LEVELS))
        self.assertEqual([i["target"] for i in bundle["images"]], LEVELS.split(","))
        self.assertEqual(len({i["hash"] for i in bundle["images"]}), 3)
        self.assertIn("avx512f", bundle["images"][2]["features"])
        self.assertNotIn("avx", bundle["images"][0]["features"])

    def test_one_kernel_with_its_values(self):
        bundle = self.inspected(self.made("--kernel", "copy", "--set", "BLOCK=32"))
        entry, = bundle["images"][0]["entries"]
        self.assertEqual(entry["grid"], ["ceildiv(M, 32)", "ceildiv(N, 16)"])
        self.assertEqual([(p["name"], p["kind"]) for p in entry["params"]],
                         [("X", "tensor"), ("Y", "tensor"), ("M", "dim"), ("N", "dim")])

    def test_run_takes_bundles_and_ir(self):
        x, y = np.arange(5, dtype="f4"), np.ones(5, "f4")
        np.save(self.folder / "x.npy", x)
        np.save(self.folder / "y.npy", y)
        arguments = ("--in", f"x={self.folder}/x.npy", f"y={self.folder}/y.npy", "--scalar", "alpha=2", "--out", f"y={self.folder}/out.npy")
        ir = self.folder / "saxpy.mlir"
        ir.write_text(self.tsr.call("compile", self.source, "--kernel", "saxpy", "--emit", "tile").output)
        for path in (self.made(), ir):
            result = self.tsr.call("run", path, "--kernel", "saxpy", *arguments)
            self.assertEqual((result.status, result.errors), (0, ""))
            np.testing.assert_array_equal(np.load(self.folder / "out.npy"), 2 * x + y)
            (self.folder / "out.npy").unlink()
            listed = json.loads(self.tsr.call("kernels", path, "--json").output)[0]
            self.assertEqual([(p["name"], p["kind"], p["dtype"]) for p in listed["params"]],
                             [("x", "tensor", "f32"), ("y", "tensor", "f32"), ("alpha", "scalar", "f32")])
            self.assertEqual(listed["dims"], ["n"])
            for option, value in (("--set", "BLOCK=1"), ("--numerics", "fast"), ("--mapper", "default")):
                self.refused(self.tsr.call("run", path, *arguments, option, value), "E_OPTION_VALUE", "is for sources")
        self.refused(self.tsr.call("run", self.made(), *arguments), "E_KERNEL_UNKNOWN", "saxpy, copy")
        self.refused(self.tsr.call("run", self.made(), "--kernel", "gemm", *arguments), "E_KERNEL_UNKNOWN", "'gemm'")
        self.refused(self.tsr.call("run", self.made("--target", "ptx:sm_90"), "--kernel", "saxpy", *arguments),
                     "E_BUNDLE_NO_IMAGE", "ptx:sm_90 (not of backend cpu)")
        short = self.folder / "short.tsrb"
        short.write_bytes(self.made().read_bytes()[:100])
        for command in ("kernels", "run"):
            self.refused(self.tsr.call(command, short), "E_BUNDLE_TRUNCATED", "100 bytes")

    def test_run_says_what_a_kernel_was_compiled_for(self):
        self.source.write_text("import tessera as ts\n\n@ts.kernel\ndef rows(X: ts.Tensor[\"M\", \"N\", ts.f32], "
                               "Z: ts.Tensor[\"M\", ts.f32]):\n    for i in ts.tile.parallel(0, M, 8):\n"
                               "        Z[i:i+8] = ts.tile.sum(X[i:i+8, 0:N], axis=1)\n")
        bundle = self.made("--dim", "N=6")
        for width, status in ((6, 0), (7, 1)):
            np.save(self.folder / "x.npy", np.ones((3, width), "f4"))
            result = self.tsr.call("run", bundle, "--in", f"X={self.folder}/x.npy", "--out", f"Z={self.folder}/z.npy")
            self.assertEqual(result.status, status, result.errors)
        self.assertIn("dim N is 6 by the compiled kernel but 7 by dim 1 of X", result.errors)

    def test_attention_of_bf16_has_the_same_bits_without_its_instruction(self):
        self.source.write_text(ATTENTION)
        bundles = [self.folder / name for name in ("host.tsrb", "v4.tsrb")]
        for target, bundle in zip(("cpu", "cpu:x86-64-v4"), bundles):
            self.assertEqual(self.compile("-o", bundle, "--target", target).status, 0)
        draw, files = np.random.default_rng(4), [self.folder / f"{name}.npy" for name in "qkv"]
        for queries, keys, size in ((9, 1, 1.0), (49, 65, 1.0), (17, 63, 1e-19), (50, 0, 1.0)):  # 1e-19: subnormal products
            for path, rows in zip(files, (queries, keys, keys)):
                np.save(path, (draw.standard_normal((rows, 40)) * size).astype(np.float32))
            results = []
            for bundle in bundles:
                result = self.tsr.call("run", bundle, "--in", *(f"{p.stem}={p}" for p in files), "--out", f"result={self.folder / 'o.npy'}")
                if "E_BUNDLE_NO_IMAGE" in result.errors:
                    self.skipTest("this processor has no AVX-512")
                self.assertEqual(result.status, 0, result.errors)
                results.append(np.load(self.folder / "o.npy").tobytes())
            self.assertEqual(*results, (queries, keys, size))

    def test_strides_are_shown(self):
        self.source.write_text("import tessera as ts\n\n@ts.kernel\n"
                               "def zero(X: ts.Tensor[\"n\", ts.f32, ts.strides(\"s\")]):\n"
                               "    for i in ts.tile.parallel(0, n, 8):\n        X[i:i+8] = 0.0\n")
        path = self.made()
        tensor, *dims = self.inspected(path)["images"][0]["entries"][0]["params"]
        self.assertEqual((tensor["dims"], tensor["strides"]), (["n"], ["s"]))
        self.assertEqual([d["name"] for d in dims], ["n", "s"])
        self.assertIn("strides [s]", self.tsr.call("inspect", path).output)

    def test_keeps_ir_on_request(self):
        bundle = self.inspected(self.made("--embed-ir", "graph,tile"))
        self.assertEqual([(i["level"], i["entry"]) for i in bundle["ir"]],
                         [("graph", "saxpy"), ("tile", "saxpy"), ("graph", "copy"), ("tile", "copy")])

    def test_the_same_source_gives_the_same_bytes(self):
        self.assertEqual(self.made().read_bytes(), self.made().read_bytes())

    def test_refusals(self):
        for words, code, text in [
            (["--target", "cpu,cpu:z80"], "E_TARGET_UNKNOWN", "z80"),
            (["--target", "cpu,"], "E_TARGET_UNKNOWN", ""),
            (["--embed-ir", "asm"], "E_OPTION_VALUE", "--embed-ir asm"),
            (["--set", "BLOCK=32"], "E_KERNEL_UNKNOWN", ""),
            (["--kernel", "sxapy"], "E_KERNEL_UNKNOWN", "saxpy"),
            (["--print-ir-after-all"], "E_OPTION_VALUE", "--print-ir-after-all"),
            (["-o", self.folder / "none" / "x.tsrb"], "E_OUTPUT_WRITE", "none"),
        ]:
            with self.subTest(words=words):
                self.refused(self.compile(*words), code, text)
        result = self.tsr.call("compile", self.source, "--emit", "asm", "--kernel", "saxpy", "--embed-ir", "graph")
        self.refused(result, "E_OPTION_VALUE", "--embed-ir is for bundles")
        self.assertEqual([p.name for p in self.folder.iterdir()], ["two.py"])

    def test_a_source_without_kernels(self):
        self.source.write_text("import tessera as ts\n")
        self.refused(self.compile(), "E_NO_KERNEL", "no kernel")


class Inspect(Bundles):
    def test_text(self):
        result = self.tsr.call("inspect", self.made("--embed-ir", "graph", "--target", LEVELS))
        self.assertEqual(result.status, 0, result.errors)
        for text in ("image cpu:x86-64-v3: elf, ", "kernel saxpy, numerics standard", "f32[n], readwrite",
                     "alpha        f32", "ir graph of copy", "needs sse3 "):
            self.assertIn(text, result.output)

    def test_what_it_was_specialised_on(self):
        """In text, in JSON and in the refusal of a launch, and of the dims that are free nothing."""
        self.source.write_text(SPECIALISED)
        for kernel in ("rows", "wide"):
            with self.subTest(kernel):
                path = self.made("--kernel", kernel, "--dim", "N=48")
                entry, = (e for e in self.inspected(path)["images"][0]["entries"] if e["name"] == kernel)
                dims = {p["name"]: p.get("compiled_for") for p in entry["params"] if p["kind"] == "dim"}
                self.assertEqual(dims, {"M": None, "N": 48})
                self.assertEqual(entry["specialized"], {"N": 48})
                self.assertIn({"condition": "N == 48"}, entry["guards"])
                text = self.tsr.call("inspect", path).output
                self.assertIn("    M            dim\n    N            dim, compiled for 48 only\n    guard        N == 48\n", text)

    def test_what_a_launch_checks(self):
        self.source.write_text('import tessera as ts\n\n@ts.jit\ndef head(x: ts.Tensor["M", "N", ts.f32]):\n    return x[0:2, :] * 2.0\n')
        path = self.made()
        entry, = (e for e in self.inspected(path)["images"][0]["entries"] if e["name"] == "head")
        guard, = entry["guards"]
        self.assertEqual(guard["condition"], "M - 2 >= 0")
        self.assertIn("0:2 is outside", guard["says"])
        self.assertIn(f"    guard        M - 2 >= 0: {guard['says']}\n", self.tsr.call("inspect", path).output)
        entry, = self.inspected(self.made_of(TWO, "--kernel", "copy", "--set", "BLOCK=32"))["images"][0]["entries"]
        self.assertEqual((entry["tile"]["BLOCK"], entry["specialized"], entry["guards"]), (32, {}, []))

    def test_variants(self):
        """A graph function runs what fits its dims: the variant of --dim, or the general code."""
        self.source.write_text(SOFTMAX)
        path = self.made("--dim", "N=128", "--embed-ir", "graph")
        entries = {e["name"]: e for e in self.inspected(path)["images"][0]["entries"]}
        self.assertEqual(entries["rows"]["variants"], [{"entry": "rows.v0", "when": ["N == 128"]}])
        self.assertNotIn("variants", entries["rows.v0"])
        self.assertEqual(entries["rows"]["specialized"], {})
        self.assertNotEqual(entries["rows"]["plan"]["steps"], entries["rows.v0"]["plan"]["steps"])
        self.assertIn("    variant      rows.v0 if N == 128\n", self.tsr.call("inspect", path).output)
        self.assertEqual(self.tsr.call("kernels", path).output.splitlines()[0], "rows (function)")
        for bundle in (path, self.damaged(path, "feature")):  # from its code, and from its IR
            for shape in ((5, 128), (5, 127), (3, 129), (4, 1), (0, 128), (2, 0)):
                x = np.random.default_rng(1).standard_normal(shape).astype("f4")
                np.save(self.folder / "x.npy", x)
                result = self.tsr.call("run", bundle, "--in", f"x={self.folder}/x.npy", "--out", f"result={self.folder}/y.npy", "-v")
                self.assertEqual(result.status, 0, result.errors)
                e = np.exp(x.astype("f8"))
                np.testing.assert_allclose(np.load(self.folder / "y.npy"), e / e.sum(1, keepdims=True), rtol=1e-5)
                line = "rows.v0, for N == 128" if shape[1] == 128 else "none of 1 fits: the general code"
                self.assertIn(f"variant      {line}\n", result.errors)
        result = self.tsr.call("run", path, "--in", f"x={self.folder}/x.npy", "--json")
        self.assertEqual((json.loads(result.output)["variant"], json.loads(result.output)["kernel"]), (None, "rows"))

    def test_code_for_the_given_dims_alone(self):
        for text, words in ((SOFTMAX, ("--dim", "N=128", "--exact-dims")),  # as asked for
                            (SOFTMAX, ()),
                            (MAP, ("--dim", "N=4096"))):  # nothing depends on it
            self.source.write_text(text)
            path = self.made(*words)
            entry, = (e for e in self.inspected(path)["images"][0]["entries"] if e["kind"] == "function")
            self.assertNotIn("variants", entry)
            np.save(self.folder / "x.npy", np.ones((3, 100), "f4"))
            result = self.tsr.call("run", path, "--in", f"x={self.folder}/x.npy", "-v")
            self.assertEqual(result.status, 0, result.errors)
            self.assertNotRegex(result.errors, r"variant +(rows\.v|none of)")
        self.source.write_text(SPECIALISED)  # a dim that the program needs has no other value
        path = self.made("--kernel", "wide", "--dim", "N=48", "--dim", "M=7")
        entries = {e["name"]: e for e in self.inspected(path)["images"][0]["entries"]}
        self.assertEqual(entries["wide"]["specialized"], {"N": 48})
        for variant in entries["wide"].get("variants", []):
            self.assertEqual(variant["when"], ["M == 7"])
        self.refused(self.compile("--dim", "N=48", "--exact-dims=1"), "E_OPTION_VALUE", "--exact-dims takes no value")

    def test_results_that_only_the_compilation_knows(self):
        """The kernel needs the value of N, and no annotation names what the function returns."""
        self.source.write_text(OPEN)
        self.refused(self.tsr.call("compile", self.source, "--kernel", "twice", "--emit", "graph"), "E_DIM_NOT_STATIC", "dim 'N'")
        x = np.arange(40, dtype="f4").reshape(5, 8)
        np.save(self.folder / "x.npy", x)
        words = ("run", self.source, "--kernel", "twice", "--in", f"x={self.folder}/x.npy")
        result = self.tsr.call(*words, "--out", f"result={self.folder}/y.npy", "-v")
        self.assertEqual(result.status, 0, result.errors)
        self.assertIn("specialized  N=8\n", result.errors)
        np.testing.assert_array_equal(np.load(self.folder / "y.npy"), 2 * x)
        self.refused(self.tsr.call(*words, "--out", f"other={self.folder}/y.npy"), "E_ARG_UNKNOWN", "no parameter other")

    def made_of(self, text, *words):
        self.source.write_text(text)
        return self.made(*words)

    def test_other_files(self):
        self.refused(self.tsr.call("inspect", self.source), "E_BUNDLE_FORMAT", "TSRB")
        self.refused(self.tsr.call("inspect", self.folder / "none"), "E_FILE_READ", "No such file")
        self.refused(self.tsr.call("inspect"), "E_NO_FILE", "")

    def test_cut(self):
        path = self.made()
        whole = path.read_bytes()
        for n in (12, len(whole) // 2, len(whole) - 1):
            path.write_bytes(whole[:n])
            self.refused(self.tsr.call("inspect", path), "E_BUNDLE_TRUNCATED", f"ends after {n} bytes")
        path.write_bytes(whole + b"\0")
        self.refused(self.tsr.call("inspect", path), "E_BUNDLE_CORRUPT", "1 bytes follow")

    def test_flipped_bits(self):
        """Somewhere in each part of a real file; core-bundle-test flips every bit of a small one."""
        path = self.made("--embed-ir", "graph")
        whole = path.read_bytes()
        for at in random.Random(7).sample(range(len(whole)), 24):
            bad = bytearray(whole)
            bad[at] ^= 1 << at % 8
            path.write_bytes(bad)
            result = self.tsr.call("inspect", path)
            self.assertEqual(result.status, 1, (at, result.errors))
            self.assertRegex(result.errors, r"\[E_BUNDLE_[A-Z]+\]")

    def test_another_version(self):
        self.refused(self.tsr.call("inspect", self.damaged(self.made(), "version")), "E_BUNDLE_VERSION",
                     "its ABI is 2.0, this library reads 1.0 to 1.0")

    def test_metadata_that_is_none(self):
        self.refused(self.tsr.call("inspect", self.damaged(self.made(), "metadata")), "E_BUNDLE_CORRUPT",
                     "metadata of saxpy")

    def test_another_machines_code_is_still_described(self):
        self.assertEqual(len(self.inspected(self.damaged(self.made(), "machine"))["images"]), 1)


class Load(Bundles):
    """With the C program of samples/aot_c, which launches `saxpy`; the compiler stands beside the runtime."""
    launch = None

    def call(self, path):
        done = subprocess.run([self.launch, path], capture_output=True, timeout=120, text=True)
        return done.returncode, done.stdout, done.stderr

    def test_runs(self):
        status, output, errors = self.call(self.made("--target", LEVELS))
        self.assertEqual((status, errors), (0, ""))
        self.assertIn("saxpy: 1000 elements right", output)

    def test_another_machines_code(self):
        status, output, errors = self.call(self.damaged(self.made(), "machine"))
        self.assertEqual((status, output), (1, ""))
        self.assertRegex(errors, r"TSR_EINVAL: \[E_IMAGE_LOAD\] .*code for riscv, this machine is")

    def test_another_version(self):
        status, output, errors = self.call(self.damaged(self.made(), "version"))
        self.assertEqual((status, output), (1, ""))
        self.assertIn("TSR_UNIMPLEMENTED: [E_BUNDLE_VERSION]", errors)

    def test_nothing_for_this_machine(self):
        status, output, errors = self.call(self.damaged(self.made("--target", LEVELS), "feature"))
        self.assertEqual((status, output), (1, ""))
        self.assertIn("TSR_ENOTFOUND: [E_BUNDLE_NO_IMAGE]", errors)
        for target in LEVELS.split(","):
            self.assertIn(target, errors)

    def test_ir_where_no_image_fits(self):
        for levels in ("graph", "tile", "graph,tile"):
            status, output, errors = self.call(self.damaged(self.made("--embed-ir", levels), "feature"))
            self.assertEqual((status, errors), (0, ""), levels)
            self.assertIn("saxpy: 1000 elements right", output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tsr", required=True)
    parser.add_argument("--damage", required=True)
    parser.add_argument("--launch", required=True)
    known, rest = parser.parse_known_args()
    Bundles.tsr, Bundles.damage, Load.launch = Tsr(known.tsr), known.damage, known.launch
    unittest.main(argv=sys.argv[:1] + rest)
