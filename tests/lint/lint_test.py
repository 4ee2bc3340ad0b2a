#!/usr/bin/env python3
"""Counts what the house rules want gone, beside the most that is allowed. A count that grows fails; one that falls is
followed by its limit in LIMITS.

Without arguments it prints the counts and runs its tests.
"""
import collections
import json
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "layering"))
import layering_test as layering  # noqa: E402

SUFFIXES = {".h", ".hpp", ".c", ".cpp", ".inc", ".td"}

# What every vendor's toolkit is called, beside the names in the manifests.
TOOLKITS = {"amdgcn", "amdgpu", "cuda", "hip", "nvptx", "nvvm", "opencl", "rocdl", "spirv"}
# These are code that no vendor may be named in; the formats of images are the contract's.
VENDOR_FREE = ("core/", "tools/", "runtime/", "compiler/pipeline/", "compiler/schedule/")
FORMATS = ("core/bundle/ImageFormat.h", "core/bundle/ImageFormat.cpp")

# The names of programs' entries and of the files that each level has one of.
SHARED_NAMES = re.compile(r"^(main\.\w+|Passes\.(h|td))$")


def vendor_words():
    words = set(TOOLKITS)
    for path in sorted((ROOT / "plugins").glob("*/plugin.json")):
        manifest = json.loads(path.read_text())
        if "catalogue" in manifest and "pci_vendors" in manifest:
            words |= {manifest["name"], manifest["description"].split()[0], *manifest["catalogue"].get("aliases", ())}
    return words


def vendor_names(path, text):
    if not path.startswith(VENDOR_FREE) or path in FORMATS:
        return []
    return re.findall(rf"\b(?:{'|'.join(sorted(vendor_words()))})\b|\bsm_\d\w*|\bgfx\d\w*", text, re.IGNORECASE)


def code_of(text):
    """The text without comments, string literals and includes."""
    text = re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', "", text, flags=re.DOTALL)
    return re.sub(r"^\s*#\s*include[^\n]*", "", text, flags=re.MULTILINE)


def gpu_conditionals(path, text):
    if not path.startswith(("core/", "compiler/pipeline/", "compiler/schedule/")) or path in FORMATS:
        return []
    decides = re.compile(r"\b(if|while|switch|case|bool)\b|\?|&&|\|\|")
    return [line for line in code_of(text).splitlines() if re.search("gpu", line, re.IGNORECASE) and decides.search(line)]


def upward_includes(path, text):
    return [*layering.violations(path, text), *layering.room_violations(path, text)]


def literal_attributes(path, text):
    if not path.startswith(("compiler/", "plugins/")):
        return []
    return re.findall(r'\b(?:get|set|has|remove)(?:Discardable)?Attr(?:OfType<[\w:]+>)?\(\s*"', text)


def why_parameters(path, text):
    """Not of overrides, whose signature is another class's."""
    return re.findall(r"\bstd::string ?& ?why\b(?!.*\boverride\b)", text)


def shared_file_names(files):
    """Names of files beyond the first of that name in a component; of a plugin each half is a component."""
    names = collections.Counter()
    for path in files:
        component, vendor = layering.component_of(path)
        if component in ("tools", "samples"):  # a program each
            vendor = path.split("/")[1]
        names[component, vendor, path.rpartition("/")[2]] += 1
    return [key for key, count in names.items() for _ in range(count - 1) if not SHARED_NAMES.match(key[2])]


PER_FILE = {
    "vendor names in core, tools, pipeline, schedule": vendor_names,
    "gpu conditionals in core, pipeline, schedule": gpu_conditionals,
    "includes of a higher component or room": upward_includes,
    "discardable attributes by literal": literal_attributes,
    "std::string &why parameters": why_parameters,
}
LIMITS = {
    "vendor names in core, tools, pipeline, schedule": 0,
    "gpu conditionals in core, pipeline, schedule": 0,
    "includes of a higher component or room": 0,
    "discardable attributes by literal": 0,
    "std::string &why parameters": 245,
    "files of one name in a component": 2,
}


