#!/usr/bin/env python3
"""C as the documentation prints it, under -std=c99 and -std=c17: every ```c block compiles, every public header compiles alone, and
the commands of the samples' READMEs build and run."""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```c\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DOCUMENTS = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("samples/**/*.md"), *ROOT.glob("sdk/**/*.md")})
STRICT = ["-pedantic", "-Wall", "-Wextra", "-Werror", "-Wno-unused"]
# The names that blocks of calls use without declaring them.
BLOCK_HEAD = """#include <stddef.h>
#include <tessera/tessera.h>
void example(tsr_context_t context, tsr_module_t module, tsr_kernel_t kernel, tsr_stream_t stream, tsr_graph_t graph,
             tsr_launch_t launch, void **args, size_t nargs, void *host, void *device, size_t bytes);
void example(tsr_context_t context, tsr_module_t module, tsr_kernel_t kernel, tsr_stream_t stream, tsr_graph_t graph,
             tsr_launch_t launch, void **args, size_t nargs, void *host, void *device, size_t bytes) {
  int i;
  i = 0;
"""


def run(*words, **more):
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=300, **more)
    return done.returncode, done.stdout + done.stderr


class Documented(unittest.TestCase):
    build = ROOT / "build/release"

    def compiles(self, text, standard):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "block.c"
            source.write_text(text)
            status, said = run("cc", f"-std={standard}", *STRICT, "-I", ROOT / "sdk/include", "-I", self.build / "sdk/include",
                               "-c", source, "-o", source.with_suffix(".o"))
            self.assertEqual(status, 0, said)


def add_blocks(standard):
    def make(text):
        return lambda self: self.compiles(text, standard)

    for document in DOCUMENTS:
        for match in BLOCK.finditer(text := document.read_text()):
            line = text.count("\n", 0, match.start()) + 1
            code = match.group(1)
            whole = code if "#include" in code else BLOCK_HEAD + code + "}\n"
            setattr(Documented, f"test_block_{document.stem}_{line}_{standard}", make(whole))
    for header in sorted((ROOT / "sdk/include/tessera").glob("*.h")):
        setattr(Documented, f"test_header_{header.stem}_{standard}",
                make(f"#include <tessera/{header.name}>\nextern int nothing;\n"))


def add_commands(standard):
    """The indented lines of a README that call the C compiler, and what they need, run where the page says: in the root."""
    def make(commands):
        def test(self):
            with tempfile.TemporaryDirectory() as folder:
                root = pathlib.Path(folder)
                for entry in ("sdk", "samples"):
                    (root / entry).symlink_to(ROOT / entry)
                (root / "build").mkdir()
                (root / "build/release").symlink_to(self.build)
                environment = {k: v for k, v in os.environ.items() if not k.startswith("TESSERA_")} | {
                    "TESSERA_CONFIG": "off", "TESSERA_CACHE_DIR": "off"}
                status, said = run("sh", "-ec", commands, cwd=root, env=environment)
                self.assertEqual(status, 0, said)
                self.assertIn("saxpy: 1000 elements right", said)

        return test

    for readme in sorted(ROOT.glob("samples/*_c/README.md")):
        blocks = re.findall(r"(?:^    .*\n)+", readme.read_text(), re.MULTILINE)
        printed = next((block for block in blocks if "cc -std=c99" in block), None)
        if printed is None:  # its programs need what CMake writes; tests/install builds them
            continue
        commands = "\n".join(line.strip() for line in printed.splitlines()).replace("-std=c99", f"-std={standard}")
        setattr(Documented, f"test_commands_{readme.parent.name}_{standard}", make(commands))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=Documented.build)
    known, rest = parser.parse_known_args()
    Documented.build = known.build.resolve()
    for name in ("c99", "c17"):
        add_blocks(name)
        add_commands(name)
    unittest.main(argv=sys.argv[:1] + rest)
