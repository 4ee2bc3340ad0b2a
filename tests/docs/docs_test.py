#!/usr/bin/env python3
"""Runs every example of docs/language.md: a ```python block is a source file, the ```check block behind it its test;
```python error=CODE is a program that must be refused with that code, ```python emit=LEVEL one that has an IR of that
level."""
import argparse
import math
import os
import pathlib
import re
import sys
import unittest
import unittest.mock

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from support.host import Tsr, bf16, philox, philox_words  # noqa: E402

DOCUMENT = ROOT / "docs" / "language.md"
BLOCK = re.compile(r"^```(python|check)(?: (error|emit)=(\w+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples():
    """Yields (line, source, check or None, error code or None, level or None)."""
    text = DOCUMENT.read_text()
    blocks = [(m.group(1), {m.group(2): m.group(3)}, m.group(4), text.count("\n", 0, m.start()) + 1)
              for m in BLOCK.finditer(text)]
    for i, (kind, option, body, line) in enumerate(blocks):
        error, level = option.get("error"), option.get("emit")
        if kind == "check":
            if not i or blocks[i - 1][0] != "python":
                raise AssertionError(f"line {line}: a check without a program before it")
            continue
        follows = blocks[i + 1] if i + 1 < len(blocks) else None
        check = follows[2] if follows and follows[0] == "check" else None
        if not check and not error and not level:
            raise AssertionError(f"line {line}: a program without a check")
        yield line, body, check, error, level


class Examples(unittest.TestCase):
    tsr = None

    def environment(self, source):
        def floats(*shape, seed=1):
            return np.random.default_rng(seed).uniform(-1, 1, shape).astype("f4")

        def ints(*shape, low, high, seed=1):
            return np.random.default_rng(seed).integers(low, high, shape).astype("i4")

        functions = re.findall(r"^@ts\.[^@]*?^def (\w+)", source, re.MULTILINE | re.DOTALL)
        last = ("--kernel", functions[-1]) if len(functions) > 1 else ()  # it may call the others

        def run(*outputs, **inputs):
            result = self.tsr.run(source, outputs, inputs, *last)
            self.assertEqual(result.status, 0, result.errors)
            return result.outputs[0] if len(outputs) == 1 else result.outputs

        def debug(*outputs, **inputs):
            """The lines on standard error, without file and line, with print and assert_ compiled."""
            with unittest.mock.patch.dict(os.environ, TESSERA_DEBUG="on"):
                errors = self.tsr.run(source, outputs, inputs).errors
            return [re.sub(r"^.*kernel\.py:\d+: ", "", line) for line in errors.splitlines()]

        def refused(code, **inputs):
            result = self.tsr.run(source, (), inputs, *last)
            self.assertEqual(result.status, 1, result.errors)
            self.assertIn(f"[{code}]", result.errors)

        def check(got, want, rtol=2e-7, atol=2e-7, bound=None):
            want = np.asarray(want, "f8")
            self.assertEqual(got.shape, want.shape)
            allowed = rtol * abs(want) + atol if bound is None else bound + 1e-30
            same = (np.isnan(got) & np.isnan(want)) | (abs(got - want) <= allowed)
            self.assertTrue(same.all(), f"{np.count_nonzero(~same)} elements differ")

        def exact(got, want):
            self.assertEqual(got.dtype, want.dtype)
            np.testing.assert_array_equal(got, want)

        return dict(np=np, math=math, floats=floats, ints=ints, bf16=bf16, philox=philox, philox_words=philox_words, run=run, refused=refused,
                    check=check, debug=debug, exact=exact)


def add_tests(tsr):
    def make(source, check, error, level, line):
        def test(self):
            if error:
                result = tsr.compile(source)
                self.assertEqual(result.status, 1, result.errors)
                self.assertIn(f"[{error}]", result.errors)
            elif level:
                last = re.findall(r"^@ts\..*\ndef (\w+)", source, re.MULTILINE)[-1]
                result = tsr.compile(source, level, "--kernel", last)
                self.assertEqual(result.status, 0, result.errors)
            else:
                exec(compile("\n" * line + check, str(DOCUMENT), "exec"), self.environment(source))

        return test

    for line, source, check, error, level in examples():
        name = re.search(r"^def (\w+)\(.*:$|^def (\w+)\(", source[source.index("@ts."):], re.MULTILINE)
        kernel = name.group(1) or name.group(2)
        setattr(Examples, f"test_line_{line:04d}_{kernel}", make(source, check, error, level, line))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tsr", default=str(ROOT / "build/release/bin/tsr"))
    known, rest = parser.parse_known_args()
    Examples.tsr = Tsr(known.tsr)
    add_tests(Examples.tsr)
    unittest.main(argv=sys.argv[:1] + rest)
