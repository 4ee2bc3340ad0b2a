"""Wrong programs in every kind of place: each diagnostic names the file, the line and the column at which the program is wrong.

A program marks the place with « and », which are removed before it runs."""
import linecache
import pathlib
import sys
import tempfile
import unittest

import numpy as np

import tessera as ts

X = np.ones((4, 4), "f4")
HEAD = "import functools, math\nimport numpy as np\nimport tessera as ts\nfrom tessera import f32\n\nX = np.ones((4, 4), 'f4')\nK = 3\n\n"

# what is wrong -> (code, a line of a kernel, in which x is the 2-D parameter x[0:4, 0:4] and t a scalar)
WRONG = {
    "a name": ("E_UNDEFINED_NAME", "v = x[0:4, 0:4] + «missing»"),
    "a function of the language": ("E_UNKNOWN_ATTRIBUTE", "v = «ts.tile.sofmax»(x[0:4, 0:4])"),
    "the number of indices": ("E_INDEX", "v = «x[0:4, 0:4, 0:4]»"),
    "a statement": ("E_UNSUPPORTED", "«with» x: pass"),
    "a captured object": ("E_CAPTURE", "v = x[0:4, 0:4] * «X»"),
}


def kernel(body, indent="", decorators="", name="k"):
    lines = [*decorators.splitlines(), "@ts.kernel", f"def {name}(x: ts.Tensor[\"M\", \"N\", ts.f32]):",
             "    for i in ts.tile.parallel(0, M, 4):", f"        {body}", "        x[i:i+4, :] = x[i:i+4, :]"]
    return "".join(f"{indent}{line}\n" for line in lines)


def function(body, indent="", name="f"):
    return "".join(f"{indent}{line}\n" for line in ("@ts.jit", f"def {name}(x):", f"    {body}", "    return x"))


GRAPH = {
    "a name": ("E_UNDEFINED_NAME", "y = x + «missing»"),
    "shapes": ("E_SHAPE", "y = «x + x[0:3, :]»"),
    "an operation": ("E_UNKNOWN_ATTRIBUTE", "y = «ts.op.softmx»(x)"),
    "an argument": ("E_ARGUMENTS", "y = ts.softmax(x, «axes»=1)"),
}
PLACES = {
    "a function": lambda text: (text("", "k"), "k"),
    "a method": lambda text: ("class Holder:\n" + text("    ", "k"), "Holder.k"),
    "a nested class": lambda text: ("class A:\n    class B:\n" + text("        ", "k"), "A.B.k"),
    "a closure": lambda text: ("def make():\n    bias = 2.0\n" + text("    ", "k") + "    return k\n", "make()"),
    "a closure in a closure": lambda text: ("def outer():\n    def inner():\n" + text("        ", "k") +
                                            "        return k\n    return inner()\n", "outer()"),
    "a branch": lambda text: ("if K:\n    try:\n" + text("        ", "k") + "    finally:\n        pass\n", "k"),
}


