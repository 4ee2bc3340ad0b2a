#!/usr/bin/env python3
"""Who may include whom, as docs/architecture.md states it: reads every #include of the tree.

With --lib DIR it also asks the dynamic linker's tables: what only loads artifacts must not load LLVM.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUFFIXES = {".h", ".hpp", ".c", ".cpp", ".inc"}

# Component -> what it may include besides itself and the standard library.
ALLOWED = {
    "sdk": set(),
    "numerics": {"sdk"},
    "core": {"sdk", "numerics"},
    "mapper": {"sdk", "numerics", "core"},
    "dist": {"sdk", "numerics", "core"},
    "compiler": {"sdk", "numerics", "core", "mapper"},
    "plugin-runtime": {"sdk", "numerics"},
    "plugin-codegen": {"sdk", "numerics", "compiler"},
    "python": {"sdk"},
    "samples": {"sdk"},
    "tools": {"sdk", "numerics", "core", "mapper", "dist", "compiler", "tools"},
    "bench": {"sdk", "numerics", "core", "mapper", "dist", "compiler", "tools", "bench"},
    "tests": {"sdk", "numerics", "core", "mapper", "dist", "compiler", "tools", "bench", "tests"},
}

# White-box tests and measurements may look into plugins.
SEES_PLUGINS = {"bench", "tests"}

# These never see MLIR or LLVM: the runtime links them, or fuzzers build them alone.
WITHOUT_LLVM = {"sdk", "numerics", "core", "mapper", "dist", "plugin-runtime", "python", "samples", "bench"}
FOLDERS_WITHOUT_LLVM = ("compiler/frontend/", "tools/tsr/", "tools/npy/")

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def is_test(path):
    """Tests and measurements beside the code may use more than the code: LLVM's APFloat as a reference, for example."""
    return re.search(r"(Test|Fuzzer|_test|_fuzzer)\.cpp$|/(test|bench)/", path) is not None


def component_of(path):
    """The component of a path from the root, and its plugin's name ('' outside plugins)."""
    parts = path.split("/")
    if parts[0] == "plugins" and len(parts) > 2:
        half = "plugin-codegen" if parts[2] == "codegen" else "plugin-runtime"
        return half, parts[1]
    if path.startswith("tessera/"):  # <tessera/x.h>
        return "sdk", ""
    return parts[0], ""


def violations(path, text):
    """Yields one line per include in `text`, the contents of `path`, that its component may not have."""
    owner, vendor = component_of(path)
    if owner not in ALLOWED:
        return
    for included in INCLUDE.findall(text):
        top = included.split("/")[0]
        if top in ("mlir", "llvm", "llvm-c", "mlir-c", "lld"):
            if (owner in WITHOUT_LLVM or path.startswith(FOLDERS_WITHOUT_LLVM)) and not is_test(path):
                yield f"{path}: includes <{included}>, but {owner} does not see LLVM"
            continue
        target, target_vendor = component_of(included)
        if target == "plugins" or target.startswith("plugin-"):
            if owner in SEES_PLUGINS or is_test(path):
                continue
            if target_vendor != vendor or not vendor:
                yield f"{path}: includes {included}, but nobody includes a plugin"
            elif owner == "plugin-runtime" and target == "plugin-codegen":
                yield f"{path}: includes {included}, but a runtime half does not see its code generation"
            continue
        if target not in ALLOWED or target == owner:
            continue  # the standard library, a third party, or itself
        allowed = ALLOWED["tests"] if is_test(path) else ALLOWED[owner]
        if target not in allowed:
            yield f"{path}: includes {included}, but {owner} may not include {target}"


def sources():
    for top in sorted({"plugins" if c.startswith("plugin-") else c for c in ALLOWED}):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                yield path


