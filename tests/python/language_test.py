"""Runs every example of docs/language.md a second time, as Python: with ts.compile and a call in place of `tsr run`. The results have the
same bits, the errors the same codes, the IR the same text."""
import argparse
import dataclasses
import os
import pathlib
import re
import sys
import unittest

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/docs")]
import docs_test  # noqa: E402
from support.host import Tsr  # noqa: E402

import tessera as ts  # noqa: E402


class Both(Tsr):
    """Runs a program by `tsr` and in this process, and compares."""

    test = None  # that runs
    compared = 0

    def __init__(self, program):
        super().__init__(program)
        self.modules = {}

    def kernel(self, source, name=None):
        module = self.modules.get(source)
        if module is None:
            module = self.modules[source] = ts.compile(source, filename="kernel.py")
        return module[name] if name else list(module.values())[-1]

    def run(self, source, outputs, inputs, *options):
        result = super().run(source, outputs, inputs, *options)
        if re.search(r"\bts\.[iu]4\b", source):
            self.test.skipTest("arrays have no packed dtypes in Python")
        kernel = self.kernel(source, options[1] if options else None)
        if "TESSERA_DEBUG" in os.environ:
            return result  # what it prints is compared
        if result.status:
            code = re.search(r"\[([EWN]_\w+)\]", result.errors)[1]
            with self.test.assertRaises(ts.Error) as raised:
                self.call_python(kernel, (), (), inputs)
            # tsr's own code for what a launch refuses without one
            self.test.assertEqual(raised.exception.code, "TSR_EINVAL" if code == "E_LAUNCH_REFUSED" else code)
        else:
            for name, want, got in zip(outputs, result.outputs, self.call_python(kernel, outputs, result.outputs, inputs)):
                self.test.assertEqual((got.dtype, got.shape), (want.dtype, want.shape), name)
                self.test.assertEqual(got.tobytes(), want.tobytes(), name)
                Both.compared += 1
        return result

    @staticmethod
    def arguments(kernel, inputs, known):
        """The arguments of a call. Tensors that are not given are zeros: of the shape of `known`, or of the one that the dims give."""
        def given(name, array):
            entries = getattr(kernel._annotations.get(name), "entries", ())
            dtype = next((entry.name for entry in entries if isinstance(entry, ts.DType)), None)
            if any(isinstance(entry, ts.strides) and entry._text.startswith("tessera.strides(1,") for entry in entries):
                array = np.asfortranarray(array)
            has_numpy = dtype is None or ts._interop._NUMPY.get(dtype) == array.dtype.name
            return array.copy(order="K") if has_numpy else ts.asarray(array, dtype)

        dims = {"ceildiv": ts.cdiv, "min": min, "max": max}
        for name, value in inputs.items():
            for entry, extent in zip(getattr(kernel._annotations.get(name), "entries", ()), getattr(value, "shape", ())):
                if isinstance(entry, str) and entry.isidentifier():
                    dims[entry] = extent
        out = {name: given(name, value) if isinstance(value, np.ndarray) else value for name, value in inputs.items()}
        for name in kernel._parameters:
            if name in out or not hasattr(kernel._annotations.get(name), "entries"):
                continue
            entries = [entry for entry in kernel._annotations[name].entries if isinstance(entry, (int, str))]
            if name in known:
                zeros = np.zeros_like(known[name])
            else:
                try:
                    zeros = np.zeros([entry if isinstance(entry, int) else eval(entry, {}, dims) for entry in entries], "f4")
                except NameError:
                    zeros = np.zeros([1] * len(entries), "f4")
            out[name] = given(name, zeros)
        return out

    @classmethod
    def call_python(cls, kernel, outputs, wanted, inputs):
        """The outputs, as `tsr` writes them."""
        more = {**inputs.get("dims", {}), **inputs.get("set", {})}
        inputs = {name: value for name, value in inputs.items() if name not in ("dims", "set")}
        arguments = cls.arguments(kernel, inputs, dict(zip(outputs, wanted)))
        made = (kernel.jit(**more) if more else kernel)(**arguments)
        values = made if isinstance(made, tuple) else (made,)
        out = []
        for name in outputs:
            number = re.fullmatch(r"result(\d*)", name)
            value = arguments[name] if name in arguments else values[int(number[1] or 0)]
            if isinstance(value, ts.Array):
                value = (value if value._dtype in ts._interop._NUMPY else ts.asarray(value, "f32")).numpy()
            out.append(np.asarray(value))
        return out

    def compile(self, source, emit="metadata", *options):
        result = super().compile(source, emit, *options)
        kernel = options[1] if options else None
        if result.status:
            code = re.search(r"\[([EWN]_\w+)\]", result.errors)[1]
            with self.test.assertRaises(ts.Error) as raised:
                self.kernel(source, kernel).jit()
            self.test.assertEqual(raised.exception.code, code)
        elif emit != "metadata":
            self.test.assertEqual(self.kernel(source, kernel).inspect_ir(emit).strip(), result.output.strip())
        return result


class Examples(docs_test.Examples):
    def setUp(self):
        Both.test = self

    @classmethod
    def tearDownClass(cls):
        print(f"{Both.compared} outputs have the same bits", file=sys.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tsr", default=str(ROOT / "build/release/bin/tsr"))
    known, rest = parser.parse_known_args()
    docs_test.Examples.tsr = Both(known.tsr)
    docs_test.add_tests(docs_test.Examples.tsr)
    unittest.main(argv=sys.argv[:1] + rest)
