"""The samples of samples/python check themselves. One that needs what is not installed says so and ends."""
import pathlib
import subprocess
import sys
import unittest

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples" / "python"


class Samples(unittest.TestCase):
    def test_all(self):
        files = sorted(SAMPLES.glob("*/*.py"))
        self.assertGreaterEqual(len(files), 6)
        for file in files:
            with self.subTest(file.name):
                done = subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=300)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stdout, r"\bright\b|^skipped: .* is not installed\n$")
                self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main()
