"""Errors: classes, codes, and the place in the user's file."""
import inspect
import os
import pathlib
import pydoc
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
import unittest

import numpy as np

import tessera as ts

X = np.ones(64, "f4")


def helper(v):
    return v + undefined_in_helper  # mark helper


class Places(unittest.TestCase):
    def expect(self, function, code, marked, word, *args):
        """Calling raises `code` at the line of this file that ends with "# mark MARKED", at the column of `word`."""
        with self.assertRaises(ts.CompileError) as raised:
            function(*(args or (X,)))
        found = next(d for d in raised.exception.diagnostics if d.severity == "error")
        lines = open(__file__).read().splitlines()
        line = next(i for i, text in enumerate(lines, 1) if text.endswith(f"# mark {marked}"))
        self.assertEqual((found.code, found.file, found.line), (code, __file__, line), found)
        self.assertEqual(found.source_line, lines[line - 1])
        self.assertEqual(found.column, found.source_line.index(word) + 1, found)
        text = str(raised.exception)
        self.assertIn(f"--> {__file__}:{line}:{found.column}", text)
        self.assertIn("^", text)
        self.assertTrue(text.endswith(f"tsr explain {code}"), text)

    def test_in_a_function(self):
        @ts.kernel
        def k(x: ts.Tensor["n", ts.f32], alpha: ts.f32 = 1.0):
            for i in ts.tile.parallel(0, n, 8):
                x[i:i+8] = apha * x[i:i+8]  # mark function

        self.expect(k, "E_UNDEFINED_NAME", "function", "apha")

    def test_in_a_helper(self):
        @ts.kernel
        def k(x: ts.Tensor["n", ts.f32]):
            for i in ts.tile.parallel(0, n, 8):
                x[i:i+8] = helper(x[i:i+8])

        self.expect(k, "E_UNDEFINED_NAME", "helper", "undefined_in_helper")

    def test_in_a_method(self):
        class A:
            @ts.jit
            def f(x):
                y = x * 2.0
                return y @ y @ y  # mark method

        self.expect(A.f, "E_SHAPE", "method", "y @ y", np.ones((3, 4), "f4"))

    def test_a_syntax_that_is_not_the_languages(self):
        @ts.jit
        def f(x):
            y = [x
                 for x in (1, 2)]
            with open("x") as y:  # mark syntax
                return y

        self.expect(f, "E_UNSUPPORTED", "syntax", "with")

    def test_after_a_string_of_several_lines_and_letters_outside_ascii(self):
        @ts.kernel
        def k(x: ts.Tensor["n", ts.f32]):
            """A text
        that ends ä ö ü
            """
            for i in ts.tile.parallel(0, n, 8):
                s = "äöü"; x[i:i+8] = unknown  # mark letters

        with self.assertRaises(ts.CompileError) as raised:
            k(X)
        self.assertTrue(raised.exception.diagnostics[0].source_line.endswith("# mark letters"))

    def test_in_an_annotation(self):
        @ts.kernel
        def k(x: ts.Tensor["n +", ts.f32]):  # mark annotation
            pass

        self.expect(k, "E_DIM", "annotation", '"n +"')

    def test_every_error_is_reported(self):
        @ts.kernel
        def k(x: ts.Tensor["n", ts.f32]):
            for i in ts.tile.parallel(0, n, 8):
                a = first_name
                x[i:i+8] = second_name

        with self.assertRaises(ts.CompileError) as raised:
            k(X)
        codes = [d.message for d in raised.exception.diagnostics]
        self.assertEqual(len(codes), 2, codes)