class Lines(unittest.TestCase):
    count = 0

    def place(self, text):
        """The text without marks; line, first column and last of what they enclose."""
        before, marked, after = text.replace("»", "«").split("«")
        start = len(before) - (before.rfind("\n") + 1) + 1
        return before + marked + after, (before.count("\n") + 1, start, start + len(marked))

    def expect(self, code, text, file, run, called):
        """Running the text and calling what `called` names raises at the mark. `run(text, file)` gives the names."""
        text, (line, start, end) = self.place(text)
        try:
            names = run(text, file)
            eval(called, names)(X.copy())
            self.fail("nothing was wrong")
        except ts.CompileError as e:
            found = next(d for d in e.diagnostics if d.severity == "error")
        self.assertEqual((found.code, found.file, found.line, found.column), (code, file, line, start), found)
        self.assertEqual(found.source_line, text.splitlines()[line - 1])
        self.assertLessEqual(found.end, end)
        Lines.count += 1

    @staticmethod
    def of_file(text, file):
        pathlib.Path(file).write_text(text)
        linecache.checkcache(file)
        names = {"__name__": "lines"}
        exec(compile(text, file, "exec"), names)
        return names

    @staticmethod
    def of_cell(text, file):
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        names = {"__name__": "__main__"}
        exec(compile(text, file, "exec"), names)
        return names

    def test_places_in_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            for n, (place, (wrong, (code, body))) in enumerate((p, w) for p in PLACES.items() for w in WRONG.items()):
                with self.subTest(place=place[0], wrong=wrong):
                    text, called = place[1](lambda indent, name, body=body: kernel(body, indent, name=name))
                    self.expect(code, HEAD + text, f"{folder}/p{n}.py", self.of_file, called)

    def test_graph_functions_in_cells(self):
        for n, (place, (wrong, (code, body))) in enumerate((p, w) for p in PLACES.items() for w in GRAPH.items()):
            with self.subTest(place=place[0], wrong=wrong):
                text, called = place[1](lambda indent, name, body=body: function(body, indent, name=name))
                self.expect(code, HEAD + text, f"<ipython-input-{n}>", self.of_cell, called)

    def test_decorators(self):
        """Decorators belong to Python, in any number of lines."""
        space = "@ts.kernel.autotune(\n    space=dict(\n        B=[1, 2],\n    ),\n)"
        text = kernel("v = «missing»").replace("@ts.kernel", space, 1)
        with tempfile.TemporaryDirectory() as folder:
            self.expect("E_UNDEFINED_NAME", HEAD + text, f"{folder}/a.py", self.of_file, "k")
            text = "def other(function):\n    return function\n\n" + kernel("v = «missing»").replace("@ts.kernel", "@ts.kernel\n@other", 1)
            self.expect("E_UNDEFINED_NAME", HEAD + text, f"{folder}/b.py", self.of_file, "k")
            text = "import typing\n" + kernel("v = «missing»", decorators="@typing.no_type_check")
            self.expect("E_UNDEFINED_NAME", HEAD + text, f"{folder}/c.py", self.of_file, "k")

    def test_helpers(self):
        """An error in a function that the kernel calls is at that function's line, in its file."""
        helper = "def helper(v):\n    w = v * 2.0\n    return w + «missing»\n\n\n"
        with tempfile.TemporaryDirectory() as folder:
            self.expect("E_UNDEFINED_NAME", HEAD + helper + kernel("x[0:4, 0:4] = helper(x[0:4, 0:4])"), f"{folder}/a.py", self.of_file, "k")
            self.expect("E_UNDEFINED_NAME", HEAD + kernel("x[0:4, 0:4] = helper(x[0:4, 0:4])") + helper, f"{folder}/b.py", self.of_file, "k")
            sys.path.insert(0, folder)
            try:
                text, _ = self.place("import tessera as ts\n\n" + helper)
                pathlib.Path(folder, "lines_other.py").write_text(text)
                other = self.place("import tessera as ts\n\n" + helper)[1]
                names = self.of_file(HEAD + "import lines_other\n" + kernel("x[0:4, 0:4] = lines_other.helper(x[0:4, 0:4])"), f"{folder}/d.py")
                with self.assertRaises(ts.CompileError) as raised:
                    names["k"](X)
                found = raised.exception.diagnostics[0]
                self.assertEqual((found.file, found.line, found.column), (f"{folder}/lines_other.py", *other[:2]))
            finally:
                sys.path.remove(folder)
                sys.modules.pop("lines_other", None)

    def test_annotations(self):
        with tempfile.TemporaryDirectory() as folder:
            for n, (code, text) in enumerate((
                    ("E_DIM", "@ts.kernel\ndef k(\n    x: ts.Tensor[\n        «\"M +\"»,\n        4, ts.f32,\n    ],\n):\n    pass\n"),
                    ("E_DTYPE", "@ts.kernel\ndef k(x: «functools»):\n    pass\n"))):
                with self.subTest(text):
                    self.expect(code, HEAD + text, f"{folder}/{n}.py", self.of_file, "k")

    def test_long_strings_tabs_and_letters(self):
        texts = (
            'def f(x):\n    """A text\nthat ends\n    in ä ö ü"""\n    y = "ä" "ü"\n    return x + «missing»\n',
            "def f(x):\n\ty = x\n\tif True:\n\t\ty = y + «missing»\n\treturn y\n",
            "def f(x):\n    # Ω\n    return (x\n            + x\n            + «missing»)\n",
            "def f(x): return x + «missing»\n",
        )
        with tempfile.TemporaryDirectory() as folder:
            for n, text in enumerate(texts):
                with self.subTest(text):
                    self.expect("E_UNDEFINED_NAME", HEAD + "@ts.jit\n" + text, f"{folder}/{n}.py", self.of_file, "f")

    def test_texts(self):
        for end in ("\n", "\r\n"):
            def run(text, file, end=end):
                return {"m": ts.compile(text.replace("\n", end), filename=file)}

            self.expect("E_UNDEFINED_NAME", HEAD + kernel("v = «missing»"), f"text{len(end)}.py", run, "m.k")

    def test_exec_with_linecache(self):
        program = HEAD + "import linecache\n"
        names = {}
        exec(program, names)
        for n, (code, body) in enumerate(WRONG.values()):
            self.expect(code, HEAD + "def go():\n    pass\n\n" + kernel(body), f"<exec {n}>", self.of_cell, "k")

    @classmethod
    def tearDownClass(cls):
        print(f"{cls.count} places", file=sys.stderr)


if __name__ == "__main__":
    unittest.main()
