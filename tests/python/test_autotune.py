"""ts.autotune: what is measured, chosen, kept and refused. docs/tuning.md has the rules, tests/cli/tune_test.py the same from `tsr tune`.

No test depends on which configuration is faster, but for those whose default is slower by a factor of its tile.
"""
import contextlib
import io
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import time
import types
import unittest
from unittest import mock

import numpy as np

import tessera as ts
from tessera import _html, _tuning_bar, autotune

FOLDER = pathlib.Path(tempfile.mkdtemp())
os.environ["TESSERA_CACHE_DIR"] = str(FOLDER / "cache")
SCALE = 3.0
DTYPE = ts.f32


@ts.kernel.autotune(space=dict(B=[1, 2048]))  # a program for each element, or for each row
def add(X: ts.Tensor["M", "N", DTYPE], Y: ts.Tensor["M", "N", ts.f32], Z: ts.Tensor["M", "N", ts.f32], a: ts.f32 = 2.0):
    B = ts.tile.context().B
    for m in ts.tile.parallel(0, M, 1):
        for n in ts.tile.parallel(0, N, B):
            Z[m:m+1, n:n+B] = X[m:m+1, n:n+B] + SCALE * a * Y[m:m+1, n:n+B]


@ts.kernel.autotune(space=dict(B=[4, 8, 16]))
def wrong(x: ts.Tensor["n", ts.i32], y: ts.Tensor["n", ts.i32]):
    B = ts.tile.context().B
    for i in ts.tile.parallel(0, n, 8):
        y[i:i+8] = x[i:i+8] * B


@ts.kernel.autotune(space=dict(B=[3, 5]))
def illegal(x: ts.Tensor[64, 64, ts.f32]):
    B = ts.tile.context().B
    for i in ts.tile.parallel(0, 64, 64):
        x[i:i+64, 0:64] = ts.tile.reshape(x[i:i+64, 0:64], (B, 64))


@ts.kernel
def plain(x: ts.Tensor["n", ts.f32]):
    for i in ts.tile.parallel(0, n, 16):
        x[i:i+16] = 0.0 * x[i:i+16]


@ts.kernel.autotune(space=dict(B=[16, 32]))
def gather(x: ts.Tensor["n", ts.f32], at: ts.Tensor["m", ts.i32], y: ts.Tensor["m", ts.f32]):
    B = ts.tile.context().B
    for i in ts.tile.parallel(0, m, B):
        y[i:i+B] = x[at[i:i+B]]


