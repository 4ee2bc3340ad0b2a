#!/usr/bin/env python3
"""Mappers from outside: who chooses, what a choice changes, what is refused, and what a bundle needs to run."""
import argparse
import ctypes.util
import json
import pathlib
import subprocess
import sys
import unittest

import numpy as np

from cli_test import Cli, Tsr

MLP = """import tessera as ts

@ts.jit
def mlp(x: ts.Tensor["M", "D", ts.{t}], W1: ts.Tensor["D", "F", ts.{t}], b1: ts.Tensor["F", ts.{t}],
        W2: ts.Tensor["F", "D", ts.{t}]) -> ts.Tensor["M", "D", ts.{t}]:
    h = ts.gelu(ts.gemm(x, W1) + b1)
    return ts.gemm(h, W2) + x
"""
BATCH = """import tessera as ts

@ts.jit
def f(x: ts.Tensor["B", "M", "K", ts.f32], w: ts.Tensor["K", "N", ts.f32],
      v: ts.Tensor["B", "N", "M", ts.f32]) -> ts.Tensor["B", "M", "M", ts.f32]:
    return ts.matmul(ts.matmul(x, w), v)
"""
LOAD = """import ctypes, sys
lib = ctypes.CDLL(sys.argv[1])
lib.tsrLastError.restype = ctypes.c_char_p
context, module = ctypes.c_void_p(), ctypes.c_void_p()
assert lib.tsrCreateContext(ctypes.byref(context)) == 0
status = lib.tsrLoadModuleFromFile(context, sys.argv[2].encode(), None, ctypes.byref(module))
print(status, lib.tsrLastError().decode())
"""
HAS_BLAS = ctypes.util.find_library("openblas") is not None
needs_blas = unittest.skipUnless(HAS_BLAS, "libopenblas is not installed on this machine")


