#!/usr/bin/env python3
"""Who may include whom, as docs/architecture.md states it: reads every #include of the tree.

With --lib DIR it also asks the dynamic linker's tables (what only loads artifacts must not load LLVM), and the symbols of
the objects and static libraries built beside DIR, which must not need each other in a circle.
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
    "runtime": {"sdk", "numerics", "core", "mapper"},
    "dist": {"sdk", "numerics", "core"},
    "compiler": {"sdk", "numerics", "core", "mapper"},
    "plugin-runtime": {"sdk", "numerics"},
    "plugin-codegen": {"sdk", "numerics", "compiler"},
    "emulator": {"sdk", "numerics"},
    "python": {"sdk"},
    "samples": {"sdk"},
    "tools": {"sdk", "numerics", "core", "mapper", "dist", "compiler", "tools"},
    "bench": {"sdk", "numerics", "core", "mapper", "dist", "compiler", "tools", "bench"},
    "tests": {"sdk", "numerics", "core", "mapper", "dist", "compiler", "tools", "bench", "tests"},
}

# The rooms of a component, lowest first: one includes itself and those before it. docs/architecture.md has the same lists.
ROOMS = {
    "core": ("support", "config", "log", "metadata", "bundle", "service", "tuning", "cache", "plugin", "launch", "function", "library",
             "objects", "abi"),
    "compiler": ("support", "layout", "ops", "frontend/program", "frontend/diagnostics", "frontend/syntax", "frontend/sema",
                 "frontend", "tile/IR", "graph/IR", "schedule/IR", "target/IR", "tile/Transforms", "graph/Import", "graph/Transforms",
                 "codegen", "schedule/Transforms", "target/Transforms", "codegen/emit", "codegen/common", "codegen/emulate", "codegen/gpu",
                 "pipeline"),
}

# White-box tests and measurements may look into plugins.
SEES_PLUGINS = {"bench", "tests"}

# These never see MLIR or LLVM: the runtime links them, or fuzzers build them alone.
WITHOUT_LLVM = {"sdk", "numerics", "core", "mapper", "runtime", "dist", "plugin-runtime", "emulator", "python", "samples", "bench"}
FOLDERS_WITHOUT_LLVM = ("compiler/layout/", "compiler/ops/", "compiler/frontend/", "tools/tsr/", "tools/npy/")

# These work on IR: of the frontend's program only the import knows.
ROOMS_WITHOUT_FRONTEND = ("compiler/tile/", "compiler/graph/IR/", "compiler/graph/Transforms/", "compiler/schedule/")

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


def room_of(path):
    """The room of a path of a component that has rooms; None where the table has no such room."""
    component, _, rest = path.partition("/")
    folder = rest.rpartition("/")[0]
    while folder and folder not in ROOMS[component]:
        folder = folder.rpartition("/")[0]
    return folder or None


def room_violations(path, text):
    """Yields one line per include in `text` that goes from a room to a higher one."""
    component = path.split("/")[0]
    if component not in ROOMS or is_test(path) or path.count("/") == 1:  # what is loose at the root is of no room
        return
    room, order = room_of(path), ROOMS[component]
    if not room:
        yield f"{path}: is in no room of {component}: they are {', '.join(order)}"
        return
    for included in INCLUDE.findall(text):
        if path.startswith(ROOMS_WITHOUT_FRONTEND) and included.startswith("compiler/frontend/"):
            yield f"{path}: includes {included}, but only graph/Import sees the frontend's program"
        elif included.startswith(component + "/"):
            target = room_of(included)
            if not target or order.index(target) > order.index(room):
                yield f"{path}: includes {included}, but room {room} of {component} is below {target}"


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
            name, text = path.relative_to(ROOT).as_posix(), path.read_text(errors="replace")
            found += [*violations(name, text), *room_violations(name, text)]
        self.assertEqual(found, [], "\n" + "\n".join(found))

    def test_the_page_lists_the_rooms(self):
        page = (ROOT / "docs" / "architecture.md").read_text()
        for component, order in ROOMS.items():
            table = page.partition(f"The rooms of `{component}`, lowest first")[2].partition("\n\n")[2].partition("\n\n")[0]
            rows = [line.split("|")[1] for line in table.splitlines()[2:]]
            self.assertEqual(re.findall("`([^`]+)`", " ".join(rows)), list(order), component)

    def test_the_check_of_rooms_sees_what_it_should(self):
        bad = [
            ("core/support/A.h", '#include "core/abi/Structs.h"'),
            ("core/plugin/A.cpp", '#include "core/objects/Objects.h"'),
            ("core/service/A.cpp", '#include "core/cache/Store.h"'),
            ("core/nowhere/A.cpp", "int x;"),
            ("core/abi/A.cpp", '#include "core/nowhere/A.h"'),
            ("compiler/schedule/IR/A.cpp", '#include "compiler/schedule/Transforms/Passes.h"'),
            ("compiler/schedule/Transforms/A.cpp", '#include "compiler/pipeline/Compilation.h"'),
            ("compiler/tile/Transforms/A.cpp", '#include "compiler/codegen/gpu/Vendor.h"'),
            ("compiler/codegen/A.h", '#include "compiler/codegen/common/TileLowering.h"'),
            ("compiler/codegen/common/A.h", '#include "compiler/codegen/gpu/Vendor.h"'),
            ("compiler/frontend/syntax/A.h", '#include "compiler/frontend/sema/Value.h"'),
            ("compiler/frontend/program/A.cpp", '#include "compiler/frontend/Frontend.h"'),
            ("compiler/ops/A.h", '#include "compiler/frontend/program/Program.h"'),
            ("compiler/layout/A.cpp", '#include "compiler/tile/IR/A.h"'),
        ]
        good = [
            ("core/abi/A.cpp", '#include "core/objects/Objects.h"\n#include "core/abi/Structs.h"\n#include "numerics/DType.h"'),
            ("compiler/pipeline/A.cpp", '#include "compiler/codegen/TargetBackend.h"'),
            ("compiler/graph/Import/A.cpp", '#include "compiler/frontend/program/Program.h"\n#include "compiler/schedule/IR/A.h"'),
            ("compiler/codegen/gpu/A.cpp", '#include "compiler/codegen/common/TileLowering.h"'),
            ("compiler/frontend/Frontend.cpp", '#include "compiler/frontend/sema/Value.h"'),
            ("compiler/frontend/test/ATest.cpp", '#include "compiler/pipeline/Compilation.h"'),
            ("core/plugin/test/ATest.cpp", '#include "core/abi/Structs.h"'),
        ]
        for path, text in bad:
            self.assertEqual(len(list(room_violations(path, text))), 1, (path, text))
        for path, text in good:
            self.assertEqual(list(room_violations(path, text)), [], (path, text))

    def test_the_check_sees_what_it_should(self):
        bad = [
            ("core/A.cpp", '#include "compiler/frontend/program/Program.h"'),
            ("core/A.cpp", "#include <llvm/ADT/APFloat.h>"),
            ("numerics/A.h", '#include "core/metadata/KernelMetadata.h"'),
            ("compiler/frontend/A.cpp", '#include "mlir/IR/Builders.h"'),
            ("compiler/ops/A.h", '#include "mlir/IR/Builders.h"'),
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


def symbols_of(files):
    """What object files or archives define for others and what they need: two sets of names."""
    listed = subprocess.run(["nm", "--format=posix", "--quiet", *map(str, files)], capture_output=True, text=True, check=True).stdout
    defined, needed = set(), set()
    for line in listed.splitlines():
        parts = line.split()
        if len(parts) > 1 and parts[1] in "TDBRC":  # weak ones (W, V) are anybody's
            defined.add(parts[0])
        elif len(parts) > 1 and parts[1] == "U":
            needed.add(parts[0])
    return defined, needed - defined


def link_cycle(units):
    """A circle of names in {name: (defined, needed)}, each of which needs a symbol that the next one defines; or []. Where
    several define a symbol, the first is meant: a tool may hold a copy of a source of its own."""
    owners = {}
    for name, (defined, _) in units.items():
        for symbol in defined:
            owners.setdefault(symbol, name)
    needs = {name: {owners[symbol] for symbol in needed if symbol in owners} - {name} for name, (_, needed) in units.items()}
    done = set()

    def search(name, path):
        if name in path:
            return path[path.index(name):] + [name]
        if name in done:
            return []
        for other in sorted(needs[name]):
            if found := search(other, path + [name]):
                return found
        done.add(name)
        return []

    return next((found for name in sorted(units) if (found := search(name, []))), [])


def component_of_object(path):
    """Of an object of tessera-core, which is made of one source or, by tessera_unity_by_component, of several of one component."""
    if several := re.search(r"unity_(plugins-)?(\w+)-\d+_cxx", path):
        return ("plugins/" if several[1] else "") + several[2]
    outside = re.match(r"__/(plugins/\w+|\w+)/", path)
    return outside[1] if outside else "core"


class Linking(unittest.TestCase):
    lib = None
    release = False

    def test_the_search_for_circles_finds_them(self):
        chain = {"a": ({"f"}, {"g", "malloc"}), "b": ({"g"}, {"h"}), "c": ({"h"}, {"malloc"})}
        self.assertEqual(link_cycle(chain), [])
        self.assertEqual(link_cycle({**chain, "c": ({"h"}, {"f"})}), ["a", "b", "c", "a"])
        self.assertEqual(link_cycle({**chain, "c": ({"h"}, {"g"})}), ["b", "c", "b"])
        self.assertEqual(link_cycle({**chain, "d": ({"g", "x"}, {"f"}), "c": ({"h"}, {"malloc"})}), [])

    def test_the_component_of_an_object(self):
        for path, component in {"Unity/unity_core-0_cxx.cxx.o": "core", "Unity/unity_plugins-cpu-1_cxx.cxx.o": "plugins/cpu",
                                "abi/Status.cpp.o": "core", "__/mapper/host/Host.cpp.o": "mapper",
                                "__/plugins/cpu/runtime/Stream.cpp.o": "plugins/cpu", "__/runtime/Parts.cpp.o": "runtime"}.items():
            self.assertEqual(component_of_object(path), component, path)

    def test_no_components_need_each_other(self):
        """The components within libtessera.so, which is made of objects, and every static library."""
        if not self.lib:
            self.skipTest("no --lib: only the sources were read")
        build = pathlib.Path(self.lib).parent
        members = {}
        objects = build / "core" / "CMakeFiles" / "tessera-core.dir"
        for path in objects.rglob("*.o"):
            members.setdefault(component_of_object(path.relative_to(objects).as_posix()), []).append(path)
        self.assertLessEqual({"core", "mapper", "runtime", "plugins/cpu"}, set(members))
        units = {name: symbols_of(files) for name, files in members.items()}
        for path in pathlib.Path(self.lib).glob("libtessera-*.a"):
            units[path.name] = symbols_of([path])
        self.assertEqual(link_cycle(units), [])

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
