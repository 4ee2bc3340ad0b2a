"""Mappers in Python: what hooks get, and what becomes of their answers."""
import os
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

import numpy as np

import tessera as ts
from tessera._mapper import Arch, Mesh

SOURCE = "import tessera as ts\n\n@ts.jit\ndef f(x, w):\n    return ts.gemm(x, w) * {number}\n"
number = 0


def compiled():
    """Compiles a new function, so that the mapper is asked."""
    global number
    number += 1
    x, w = np.ones((3, 4), "f4"), np.ones((4, 5), "f4")
    got = ts.compile(SOURCE.format(number=f"{number}.0")).f(x, w)
    np.testing.assert_array_equal(got, 4 * number)


class Mappers(unittest.TestCase):
    def tearDown(self):
        ts.runtime.set_mapper(None)

    def fails(self, mapper, code, *words, cls=ts.ArgumentError):
        ts.runtime.set_mapper(mapper)
        with self.assertRaises(cls) as raised:
            compiled()
        self.assertEqual(raised.exception.code, code, raised.exception)
        for word in (type(mapper).__name__, "choose_variant", *words):
            self.assertIn(word, str(raised.exception))
        ts.runtime.set_mapper(None)
        compiled()

    def test_what_hooks_get(self):
        asked = []

        class Plain(ts.Mapper):
            def choose_variant(self, op, arch):
                asked.append((op, arch))

        class All(ts.Mapper):
            def choose_variant(self, op, arch, **more):
                asked.append(more)
                return "tile", 100

        class Some(ts.Mapper):
            def choose_variant(self, op, arch, *, variants, dims):
                asked.append((variants, dims))
                return variants[0]

        for cls in (Plain, All, Some):
            ts.runtime.set_mapper(cls())
            compiled()
        op, arch = asked[0]
        self.assertEqual((op, arch.backend, arch.is_blackwell), ("matmul", "cpu", False))
        more = next(a for a in asked if isinstance(a, dict))
        self.assertEqual((more["dtype"], set(more)), ("f32", {"dtype", "variants", "dims"}))
        self.assertEqual(set(more["dims"]), {"M", "N", "K"})
        self.assertIn("tile", more["variants"])
        self.assertIn("tile", asked[-1][0])

    def test_the_decision_is_in_the_metadata(self):
        class Chooses(ts.Mapper):
            def choose_variant(self, op, arch):
                return "tile", 1234.0

        ts.runtime.set_mapper(Chooses())
        text = "import tessera as ts\n@ts.jit\ndef f(x: ts.Tensor['M', 4, ts.f32], w: ts.Tensor[4, 5, ts.f32]):\n    return ts.gemm(x, w)\n"
        metadata = ts.compile(text).f.jit().metadata
        self.assertIn("Chooses", metadata)
        self.assertIn("1234", metadata)

    def test_another_mapper_decides_anew(self):
        class Counts(ts.Mapper):
            count = 0

            def choose_variant(self, op, arch):
                self.count += 1

        module = ts.compile(SOURCE.format(number="0.25"))
        x, w = np.ones((3, 4), "f4"), np.ones((4, 5), "f4")
        for _ in range(2):
            mapper = Counts()
            ts.runtime.set_mapper(mapper)
            module.f(x, w)
            count = mapper.count
            self.assertGreater(count, 0)
            module.f(x, w)
            self.assertEqual(mapper.count, count)

    def test_hooks_that_raise(self):
        class Raises(ts.Mapper):
            def choose_variant(self, op, arch):
                raise ValueError("no such thing\0")

        class Exits(ts.Mapper):
            def choose_variant(self, op, arch):
                sys.exit(3)

        class Mute(Exception):
            def __str__(self):
                raise OSError("no text")

        class RaisesMute(ts.Mapper):
            def choose_variant(self, op, arch):
                raise Mute

        class Takes(ts.Mapper):
            def choose_variant(self):
                pass

        self.fails(Raises(), "E_MAPPER_FAILED", "ValueError: no such thing", "test_mappers.py:")
        self.fails(RaisesMute(), "E_MAPPER_FAILED", "Mute: <its text raised OSError>", "test_mappers.py:")
        self.fails(Exits(), "E_MAPPER_FAILED", "SystemExit: 3")
        self.fails(Takes(), "E_MAPPER_FAILED", "TypeError", "positional")

    def test_nonsense(self):
        def answering(answer):
            class Answers(ts.Mapper):
                def choose_variant(self, op, arch):
                    return answer
            return Answers()

        self.fails(answering("blass"), "E_MAPPER_ANSWER", "'blass' is not legal", "tile")
        self.fails(answering("ptx"), "E_MAPPER_ANSWER", "legal: ")
        for wrong in (3, b"tile", ["tile"], object, ("tile", "soon"), ("tile", 1, 2), ("tile", float("nan")), ("tile", -5),
                      ("tile", float("inf")), "a\0b", "\ud800"):
            self.fails(answering(wrong), "E_MAPPER_FAILED")
        self.fails(answering("x" * 2000), "E_MAPPER_ANSWER", "2000 bytes")

    def test_no_mapper(self):
        class Derived(ts.Mapper):
            pass

        for wrong, words in ((Derived, "make one: Derived()"), (3, "derive"), (object(), "derive"), (len, "derive")):
            with self.assertRaises(ts.ArgumentError) as raised:
                ts.runtime.set_mapper(wrong)
            self.assertEqual(raised.exception.code, "E_ARG_TYPE")
            self.assertIn(words, str(raised.exception))
        ts.runtime.set_mapper(Derived())
        compiled()
        self.assertIsNone(Derived().place(None, None))

    def test_mappers_by_name(self):
        ts.runtime.set_mapper("random(3)")
        compiled()
        with self.assertRaises(ts.Error) as raised:
            ts.runtime.set_mapper("nosuch(")
        self.assertEqual(raised.exception.code, "E_MAPPER_SPEC")
        with self.assertRaises(ts.BackendError):
            ts.runtime.set_mapper("nosuch")

    def test_targets(self):
        for text, backend, hopper, blackwell in (("ptx:sm_90a", "ptx", True, False), ("ptx:sm_100", "ptx", False, True),
                                                 ("ptx:sm_120a", "ptx", False, True), ("cpu:znver3", "cpu", False, False),
                                                 ("cpu", "cpu", False, False), ("ptx:sm_", "ptx", False, False)):
            self.assertEqual((Arch(text).backend, Arch(text).is_hopper, Arch(text).is_blackwell), (backend, hopper, blackwell))
        self.assertEqual(Mesh({"tp": 2}, ["cpu:0", "cpu:1"], ["node"]).places, ("cpu:0", "cpu:1", "node", "tp"))