class Mappers(Cli):
    def setUp(self):
        super().setUp()
        self.decisions = self.folder / "decisions.yaml"
        self.program("f32")

    def program(self, dtype):
        self.source(MLP.replace("{t}", dtype), "mlp.py")
        random = np.random.default_rng(1)
        kind = "f8" if dtype == "f64" else "f4"
        self.inputs = {n: random.standard_normal(s).astype(kind)
                       for n, s in dict(x=(33, 48), W1=(48, 70), b1=(70,), W2=(70, 48)).items()}

    def run_mlp(self, *more, **popen):
        words = []
        for name, value in self.inputs.items():
            words += ["--in", f"{name}={self.array(name, value)}"]
        out = self.folder / "out.npy"
        result = self.call("run", self.file, *words, "--out", f"result={out}", *more, **popen)
        return result, np.load(out) if result.status == 0 else None

    def decide(self, variant, *options):
        """Logs the program's questions and answers them all with `variant`; the spec that replays that."""
        result, _ = self.run_mlp("--mapper", f"logging(default, {self.decisions})", *options)
        self.assertEqual(result.status, 0, result.errors)
        text = self.decisions.read_text()
        self.assertEqual(text.count('choice: "tile"'), 2, text)
        self.decisions.write_text(text.replace('choice: "tile"', f'choice: "{variant}"'))
        return f"replay({self.decisions})"

    def broken_blas(self):
        """An environment in which no OpenBLAS loads: files of its names that are no libraries stand first."""
        folder = self.folder / "broken"
        folder.mkdir(exist_ok=True)
        for name in ("libopenblas.so.0", "libopenblas.so"):
            (folder / name).write_text("")
        return self.environment | {"LD_LIBRARY_PATH": str(folder)}

    def bound(self):
        """The double-precision result, and how far any order of summation may be from it."""
        x, W1, b1, W2 = (v.astype("f8") for v in self.inputs.values())
        eps = np.finfo(self.inputs["x"].dtype).eps
        erf = np.vectorize(__import__("math").erf)
        h = x @ W1 + b1
        g = h * 0.5 * (1 + erf(h / np.sqrt(2)))
        first = (49 * eps) * (np.abs(x) @ np.abs(W1) + np.abs(b1))  # gelu's slope is below 1.2
        wrong = (1.2 * first + 4 * eps * np.abs(g)) @ np.abs(W2) + 72 * eps * (np.abs(g) @ np.abs(W2) + np.abs(x))
        return g @ W2 + x, wrong + 4 * eps * np.abs(g @ W2 + x)

    @needs_blas
    def test_a_library_computes_what_the_mapper_gave_it(self):
        for dtype in ("f32", "f64"):
            with self.subTest(dtype):
                self.program(dtype)
                spec = self.decide("blas")
                result, value = self.run_mlp("--mapper", spec, "-v")
                self.assertEqual(result.status, 0, result.errors)
                self.assertRegex(result.errors, r"decision +matmul of step 0: blas, of tile and blas, by replay\(")
                self.assertRegex(result.errors, r"decision +matmul of step 2: blas")
                expected, bound = self.bound()
                self.assertTrue((np.abs(value - expected) <= bound).all(), np.abs(value - expected).max())
                plain, tile = self.run_mlp()
                self.assertTrue((np.abs(tile - expected) <= bound).all())
                document = json.loads(self.run_mlp("--mapper", spec, "--json")[0].output)
                self.assertEqual([d["choice"] for d in document["decisions"]], ["blas", "blas"])
                self.assertNotIn("decision", plain.errors)

    @needs_blas
    def test_batches(self):
        self.source(BATCH)
        random = np.random.default_rng(2)
        x, w, v = (random.standard_normal(s).astype("f4") for s in ((3, 5, 7), (7, 4), (3, 4, 5)))
        words = sum((["--in", f"{n}={self.array(n, a)}"] for n, a in dict(x=x, w=w, v=v).items()), [])
        out = self.folder / "out.npy"
        words = ["run", self.file, *words, "--out", f"result={out}"]
        self.assertEqual(self.call(*words, "--mapper", f"logging(default, {self.decisions})").status, 0)
        self.decisions.write_text(self.decisions.read_text().replace('choice: "tile"', "choice: blas"))
        result = self.call(*words, "-v", "--mapper", f"replay({self.decisions})")
        self.assertEqual(result.status, 0, result.errors)
        self.assertIn("matmul of step 1: blas", result.errors)
        np.testing.assert_allclose(np.load(out), x.astype("f8") @ w @ v, rtol=0, atol=1e-4)

    @needs_blas
    def test_the_decision_is_in_schedule_ir_and_in_metadata(self):
        spec = self.decide("blas")
        # compile knows no sizes: another question
        compile_ = ("compile", self.file, "--mapper")
        self.refused(self.call(*compile_, spec, "--emit", "schedule"), "E_MAPPER_REPLAY", "M=? N=? K=?")
        dims = sum((["--dim", f"{k}={v}"] for k, v in dict(M=33, D=48, F=70).items()), [])
        # nor does the code for other sizes
        self.refused(self.call(*compile_, spec, "--emit", "schedule", *dims), "E_MAPPER_REPLAY", "M=? N=? K=?")
        dims += ["--exact-dims"]
        schedule = self.call(*compile_, spec, "--emit", "schedule", *dims)
        self.assertEqual(schedule.status, 0, schedule.errors)
        self.assertEqual(schedule.output.count('variant = "blas"'), 2, schedule.output)
        metadata = self.call(*compile_, spec, "--emit", "metadata", *dims).output
        self.assertRegex(metadata, r"call: blas.gemm.f32.nn, args: \[x, W1, t0, M, D, F\]")
        self.assertRegex(metadata, r"\{op: matmul, step: 0, choice: blas, from: \[tile, blas\], by: replay\(")

        # A person may change it in the text, which then says who chose.
        edited = self.folder / "edited.mlir"
        tile = self.call(*compile_, "default", "--emit", "schedule").output
        self.assertEqual(tile.count('variant = "tile"'), 2, tile)
        edited.write_text(schedule.output.replace('variant = "blas"', 'variant = "tile"'))
        result = self.call("compile", edited, "--emit", "metadata")
        self.assertEqual(result.status, 0, result.errors)
        self.assertIn("{op: matmul, step: 0, choice: tile, by: ir}", result.output)
        self.assertNotIn("call:", result.output)
        for old, new, says in [('variant = "tile"', 'variant = "spectral"', 'the variants are "tile", "general" and "blas"'),
                               ('variant = "tile"', 'variant = "blas"', "give it a group of its own")]:
            edited.write_text(tile.replace(old, new))
            self.refused(self.call("compile", edited, "--emit", "metadata"), "E_IR_INVALID", says)
        edited.write_text(schedule.output.replace('numerics = "standard"', 'numerics = "deterministic"'))
        self.refused(self.call("compile", edited, "--emit", "metadata"), "E_UNIMPLEMENTED",
                     "numerics profile deterministic fixes the order of summation")

    def test_what_rules_a_library_out_is_said(self):
        spec = self.decide("blas")
        result, _ = self.run_mlp("--mapper", spec, "--numerics", "deterministic")
        self.assertEqual(result.status, 1)
        self.assertRegex(result.errors, r"mlp.py:6:.*\[E_MAPPER_ANSWER\] mapper replay\(.*choose_variant\(op=matmul .*"
                                        r"the answer 'blas' is not legal here; legal: tile; blas is not: numerics "
                                        r"profile deterministic fixes the order of summation")
        self.assertIn("^", result.errors)
        result, _ = self.run_mlp("--mapper", spec, env=self.broken_blas())
        self.assertEqual(result.status, 1)
        self.assertIn("blas is not: OpenBLAS is not installed (package libopenblas0)", result.errors)
        bf16 = self.folder / "bf16.py"
        bf16.write_text(MLP.replace("{t}", "bf16"))
        for target, reason in [("cpu", "not bf16 by bf16 into bf16"), ("ptx:sm_90", "backend ptx calls no libraries")]:
            log = self.call("compile", bf16, "--emit", "schedule", "--target", target, "--mapper",
                            f"logging(default, {self.decisions})")
            self.assertEqual(log.status, 0, log.errors)
            self.decisions.write_text(self.decisions.read_text().replace('choice: "tile"', "choice: blas"))
            self.refused(self.call("compile", bf16, "--emit", "schedule", "--target", target, "--mapper",
                                   f"replay({self.decisions})"), "E_MAPPER_ANSWER", reason)

    @needs_blas
    def test_a_bundle_says_what_it_needs(self):
        result = self.call("compile", self.file, "--emit", "schedule", "--mapper", f"logging(default, {self.decisions})")
        self.assertEqual(result.status, 0, result.errors)
        self.decisions.write_text(self.decisions.read_text().replace('choice: "tile"', "choice: blas"))
        bundle = self.folder / "mlp.tsrb"
        made = self.call("compile", self.file, "--emit", "bundle", "-o", bundle, "--mapper", f"replay({self.decisions})")
        self.assertEqual(made.status, 0, made.errors)
        library = next((pathlib.Path(self.tsr.program).resolve().parents[1] / "lib").glob("libtessera.so"))

        def load(environment):
            return subprocess.run([sys.executable, "-c", LOAD, library, bundle], capture_output=True, text=True,
                                  env=environment, check=True).stdout
        self.assertEqual(load(self.environment).split()[0], "0")
        said = load(self.broken_blas())
        self.assertRegex(said, r"(?s)^5 function mlp: step 0: the call blas.gemm.f32.nn \(matmul of f32\): OpenBLAS is "
                               r"not installed \(package libopenblas0\).*compile with variant tile")

    @needs_blas
    def test_the_cache_keeps_decisions_apart(self):
        blas = self.decide("blas")
        other = self.folder / "tile.yaml"
        other.write_text(self.decisions.read_text().replace('choice: "blas"', 'choice: "tile"'))
        environment = self.environment | {"TESSERA_CACHE_DIR": str(self.folder / "cache")}
        for _ in range(2):
            for spec, choice in [(blas, "blas"), (f"replay({other})", "tile"), (None, None)]:
                mapper = ["--mapper", spec] if spec else []
                result, _ = self.run_mlp("-v", *mapper, env=environment)
                self.assertEqual(result.status, 0, result.errors)
                if choice:
                    self.assertIn(f"matmul of step 0: {choice}, of tile and blas, by replay(", result.errors)
                else:
                    self.assertNotIn("decision", result.errors)

    def test_the_environment_and_the_option(self):
        environment = self.environment | {"TESSERA_MAPPER": "random(x)"}
        result, _ = self.run_mlp(env=environment)
        self.assertEqual(result.status, 1)
        self.assertIn("[E_MAPPER_SPEC] TESSERA_MAPPER: column 8: random needs a seed", result.errors)
        result, _ = self.run_mlp("--mapper", "default", "-v", env=environment)
        self.assertEqual(result.status, 0, result.errors)
        self.assertIn("by default", result.errors)
        environment["TESSERA_MAPPER"] = "random(3)"
        result, _ = self.run_mlp("-v", env=environment)
        self.assertEqual(result.status, 0, result.errors)
        self.assertIn("by random(3)", result.errors)
        for spec, code, text in [("logging(", "E_MAPPER_SPEC", "--mapper: column 9: expected ')'"),
                                 ("rndom(1)", "E_MAPPER_UNKNOWN", "did you mean random?"),
                                 ("replay(/nonexistent)", "E_MAPPER_REPLAY", "/nonexistent cannot be read"),
                                 ("logging(default, /nonexistent/x)", "E_MAPPER_LOG", "/nonexistent/x")]:
            self.refused(self.run_mlp("--mapper", spec)[0], code, text)
            self.refused(self.call("compile", self.file, "--emit", "tile", "--mapper", spec), code, text)
            self.assertIn(code, self.call("explain", code).output)

    def test_a_stale_replay_names_the_question(self):
        self.decisions.write_text("decisions: []\n")
        result, _ = self.run_mlp("--mapper", f"replay({self.decisions})")
        self.assertEqual(result.status, 1)
        self.assertRegex(result.errors, r"\[E_MAPPER_REPLAY\] .*has no decision about choose_variant\(op=matmul arch=cpu:")