class Autotune(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=FOLDER))
        self.database = str(self.folder / "tune.db")
        before = os.environ.get("TESSERA_TUNED")
        os.environ["TESSERA_TUNED"] = str(self.folder / "tune.tsrt")
        self.addCleanup(lambda: os.environ.pop("TESSERA_TUNED") if before is None else os.environ.update(TESSERA_TUNED=before))

    def refused(self, cls, code, call, *words):
        with self.assertRaises(cls) as raised:
            call()
        self.assertIs(type(raised.exception), cls)
        self.assertEqual(raised.exception.code, code)
        for word in words:
            self.assertIn(word, str(raised.exception))
        self.assertNotRegex(str(raised.exception), r"--\w")  # an option of the command line
        return raised.exception

    def test_a_choice_is_made_and_used(self):
        seen = []
        tuning = autotune.tune(add, M=[16, 48], N=2048, budget=20, database=self.database, progress=seen.append)
        self.assertEqual([one.dims for one in tuning], [{"M": 16, "N": 2048}, {"M": 48, "N": 2048}])
        for one in tuning:
            self.assertEqual((one.kernel, one.default, one.choice, one.illegal, one.wrong), ("add", {"B": 1}, {"B": 2048}, [], []))
            self.assertEqual((one.fastest.configuration, one.fastest.pairs), ({"B": 2048}, 21))
            self.assertGreater(one.fastest.gain, 1.03)
            self.assertEqual([m.configuration for m in one.measured], [{"B": 2048}])
            self.assertIn("21 pairs", one.reason)
        self.assertEqual((tuning.database, tuning.look_up), (self.database, str(self.folder / "tune.tsrt")))
        self.assertEqual({(p.size, p.sizes, p.dims["M"]) for p in seen}, {(1, 2, 16), (2, 2, 48)})
        self.assertEqual([p.all for p in seen if p.size == 1][0], 0)  # while they are compiled
        self.assertTrue(all(p.done <= p.all and p.gain > 0 and p.seconds_left <= 20 for p in seen))
        self.assertEqual(seen[-1].best, {"B": 2048})

        self.assertIn("tile: {B: 2048}", add.jit(M=16, N=2048).metadata)  # a constant of the kernel is in its key, too
        self.assertIn("tile: {B: 1}", add.jit(M=16, N=2047).metadata)  # another class of sizes
        x, y, z = np.random.rand(3, 48, 2048).astype("f4")
        add(x, y, z)
        np.testing.assert_allclose(z, x + 6 * y, rtol=1e-6)

        report = autotune.report(self.database)
        self.assertEqual(sorted(c.configuration["B"] for c in report), [2048, 2048])
        self.assertTrue(all(c.applies and c.pairs == 21 and c.kernel.startswith("add(X: f32[M, N]") for c in report))
        self.assertIn("B=2048", str(report))
        for page, word in ((tuning._repr_html_(), "B=2048"), (report._repr_html_(), "M &gt;= 16"),
                           (_html.progress(1, 3, "tuning <b>"), "tuning &lt;b&gt;")):
            self.assertIn(word, page)
            self.assertNotIn("<script", page)
            self.assertLess(len(page), 200_000)

        merged = autotune.database(str(self.folder / "all.db"))
        self.assertEqual(merged.merge(self.database), 2)
        self.assertEqual(list(merged.choices()), list(report))
        self.assertEqual(merged.export(str(self.folder / "other.tsrt")), 2)
        self.assertEqual((self.folder / "other.tsrt").read_bytes(), (self.folder / "all.tsrt").read_bytes())

    def test_what_computes_something_else(self):
        one, = autotune.tune(wrong, n=64, budget=20, database=self.database)
        self.assertEqual((one.choice, one.fastest, one.measured), ({"B": 4}, None, []))
        self.assertEqual([configuration for configuration, _ in one.wrong], ["B=8", "B=16"])
        self.assertIn("of 64 elements differ", one.wrong[0][1])
        self.assertIn("illegal or wrong", one.reason)
        self.assertEqual(autotune.report(self.database)[0].configuration, {})

    def test_inputs(self):
        at = np.array([999, 0, 500] * 11, "i4")
        one, = autotune.tune(gather, inputs={"x": np.arange(1000, dtype="f4"), "at": at}, budget=5, database=self.database)
        self.assertEqual(one.dims, {"n": 1000, "m": 33})
        half = ts.asarray(np.ones((4, 64)), ts.bf16)

        @ts.kernel.autotune(space=dict(B=[16, 32]))
        def narrow(x: ts.Tensor["M", 64, ts.bf16], y: ts.Tensor["M", 64, ts.bf16], a: ts.f32, flag: ts.bool):
            B = ts.tile.context().B
            for m in ts.tile.parallel(0, M, 1):
                for n in ts.tile.parallel(0, 64, B):
                    y[m:m+1, n:n+B] = x[m:m+1, n:n+B]

        one, = autotune.tune(narrow, inputs={"x": half, "a": float("inf"), "flag": True}, budget=5, database=self.database)
        self.assertEqual((one.dims, one.wrong), ({"M": 4}, []))
        tune = lambda **more: autotune.tune(narrow, database=self.database, **more)
        self.refused(ts.ArgumentError, "E_ARG_UNKNOWN", lambda: tune(M=4, inputs={"q": 3}), "narrow has no parameter 'q'")
        self.refused(ts.ArgumentError, "E_ARG_MISSING", lambda: tune(M=4), "scalar a has no value", "inputs={\"a\": ...}")
        self.refused(ts.ArgumentError, "E_ARG_UNKNOWN", lambda: tune(M=4, inputs={"a": half, "flag": True}), "a is a scalar")
        self.refused(ts.ArgumentError, "E_ARG_SHAPE", lambda: tune(inputs={"x": np.ones((4, 63), "f4"), "a": 1, "flag": False}), "dim 1 of x")
        self.refused(ts.ArgumentError, "E_ARG_DTYPE", lambda: tune(inputs={"x": np.ones((4, 64)), "a": 1, "flag": False}), "x is bf16")
        self.refused(ts.ArgumentError, "E_ARG_TYPE", lambda: tune(inputs=3), "inputs")
        with self.assertRaises(ts.ArgumentError):
            tune(M=4, inputs={"a": 1e300, "flag": 7})

    def test_what_is_refused(self):
        tune = lambda kernel, **more: autotune.tune(kernel, **{"database": self.database, "budget": 5, **more})
        self.refused(ts.ArgumentError, "E_TUNE_EMPTY", lambda: tune(plain, n=4), "plain has no tunables", "ts.kernel.autotune")
        self.refused(ts.ArgumentError, "E_TUNE_EMPTY", lambda: tune(add, M=4, N=8, numerics="strict"), "freezes tunables")
        for kernel in (abs, None, "add", add.jit()):
            self.refused(ts.ArgumentError, "E_ARG_TYPE", lambda: tune(kernel, n=4), "ts.kernel.autotune")
        self.refused(ts.ArgumentError, "E_DIM_MISSING", lambda: tune(add, M=4), "dim N", "N=...")
        self.refused(ts.ArgumentError, "E_DIM_UNKNOWN", lambda: tune(add, M=4, N=8, Q=3), "no dim 'Q'")
        self.refused(ts.ArgumentError, "E_DIM_UNKNOWN", lambda: tune(add, M=4, N=8, B=1), "B is a tunable")
        self.refused(ts.ArgumentError, "E_ARG_RANGE", lambda: tune(add, M=[], N=8), "M is empty")
        self.refused(ts.ArgumentError, "E_ARG_RANGE", lambda: tune(add, M=range(1, 1100), N=8), "1000 combinations")
        self.refused(ts.ArgumentError, "E_ARG_TYPE", lambda: tune(add, M="4", N=8), "M is an int")
        for name, value in (("budget", 0), ("budget", -1.0), ("budget", float("nan")), ("seed", -1)):
            self.refused(ts.ArgumentError, "E_ARG_RANGE", lambda: tune(add, M=4, N=8, **{name: value}), name)
        self.refused(ts.ArgumentError, "E_ARG_TYPE", lambda: tune(add, M=4, N=8, progress=3), "progress")
        with self.assertRaises(ts.Error):
            tune(add, M=4, N=8, numerics="nonsense")
        with self.assertRaises(ts.Error):
            tune(add, M=-4, N=8)

        @ts.kernel.autotune(space=dict(B=[1, 2]))
        def untyped(x):
            x[0] = 1.0

        self.refused(ts.ArgumentError, "E_PARAMETER", lambda: tune(untyped), "'x' has no type")

        @ts.kernel.autotune(space=dict(A=list(range(65)), B=list(range(64))))
        def large(x: ts.Tensor["n", ts.f32]):
            x[0] = 1.0

        self.refused(ts.ArgumentError, "E_TUNE_SPACE", lambda: tune(large, n=4), "4096")

        @ts.kernel.autotune(space=dict(B=[1, 2]))
        def misspelt(x: ts.Tensor["n", ts.f32]):
            x[0] = apha

        error = self.refused(ts.CompileError, "E_UNDEFINED_NAME", lambda: tune(misspelt, n=4), "apha", "^^^^")
        self.assertEqual(os.path.basename(error.diagnostics[0].file), "test_autotune.py")

    def test_a_space_of_illegal_configurations(self):
        with self.assertRaises(ts.Error) as raised:
            autotune.tune(illegal, database=self.database, budget=5)
        self.assertEqual(raised.exception.code, "E_TUNE_EMPTY")
        for word in ("B=3", "B=5", "every one of the 2 configurations is illegal"):
            self.assertIn(word, str(raised.exception))
        cause = raised.exception.__cause__
        self.assertIsInstance(cause, ts.CompileError)
        self.assertEqual(cause.diagnostics[0].source_line.strip(), "x[i:i+64, 0:64] = ts.tile.reshape(x[i:i+64, 0:64], (B, 64))")

    def test_databases_that_cannot_be_used(self):
        tune = lambda path: autotune.tune(add, M=1, N=8, database=path, budget=2)
        text = self.folder / "text.db"
        text.write_text("no database" * 1000)
        self.refused(ts.Error, "E_TUNE_DATABASE", lambda: tune(text), "text.db")
        self.refused(ts.Error, "E_TUNE_DATABASE", lambda: tune(self.folder), str(self.folder))
        self.refused(ts.Error, "E_TUNE_DATABASE", lambda: autotune.report(self.folder / "none.db"), "none.db")
        self.refused(ts.Error, "E_TUNE_DATABASE", lambda: autotune.database(self.database).merge(self.folder / "none.db"), "none.db")
        self.refused(ts.ArgumentError, "E_ARG_COUNT", lambda: autotune.database(self.database).merge())
        self.refused(ts.ArgumentError, "E_OPTION_VALUE", lambda: autotune.tune(add, M=1, N=8, database="t.db", export="t.db"), "t.db")
        self.refused(ts.ArgumentError, "E_ARG_TYPE", lambda: tune(3))
        tune(self.database)
        os.chmod(self.database, 0o444)
        if os.access(self.database, os.W_OK):  # root may write anything: a folder that is not there is as good
            self.refused(ts.Error, "E_TUNE_DATABASE", lambda: tune("/proc/tune.db"), "/proc/tune.db")
        else:
            self.refused(ts.Error, "E_TUNE_DATABASE", lambda: tune(self.database), "tune.db")
        held = sqlite3.connect(self.folder / "locked.db")
        held.execute("create table t(x)")
        held.execute("begin exclusive")
        self.refused(ts.Error, "E_TUNE_DATABASE", lambda: tune(self.folder / "locked.db"), "locked.db")
        held.close()

    def test_an_exception_of_progress_ends_it(self):
        def stop(p):
            if p.size == 2 and p.all:
                raise KeyError("enough")

        with self.assertRaises(KeyError):
            autotune.tune(add, M=[8, 24], N=2048, budget=60, database=self.database, progress=stop)
        self.soon(lambda: len(autotune.report(self.database)) == 2)
        finished = [c for c in autotune.report(self.database) if "M >= 8" in c.when]
        self.assertEqual([c.configuration for c in finished], [{"B": 2048}])

    def soon(self, is_true):
        """Waits for what goes on in the background."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with contextlib.suppress(ts.Error):
                if is_true():
                    return
            time.sleep(0.05)
        self.fail("it did not happen within a minute")

    def test_ctrl_c(self):
        """It ends the call at once, what was measured is there, and the process goes on."""
        program = textwrap.dedent("""
            import os, signal, sys, threading, time
            sys.path.insert(0, os.getcwd())
            import test_autotune as t
            from tessera import autotune
            path = sys.argv[1]
            began = []
            def progress(p):
                if p.size == 2 and p.all and not began:
                    began.append(time.monotonic())
                    os.kill(os.getpid(), signal.SIGINT)
            try:
                autotune.tune(t.add, M=[8, 256], N=2048, budget=600, database=path, progress=progress)
            except KeyboardInterrupt:
                assert time.monotonic() - began[0] < 5
            for _ in range(600):
                try:
                    if any(c.configuration == {"B": 2048} for c in autotune.report(path)):
                        break
                except autotune.Error:
                    pass
                time.sleep(0.1)
            else:
                sys.exit("the finished size has no choice")
            autotune.tune(t.add, M=8, N=2048, budget=20, database=path)  # the file is not locked for ever
        """)
        result = subprocess.run([sys.executable, "-c", program, self.database], cwd=os.path.dirname(os.path.abspath(__file__)),
                                capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sqlite3.connect(self.database).execute("pragma integrity_check").fetchone(), ("ok",))

    def test_bars(self):
        p = autotune.Progress("gemm", {"M": 256}, 1, 2, 3, 6, {"B": 8}, 1.25, 12.4)
        self.assertEqual(_tuning_bar.line(p), "tuning gemm M=256 (1 of 2) [############............] 3 of 6, best B=8 1.25x, at most 12 s left")
        self.assertIn("compiling", _tuning_bar.line(p._replace(done=0, all=0)))
        with contextlib.redirect_stderr(io.StringIO()) as out, _tuning_bar.display(True) as show:
            show(p)
            self.assertTrue(out.getvalue().startswith("\rtuning gemm"))
            show(p._replace(kernel="g"))
        self.assertTrue(out.getvalue().endswith(" \r"))
        for quiet in (None, False):  # no terminal
            with contextlib.redirect_stderr(io.StringIO()) as out, _tuning_bar.display(quiet) as show:
                show(p)
            self.assertEqual(out.getvalue(), "")
        shown = []
        handle = types.SimpleNamespace(update=shown.append)
        display = types.ModuleType("IPython.display")
        display.display, display.HTML = (lambda what, display_id: handle), (lambda text: text)
        ipython = types.ModuleType("IPython")
        ipython.get_ipython, ipython.display = (lambda: types.SimpleNamespace(kernel=1)), display
        with mock.patch.dict(sys.modules, {"IPython": ipython, "IPython.display": display}), _tuning_bar.display(None) as show:
            show(p)
        self.assertIn('<progress max="6" value="3">', shown[0])
        self.assertEqual(shown[-1], "")  # it is gone at the end

    def test_without_the_library(self):
        """Nothing else needs it: it is opened by the first use, and what is missing is named."""
        import shutil
        package = pathlib.Path(ts.__file__).parent
        maps = pathlib.Path("/proc/self/maps").read_text().split()
        shutil.copytree(package, self.folder / "python/tessera", ignore=shutil.ignore_patterns("__pycache__"))
        (self.folder / "lib").mkdir()
        for name, as_ in (("libtessera.so", "libtessera.so.1"), ("libtessera-compiler.so", "libtessera-compiler.so")):
            shutil.copy(next((p for p in maps if name in p), package.parents[1] / "lib" / name), self.folder / "lib" / as_)
        program = ("import sys; sys.path.insert(0, sys.argv[1])\n"
                   "import tessera as ts\n"
                   "assert 'libtessera-tuner' not in open('/proc/self/maps').read()\n"
                   "try:\n    ts.autotune.report('x.db')\n"
                   "except ts.BackendError as e:\n    print(e)\n")
        environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "LD_LIBRARY_PATH")}
        result = subprocess.run([sys.executable, "-c", program, self.folder / "python"], env=environment, capture_output=True, text=True)
        self.assertEqual(result.stderr, "")
        self.assertIn("[E_NO_TUNER]", result.stdout)
        self.assertIn("libtessera-compiler", result.stdout)


if __name__ == "__main__":
    unittest.main()