def count():
    """{rule: what was found}, each as "PATH: TEXT"."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True)
    files = [p for p in listed.stdout.splitlines() if pathlib.Path(p).suffix in SUFFIXES and (ROOT / p).is_file()
             and not layering.is_test(p) and not p.startswith("tests/")]
    found = {rule: [] for rule in LIMITS}
    for path in files:
        text = (ROOT / path).read_text(errors="replace")
        for rule, check in PER_FILE.items():
            found[rule] += [f"{path}: {hit}" for hit in check(path, text)]
    found["files of one name in a component"] = [f"{'/'.join(key[:2])}: {key[2]}" for key in shared_file_names(files)]
    return found


def is_worktree():
    return subprocess.run(["git", "-C", ROOT, "rev-parse"], capture_output=True, check=False).returncode == 0


class Counts(unittest.TestCase):
    @unittest.skipUnless(is_worktree(), "no git worktree: which files are sources is not known")
    def test_no_count_grows(self):
        grown = []
        for rule, hits in count().items():
            print(f"  {rule:<50}{len(hits):>4}  of {LIMITS[rule]}", file=sys.stderr)
            if len(hits) > LIMITS[rule]:
                grown += [f"{rule}: {len(hits)}, at most {LIMITS[rule]}", *("  " + hit for hit in hits)]
        self.assertEqual(grown, [], "\n" + "\n".join(grown))

    def test_each_rule_sees_what_it_should(self):
        for rule, path, bad, good in [
            (vendor_names, "core/plugin/A.cpp", '{"ptx", "NVIDIA GPUs"}; // level_zero, sm_90, gfx90a', '"cpu"; contraption'),
            (vendor_names, "tools/tsr/A.cpp", 'if (x.starts_with("rocm"))', "int amount; hipster"),
            (vendor_names, "compiler/schedule/Transforms/A.cpp", "NVVM", "GPU"),
            (gpu_conditionals, "compiler/pipeline/A.cpp", "if (options.gpu)\n  return isGpu() ? 1 : 2;", "// if gpu\nx(gpu);"),
            (gpu_conditionals, "core/A.cpp", "void f(bool gpu);", 'found ? "no GPU" : ""'),
            (upward_includes, "core/support/A.h", '#include "core/abi/Structs.h"', '#include "core/support/Fork.h"'),
            (literal_attributes, "compiler/tile/A.cpp", 'op->getAttr("x"); op->setAttr("y", z); getAttrOfType<StringAttr>("z")',
             'op->getAttr(kName); getInt("x")'),
            (why_parameters, "core/A.h", "bool f(std::string &why); void g(std::string& why);", "std::string why;"),
        ]:
            with self.subTest(rule.__name__, bad=bad):
                self.assertGreater(len(list(rule(path, bad))), 0)
                self.assertEqual(list(rule(path, good)), [])
        self.assertEqual(len(gpu_conditionals("core/A.cpp", "if (options.gpu)\n  return isGpu() ? 1 : 2;")), 2)
        self.assertEqual(vendor_names("plugins/ptx/runtime/A.cpp", "ptx"), [])
        self.assertEqual(shared_file_names(["core/a/X.h", "core/b/X.h", "core/b/X.cpp", "mapper/X.h", "core/a/main.cpp",
                                            "core/b/main.cpp"]), [("core", "", "X.h")])
        self.assertEqual(shared_file_names(["plugins/p/runtime/X.h", "plugins/p/codegen/X.h", "plugins/q/runtime/X.h",
                                            "tools/a/X.h", "tools/b/X.h"]), [])
        self.assertEqual(len(shared_file_names(["plugins/p/runtime/X.h"] * 3)), 2)


if __name__ == "__main__":
    unittest.main()
