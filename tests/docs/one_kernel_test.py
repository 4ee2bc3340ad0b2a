#!/usr/bin/env python3
"""docs/one-kernel.md: its program gives the output the page shows at every level, and its check holds.

A block ```LANGUAGE emit=LEVEL contains lines of `tsr compile --emit LEVEL --target cpu:x86-64-v3`, in order. A line `...`
leaves lines out; `...` at the end of a line leaves out its rest. Indentation is the page's own.
"""
import argparse
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import docs_test  # noqa: E402
from support.host import Tsr  # noqa: E402

DOCUMENT = ROOT / "docs" / "one-kernel.md"
BLOCK = re.compile(r"^```(\w+)(?: emit=(\w+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def matches(shown, line):
    shown, line = shown.strip(), line.strip()
    return line.startswith(shown[:-3]) if shown.endswith("...") else line == shown


def missing(block, output):
    """The first line of `block` that `output` does not have at its place; None if it has all."""
    lines, at, adjacent = output.splitlines(), 0, False
    for shown in block.splitlines():
        if shown.strip() == "...":
            adjacent = False
            continue
        found = next((i for i in range(at, len(lines)) if matches(shown, lines[i])), None)
        if found is None or (adjacent and found != at):
            return shown
        at, adjacent = found + 1, True
    return None


class OneKernel(unittest.TestCase):
    tsr = None

    def test_page(self):
        text = DOCUMENT.read_text()
        blocks = [(m.group(1), m.group(2), m.group(3)) for m in BLOCK.finditer(text)]
        source = next(body for language, _, body in blocks if language == "python")
        levels = [level for _, level, _ in blocks if level]
        self.assertEqual(levels, ["graph", "schedule", "tile", "target", "asm", "metadata"])
        for _, level, body in blocks:
            if not level:
                continue
            result = self.tsr.compile(source, level, "--target", "cpu:x86-64-v3")
            self.assertEqual(result.status, 0, result.errors)
            self.assertIsNone(missing(body, result.output), f"not at its place in --emit {level}:\n{result.output}")
        check = next(body for language, _, body in blocks if language == "check")
        examples = docs_test.Examples()
        examples.tsr = self.tsr
        exec(compile(check, str(DOCUMENT), "exec"), examples.environment(source))

    def test_the_comparison_sees_differences(self):
        output = "a\nb c\nd\n"
        self.assertIsNone(missing("a\nb ...\n...\nd", output))
        self.assertEqual(missing("a\nd", output), "d")
        self.assertEqual(missing("b c d", output), "b c d")
        self.assertEqual(missing("d\na", output), "a")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tsr", default=str(ROOT / "build/release/bin/tsr"))
    known, rest = parser.parse_known_args()
    OneKernel.tsr = Tsr(known.tsr)
    unittest.main(argv=sys.argv[:1] + rest)
