"""Many threads use the package at once: calls, streams, events, graphs, mappers, logging, errors, Ctrl-C, and the interpreter's end.

Run under the thread sanitizer (CMakeLists.txt), which ends the process with a status of its own where two threads meet in _core or in
the library without an order. It takes the kernels of a bundle: threads_test.py BUNDLE.
"""
import _thread
import logging
import os
import subprocess
import sys
import textwrap
import threading
import time
import unittest

import tessera as ts

BUNDLE = os.environ.get("THREADS_BUNDLE") or os.path.abspath(sys.argv.pop(1))
os.environ["THREADS_BUNDLE"] = BUNDLE
kernels = ts.load(BUNDLE)
add, slow = kernels["add"], kernels["slow"]


def at_once(*works, times=1):
    """Runs each in `times` threads, and raises what one of them raised."""
    raised = []

    def run(work, number):
        try:
            work(number)
        except BaseException as e:
            raised.append(e)

    threads = [threading.Thread(target=run, args=(work, i)) for i in range(times) for work in works]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    if raised:
        raise raised[0]


class Threads(unittest.TestCase):
    def test_calls(self):
        """Each thread has a stream and arrays of its own, all share the kernels and one array that is read."""
        shared = ts.asarray([float(i) for i in range(100)])

        def work(number):
            for i in range(60):
                y = ts.empty(100)
                (slow if i % 20 == 0 else add)(shared, y, float(number + i))
                if i % 3 == 0:
                    self.assertEqual(memoryview(y)[5], 5 + number + i)

        at_once(work, times=6)

    def test_one_array(self):
        """Calls of several threads on one array come one after the other."""
        x, y = ts.zeros(64), ts.zeros(64)

        def work(number):
            for _ in range(60):
                add(x, y, float(number))

        at_once(work, times=6)
        self.assertEqual(len(set(memoryview(y).tolist())), 1)

    def test_streams_and_events(self):
        x = ts.ones(64)
        streams, event = [ts.Stream() for _ in range(3)], ts.Event()

        def work(number):
            y = ts.empty(64)
            for i in range(40):
                with streams[(number + i) % 3] as s:
                    add(x, y, 1.0)
                    s.record(event)
                streams[number % 3].wait(event)
                event.query(), s.query()
                if i % 10 == 0:
                    event.synchronize()
                    s.synchronize()

        def make(number):
            for _ in range(40):
                with ts.Stream():
                    add(x, ts.empty(64), 2.0)

        at_once(work, make, lambda n: [ts.runtime.synchronize() for _ in range(20)], times=3)

    def test_graphs(self):
        def work(number):
            x, y = ts.ones(64), ts.zeros(64)
            with ts.runtime.capture() as graph:
                add(x, y, float(number))
                add(y, x, 1.0)
            for _ in range(20):
                graph.replay()
            ts.Stream.current().synchronize()
            self.assertEqual(memoryview(y)[3], 1 + 19 * (number + 1) + number)

        at_once(work, times=4)

    def test_errors_and_logs(self):
        seen = []
        handler = logging.Handler()
        handler.emit = seen.append
        logger = logging.getLogger("tessera")
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
        try:
            def wrong(number):
                for _ in range(20):
                    for call in (lambda: add(ts.ones(3), ts.ones(4), 1.0), lambda: add(3, 4, 5), lambda: ts.load("/nowhere"),
                                 lambda: ts.runtime.select_backend("nowhere")):
                        try:
                            call()
                        except ts.Error:
                            pass

            def load(number):
                for _ in range(5):
                    loaded = ts.load(BUNDLE)
                    loaded["add"](ts.ones(3), ts.empty(3), 1.0)

            at_once(wrong, load, times=3)
        finally:
            logger.removeHandler(handler)

    def test_mappers(self):
        class Mapper(ts.Mapper):
            def choose_variant(self, op, arch):
                return None

        def work(number):
            for _ in range(20):
                ts.runtime.set_mapper(Mapper())
                ts.runtime.set_mapper(None)
                try:
                    add(ts.ones(3), ts.empty(3), 1.0)
                except ts.Error:
                    pass  # the compiler is not there, and kernels of a bundle need none

        at_once(work, times=3)

    def test_memory(self):
        def work(number):
            for i in range(50):
                x = ts.ones(16)
                view = memoryview(x)
                capsule = x.__dlpack__()
                ts.from_dlpack(x)
                add(x, ts.empty(16), 1.0)
                del view, capsule
                if i % 10 == 0:
                    ts.runtime.memory_info(), ts.runtime.trim()

        at_once(work, times=4)

    def test_profiles(self):
        """Traces begin and end while threads work, with ranges of their own."""
        end = threading.Event()

        def work(number):
            x, y = ts.ones(64), ts.empty(64)
            while not end.is_set():
                with ts.profiler.range("work"):
                    add(x, y, 1.0)

        def trace(number):
            try:
                for _ in range(10):
                    with ts.profiler.trace() as profile:
                        slow(ts.ones(64), ts.empty(64), 1.0)
                    self.assertIn("slow", {record.name for record in profile.records})
            finally:
                end.set()

        at_once(trace, work, work)

    def test_ctrl_c(self):
        x, y = ts.ones(16), ts.empty(16)
        ended = 0
        for i in range(10):
            try:
                timer = threading.Timer(0.002 * i, _thread.interrupt_main)
                timer.start()
                for _ in range(20):
                    slow(x, y, 1.0)
                ts.runtime.synchronize()
                timer.join()
                time.sleep(0.05)
            except KeyboardInterrupt:
                ended += 1
                timer.join()
        self.assertGreater(ended, 5)
        ts.runtime.synchronize()

    def test_the_end(self):
        """Programs end while threads call, wait and free."""
        for text in ("""
            def work():
                while True:
                    add(x, ts.empty(16), 1.0)
            """, """
            def work():
                while True:
                    slow(x, ts.empty(16), 1.0)
                    ts.runtime.synchronize()
            """, """
            def work():
                while True:
                    try:
                        add(x, 3, 1.0)
                    except ts.Error:
                        pass
                    with ts.Stream() as s:
                        s.record().synchronize()
            """):
            program = "import os, textwrap, threading, time\nimport tessera as ts\n" \
                      "kernels = ts.load(os.environ['THREADS_BUNDLE'])\nadd, slow, x = kernels['add'], kernels['slow'], ts.ones(16)\n"
            program += textwrap.dedent(text) + "for _ in range(4):\n    threading.Thread(target=work, daemon=True).start()\ntime.sleep(0.2)\n"
            done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stderr), (0, ""), text)


if __name__ == "__main__":
    unittest.main()