class Ends(unittest.TestCase):
    def run_program(self, text, timeout=60):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, timeout=timeout,
                                  env={**os.environ, "TESSERA_CACHE_DIR": folder})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")

    PROGRAM = """
        import threading, time, numpy as np, tessera as ts
        class Never(ts.Mapper):
            def choose_variant(self, op, arch):
                {body}
        ts.runtime.set_mapper(Never())
        m = ts.compile("import tessera as ts\\n@ts.jit\\ndef f(x, w):\\n    return ts.gemm(x, w)\\n")
        x, w = np.ones((3, 4), "f4"), np.ones((4, 5), "f4")
    """

    def test_a_hook_that_never_returns(self):
        begin = time.monotonic()
        self.run_program(self.PROGRAM.format(body="while True: time.sleep(0.001)") + """
        for code in ("E_MAPPER_TIMEOUT", "E_MAPPER_TIMEOUT"):
            try:
                m.f(x, w)
            except ts.TimeoutError as e:
                assert e.code == code, e
            else:
                raise AssertionError
        ts.runtime.set_mapper(None)
        m.f(x, w)
        """)
        self.assertLess(time.monotonic() - begin, 30)

    def test_an_end_while_a_hook_runs(self):
        self.run_program(self.PROGRAM.format(body="time.sleep(2)") + """
        threading.Thread(target=lambda: m.f(x, w), daemon=True).start()
        time.sleep(0.3)
        """)


if __name__ == "__main__":
    unittest.main()
