#!/usr/bin/env python3
"""tsr profile from outside: a line for each launch, with what it moved and which variant ran. No test depends on a time."""
import argparse
import json
import re
import sys
import unittest

from cli_test import ROOT, Cli, Tsr
from variants_test import SHORT

FUNCTION = """import tessera as ts


@ts.jit
def f(x: ts.Tensor["R", "N", ts.f32], w: ts.Tensor["N", "K", ts.bf16]) -> ts.Tensor["R", ts.f32]:
    return ts.sum(ts.softmax(ts.matmul(x.cast(ts.bf16), w).cast(ts.f32)), axis=-1)


@ts.jit
def total(x: ts.Tensor["R", "N", ts.f32]) -> ts.Tensor["R", ts.f32]:
    return ts.sum(x, axis=-1)
"""


class Profile(Cli):
    def profile(self, *words, status=0):
        result = self.call("profile", self.file, *words)
        self.assertEqual(result.status, status, result.errors)
        return result

    def document(self, *words):
        return json.loads(self.profile(*words, "--json", "--runs", "3").output)

    def test_a_kernel(self):
        document = self.document("--dim", "n=1000", "--scalar", "alpha=2")
        self.assertEqual((document["kernel"], document["dims"], document["runs"]), ("saxpy", {"n": 1000}, 3))
        (launch,) = document["launches"]
        self.assertEqual(launch["bytes"], 1000 * 4 * 3)  # x is read, y read and written
        self.assertEqual(launch["dims"], {"n": 1000})
        self.assertNotIn("variant", launch)
        self.assertGreater(launch["programs"], 0)
        for time in ("median_ns", "min_ns", "copy_ns"):
            self.assertGreater(launch[time], 0)
        self.assertLessEqual(launch["min_ns"], launch["median_ns"])

    def test_each_launch_of_a_function(self):
        self.source(FUNCTION)
        document = self.document("--kernel", "f", "--dim", "R=3", "N=17", "K=5")
        self.assertEqual(document["kernel"], "f")
        metadata = self.call("compile", self.file, "--kernel", "f", "--emit", "metadata", "--exact-dims", "--dim", "R=3", "--dim",
                             "N=17", "--dim", "K=5").output
        steps = re.findall(r"kernel: (f\.\w+)", metadata)
        self.assertGreater(len(steps), 0)
        self.assertEqual([launch["kernel"] for launch in document["launches"]], steps)

    def test_the_variant_that_ran(self):
        self.source(FUNCTION)
        bundle = self.folder / "total.tsrb"
        self.assertEqual(self.call("compile", self.file, "--emit", "bundle", "-o", bundle).status, 0)
        self.file = bundle
        for n, name in ((SHORT, "short"), (SHORT + 1, "general")):
            (launch,) = self.document("--kernel", "total", "--dim", "R=3", f"N={n}")["launches"]
            self.assertEqual((launch["kernel"], launch["variant"], launch["dims"]), ("total.g0", name, {"R": 3, "N": n}))
            self.assertEqual(launch["bytes"], 4 * (3 * n + 3))
            self.assertEqual(launch["entry"], "total.g0" + (".short" if name == "short" else ""))

    def test_tensors_without_elements(self):
        (launch,) = self.document("--dim", "n=0", "--scalar", "alpha=2")["launches"]
        self.assertEqual((launch["bytes"], launch["programs"]), (0, 0))
        self.assertNotIn("copy_ns", launch)

    def test_the_table(self):
        lines = self.profile("--dim", "n=1000", "--scalar", "alpha=2", "--runs", "2").output.splitlines()
        self.assertEqual(len(lines), 3)
        self.assertRegex(lines[0], r"^launch +variant +median us +least us +share +programs +bytes +GB/s +of copy$")
        self.assertRegex(lines[1], r"^saxpy +- +\d+\.\d\d +\d+\.\d\d +100\.0% +\d+ +12000 +\d+\.\d\d +\d+%$")
        self.assertRegex(lines[2], r"^all launches +\d+\.\d\d$")

    def test_bad_input(self):
        for words, code in ((("--dim", "n=4"), "E_ARG_MISSING"), (("--scalar", "alpha=1"), "E_DIM_MISSING"),
                            (("--dim", "n=4", "--scalar", "alpha=1", "--runs", "0"), "E_OPTION_VALUE"),
                            (("--kernel", "g"), "E_KERNEL_UNKNOWN")):
            self.assertIn(f"[{code}]", self.profile(*words, status=1).errors)
        self.assertIn("[E_NO_FILE]", self.call("profile").errors)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tsr", default=str(ROOT / "build/release/bin/tsr"))
    known, rest = parser.parse_known_args()
    Cli.tsr = Tsr(known.tsr)
    unittest.main(argv=sys.argv[:1] + rest)
