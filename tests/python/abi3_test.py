"""_core.abi3.so needs only what the limited API of CPython 3.11 has, and runs on every Python from 3.11 on that is installed."""
import glob
import os
import pathlib
import re
import subprocess
import sys
import unittest

LIBRARY = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/python/tessera/_core.abi3.so").resolve()


class Abi3(unittest.TestCase):
    def test_symbols(self):
        out = subprocess.run(["nm", "-D", "--undefined-only", LIBRARY], capture_output=True, text=True, check=True).stdout
        used = set(re.findall(r"\b_?Py\w+", out))
        self.assertGreater(len(used), 50)
        # The names that the headers declare when Py_LIMITED_API is set.
        program = "#define PY_SSIZE_T_CLEAN\n#define Py_LIMITED_API 0x030B0000\n#include <Python.h>\n"
        headers = next(path for path in ("/usr/include/python3.11", "/usr/include/python3.12", "/usr/include/python3.13")
                       if os.path.exists(path + "/Python.h"))
        text = subprocess.run(["cc", "-E", "-P", "-I", headers, "-"], input=program, capture_output=True, text=True, check=True).stdout
        self.assertEqual(used - set(re.findall(r"\b_?Py\w+", text)), set())

    def test_runs_on_each_python(self):
        ran = 0
        for python in sorted(glob.glob("/usr/bin/python3.[0-9]*") + glob.glob("/usr/local/bin/python3.[0-9]*")):
            minor = re.fullmatch(r".*/python3\.(\d+)", python)
            if not minor or int(minor[1]) < 11:
                continue
            ran += 1
            subprocess.run([python, "-c", "import tessera; tessera.runtime.capabilities()"], check=True)
        self.assertGreater(ran, 0)


if __name__ == "__main__":
    unittest.main()
