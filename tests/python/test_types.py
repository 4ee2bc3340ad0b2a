"""mypy finds nothing in the package and its samples, and stubtest nothing in the stubs. A minute: part of ./dev soak."""
import os
import pathlib
import subprocess
import unittest

import tessera as ts

ROOT = pathlib.Path(__file__).resolve().parents[2]


def checker(name):
    found = f"/usr/bin/{name}"
    return unittest.skipUnless(os.path.exists(found), f"{name} is not installed (package mypy)")


class Types(unittest.TestCase):
    PACKAGE = str(pathlib.Path(ts.__file__).parent.parent)

    def run_checker(self, *words, **env):
        done = subprocess.run(words, cwd="/", capture_output=True, text=True,
                              env={**os.environ, "MYPYPATH": self.PACKAGE, "MYPY_CACHE_DIR": os.devnull, **env})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    @checker("mypy")
    def test_samples_and_package(self):
        samples = sorted((ROOT / "samples/python").glob("*/*.py"))
        self.assertGreaterEqual(len(samples), 2)
        for words in (("-p", "tessera"), samples):
            with self.subTest(words):
                self.run_checker("/usr/bin/mypy", "--strict", "--ignore-missing-imports", "--allow-subclassing-any", *words)

    @checker("stubtest")
    def test_stubs(self):
        self.run_checker("/usr/bin/stubtest", "tessera", "--allowlist", pathlib.Path(__file__).parent / "stubtest.allow",
                         "--ignore-unused-allowlist")


if __name__ == "__main__":
    unittest.main()
