"""Texts of functions: where they come from, and what their names refer to."""
import collections
import enum
import functools
import linecache
import math
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import types
import typing
import unittest

import numpy as np

import helpers
import tessera as ts
import tessera
from helpers import Config, squared, triple as times3
from tessera import bf16, f32, jit, zeros
from tessera.tile import exp as e

BLOCK = 16
SHAPE = (BLOCK, 2)
SIZES = [32, 64]
Vector = ts.Tensor["n", ts.f32]
n = m = 5  # dims of the kernels below have these names: they are no constants of theirs
k = 100.0


@ts.kernel
def by_alias(x: ts.Tensor["n", f32], y: ts.Tensor["n", f32]):
    for i in ts.tile.parallel(0, n, BLOCK):
        y[i:i+BLOCK] = times3(x[i:i+BLOCK]) + helpers.triple(1.0) + helpers.SCALE + math.pi * SHAPE[1]


def outer(factor, function):
    bias = 1.5

    @ts.kernel
    def inner(x: ts.Tensor["n", ts.f32]):
        for i in ts.tile.parallel(0, n, helpers.WIDTH):
            x[i:i+helpers.WIDTH] = factor * function(x[i:i+helpers.WIDTH]) + bias + Config.BIAS

    return inner


@jit
def calls_another(a):
    return squared(a) + e(a) + zeros((1, 1), f32)


def scaled_by_width(a):
    return a * helpers.WIDTH


@ts.jit(capture_graph=bool(1))
def graph_by_call(x):
    return x + x


@ts.jit(
    capture_graph=True,  # replay (fast), please
)
def graph_with_comment(x):
    return x + x


@ts.jit(**{"capture_graph": True})
def graph_of_dict(x):
    return x + x


replayed = ts.jit(capture_graph=True)


@replayed
def graph_by_name(x):
    return x + x


class Holder:
    @ts.kernel
    def method(x: ts.Tensor["n", ts.f32]):
        for i in ts.tile.parallel(0, n, BLOCK):
            x[i:i+BLOCK] = Config.halved(x[i:i+BLOCK])


