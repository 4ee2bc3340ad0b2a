"""Runs every example of docs/python.md as a file of its own. A ```text block behind an example is what it prints, on both streams; such a
program may end with an error."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "python.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)


class Examples(unittest.TestCase):
    pass


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
