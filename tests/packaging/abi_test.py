#!/usr/bin/env python3
"""packaging/abi/abi.py: the headers of today keep the last release's ABI, and each kind of break is seen."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = ROOT / "packaging/abi/abi.py"


def check(include=ROOT / "sdk/include"):
    return subprocess.run([sys.executable, TOOL, "check", "--include", include], capture_output=True, text=True)


class Abi(unittest.TestCase):
    def after(self, file, old, new):
        """The check's result on headers where `old` became `new`."""
        with tempfile.TemporaryDirectory() as name:
            include = pathlib.Path(name) / "include"
            shutil.copytree(ROOT / "sdk/include", include)
            text = (include / "tessera" / file).read_text()
            self.assertIn(old, text)
            (include / "tessera" / file).write_text(text.replace(old, new, 1))
            return check(include)

    def test_the_headers_keep_the_last_releases_abi(self):
        result = check()
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_breaks_are_seen(self):
        for file, old, new, said in [
            ("tessera.h", "TSR_API tsr_status_t tsrSynchronize(tsr_context_t context);", "", "1 Removed function"),
            ("tessera.h", "tsrAbiVersion(uint32_t *major, uint32_t *minor)",
             "tsrAbiVersion(uint32_t *major, uint64_t *minor)", "tsrAbiVersion"),
            ("status.h", "TSR_NOT_READY = 9", "TSR_NOT_READY = 12", "TSR_NOT_READY"),
            ("tessera.h", "  uint64_t memory_bytes;", "  uint64_t more;\n  uint64_t memory_bytes;", "tsr_device_info"),
        ]:
            with self.subTest(new or old):
                result = self.after(file, old, new)
                self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
                self.assertIn(said, result.stdout)
                self.assertIn("append instead", result.stdout)

    def test_additions_are_allowed(self):
        for file, old, new in [
            ("tessera.h", "TSR_API const char *tsrVersion(void);",
             "TSR_API const char *tsrVersion(void);\nTSR_API void tsrNew(void);"),
            ("status.h", "TSR_NOT_READY = 9,", "TSR_NEW = 99, TSR_NOT_READY = 9,"),
            ("tessera.h", "} tsr_backend_info_t;", "  uint64_t more;\n} tsr_backend_info_t;"),
        ]:
            with self.subTest(new):
                result = self.after(file, old, new)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)


if __name__ == "__main__":
    skipped = check()
    if skipped.returncode == 77:
        print(skipped.stdout, end="")
        sys.exit(77)
    unittest.main()
