"""Runs every example of docs/python.md as a file of its own, and compares its list of missing names with the package's. A ```text block
behind an example is what it prints, on both streams; such a program may end with an error."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from tessera import _missing

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "python.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)


class Examples(unittest.TestCase):
    def test_missing_names(self):
        text = DOCUMENT.read_text().split("## What is not built", 1)[1]
        self.assertEqual(set(re.findall(r"`([a-z_A-Z.]+)`", text)) - {"ts.UnsupportedError"},
                         {name.removeprefix("tessera.") for name in _missing.NAMES})


def add(line, body, output):
    def test(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "example.py").write_text(body)
            done = subprocess.run([sys.executable, "example.py"], cwd=folder, capture_output=True, text=True, timeout=120)
            if output is None:
                self.assertEqual(done.returncode, 0, done.stderr)
            else:
                self.assertEqual(re.sub(rf"{folder}/", "", done.stdout + done.stderr), output)

    setattr(Examples, f"test_line_{line:03d}", test)


TEXT = DOCUMENT.read_text()
for match in BLOCK.finditer(TEXT):
    add(TEXT.count("\n", 0, match.start()) + 1, match[1], match[2])

if __name__ == "__main__":
    unittest.main()
