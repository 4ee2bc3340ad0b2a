#!/usr/bin/env python3
"""Programs on the backends of GPUs, with a shim in the driver's place: the very image of the product path is executed
(tests/shims), results are compared with NumPy, and drivers that fail are reported as the pages say.
"""
import argparse
import math
import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench" / "samples"), str(ROOT / "tests"), str(ROOT / "tests" / "shims" / "spirv")]
import read_back  # noqa: E402
import samples  # noqa: E402
from support.host import Tsr  # noqa: E402

SAMPLES = ("saxpy", "softmax", "gemm", "mlp")  # mlp has several kernels
READ_BACK = ("saxpy", "softmax", "gemm", "flash_attention", "layer_norm", "histogram")
BLOCKS = {"M": 100, "N": 88, "K": 72}  # whose rows the device reads as blocks
# Backend -> the shim's devices, the first is its default.
ARCHITECTURES = {"ptx": ("sm_80", "sm_90a"), "rocm": ("gfx90a", "gfx1100"), "levelzero": ("pvc",)}
NO_DRIVER = {"ptx": "cuInit: no CUDA-capable device is detected", "rocm": "hipInit: no ROCm-capable device is detected",
             "levelzero": "zeInit failed with ZE_RESULT_ERROR_UNINITIALIZED (no Intel GPU, or no driver for it)"}
JIT_FAILS = {"ptx": "planted", "rocm": "hipErrorInvalidImage", "levelzero": "planted"}


class ShimTsr(Tsr):
    """tsr with a shim's options."""

    def __init__(self, program, backend, table, options=""):
        super().__init__(program)
        self.backend, self.table, self.options = backend, table, options

    def call(self, *words, **popen):
        env = dict(os.environ, LD_LIBRARY_PATH=str(ARGS.drivers), TESSERA_PLUGIN_PATH=str(ARGS.plugins), TESSERA_CACHE_DIR="off",
                   TESSERA_BACKEND=self.backend, SHIM_TABLE=str(self.table), SHIM_OPTIONS=self.options)
        return super().call(*words, env=env, **popen)