class Classes(unittest.TestCase):
    def test_bases(self):
        for cls, base in ((ts.ArgumentError, ValueError), (ts.BackendError, RuntimeError), (ts.UnsupportedError, NotImplementedError),
                          (ts.OutOfMemoryError, MemoryError), (ts.TimeoutError, TimeoutError), (ts.DeviceError, RuntimeError)):
            self.assertTrue(issubclass(cls, ts.Error) and issubclass(cls, base))
            self.assertEqual(cls.__module__, "tessera")

    def test_what_is_not_built(self):
        from tessera import _missing
        self.assertTrue(_missing.NAMES)
        for path in _missing.NAMES:
            with self.assertRaisesRegex(ts.UnsupportedError, re.escape(path) + ".*is not built"):
                _missing.function(path)()
        with self.assertRaises(NotImplementedError):
            ts.grad(helper)

    def test_what_is_not_supported_has_a_place(self):
        @ts.jit
        def strided(x: ts.Tensor["M", "N", ts.f32, ts.strides("ld", 1)]):  # mark strided
            return x + x

        with self.assertRaises(ts.UnsupportedError) as raised:
            strided(np.ones((2, 3), "f4"))
        found, = raised.exception.diagnostics
        self.assertTrue(found.source_line.endswith("# mark strided"), found)
        self.assertEqual(found.column, found.source_line.index("ts.strides") + 1)
        self.assertIn(" | " + " " * (found.column - 1) + "^" * len('ts.strides("ld", 1)'), str(raised.exception))
        self.assertIn("help: take contiguous tensors", str(raised.exception))

    def test_eager_calls_have_no_place(self):
        """The text of the call is the package's, and the traceback has the line of the user."""
        for call, code, words in ((lambda: ts.gemm(np.ones((2, 3), "f4"), np.ones((4, 5), "f4")), "E_SHAPE", "tessera.op.gemm: the product of 'a' [2, 3]"),
                                  (lambda: ts.mean(X, axis=7), "E_AXIS", "tessera.op.mean: axis 7")):
            with self.assertRaises(ts.CompileError) as raised:
                call()
            self.assertEqual((raised.exception.code, [d.line for d in raised.exception.diagnostics]), (code, [0]))
            self.assertTrue(str(raised.exception).startswith(f"[{code}] {words}"), raised.exception)
            self.assertNotIn("-->", str(raised.exception))
            self.assertNotIn("-->", raised.exception._repr_html_())

    def test_a_function_of_kernels_outside_of_one(self):
        with self.assertRaisesRegex(ts.UnsupportedError, r"E_CALL.*tessera\.tile\.barrier(.|\n)*@ts\.kernel"):
            ts.tile.barrier()

    def test_an_assertion_of_a_kernel(self):
        program = ("import numpy as np, tessera as ts\n"
                   "m = ts.compile('import tessera as ts\\n@ts.kernel\\ndef k(x: ts.Tensor[\"n\", ts.f32]):\\n"
                   "    for i in ts.tile.parallel(0, n, 8):\\n        ts.tile.assert_(i < 8, \"i is {}\", i)\\n', filename='k.py')\n"
                   "m.k(np.ones(8, 'f4'))\n"
                   "try:\n    m.k(np.ones(20, 'f4'))\nexcept ts.DeviceError as e:\n"
                   "    assert e.code == 'E_ASSERT' and 'k.py:5' in str(e) and 'i is 8' in str(e), e\nelse:\n    raise AssertionError\n")
        subprocess.run([sys.executable, "-c", program], check=True, env={**__import__("os").environ, "TESSERA_DEBUG": "on"})

    def test_a_race_on_an_emulated_device(self):
        source = "import tessera as ts\n\nwidth = 16\n\n\n@ts.kernel\ndef racy(x: ts.Tensor['n', ts.f32], s: ts.Tensor[1, ts.f32]):\n" \
                 "    for i in ts.tile.parallel(0, n, width):\n        s[0] = s[0] + ts.tile.sum(x[i:i+width])\n\n\n" \
                 "ts.runtime.select_backend('ptx:emulated:sm_90+check')\nracy(ts.ones(64), ts.zeros(1))\nts.runtime.synchronize()\n"
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "racy.py")
            path.write_text(source)
            done = subprocess.run([sys.executable, path], capture_output=True, text=True)
        self.assertIn("E_EMU_RACE", done.stderr)
        self.assertEqual(set(re.findall(r"racy\.py:(\d+):\d+", done.stderr)), {"9"}, done.stderr)  # the file's line, not the definition's

    def test_without_the_compiler(self):
        """A copy of the package beside a libtessera.so without a compiler runs bundles, and says what is missing for the rest."""
        package = pathlib.Path(ts.__file__).parent
        with open("/proc/self/maps") as maps:
            library = next(line.split()[-1] for line in maps if "libtessera.so" in line)
        with tempfile.TemporaryDirectory() as folder:
            ts.compile("import tessera as ts\n@ts.jit\ndef f(x: ts.Tensor['n', ts.f32]):\n    return x + x\n").f.save(f"{folder}/f.tsrb")
            os.makedirs(f"{folder}/lib")
            shutil.copy(library, f"{folder}/lib/libtessera.so.1")
            shutil.copytree(package, f"{folder}/tessera", ignore=shutil.ignore_patterns("lib", "__pycache__"))
            program = ("import numpy as np, tessera as ts\nx = np.ones(3, 'f4')\n"
                       "assert (ts.load('f.tsrb').f(x) == 2).all()\n"
                       "try:\n    ts.softmax(x)\nexcept ts.BackendError as e:\n    print(e.args[0].splitlines()[0], '|', e.hint)\n")
            done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True,
                                  env={**os.environ, "PYTHONPATH": folder, "LD_LIBRARY_PATH": f"{folder}/lib", "TESSERA_CACHE_DIR": "off"})
            if not done.stdout and not done.returncode:
                self.skipTest("a compiler is installed in a folder that the linker searches")
            self.assertEqual((done.stdout, done.stderr), (
                "the compiler is not installed: | install the package libtessera-compiler, which puts it beside libtessera.so\n", ""))