class Capture(unittest.TestCase):
    def test_modules_aliases_and_constants(self):
        x, y = np.arange(40, dtype="f4"), np.zeros(40, "f4")
        by_alias(x, y)
        np.testing.assert_allclose(y, 3 * x + 6 + 2 * math.pi, rtol=1e-6)

    def test_closures(self):
        x = np.arange(40, dtype="f4")

        def square(v):
            return v * v

        outer(2, square)(x)
        np.testing.assert_allclose(x, 2 * np.arange(40.0) ** 2 + 2)

    def test_names_of_annotations(self):
        def make(dtype, width):
            @ts.kernel
            def k(x: ts.Tensor["n", width, dtype]):
                for i in ts.tile.parallel(0, n, 8):
                    x[i:i+8, :] = x[i:i+8, :] + 1.0
            return k

        for dtype, width in ((ts.f64, 3), (ts.f32, 4)):
            x = np.zeros((9, width), np.float64 if dtype == ts.f64 else np.float32)
            make(dtype, width)(x)
            np.testing.assert_array_equal(x, 1)

    def test_graph_functions_of_another_module(self):
        x = np.linspace(-1, 1, 12, dtype="f4").reshape(3, 4)
        np.testing.assert_allclose(calls_another(x), x * x + np.exp(x), rtol=1e-6)

    def test_methods(self):
        x = np.ones(20, "f4")
        Holder.method(x)
        np.testing.assert_array_equal(x, 0.5)

    def test_policies_are_operators(self):
        spec = tessera.Tensor["B", "D", tessera.fp8_e4m3 @ tessera.accum(tessera.fp32) @ tessera.loss_scale(128.0)]
        self.assertIn("fp8_e4m3 @accum(f32) @loss_scale(128.0)", repr(spec))

    def test_text_with_linecache(self):
        text = "@ts.kernel\ndef f(x: ts.Tensor['n', ts.f32]):\n    for i in ts.tile.parallel(0, n, 8):\n        x[i:i+8] = x[i:i+8] + K\n"
        linecache.cache["<cell 1>"] = (len(text), None, text.splitlines(True), "<cell 1>")
        space = {"ts": ts, "K": 2}
        exec(compile(text, "<cell 1>", "exec"), space)
        x = np.zeros(9, "f4")
        space["f"](x)
        np.testing.assert_array_equal(x, 2)

    def test_text_in_a_decorator_looks_like_a_definition(self):
        text = 'def note(text):\n    return lambda f: f\n@ts.jit\n@note("""\ndef f(x):\n    return x * 100\n""")\ndef f(x):\n    return x * 2\n'
        linecache.cache["<cell 2>"] = (len(text), None, text.splitlines(True), "<cell 2>")
        space = {"ts": ts}
        exec(compile(text, "<cell 2>", "exec"), space)
        np.testing.assert_array_equal(space["f"](np.ones(3, "f4")), 2)

    def test_a_definition_that_moved_is_refused(self):
        lines = ["class A:", "    @ts.jit", "    def f(x):", "        return x * 2", "", "",
                 "class B:", "    @ts.jit", "    def f(x):", "        return x * 100"]
        space = {"ts": ts}
        exec(compile("\n".join(lines), "<cell 3>", "exec"), space)
        moved = [line + "\n" for line in ["", "", "", *lines[6:]]]  # without A
        linecache.cache["<cell 3>"] = (1, None, moved, "<cell 3>")
        with self.assertRaisesRegex(ts.CompileError, "E_NO_SOURCE"):
            space["A"].f(np.ones(3, "f4"))

    def test_text_without_linecache(self):
        space = {"ts": ts}
        exec(compile("@ts.jit\ndef f(x):\n    return x\n", "<nowhere>", "exec"), space)
        with self.assertRaisesRegex(ts.CompileError, r"E_NO_SOURCE.*'f'(.|\n)*ts\.compile"):
            space["f"](np.ones(3, "f4"))

    def test_a_file_without_its_source(self):
        with tempfile.TemporaryDirectory() as folder:
            program = textwrap.dedent(f"""
                import os, sys, numpy as np
                sys.path.insert(0, {folder!r})
                open({folder!r} + "/k.py", "w").write("import tessera as ts\\n@ts.jit\\ndef f(x):\\n    return x\\n")
                import k, tessera
                os.remove({folder!r} + "/k.py")
                try:
                    k.f(np.ones(3, "f4"))
                except tessera.CompileError as e:
                    assert e.code == "E_NO_SOURCE", e
                else:
                    raise AssertionError
            """)
            subprocess.run([sys.executable, "-c", program], check=True)

    def test_what_cannot_be_captured(self):
        for value, kind in ((object(), "object"), (np.ones(3), "ndarray"), ({"a": 1}, "dict"), (1j, "complex"), (len, "builtin")):
            captured = value

            @ts.jit
            def f(x):
                return x * captured

            with self.assertRaisesRegex(ts.CompileError, rf"E_CAPTURE.*'captured' is a {kind}") as raised:
                f(np.ones(3, "f4"))
            found = raised.exception.diagnostics[0]
            self.assertEqual((found.file, found.source_line.strip()), (__file__, "return x * captured"))
            self.assertEqual(found.column, found.source_line.index("captured") + 1)

    def test_values_of_objects(self):
        Point = collections.namedtuple("Point", "a b")
        point, here = Point(2.0, 3.0), types.SimpleNamespace(k=2.0, inner=types.SimpleNamespace(z=3.0))
        single, whole, dtype = np.float32(1.5), np.int64(2), ts.f64

        class Colors(enum.IntEnum):
            RED = 3

        @ts.jit
        def f(x):
            return x * point.a + point[1] + here.k * here.inner.z + Colors.RED + single * whole + Config.BIAS

        @ts.jit
        def g(x):
            return ts.cast(x, Config.DTYPE) + ts.cast(x, dtype)

        x = np.ones(3, "f4")
        np.testing.assert_array_equal(f(x), 2 + 3 + 6 + 3 + 3 + 0.5)
        self.assertEqual((g(x).dtype, g(x)[0]), (np.float64, 2))

    def test_what_objects_lack(self):
        @ts.jit
        def lacks(x):
            return x * Config.NOTHING

        @ts.jit
        def method(x):
            return Config.doubled(x)

        for f, words in ((lacks, "'Config' is a type without 'NOTHING'"), (method, "'Config.doubled' is a method")):
            with self.assertRaisesRegex(ts.CompileError, f"E_CAPTURE.*{words}") as raised:
                f(np.ones(3, "f4"))
            found = raised.exception.diagnostics[0]
            self.assertEqual(found.source_line[found.column - 1:found.end - 1].partition(".")[0], "Config")

    def test_types_under_names(self):
        Matrix = ts.Tensor["m", 4, ts.f64]

        @ts.kernel
        def k(x: Vector, y: Vector) -> Vector:
            for i in ts.tile.parallel(0, n, 16):
                y[i:i+16] = x[i:i+16] + 1.0
            return y

        @ts.kernel
        def two(x: Matrix, out: Matrix):
            for i in ts.tile.parallel(0, m, 8):
                out[i:i+8, :] = x[i:i+8, :] + x[i:i+8, :]

        x, y = np.ones(20, "f4"), np.zeros(20, "f4")
        self.assertIs(k(x, y), y)
        np.testing.assert_array_equal(y, 2)
        a, b = np.ones((9, 4)), np.zeros((9, 4))
        two(a, b)
        np.testing.assert_array_equal(b, 2)

    def test_annotations_that_are_texts(self):
        text = textwrap.dedent("""
            from __future__ import annotations
            import tessera as ts
            Vector = ts.Tensor["n", ts.f32]
            DTYPE = ts.f64

            def make(dtype, width):
                @ts.kernel
                def k(x: ts.Tensor["n", width, dtype], y: ts.Tensor["n", width, dtype]):
                    for i in ts.tile.parallel(0, n, 16):
                        y[i:i+16, :] = x[i:i+16, :] * 2.0
                return k

            @ts.kernel
            def alias(x: Vector, y: Vector):
                for i in ts.tile.parallel(0, n, 16):
                    y[i:i+16] = x[i:i+16] * 2.0

            @ts.kernel
            def needs_a_dim(x: ts.Tensor["r", "c", DTYPE], y: ts.Tensor["r", DTYPE]):
                t = ts.tile.zeros((c,), DTYPE)
                for i in ts.tile.parallel(0, r, 1):
                    y[i:i+1] = ts.tile.row_sum(x[i:i+1, :] + t)
        """)
        linecache.cache["<texts>"] = (len(text), None, text.splitlines(True), "<texts>")
        space = {"__name__": "texts"}
        exec(compile(text, "<texts>", "exec"), space)
        x, y = np.ones((5, 3)), np.zeros((5, 3))
        space["make"](ts.f64, 3)(x, y)
        np.testing.assert_array_equal(y, 2)
        v, w = np.ones(20, "f4"), np.zeros(20, "f4")
        space["alias"](v, w)
        np.testing.assert_array_equal(w, 2)
        sums = np.zeros(5)
        space["needs_a_dim"](x, sums)
        np.testing.assert_array_equal(sums, 3)

    def test_defaults_from_around(self):
        def make(size, n_):
            @ts.kernel
            def k(x: ts.Tensor["n", ts.f32], n_: ts.i32 = n_):
                for i in ts.tile.parallel(0, n, 16):
                    x[i:i+16] = x[i:i+16] + ts.tile.cast(n_, ts.f32)

            @ts.jit
            def f(x, *, size=size):
                return x * size

            return k, f

        for size, n_ in ((2.0, 5), (3.0, 7)):
            k, f = make(size, n_)
            x = np.ones(20, "f4")
            k(x)
            np.testing.assert_array_equal(x, 1 + n_)
            np.testing.assert_array_equal(f(x), (1 + n_) * size)
            np.testing.assert_array_equal(f(x, size=4.0), (1 + n_) * 4)
        with self.assertRaisesRegex(ts.ArgumentError, r"E_ARG_COUNT.*f\(x, \*, size\) takes 1 arguments by position, found 2"):
            f(x, 2.0)

    def test_variables_of_comprehensions(self):
        @ts.jit
        def f(x):
            ys = [x * k for k in range(1, 3)]
            return ys[0] + ys[1] + k

        np.testing.assert_array_equal(f(np.ones(3, "f4")), 3 + 100)

    def test_functions_without_types_call_each_other(self):
        @ts.jit
        def product(a, b):
            return a @ b

        @ts.jit
        def scaled(v, by=2.0):
            return v * by

        @ts.jit
        def f(x):
            return scaled(product(x, ts.transpose(x))) + scaled(product(x, ts.transpose(x)), by=3.0) + squared(x @ ts.transpose(x))

        x = np.random.default_rng(1).uniform(-1, 1, (3, 5)).astype("f4")
        want = x @ x.T
        np.testing.assert_allclose(f(x), 5 * want + want * want, rtol=1e-5)
        np.testing.assert_array_equal(scaled(x), 2 * x)

    def test_decorated_by_a_call(self):
        def plain(x):
            return x + 1.0

        def tiles(x: ts.Tensor["n", ts.f32]):
            for i in ts.tile.parallel(0, n, 16):
                x[i:i+16] = x[i:i+16] + undefined_there

        x = np.ones(5, "f4")
        np.testing.assert_array_equal(ts.jit(plain)(x), 2)
        with self.assertRaises(ts.CompileError) as raised:
            ts.kernel(tiles)(x)
        found = raised.exception.diagnostics[0]
        self.assertTrue(found.source_line.endswith("undefined_there"))
        self.assertEqual(open(__file__).read().splitlines()[found.line - 1], found.source_line)

    def test_a_global_that_is_assigned_later(self):
        text = "import tessera as ts\nK = 2.0\n@ts.jit\ndef f(x):\n    return x * K\n"
        f = ts.compile(text).f
        x = np.ones(3, "f4")
        np.testing.assert_array_equal(f(x), 2)
        f.__wrapped__.__globals__["K"] = 5.0
        np.testing.assert_array_equal(f(x), 2)
        np.testing.assert_array_equal(f(np.ones((2, 3), "f4")), 2)

    def test_the_development_mode_warns_of_it(self):
        program = textwrap.dedent("""
            import numpy as np
            import tessera as ts
            K, BLOCK = 2.0, 16

            @ts.jit
            def f(x):
                return x * K

            @ts.kernel
            def k(x: ts.Tensor["n", ts.f32]):
                for i in ts.tile.parallel(0, n, BLOCK):
                    x[i:i+BLOCK] = x[i:i+BLOCK] * K

            def helper(v):
                return v + 1.0

            def another(v):
                return v + 2.0

            @ts.jit
            def leading(x: ts.Tensor[..., "n", ts.f32]) -> ts.Tensor[..., "n", ts.f32]:
                return helper(x) * BLOCK

            x = np.ones(3, "f4")
            f(x), k(x), f(x)
            K = 5.0
            assert f(x)[0] == 4
            K = object()
            k(x)
            leading(x), leading(np.ones((2, 3), "f4"))
            helper = another
            leading(x)
            BLOCK = 32
            leading(np.ones((2, 3), "f4"))
        """)
        with tempfile.TemporaryDirectory() as folder:
            file = folder + "/program.py"
            pathlib.Path(file).write_text(program)
            for words, count in (((), 0), (("-X", "dev"), 5)):
                done = subprocess.run([sys.executable, *words, file], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                found = [line.removeprefix(file + ":") for line in done.stderr.splitlines() if "RuntimeWarning" in line]
                kept = "keeps what it captured when it was compiled:"
                self.assertEqual(found, [
                    f"28: RuntimeWarning: f {kept} 'K' was 2.0",
                    f"30: RuntimeWarning: k {kept} 'K' is a object, which a kernel cannot capture",
                    f"33: RuntimeWarning: leading {kept} 'helper' was the function at {file}:15",
                    f"35: RuntimeWarning: leading {kept} 'BLOCK' was 16",
                    f"35: RuntimeWarning: leading {kept} 'helper' was the function at {file}:15"][:count])

    def test_two_definitions(self):
        text = "import tessera as ts\n@ts.jit\ndef f(x): return x + 1.0; y = 2\n@ts.jit\ndef g(x): return x * 3.0\n"
        module = ts.compile(text)
        np.testing.assert_array_equal(module.g(np.ones(3, "f4")), 3)
        with self.assertRaisesRegex(ts.CompileError, "E_RETURN_PLACE.*nothing runs after a return"):
            module.f(np.ones(3, "f4"))
        text = "import tessera as ts\nfor k in (1.0,):\n    @ts.jit\n    def f(x): return x + 1.0\n    @ts.jit\n    def f(x): return x * 3.0\n"
        np.testing.assert_array_equal(ts.compile(text).f(np.ones(3, "f4")), 3)

    def test_two_functions_of_one_name(self):
        def make(k):
            def helper(v):
                return v * k
            return helper

        def other(v):
            def helper(v):
                return v + 10.0
            return helper

        first, second, third = make(1.0), make(2.0), other(0)

        @ts.jit
        def f(x):
            return first(x) + second(x)

        @ts.jit
        def g(x):
            return second(x) * third(x)

        with self.assertRaisesRegex(ts.CompileError, "E_CAPTURE.*'k' is 2.0 here, and 1.0 in another function"):
            f(np.ones(3, "f4"))
        np.testing.assert_array_equal(g(np.ones(3, "f4")), 2 * 11)

    def test_what_decorators_made_of_helpers(self):
        def plus_one(function):
            @functools.wraps(function)
            def inner(v):
                return function(v) + 1.0
            return inner

        @plus_one
        def helper(v):
            return v * 2.0

        @ts.jit
        def f(x):
            return helper(x) * 10.0

        np.testing.assert_array_equal(f(np.ones(3, "f4")), 30)
        wrong = plus_one(plus_one(helper))

        @ts.jit
        def g(x):
            return wrong(x)

        with self.assertRaisesRegex(ts.CompileError, "E_CAPTURE.*'function' is the function at (.|\n)*rename one of the two"):
            g(np.ones(3, "f4"))

        def make(h):
            @ts.jit
            def h_(x):
                return h(x)
            return h_

        def h_(v):
            return v * 5.0

        np.testing.assert_array_equal(make(h_)(np.ones(3, "f4")), 5)

        def times(clash):
            def helper(v):
                return v * clash
            return helper

        doubled = times(2.0)

        @ts.jit
        def clash(x):
            return doubled(x)

        with self.assertRaisesRegex(ts.CompileError, "E_CAPTURE.*'clash', the function at .*, is also the name of 2.0"):
            clash(np.ones(3, "f4"))

    def test_only_names_of_the_text_are_looked_at(self):
        large, cyclic, width = list(range(100_000)), [1], 4
        cyclic.append(cyclic)
        import tessera as local

        @local.kernel
        def k(x: local.Tensor["n", width, local.f32]):
            for i in ts.tile.parallel(0, n, 8):
                x[i:i+8, :] = x[i:i+8, :] + 1.0

        x = np.zeros((9, 4), "f4")
        k(x)
        np.testing.assert_array_equal(x, 1)
        self.assertEqual(set(k.__wrapped__._tessera_scope), {"local", "width"})

        @ts.jit
        def f(x):
            return x * cyclic[0]

        deep = 1.0
        for _ in range(100_000):
            deep = (deep,)

        @ts.jit
        def g(x):
            return x * deep

        for function, kind in ((f, "list"), (g, "tuple")):
            with self.assertRaisesRegex(ts.CompileError, f"E_CAPTURE.* is a {kind}, which a kernel cannot capture"):
                function(np.ones(3, "f4"))

    def test_what_no_decorator_takes(self):
        async def coroutine(x):
            return x

        def generator(x):
            yield x

        for wrong, kind in ((lambda x: x, "a lambda"), (coroutine, "a coroutine"), (generator, "a generator"), (Holder, "a type"),
                            (3, "a int"), (len, "a builtin")):
            for decorator in (ts.kernel, ts.jit):
                with self.assertRaisesRegex(ts.CompileError, f"E_DECORATOR.*{kind}"):
                    decorator(wrong)
        for decorator in (ts.jit, ts.kernel, ts.kernel.autotune(space=dict(B=[1]))):
            with self.assertRaisesRegex(ts.ArgumentError, "E_DECORATOR.*has a decorator"):
                decorator(calls_another)

    def test_decorators_of_other_libraries(self):
        """One above sees a kernel. One below is run before; what it gives is a function with a text, or is refused."""
        def same(function):
            return function

        def counted(function):
            @functools.wraps(function)
            def call(*args):
                calls.append(args)
                return function(*args)
            return call

        def bare(function):
            def call(*args):
                return function(*args)
            return call

        calls = []

        @counted
        @ts.jit
        @same
        @typing.no_type_check
        def f(x):
            return x * 2.0

        np.testing.assert_array_equal(f(np.ones(3, "f4")), 2)
        self.assertEqual(len(calls), 1)
        for wrapper, words in ((counted, "a wrapper that another decorator made, '.*wrapped'"), (bare, "a function with .args or ..kwargs, '.*call'")):
            def wrapped(x):
                return x

            for decorator in (ts.jit, ts.kernel, ts.kernel.autotune(space={"B": [1]})):
                with self.assertRaisesRegex(ts.CompileError, f"E_DECORATOR.*stands before {words}.*\n.*next to the def"):
                    decorator(wrapper(wrapped))

    def test_decorators_under_any_name(self):
        class Names:
            kernel, jit = ts.kernel, ts.jit

        several = [ts.jit]
        autotune, tuned = ts.kernel.autotune, ts.kernel.autotune(space=dict(B=range(16, 64, 16)))

        def own(function):
            B = 5  # not the one of the text below
            return ts.jit(function)

        B = 3

        @Names.kernel
        def by_attribute(x: ts.Tensor["n", ts.f32]):
            for i in ts.tile.parallel(0, n, 16):
                x[i:i+16] = x[i:i+16] + 1.0

        @autotune(space={"B": np.array([16, 32])})
        def by_name(x: ts.Tensor["n", ts.f32]):
            for i in ts.tile.parallel(0, n, ts.tile.context().B):
                x[i:i+ts.tile.context().B] = x[i:i+ts.tile.context().B] + 1.0

        @tuned
        def by_value(x: ts.Tensor["n", ts.f32]):
            for i in ts.tile.parallel(0, n, ts.tile.context().B):
                x[i:i+ts.tile.context().B] = x[i:i+ts.tile.context().B] + 1.0

        @ts.kernel()
        def by_call(x: ts.Tensor["n", ts.f32]):
            for i in ts.tile.parallel(0, n, 16):
                x[i:i+16] = x[i:i+16] + 1.0

        for kernel in (by_attribute, by_name, by_value, by_call):
            x = np.zeros(50, "f4")
            kernel(x)
            np.testing.assert_array_equal(x, 1)
        self.assertIn("B: 48", by_value.jit(B=48).metadata)

        @several[0]
        def by_index(x):
            return x * 2.0

        @own
        def by_own(x: ts.Tensor[B, ts.f32]):
            return x * 2.0

        @(lambda function: Names.jit(function))
        def by_lambda(x):
            return x * 2.0

        for function in (by_index, by_own, by_lambda):
            np.testing.assert_array_equal(function(np.ones(3, "f4")), 2)

    def test_spaces(self):
        for wrong in ({}, {"a b": [1]}, {3: [1]}, {"B": []}, {"B": 4}, {"B": "12"}):
            with self.assertRaisesRegex(ts.ArgumentError, "E_TUNABLE_SPACE"):
                ts.kernel.autotune(space=wrong)
        with self.assertRaisesRegex(ts.ArgumentError, "E_ARG_TYPE.*a value of tunable 'B' is an int, found 1.5"):
            ts.kernel.autotune(space=dict(B=[1.5]))

    def test_functions_with_a_name_of_their_own(self):
        def f(x):
            return x * 2.0

        f.__name__ = "another"
        np.testing.assert_array_equal(ts.jit(f)(np.ones(3, "f4")), 2)

    def test_functions_that_type_checkers_leave_out(self):
        @typing.no_type_check
        @ts.jit
        def f(x):
            return x * 2.0

        np.testing.assert_array_equal(f(np.ones(3, "f4")), 2)

    def test_values_in_decorators(self):
        @ts.kernel.autotune(space=dict(B=SIZES, C=Config.CHOICES, D=helpers.CHOICES))
        def k(x: ts.Tensor["n", ts.f32]):
            ctx = ts.tile.context()
            for i in ts.tile.parallel(0, n, ctx.B):
                x[i:i+ctx.B] = x[i:i+ctx.B] + 1.0

        x = np.zeros(100, "f4")
        k(x)
        np.testing.assert_array_equal(x, 1)
        self.assertIn("B: 64", k.jit(B=64).metadata)

    def test_arguments_that_are_not_the_compilers(self):
        x = np.ones(3, "f4")
        for function in (graph_by_call, graph_with_comment, graph_of_dict, graph_by_name):
            for _ in range(3):
                self.assertEqual(function(x).tolist(), [2, 2, 2])

    def test_lines_that_begin_with_a_matrix_product(self):
        @ts.jit
        def f(a):
            return (a
                    @ scaled_by_width(a))

        a = np.eye(3, dtype="f4")
        np.testing.assert_array_equal(f(a), helpers.WIDTH * a)

    def test_form_feeds_in_strings(self):
        text = ("import tessera as ts\n\n@ts.jit\ndef f(x):\n    'a\x0cb\x1cc'\n    return x * wrong\n")
        for end in ("\n", "\r\n"):
            module = ts.compile(text.replace("\n", end), filename="feeds.py", constants={"wrong": object()})
            with self.assertRaisesRegex(ts.CompileError, "E_CAPTURE") as raised:
                module.f(np.ones(3, "f4"))
            found = raised.exception.diagnostics[0]
            self.assertEqual((found.line, found.source_line), (6, "    return x * wrong"))

    def test_helpers_of_texts(self):
        text = "import tessera as ts\n\ndef helper(v):\n    return v + 1.0\n\n@ts.jit\ndef f(x):\n    return helper(x)\n"
        for name in ("<source>", "tessera.py"):
            np.testing.assert_array_equal(ts.compile(text, filename=name).f(np.ones(3, "f4")), 2)
        np.testing.assert_array_equal(ts.compile(text, constants={"__name__": "tessera._kernel"}).f(np.ones(3, "f4")), 2)

    def test_functions_of_no_module(self):
        def helper(v):
            return v + 1.0

        helper.__module__ = None

        @ts.jit
        def f(x):
            return helper(x)

        np.testing.assert_array_equal(f(np.ones(3, "f4")), 2)

    def test_names_that_are_not_built(self):
        from tessera.dist import mesh

        @ts.jit
        def f(x):
            return mesh(x)

        with self.assertRaises(ts.Error) as raised:
            f(np.ones(3, "f4"))
        self.assertNotIn("missing", str(raised.exception))

    def test_a_failed_compilation_is_forgotten(self):
        space = {"ts": ts, "__name__": "later"}
        text = "@ts.jit\ndef f(x):\n    return x * K\n\n@ts.kernel\ndef k(x: ts.Tensor['n', ts.f32]):\n    x[0:1] = x[0:1] * K\n"
        linecache.cache["<later>"] = (len(text), None, text.splitlines(True), "<later>")
        exec(compile(text, "<later>", "exec"), space)
        x = np.ones(3, "f4")
        space["K"] = "a text"
        for call in (lambda: space["f"](x), lambda: space["k"].jit(), lambda: space["k"].inspect_ir("tile")):
            with self.assertRaises(ts.CompileError):
                call()
        space["K"] = 3.0
        np.testing.assert_array_equal(space["f"](x), 3)
        space["k"].inspect_ir("tile")
        space["k"].jit()


if __name__ == "__main__":
    unittest.main()