class Shims(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.table = pathlib.Path(folder.name)

    def tsr(self, backend, options=""):
        return ShimTsr(ARGS.tsr, backend, self.table, options)

    def compile(self, backend, arch, sample):
        """Puts the image of a sample and the emulated image of the same program into the table."""
        source = samples.ROOT / "samples" / sample / f"{sample}.py"
        for target, kind in ((f"{backend}:{arch}", "image"), (f"{backend}:emulated:{arch}", "emulated")):
            done = self.tsr("cpu").call("compile", source, "--target", target, "--emit", "object", "-o", self.table / f"{sample}.{kind}")
            self.assertEqual(done.status, 0, done.errors)

    def saxpy(self, tsr):
        """saxpy on 5000 elements: the result of tsr."""
        sample = samples.Sample(samples.ROOT / "samples" / "saxpy")
        case = samples.Case(sample, {"n": 5000})
        return tsr.run(sample.source, ["y"], case.inputs)

    def refused(self, backend, options, *texts):
        result = self.saxpy(self.tsr(backend, options))
        self.assertNotEqual(result.status, 0)
        for text in texts:
            self.assertIn(text, result.errors)
        self.assertNotIn("SHIM", result.errors)  # no rule is broken, nothing leaks

    def test_samples(self):
        backend, architectures = ARGS.backend, ARCHITECTURES[ARGS.backend]
        for arch in architectures:
            for name in SAMPLES if arch == architectures[0] else SAMPLES[:1]:
                with self.subTest(backend=backend, arch=arch, sample=name):
                    self.compile(backend, arch, name)
                    sample = samples.Sample(samples.ROOT / "samples" / name)
                    for size in sample.check.SMALL:
                        if name == "mlp" and 1 in size.values():
                            continue  # extents of 1 get code of their own
                        samples.Case(sample, size).run(self.tsr(backend, f"arch={arch}"))

    def test_clusters(self):
        """The driver is given the cluster that the image has, and a grid of whole clusters."""
        if ARGS.backend != "ptx":
            self.skipTest("it has no clusters")
        sample = samples.Sample(samples.ROOT / "samples" / "gemm")
        text = self.tsr("cpu").compile(sample.source, "schedule", "--target", "ptx:sm_90a", "-o", "-").output
        for decision, rows in (("cluster = [2, 1]", 100), ("cluster = [2, 1], persistent", 500), ("cluster = [1, 2]", 40)):
            with self.subTest(decision=decision):
                block = f"#schedule.block<roles = [copy: 4 warps, 40 registers, math: 4 warps, 104 registers], {decision}>"
                edited = self.table / "gemm.mlir"
                edited.write_text(re.sub(r"(?m)^( *schedule\.kernel @.*?attributes \{)", rf"\1schedule.block = {block}, ", text))
                for target, kind in (("ptx:sm_90a", "image"), ("ptx:emulated:sm_90a", "emulated")):
                    done = self.tsr("cpu").call("compile", edited, "--target", target, "--emit", "object", "-o", self.table / f"gemm.{kind}")
                    self.assertEqual(done.status, 0, done.errors)
                case = samples.Case(sample, {"M": rows, "N": 88, "K": 72})
                words = []
                for name, array in case.inputs.items():
                    np.save(self.table / f"{name}.npy", array)
                    words += ["--in", f"{name}={self.table / name}.npy"]
                for name in case.want:
                    words += ["--out", f"{name}={self.table / name}-out.npy"]
                result = self.tsr("ptx", "arch=sm_90a").call("run", edited, *words, "--verbose")
                self.assertEqual(result.status, 0, result.errors)
                self.assertRegex(result.errors + result.output, r"variant +cluster of gemm")
                case.compare({name: np.load(self.table / f"{name}-out.npy") for name in case.want})

    def test_spirv_read_back(self):
        """The SPIR-V itself is executed, and gives the bits of the emulated image of the same program."""
        if ARGS.backend != "levelzero":
            self.skipTest("its images are not SPIR-V")
        if not shutil.which(read_back.TRANSLATOR):
            self.skipTest(f"{read_back.TRANSLATOR} is not installed")
        arch = ARCHITECTURES["levelzero"][0]
        for name, size in (*((name, None) for name in READ_BACK), ("gemm", BLOCKS)):
            sample = samples.Sample(samples.ROOT / "samples" / name)
            size = size or max(sample.check.SMALL, key=lambda size: math.prod(size.values()))  # several tiles, with ragged ends
            with self.subTest(sample=name, **size):
                case = samples.Case(sample, size)
                words = ["--kernel", sample.check.KERNEL] if hasattr(sample.check, "KERNEL") else []
                dims = ["--dim", f"D={size['D']}"] if name == "flash_attention" else []
                made = self.tsr("cpu").compile(sample.source, "object", "--target", f"levelzero:{arch}", *words, *dims,
                                               "-o", self.table / "kernel.image")
                self.assertEqual(made.status, 0, made.errors)
                read_back.read_back(self.table / "kernel.image", self.table / "kernel.emulated")
                results = []
                for tsr, device in ((self.tsr("levelzero"), []), (Tsr(ARGS.tsr), ["--backend", "levelzero:emulated", "--arch", arch])):
                    result = tsr.run(sample.source, list(case.want), case.inputs, *words, *device, "--verbose")
                    self.assertEqual(result.status, 0, result.errors)
                    if size == BLOCKS:
                        self.assertRegex(result.errors, r"(?m)^variant +block2d of gemm ")
                    case.compare(dict(zip(case.want, result.outputs)))
                    results.append(b"".join(array.tobytes() for array in result.outputs))
                self.assertEqual(*results)

    def test_backends_are_listed(self):
        backend, architectures = ARGS.backend, ARCHITECTURES[ARGS.backend]
        done = self.tsr("cpu", "devices=2").call("backends", "--why", backend)
        self.assertRegex(done.output, r"devices +2\n")
        self.assertEqual(done.status, 0, done.errors)
        done = self.tsr("cpu", "devices=0").call("backends", "--why", backend)
        self.assertIn("TSRP-204", done.output)
        self.assertIn(NO_DRIVER[backend], done.output)

    def test_failures(self):
        backend, architectures = ARGS.backend, ARCHITECTURES[ARGS.backend]
        self.compile(backend, architectures[0], "saxpy")
        self.refused(backend, "devices=0", "E_BACKEND_UNUSABLE", NO_DRIVER[backend])
        self.refused(backend, "jit=fails", "E_IMAGE_LOAD", JIT_FAILS[backend])
        self.refused(backend, "lost=1", "the device failed and the context cannot be used any more")
        if backend != "levelzero":  # whose driver does not say
            self.refused(backend, "residents=0", "fits on a unit of")

    def test_generic_images(self):
        """A device for which a bundle has no image of its own runs the one for all of the vendor's devices, and says so."""
        if ARGS.backend != "levelzero":
            self.skipTest("its code is for one architecture")
        source, bundle, n = samples.ROOT / "samples" / "saxpy" / "saxpy.py", self.table / "saxpy.tsrb", 5000
        x, y = np.arange(n, dtype="f4"), np.full(n, 3, "f4")
        np.save(self.table / "x.npy", x)
        np.save(self.table / "y.npy", y)

        def bundle_for(*targets):
            made = self.tsr("cpu").call("compile", source, "--target", ",".join(f"levelzero:{target}" for target in targets), "--emit", "bundle", "-o", bundle)
            self.assertEqual(made.status, 0, made.errors)

        def run(options):
            return self.tsr("levelzero", options).call("run", bundle, "--kernel", "saxpy", "--in", f"x={self.table}/x.npy", "--in", f"y={self.table}/y.npy",
                                                       "--scalar", "alpha=2", "--out", f"y={self.table}/out.npy", "--verbose")

        for targets, options, arch, takes_generic in ((("generic",), "", "pvc", True), (("generic",), "arch=acm", "acm-g10", True),
                                                      (("generic",), "arch=xe2", "generic", False), (("generic", "pvc"), "", "pvc", False)):
            with self.subTest(targets=targets, arch=arch):
                self.compile("levelzero", targets[-1], "saxpy")
                bundle_for(*targets)
                result = run(options)
                self.assertEqual(result.status, 0, result.errors)
                np.testing.assert_array_equal(np.load(self.table / "out.npy"), 2 * x + y)
                said = f"no image for levelzero:{arch}; that for levelzero:generic runs"
                (self.assertIn if takes_generic else self.assertNotIn)(said, result.errors + result.output)
        bundle_for("acm-g10")
        self.assertIn("no image for levelzero:pvc or levelzero:generic; it holds levelzero:acm-g10 (the device is levelzero:pvc)", run("").errors)

    def test_bundles_name_what_they_hold(self):
        backend, architectures = ARGS.backend, ARCHITECTURES[ARGS.backend]
        if len(architectures) == 1:
            self.skipTest("it has one architecture")
        source = samples.ROOT / "samples" / "saxpy" / "saxpy.py"
        bundle = self.table / "saxpy.tsrb"
        made = self.tsr("cpu").call("compile", source, "--target", f"{backend}:{architectures[1]}", "--emit", "bundle", "-o", bundle)
        self.assertEqual(made.status, 0, made.errors)
        result = self.tsr(backend).call("run", bundle, "--kernel", "saxpy", "--scalar", "alpha=1", "--dim", "n=4")
        self.assertIn("E_BUNDLE_NO_IMAGE", result.errors)
        self.assertIn(f"{backend}:{architectures[1]} (the device is {backend}:{architectures[0]})", result.errors)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tsr", required=True)
    parser.add_argument("--backend", required=True, choices=ARCHITECTURES)
    parser.add_argument("--drivers", required=True, type=pathlib.Path)
    parser.add_argument("--plugins", required=True, type=pathlib.Path)
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=sys.argv[:1] + rest)