class Layering(unittest.TestCase):
    def test_the_tree_keeps_to_the_table(self):
        found = []
        for path in sources():
            found += violations(path.relative_to(ROOT).as_posix(), path.read_text(errors="replace"))
        self.assertEqual(found, [], "\n" + "\n".join(found))

    def test_the_check_sees_what_it_should(self):
        bad = [
            ("core/A.cpp", '#include "compiler/frontend/program/Program.h"'),
            ("core/A.cpp", "#include <llvm/ADT/APFloat.h>"),
            ("numerics/A.h", '#include "core/metadata/KernelMetadata.h"'),
            ("compiler/frontend/A.cpp", '#include "mlir/IR/Builders.h"'),
            ("compiler/tile/A.cpp", '#include "plugins/cpu/codegen/X.h"'),
            ("compiler/pipeline/A.cpp", '#include "plugins/cpu/codegen/X.h"'),
            ("tools/tsr-opt/A.cpp", '#include "plugins/cpu/codegen/X.h"'),
            ("plugins/cpu/runtime/A.cpp", '#include "core/X.h"'),
            ("plugins/cpu/runtime/A.cpp", '#include "plugins/cpu/codegen/X.h"'),
            ("plugins/cpu/codegen/A.cpp", '#include "plugins/ptx/codegen/X.h"'),
            ("samples/embed/a.c", '#include "core/X.h"'),
            ("sdk/include/tessera/a.h", '#  include "numerics/DType.h"'),
        ]
        good = [
            ("core/A.cpp", '#include "numerics/DType.h"\n#include <tessera/tessera.h>\n#include <vector>'),
            ("compiler/tile/A.cpp", '#include "mlir/IR/Builders.h"\n#include "core/metadata/KernelMetadata.h"'),
            ("plugins/cpu/codegen/A.cpp", '#include "plugins/cpu/codegen/B.h"\n#include "compiler/tile/IR/T.h"'),
            ("numerics/CastTest.cpp", "#include <llvm/ADT/APFloat.h>"),
        ]
        for path, text in bad:
            self.assertEqual(len(list(violations(path, text))), 1, (path, text))
        for path, text in good:
            self.assertEqual(list(violations(path, text)), [], (path, text))


class Linking(unittest.TestCase):
    lib = None
    release = False

    def test_the_runtime_does_not_load_llvm(self):
        if not self.lib:
            self.skipTest("no --lib: only the sources were read")
        names = [p for p in pathlib.Path(self.lib).glob("libtessera*.so") if not re.search("compiler|codegen", p.name)]
        self.assertTrue(names, f"no libtessera.so in {self.lib}")
        for name in names:
            loaded = subprocess.run(["ldd", str(name)], capture_output=True, text=True, check=True).stdout
            self.assertNotRegex(loaded, r"libLLVM|libMLIR|libclang", name)


    def test_the_runtime_is_small(self):
        """Release builds only: 2 MiB without symbols, and of libraries only what every system has and oneTBB."""
        if not self.release:
            self.skipTest("no --release: debug and sanitizer builds may be larger")
        library = pathlib.Path(self.lib) / "libtessera.so"
        with tempfile.TemporaryDirectory() as folder:
            stripped = pathlib.Path(folder) / "libtessera.so"
            subprocess.run(["strip", "--strip-all", "-o", str(stripped), str(library)], check=True)
            self.assertLessEqual(stripped.stat().st_size, 2 << 20)
        dynamic = subprocess.run(["readelf", "-dW", str(library)], capture_output=True, text=True, check=True).stdout
        needed = re.findall(r"\(NEEDED\)\s+Shared library: \[([^\]]+)\]", dynamic)
        known = r"lib(c|m|gcc_s|stdc\+\+|tbb|tbbmalloc|hwloc|yaml-cpp)\.so[.0-9]*|ld-linux.*"
        self.assertEqual([n for n in needed if not re.fullmatch(known, n)], [])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--lib", help="folder of the built shared objects")
    parser.add_argument("--release", action="store_true", help="the build is optimised and has no sanitizer")
    known, rest = parser.parse_known_args()
    Linking.lib, Linking.release = known.lib, known.release
    unittest.main(argv=sys.argv[:1] + rest)
