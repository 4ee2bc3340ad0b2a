"""The samples of samples/python check themselves."""
import pathlib
import subprocess
import sys
import unittest

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples" / "python"


class Samples(unittest.TestCase):
    def test_all(self):
        files = sorted(SAMPLES.glob("*/*.py"))
        self.assertGreaterEqual(len(files), 2)
        for file in files:
            with self.subTest(file.name):
                done = subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=300)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("right", done.stdout)


if __name__ == "__main__":
    unittest.main()