class Tracebacks(unittest.TestCase):
    def test_only_the_users_frames(self):
        @ts.jit
        def f(x):
            return undefined

        try:
            f(X)
        except ts.CompileError as e:
            frames = traceback.extract_tb(e.__traceback__)
        self.assertEqual([frame.name for frame in frames], ["test_only_the_users_frames"])

    def test_of_everything_that_users_call(self):
        @ts.jit
        def f(x: ts.Tensor["n", ts.f32]):
            return undefined

        calls = (lambda: f.jit(), lambda: f.inspect_ir(), lambda: f.save("x"), lambda: ts.gemm(X, X, X, X), lambda: ts.load("/no/where"),
                 lambda: ts.compile("def ("), lambda: ts.asarray(object()), lambda: ts.zeros("x"), lambda: ts.jit(3), lambda: ts.kernel(3),
                 lambda: ts.runtime.select_backend("nosuch"), lambda: ts.runtime.set_mapper(3), lambda: ts.from_dlpack(3),
                 lambda: ts.compile("import tessera as ts\n@ts.jit\ndef g(x):\n    return x\n")["h"])
        for call in calls:
            with self.subTest(names=call.__code__.co_names):
                try:
                    call()
                except ts.Error as e:
                    frames = traceback.extract_tb(e.__traceback__)
                self.assertEqual([frame.name for frame in frames], ["test_of_everything_that_users_call", "<lambda>"])
                del frames

    def test_functions_are_documented(self):
        self.assertEqual(str(inspect.signature(ts.jit)), "(function=None, *, capture_graph=False)")
        self.assertEqual(str(inspect.signature(ts.Kernel.inspect_ir))[:33], "(self, level: 'str' = 'tile', *, ")
        self.assertEqual(ts.load.__name__, "load")
        self.assertIn("bundle", ts.load.__doc__)
        self.assertIn("inspect_ir(self, level", pydoc.render_doc(ts.Kernel, renderer=pydoc.plaintext))

    def test_all_frames_on_request(self):
        program = ("import tessera as ts, traceback\n"
                   "m = ts.compile('import tessera as ts\\n@ts.jit\\ndef f(x):\\n    return y\\n')\n"
                   "try:\n    m.f(bytearray(4))\nexcept ts.CompileError as e:\n"
                   "    assert any('_compile' == f.name for f in traceback.extract_tb(e.__traceback__))\n")
        subprocess.run([sys.executable, "-c", program], check=True,
                       env={**__import__("os").environ, "TESSERA_PYTHON_TRACEBACK": "full"})


if __name__ == "__main__":
    unittest.main()
