#!/usr/bin/env python3
"""Numerics profiles from outside: who names one, what plugins bring, what is refused, and where it can be seen."""
import argparse
import json
import os
import pathlib
import shutil
import sys
import unittest

import numpy as np

from cli_test import SUM, Cli, Tsr

COUNT = """import tessera as ts

@ts.kernel
def count(x: ts.Tensor["n", ts.f32], s: ts.Tensor[1, ts.f32]):
    i = ts.tile.linear_id()
    if i < n:
        ts.tile.atomic_add(s, 0, x[i])
"""


class Profiles(Cli):
    plugin = None

    def setUp(self):
        super().setUp()
        plugins = self.folder / "plugins"
        plugins.mkdir(mode=0o755)
        shutil.copyfile(self.plugin, plugins / self.plugin.name)
        (plugins / self.plugin.name).chmod(0o644)
        self.environment["TESSERA_PLUGIN_PATH"] = str(plugins)

    def profile_of(self, *more, **environment):
        kept, self.environment = self.environment, self.environment | environment
        result = self.run_saxpy("--json", *more)
        self.environment = kept
        self.assertEqual(result.status, 0, result.errors)
        document = json.loads(result.output)
        return document["numerics"], document["permits"]

    def test_a_call_goes_before_the_environment_and_that_before_standard(self):
        standard = ["contraction", "unordered_atomics"]
        self.assertEqual(self.profile_of(), ("standard", standard))
        self.assertEqual(self.profile_of(TESSERA_NUMERICS="deterministic"), ("deterministic", ["contraction"]))
        self.assertEqual(self.profile_of(TESSERA_NUMERICS="house"), ("house", ["unordered_atomics"]))
        self.assertEqual(self.profile_of("--numerics", "standard", TESSERA_NUMERICS="house"), ("standard", standard))

    def test_the_bundle_says_it(self):
        bundle = self.folder / "k.tsrb"
        result = self.call("compile", self.file, "--emit", "bundle", "--numerics", "house", "-o", bundle)
        self.assertEqual(result.status, 0, result.errors)
        # Whoever runs it needs no plugin.
        self.environment.pop("TESSERA_PLUGIN_PATH")
        shown = self.call("inspect", bundle)
        self.assertIn("numerics house\n    permits      unordered_atomics\n", shown.output)
        kernel = json.loads(self.call("inspect", bundle, "--json").output)
        self.assertIn('"permits": ["unordered_atomics"]', json.dumps(kernel))

    def test_the_text_of_a_relaxed_kernel_is_read_again(self):
        """Flags that the profile permits stay; others are refused."""
        self.source(SUM)
        text = self.call("compile", self.file, "--emit", "tile", "--numerics", "fast").output
        self.assertIn("fastmath<reassoc,arcp,contract>", text)
        edited = self.folder / "k.mlir"
        for flags, status in (("reassoc,arcp,contract", 0), ("contract", 0), ("contract,nnan", 1), ("fast", 1)):
            edited.write_text(text.replace("fastmath<reassoc,arcp,contract>", f"fastmath<{flags}>", 1))
            result = self.call("compile", edited, "--emit", "metadata")
            self.assertEqual(result.status, status, result.errors)
            self.assertEqual("has fast-math flags" in result.errors, status == 1)
        edited.write_text(text.replace('fast = [', 'house = [').replace('"reassociation", ', "").replace('numerics = "fast"', 'numerics = "house"'))
        self.refused(self.call("compile", edited, "--emit", "metadata"), "E_IR_INVALID", "has fast-math flags")

    def test_threads_decide_no_bits(self):
        """Sums, rows, columns and products, on one core and on all; on one, every launch is the caller's."""
        self.source("""import tessera as ts

@ts.jit
def f(x: ts.Tensor["M", "N", ts.f32]):
    total = ts.sum(x)
    return ts.softmax(x) @ x.T + total, ts.sum(x, axis=0), ts.layer_norm(x), ts.cumsum(x, axis=1), ts.mean(x.reshape(M * N)), ts.argmax(x, axis=1)
""", "threads.py")
        x = np.random.default_rng(5).standard_normal((517, 1031)).astype("f4")
        first = min(os.sched_getaffinity(0))
        outputs = [f"result{i}" for i in range(6)]
        for profile in ("deterministic", "standard", "strict"):
            bits = []
            for inline, cores in (("on", {first}), ("on", os.sched_getaffinity(0)), ("off", os.sched_getaffinity(0))):
                self.environment["TESSERA_CPU_INLINE"] = inline
                result = self.call("run", self.file, "--in", f"x={self.array('x', x)}", "--numerics", profile,
                                   "--out", *(f"{name}={self.folder / name}.npy" for name in outputs),
                                   preexec_fn=lambda cores=cores: os.sched_setaffinity(0, cores))
                self.assertEqual(result.status, 0, result.errors)
                bits.append([np.load(self.folder / f"{name}.npy").tobytes() for name in outputs])
            for other in bits[1:]:
                self.assertEqual([a == b for a, b in zip(bits[0], other)], [True] * len(outputs), profile)

    def test_the_environment_cannot_change_a_bundle(self):
        bundle = self.folder / "k.tsrb"
        result = self.call("compile", self.file, "--emit", "bundle", "--numerics", "fast", "-o", bundle)
        self.assertEqual(result.status, 0, result.errors)
        x, y = self.array("x", np.arange(5, dtype="f4")), self.array("y", np.ones(5, "f4"))
        for asked in ("deterministic", "strict", "standard", "fast", ""):
            ran = self.call("run", bundle, "--in", f"x={x}", f"y={y}", "--scalar", "alpha=2", env=self.environment | {"TESSERA_NUMERICS": asked})
            self.assertEqual(ran.status, 0, ran.errors)
            text = f"warning: the image: TESSERA_NUMERICS={asked} has no effect on code that was compiled with --numerics fast; " \
                   f"compile it again with --numerics {asked}"
            self.assertEqual(ran.errors.count(text), asked not in ("fast", ""), ran.errors)
        config = self.folder / "tessera.yaml"
        for asked in ("deterministic", "fast"):
            config.write_text(f"numerics: {asked}\n")
            ran = self.call("run", bundle, "--in", f"x={x}", f"y={y}", "--scalar", "alpha=2", env=self.environment | {"TESSERA_CONFIG": str(config)})
            self.assertEqual(ran.status, 0, ran.errors)
            text = f"warning: the image: numerics in {config}: {asked} has no effect on code that was compiled with --numerics fast; " \
                   f"compile it again with --numerics {asked}"
            self.assertEqual(ran.errors.count(text), asked != "fast", ran.errors)
        self.environment["TESSERA_NUMERICS"] = "strict"
        self.assertNotIn("TESSERA_NUMERICS", self.run_saxpy("--numerics", "fast").errors)

    def test_unknown(self):
        self.refused(self.run_saxpy("--numerics", "hause"), "E_NUMERICS_UNKNOWN", "did you mean house?")
        self.refused(self.call("compile", self.file, "--emit", "tile",
                               env=self.environment | {"TESSERA_NUMERICS": "x"}), "E_NUMERICS_UNKNOWN",
                     "TESSERA_NUMERICS 'x': there is no such profile; available: fast, standard, deterministic, strict, "
                     "house, tree, frozen")

    def test_what_is_not_honoured_is_refused(self):
        self.source("""import tessera as ts

@ts.kernel
def k(x: ts.Tensor["n", ts.f32]):
    i = ts.tile.linear_id()
    total = ts.tile.group.sum(x[i])
    if i < n:
        x[i] = total
""")
        self.refused(self.call("compile", self.file, "--emit", "target", "--numerics", "tree"), "E_UNIMPLEMENTED",
                     "TSR_UNIMPLEMENTED: numerics profile 'tree' (fixed_reductions) is not honoured by backend cpu: tile.group_reduce on f32")
        self.source(COUNT)
        for profile in ("frozen", "deterministic"):
            self.refused(self.call("compile", self.file, "--emit", "target", "--numerics", profile), "E_UNIMPLEMENTED",
                         f"'{profile}' (no unordered_atomics) is not honoured by backend cpu: atomic_add on f32 depends "
                         "on the order of arrival")
        self.source(SUM)
        self.refused(self.call("compile", self.file, "--emit", "tile", "--set", "BLOCK=32", "--numerics", "frozen"),
                     "E_UNIMPLEMENTED", "(frozen_tunables): BLOCK of add keeps its first value, 16, on backend cpu")

    def test_what_depends_on_the_order_of_arrival_is_refused(self):
        kernel = """import tessera as ts

@ts.kernel
def k(x: ts.Tensor["n", ts.{0}], s: ts.Tensor[1, ts.{0}], y: ts.Tensor["n", ts.{0}]):
    i = ts.tile.linear_id()
    if i < n:
        {1}
"""
        calls = {"add": "atomic_add(s, 0, x[i])", "max": "atomic_max(s, 0, x[i])", "min": "atomic_min(s, 0, x[i])",
                 "xchg": "atomic_xchg(s, 0, x[i])", "cas": "atomic_cas(s, 0, x[i], x[i])"}
        for dtype in ("f32", "f64", "i32", "i64"):
            for name, call in calls.items():
                for used in (False, True):
                    dependent = used or name in ("xchg", "cas") or (name == "add" and dtype[0] == "f")
                    with self.subTest(dtype=dtype, name=name, used=used):
                        self.source(kernel.format(dtype, ("y[i] = " if used else "") + "ts.tile." + call))
                        for profile in ("deterministic", "standard"):
                            result = self.call("compile", self.file, "--emit", "tile", "--numerics", profile)
                            if dependent and profile == "deterministic":
                                self.refused(result, "E_UNIMPLEMENTED", f"atomic_{name}")
                                self.assertIn("depends on the order of arrival", result.errors)
                                self.assertIn(f"{self.file}:7:", result.errors)
                                self.assertIn("hint: ", result.errors)
                            else:
                                self.assertEqual(result.status, 0, result.errors)

    def test_scatters_are_refused_at_their_line(self):
        for reduction in ("add", "mul"):
            self.source(f"""import tessera as ts

@ts.jit
def f(x: ts.Tensor["V", "D", ts.f32], i: ts.Tensor["n", ts.i32], u: ts.Tensor["n", "D", ts.f32]):
    return ts.scatter(x * 2.0, i, u, reduction="{reduction}")
""")
            result = self.call("compile", self.file, "--emit", "target", "--numerics", "deterministic")
            self.refused(result, "E_UNIMPLEMENTED", "depends on the order of arrival")
            self.assertIn(f"{self.file}:5:12:", result.errors)

    def test_ir_text_carries_its_profile(self):
        graph = self.folder / "k.mlir"
        result = self.call("compile", self.file, "--emit", "graph", "--numerics", "house", "-o", graph)
        self.assertEqual(result.status, 0, result.errors)
        self.environment.pop("TESSERA_PLUGIN_PATH")
        metadata = self.call("compile", graph, "--emit", "metadata")
        self.assertIn("numerics: house\npermits: [unordered_atomics]", metadata.output, metadata.errors)

    def test_the_cache_knows_the_permissions(self):
        """The same name with other permissions is other code: found by the key, not by the name."""
        cache = {"TESSERA_CACHE_DIR": str(self.folder / "cache")}
        for profile, permits in (("house", ["unordered_atomics"]), ("frozen", ["contraction", "frozen_tunables"])):
            for _ in range(2):
                self.assertEqual(self.profile_of("--numerics", profile, **cache), (profile, permits))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tsr", required=True)
    parser.add_argument("--plugin", required=True, type=pathlib.Path)
    options, rest = parser.parse_known_args()
    Cli.tsr = Tsr(options.tsr)
    Profiles.plugin = options.plugin
    unittest.main(argv=[sys.argv[0], *rest])