class NewPlugin(Cli):
    def new(self, *words):
        return self.call("new-plugin", *words, cwd=self.folder)

    def test_a_project_is_written_whole(self):
        for kind in ("mapper", "backend"):
            name = f"my_{kind}"
            result = self.new(kind, name)
            self.assertEqual(result.status, 0, result.errors)
            self.assertIn(f"cmake -S {name} -B {name}/build", result.output)
            files = {path.name: path.read_text() for path in (self.folder / name).iterdir()}
            gaps = {"conformance.yaml"} if kind == "backend" else set()
            self.assertEqual(set(files), {"CMakeLists.txt", "plugin.json", "README.md", "test.cpp", f"{name}.cpp"} | gaps)
            self.assertIn("tsr-conformance", files["CMakeLists.txt"])
            self.assertEqual("--expect" in files["CMakeLists.txt"], bool(gaps))
            self.assertEqual(json.loads(files["plugin.json"])["kinds"], [kind])
            for text in files.values():
                self.assertNotRegex(text, r"@[A-Z]+@|\bnull device\b|NullBackend")
        self.assertEqual(self.new("codegen", "my_codegen").status, 0)
        files = {path.name: path.read_text() for path in (self.folder / "my_codegen").iterdir()}
        self.assertEqual(set(files), {"CMakeLists.txt", "plugin.json", "README.md", "add.py", "my_codegen.c"})
        self.assertEqual(json.loads(files["plugin.json"])["kinds"], ["codegen"])
        for text in files.values():
            self.assertNotRegex(text, r"@[A-Z]+@|backend\.cpp")
        self.assertLessEqual((self.folder / "my_mapper" / "my_mapper.cpp").read_text().count("\n"), 40)
        self.assertEqual(self.new("mapper", "other", "--dir", str(self.folder / "deep") + "/").status, 0)
        self.assertTrue((self.folder / "deep" / "other.cpp").exists())

    def test_what_it_refuses(self):
        (self.folder / "there").mkdir()
        (self.folder / "dangling").symlink_to("nowhere")
        for words, code, text in [
                ([], "E_OPTION_VALUE", "expected KIND and NAME"),
                (["mapper"], "E_OPTION_VALUE", "expected KIND and NAME"),
                (["maper", "mine"], "E_OPTION_VALUE", "did you mean mapper?"),
                (["mapper", "Mine"], "E_OPTION_VALUE", "'Mine' cannot be the name of a plugin"),
                (["mapper", "../x"], "E_OPTION_VALUE", "cannot be the name"),
                (["mapper", "random"], "E_OPTION_VALUE", "comes with Tessera"),
                (["backend", "cpu"], "E_OPTION_VALUE", "comes with Tessera"),
                (["backend", "default"], "E_OPTION_VALUE", "comes with Tessera"),
                (["mapper", "profiles"], "E_OPTION_VALUE", "comes with Tessera"),
                (["mapper", "choice"], "E_OPTION_VALUE", "tessera/mapper.hpp names one of its own"),
                (["mapper", "variant_call"], "E_OPTION_VALUE", "tessera/mapper.hpp names one of its own"),
                *((["backend", name], "E_OPTION_VALUE", "a target that CMake makes itself")
                  for name in ("test", "all", "install", "help", "clean", "package")),
                (["mapper", "there"], "E_OUTPUT_WRITE", "there exists already"),
                (["mapper", "dangling"], "E_OUTPUT_WRITE", "dangling exists already"),
                (["mapper", "mine", "--dir", "no/such/folder"], "E_OUTPUT_WRITE", "No such file or directory")]:
            with self.subTest(words):
                result = self.new(*words)
                self.assertEqual(result.status, 1, result.errors)
                self.assertIn(f"[{code}]", result.errors)
                self.assertIn(text, result.errors)
        self.assertEqual(list((self.folder / "there").iterdir()), [])
        self.assertEqual([p.name for p in self.folder.iterdir() if p.name.startswith(".tsr-new")], [])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tsr", required=True)
    arguments, rest = parser.parse_known_args()
    Cli.tsr = Tsr(arguments.tsr)
    unittest.main(argv=[sys.argv[0], *rest])
