"""Runs every example of docs/python.md as a file of its own, and compares its list of missing names with the package's."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from tessera import _missing

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "python.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Examples(unittest.TestCase):
    def test_missing_names(self):
        text = DOCUMENT.read_text().split("## What is not built", 1)[1]
        self.assertEqual(set(re.findall(r"`([a-z_A-Z.]+)`", text)) - {"ts.UnsupportedError"},
                         {name.removeprefix("tessera.") for name in _missing.NAMES})


def add(line, body):
    def test(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "example.py"
            file.write_text(body)
            done = subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)

    setattr(Examples, f"test_line_{line:03d}", test)


TEXT = DOCUMENT.read_text()
for match in BLOCK.finditer(TEXT):
    add(TEXT.count("\n", 0, match.start()) + 1, match.group(1))

if __name__ == "__main__":
    unittest.main()
