"""The names of the package: the list of docs/python.md, dir(), the stubs and the table of operations say the same."""
import ast
import importlib
import inspect
import pathlib
import re
import subprocess
import sys
import types
import unittest

import numpy as np

import tessera as ts
import tessera.autotune
import tessera.profiler
import tessera.testing
from tessera import _dtypes, _missing, _names
from tessera._operations import OPERATIONS

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| `(tessera[.\w]*)` \| (.*) \|$", re.MULTILINE)
MODULES = {"autotune", "dist", "group", "numerics", "op", "profiler", "runtime", "testing", "tile"}
FROM_TABLE = {"tessera": {**_names.TILE, **_names.OP}, "tessera.tile": _names.TILE, "tessera.op": _names.OP,
              "tessera.group": _names.GROUP, "tessera.dist": _names.DIST}


def documented():
    """Module -> the names that the page's list has for it."""
    text = (ROOT / "docs/python.md").read_text().split("\n## All names\n")[1].split("\n## ")[0]
    return {module: set(re.findall(r"`(\w+)`", names)) for module, names in ROW.findall(text)}


def public(module):
    found = importlib.import_module(module)
    names = {name for name in getattr(found, "__all__", dir(found)) if name == "__version__" or not name.startswith("_")}
    return names - {"annotations", "TYPE_CHECKING", "TracebackType", "entry"}  # imported


class Names(unittest.TestCase):
    def test_the_page_lists_what_there_is(self):
        listed = documented()
        self.assertEqual(set(listed), {"tessera", *(f"tessera.{name}" for name in MODULES),
                                       *(path for path in _missing.AT_ONCE if path.rpartition(".")[2].islower())})
        for module, names in listed.items():
            with self.subTest(module):
                if module in _missing.AT_ONCE:
                    self.assertEqual(names, set())
                    continue
                table = set(FROM_TABLE.get(module, ()))
                at_once = {path.rpartition(".")[2] for path in _missing.AT_ONCE} if module == "tessera" else set()
                dtypes = set(_dtypes._ALL) if module == "tessera" else set()
                there = public(module) - (MODULES if module == "tessera" else set())
                self.assertEqual(there - table - dtypes - names, set(), "is there, and not listed")
                self.assertEqual(names - there - at_once, set(), "is listed, and not there")
                self.assertEqual((table | dtypes) - there - MODULES, set(), "is in the tables, and not there")

    def test_what_is_not_built_is_listed(self):
        text = (ROOT / "docs/python.md").read_text().split("\n## What is not built\n")[1].partition("Modules and classes")[0]
        listed = re.findall(r"`([\w.]+)`", text.partition(":")[2])
        table = [f"{of}.{name}" for of, name, _, _, doc in OPERATIONS if not doc]
        self.assertEqual(sorted(listed), sorted({*(path.removeprefix("tessera.") for path in _missing.NAMES), *table}))
        for path in listed:
            with self.assertRaisesRegex(ts.UnsupportedError, rf"E_UNIMPLEMENTED\] tessera\.{path} is not built yet: it needs \w"):
                value = ts
                for name in path.split("."):
                    value = getattr(value, name)
                value(np.ones(3, "f4"))

    def test_the_stubs_declare_what_there_is(self):
        for module in ("tessera", "tessera.tile", "tessera.op", "tessera.group", "tessera.dist"):
            file = ROOT / "python" / module.replace(".", "/")
            file = file / "__init__.pyi" if module == "tessera" else file.with_suffix(".pyi")
            names = set()
            for node in ast.parse(file.read_text()).body:
                if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                    names.add(node.name)
                elif isinstance(node, ast.AnnAssign):
                    names.add(node.target.id)
                elif isinstance(node, ast.ImportFrom):
                    names.update(alias.asname or alias.name for alias in node.names)
            names = {name for name in names if not name.startswith("_") or name == "__version__"}
            self.assertEqual(names ^ public(module), set(), module)

    def test_the_stubs_are_of_this_table(self):
        subprocess.run([sys.executable, ROOT / "python/tools/stubs.py", "--check"], check=True)

    def test_everything_has_a_docstring(self):
        for module in ("tessera", *(f"tessera.{name}" for name in MODULES)):
            for name in public(module):
                value = getattr(importlib.import_module(module), name)
                if name == "__version__" or isinstance(value, str):
                    continue
                self.assertTrue(inspect.getdoc(value), f"{module}.{name}")
                for cls in value.__mro__ if isinstance(value, type) else ():
                    own = vars(cls) if cls.__module__.startswith("tessera") else {}
                    for member in own:
                        if not member.startswith("_") and member not in getattr(cls, "_fields", ()) and callable(getattr(cls, member)):
                            self.assertTrue(inspect.getdoc(getattr(cls, member)), f"{module}.{name}.{member}")
                        elif inspect.isdatadescriptor(own[member]) and not member.startswith("_"):
                            self.assertTrue(inspect.getdoc(own[member]), f"{module}.{name}.{member}")

    def test_signatures_of_operations(self):
        for table in FROM_TABLE.values():
            for function in table.values():
                inspect.signature(function)
        self.assertEqual(str(inspect.signature(ts.softmax)), "(x, axis=-1)")
        self.assertEqual(str(inspect.signature(ts.tile.grid)), "(*args, **kwargs)")
        self.assertEqual(str(inspect.signature(ts.op.norm)), "(x, ord=2, axis=None, keepdims=False)")

    def test_help(self):
        import pydoc
        for word in ("softmax(x, axis=-1)", "arrays of NumPy", "ArgumentError", "E_SHAPE"):
            self.assertIn(word, pydoc.plain(pydoc.render_doc(ts.softmax)))
        self.assertNotIn("](", "".join(name.__doc__ for table in FROM_TABLE.values() for name in table.values()))
        for word in ("kernel(function", "dtype", "E_DECORATOR", "Kernel"):
            self.assertIn(word, pydoc.plain(pydoc.render_doc(ts.kernel)))


if __name__ == "__main__":
    unittest.main()
