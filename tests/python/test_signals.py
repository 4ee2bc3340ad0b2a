"""Ctrl-C ends what waits, within 0.1 s, and leaves nothing half-written."""
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

HEAD = textwrap.dedent("""
    import _thread, os, signal, sys, threading, time
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells have jobs in the background ignore it
    import numpy as np
    import tessera as ts

    @ts.kernel
    def slow(x: ts.Tensor["n", ts.f32], y: ts.Tensor["n", ts.f32], count: ts.i64):
        for i in ts.tile.parallel(0, n, 16):
            for _ in range(count):
                y[i:i+16] = y[i:i+16] + ts.tile.exp(x[i:i+16])

    def interrupted(call, after=0.2):
        \"\"\"The seconds from Ctrl-C to its exception.\"\"\"
        sent = []
        def send():
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
        timer = threading.Timer(after, send)
        timer.start()
        try:
            call()
        except KeyboardInterrupt:
            took = time.monotonic() - sent[0]
            timer.join()
            return took
        raise AssertionError("it ended before the signal")

    def soon(call, after=0.2):
        took = []
        while not took or min(took) >= 0.12:  # 0.1 s; a busy machine may add to the first tries
            took.append(interrupted(call, after))
            assert len(took) < 6, took
""")


class CtrlC(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def start(self, text, argument="", **environment):
        """A process of HEAD and the text."""
        file = pathlib.Path(self.folder, "program.py")
        file.write_text(HEAD + textwrap.dedent(text))
        p = subprocess.Popen([sys.executable, file, argument], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env={**os.environ, **environment})
        self.addCleanup(p.communicate)  # before the folder is removed
        self.addCleanup(p.kill)
        return p

    def run_program(self, text, **environment):
        """What a program prints that ends well. Its argument is a folder."""
        p = self.start(text, self.folder, **environment)
        printed, errors = p.communicate(timeout=120)
        self.assertEqual((p.returncode, errors), (0, ""))
        return printed

    def interrupt(self, p, after, limit, about):
        """Sends Ctrl-C that long after a program has printed that it is ready. The signal ends it within the limit."""
        self.assertEqual(p.stdout.readline(), "ready\n", about)
        time.sleep(after)
        begin = time.monotonic()
        p.send_signal(signal.SIGINT)
        _, errors = p.communicate(timeout=60)
        self.assertEqual(p.returncode, -signal.SIGINT, f"{about}: {errors}")
        self.assertTrue(errors.rstrip().endswith("KeyboardInterrupt"), f"{about}: {errors}")
        self.assertLess(time.monotonic() - begin, limit, about)

    def test_waits(self):
        self.run_program("""
            x, y = np.zeros(160, "f4"), np.zeros(160, "f4")
            slow(x, y, 10)
            a, b = ts.zeros(160), ts.zeros(160)
            soon(lambda: slow(x, y, 200_000_000))
            s = ts.Stream()
            with s:
                slow(a, b, 200_000_000)
                done = s.record()
            for wait in (b.numpy, s.synchronize, ts.runtime.synchronize, done.synchronize, lambda: s.synchronize(timeout=100),
                         lambda: memoryview(b), lambda: np.from_dlpack(b)):
                soon(wait)
            sys.stdout.flush()
            os._exit(0)  # the end of the interpreter waits for the work
        """)

    def test_memory_of_an_interrupted_call_stays(self):
        self.run_program("""
            import gc
            def call():
                x, y = np.zeros(1_000_000, "f4"), np.zeros(1_000_000, "f4")
                slow(x, y, 1)
                slow(x, y, 20000)
            interrupted(call)
            gc.collect()
            for _ in range(20):  # another array in freed memory would be written
                z = np.zeros(1_000_000, "f4")
                time.sleep(0.01)
                assert not z.any()
                del z
            os._exit(0)
        """)

    def test_compilations(self):
        self.run_program("""
            text = ["import tessera as ts", "@ts.jit", "def f(x):"]
            text += [f"    x = ts.softmax(x * {i}.5 + ts.relu(x)) + ts.softmax(x)" for i in range(80)] + ["    return x"]
            module = ts.compile("\\n".join(text))
            x = np.ones((40, 50), "f4")
            soon(lambda: module.f(x), after=0.5)
            soon(lambda: module.f(x), after=0.3)
            os._exit(0)
        """, TESSERA_CACHE_DIR="off")

    def test_saved_files(self):
        self.run_program("""
            text = ["import tessera as ts", "@ts.jit", "def f(x: ts.Tensor['n', 'm', ts.f32]):"]
            text += [f"    x = ts.softmax(x * {i}.5 + ts.relu(x)) + ts.softmax(x)" for i in range(10)] + ["    return x"]
            module = ts.compile("\\n".join(text))
            path = sys.argv[1] + "/f.tsrb"
            interrupted(lambda: module.f.save(path), after=0.15)
            assert [name for name in os.listdir(sys.argv[1]) if name != "program.py"] in ([], ["f.tsrb"])
            module.f.save(path)
            ts.load(path)["f"]
        """, TESSERA_CACHE_DIR="off")

    def test_the_process_ends(self):
        """Neither what the exception unwinds nor the interpreter's end waits for the work."""
        bodies = ("a, b = ts.zeros(160), ts.zeros(160); slow(a, b, HUGE); print('ready', flush=True); b.numpy()",
                  "x = np.zeros(160, 'f4'); a = ts.from_dlpack(x); b = ts.zeros(160); s = ts.Stream()\n"
                  "    print('ready', flush=True)\n"
                  "    with s: slow(a, b, HUGE)",
                  "a, b = ts.zeros(160), ts.zeros(160)\n"
                  "    with ts.runtime.capture() as graph: slow(a, b, HUGE)\n"
                  "    graph.replay(); print('ready', flush=True); ts.runtime.synchronize()",
                  "x = np.zeros(160, 'f4'); print('ready', flush=True); slow(x, np.zeros(160, 'f4'), HUGE)",
                  "a, b = ts.zeros(160), ts.zeros(160); slow(a, b, HUGE); print('ready', flush=True); time.sleep(9)")
        for body in bodies:
            p = self.start(f"HUGE = 2_000_000_000\ndef main():\n    {body}\nmain()\n")
            self.interrupt(p, 0.3, 5, body)  # the work takes minutes

    def test_arrays_that_go_while_they_are_used(self):
        self.run_program("""
            a, b = ts.zeros(160), ts.zeros(160)
            slow(a, b, 10)
            begin = time.monotonic()
            for _ in range(50):  # each goes while its call is queued
                b = ts.zeros(1600)
                with ts.Stream():
                    slow(ts.zeros(1600), b, 20000)
            assert (b.numpy() == 20000).all()
            ts.runtime.synchronize()
            before = ts.runtime.memory_info()["in_use_bytes"]
            del b
            ts.zeros(1)
            assert ts.runtime.memory_info()["in_use_bytes"] < 2 * before
        """)

    def test_end_after_an_interrupted_compilation(self):
        """The compiler's thread goes on while the process ends."""
        program = """
            import random
            m = ts.compile(f"import tessera as ts\\n@ts.jit\\ndef f(x, y):\\n    return ts.softmax(ts.gemm(x, y) * {random.random()})\\n")
            try:
                signal.signal(signal.SIGALRM, signal.default_int_handler)
                signal.setitimer(signal.ITIMER_REAL, AFTER)
                m.f(np.ones((5, 6), "f4"), np.ones((6, 7), "f4"))
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                pass
            print("end")
        """
        for after in ("0.03", "0.08", "0.08", "0.12"):
            self.assertEqual(self.run_program(program.replace("AFTER", after), TESSERA_CACHE_DIR="off"), "end\n")

    def test_the_wait_at_the_end(self):
        p = self.start("""
            x, y = ts.zeros(160), ts.zeros(160)
            slow(x, y, 10)
            slow(x, y, 10)
            with ts.Stream():
                slow(x, y, 200_000_000_000)  # hours
            print("end")
            threading.Timer(float(sys.argv[1]), lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            threading._shutdown = lambda: None  # so that the signal comes while the work is waited for
        """, "0.3")
        printed, errors = p.communicate(timeout=60)
        self.assertEqual((p.returncode, printed, errors), (-signal.SIGINT, "end\n", ""))

    def test_the_end_of_a_prompt(self):
        """Ctrl-C at a prompt ended one command: the end waits for the others' work."""
        self.run_program("""
            x, y = ts.zeros(160), ts.zeros(160)
            slow(x, y, 10)
            slow(x, y, 1_000_000)
            event = ts.Stream.current().record()
            sys.ps1, sys.last_type = ">>> ", KeyboardInterrupt
            import atexit
            from tessera import _core
            finish = _core.finish
            def check(waits):
                finish(waits)
                assert event.query()
            _core.finish = check
        """)

    def test_at_any_moment(self):
        """Ctrl-C after a random time: the process ends by the signal, soon, and a later one finds its cache sound."""
        program = """
            x, y = np.zeros(16, "f4"), np.zeros(16, "f4")
            print("ready", flush=True)
            for i in range(10**6):
                m = ts.compile(f"import tessera as ts\\n@ts.jit\\ndef f(x):\\n    return x * {i}.5 + ts.softmax(x)\\n")
                m.f(x)
                slow(x, y, 1000)
        """
        seed = random.randrange(10**6)
        draw = random.Random(seed)
        cache = self.folder + "/cache"
        times = int(os.environ.get("TESSERA_SIGNALS", "6"))
        for _ in range(times):
            self.interrupt(self.start(program, TESSERA_CACHE_DIR=cache), draw.uniform(0, 0.6), 30, f"seed {seed}")
        check = ("import numpy as np, tessera as ts\n"
                 "m = ts.compile('import tessera as ts\\n@ts.jit\\ndef f(x):\\n    return x * 0.5 + ts.softmax(x)\\n')\n"
                 "assert m.f(np.zeros(16, 'f4')).sum() == 1\n")
        subprocess.run([sys.executable, "-c", check], check=True, env={**os.environ, "TESSERA_CACHE_DIR": cache})
        left = [path.name for path in pathlib.Path(cache).rglob("*") if "tmp" in path.name]
        self.assertLessEqual(len(left), times)


if __name__ == "__main__":
    unittest.main()
