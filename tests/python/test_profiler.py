"""Profiles: records of the library's trace, named ranges, the file for Perfetto, the table, the timeline."""
import json
import os
import pathlib
import re
import tempfile
import threading
import unittest
from unittest import mock

import numpy as np

import tessera as ts


@ts.kernel
def add(x: ts.Tensor["n", ts.f32], y: ts.Tensor["n", ts.f32]):
    for i in ts.tile.parallel(0, n, 64):
        y[i:i+64] = y[i:i+64] + x[i:i+64]


@ts.jit
def product(x, w):
    return ts.softmax(ts.gemm(x, w))


@ts.kernel
def slow(x: ts.Tensor["n", ts.f32], y: ts.Tensor["n", ts.f32], count: ts.i32 = 20000):
    for i in ts.tile.parallel(0, n, 16):
        for _ in range(count):
            y[i:i+16] = y[i:i+16] + ts.tile.exp(x[i:i+16])


class Profiles(unittest.TestCase):
    def setUp(self):
        self.x, self.y = ts.ones(1000), ts.zeros(1000)
        add(self.x, self.y)  # compiled before the traces
        ts.runtime.synchronize()

    def named(self, profile, kind):
        return [record.name for record in profile.records if record.kind == kind]

    def test_launches_and_calls(self):
        with ts.profiler.trace() as profile:
            self.assertEqual(profile.records, ())
            for _ in range(5):
                add(self.x, self.y)
        launches = [record for record in profile.records if record.kind == "launch"]
        calls = [record for record in profile.records if record.kind == "call"]
        self.assertEqual([record.name for record in launches], ["add"] * 5)
        self.assertEqual([record.name for record in calls], ["tsrLaunch"] * 5)
        self.assertEqual({record.correlation for record in launches}, {record.correlation for record in calls})
        for record in launches:
            self.assertEqual((record.backend, record.device, record.programs, record.phase), ("cpu", 0, 16, "kernel"))
            self.assertLessEqual(record.begin_ns, record.end_ns)
        self.assertEqual({record.thread for record in calls}, {threading.get_native_id()})
        self.assertEqual(profile.dropped, 0)
        self.assertEqual(profile.phases["kernel"], sum(record.end_ns - record.begin_ns for record in launches))
        self.assertEqual([record.begin_ns for record in profile.records], sorted(record.begin_ns for record in profile.records))
        row = next(row for row in profile.rows() if row.name == "add")
        self.assertEqual((row.calls, row.total_ns), (5, profile.phases["kernel"]))
        self.assertLessEqual(row.min_ns, row.max_ns)

    def test_steps_of_a_function(self):
        x, w = np.ones((40, 30), "f4"), np.ones((30, 20), "f4")
        product(x, w)
        with ts.profiler.trace() as profile:
            product(x, w)
        names = self.named(profile, "launch")
        self.assertGreaterEqual(len(names), 1)
        for name in names:
            self.assertTrue(name.startswith("product"), name)

    def test_ranges_nest(self):
        with ts.profiler.trace() as profile:
            with ts.profiler.range("outer"):
                with ts.profiler.range("ä <inner>"):
                    add(self.x, self.y)
            thread = threading.Thread(target=lambda: ts.profiler.range("another").__enter__() or None)
            thread.start()
            thread.join()
        found = {record.name: record for record in profile.records if record.kind == "range"}
        self.assertEqual(set(found), {"outer", "ä <inner>", "another"})  # the thread has left its range open
        outer, inner, left = found["outer"], found["ä <inner>"], found["another"]
        self.assertGreaterEqual(left.end_ns, max(record.end_ns for record in profile.records))
        self.assertNotEqual(left.thread, outer.thread)
        call = next(record for record in profile.records if record.kind == "call")
        self.assertTrue(outer.begin_ns <= inner.begin_ns <= call.begin_ns <= call.end_ns <= inner.end_ns <= outer.end_ns)
        self.assertEqual(outer.thread, threading.get_native_id())

    def test_ranges_without_a_trace(self):
        again = ts.profiler.range("twice")
        for _ in range(2):
            with again:
                with again:
                    add(self.x, self.y)
        for name in (3, None, b"x", "a\0b", "a\ud800"):
            with self.assertRaisesRegex(ts.ArgumentError, "E_ARG_TYPE"):
                with ts.profiler.range(name):
                    pass
        with self.assertRaisesRegex(ts.ArgumentError, "E_CALL.*was not entered"):
            again.__exit__(None, None, None)

    def test_ranges_that_are_open_at_the_end(self):
        before, within = ts.profiler.range("before"), ts.profiler.range("within")
        with before:  # as ranges that end within: one that begins before the records is not among them
            with ts.profiler.trace() as profile:
                within.__enter__()
                add(self.x, self.y)
            self.assertEqual(self.named(profile, "range"), ["within"])
            with ts.profiler.trace() as after:
                add(self.x, self.y)
            self.assertEqual(self.named(after, "range"), [])
            within.__exit__(None, None, None)
        self.assertGreaterEqual(profile.duration_ns, next(r for r in profile.records if r.kind == "range").end_ns - profile.records[0].begin_ns)

    def test_what_was_queued_before_is_not_recorded(self):
        for _ in range(3):
            slow(self.x, self.y, 2000)
        with ts.profiler.trace() as profile:
            add(self.x, self.y)
        self.assertEqual(self.named(profile, "launch"), ["add"])

    def test_the_end_waits_for_queued_work(self):
        with ts.profiler.trace() as profile:
            slow(self.x, self.y, 200)
        self.assertEqual(self.named(profile, "launch"), ["slow"])

    def test_copies(self):
        with ts.profiler.trace() as profile:
            ts.asarray(np.ones(1000, "f4"))
        for record in profile.records:
            if record.kind == "copy":
                self.assertEqual((record.bytes, record.phase), (4000, "copy"))

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "t.json")
            with ts.profiler.trace(path) as profile:
                with ts.profiler.range("step"):
                    add(self.x, self.y)
            events = json.loads(path.read_text())["traceEvents"]
            whole = [event for event in events if event["ph"] == "X"]
            self.assertEqual(len(whole), len(profile.records))
            self.assertEqual({event["name"] for event in whole}, {"step", "tsrLaunch", "add"})
            names = {(event["pid"], event.get("tid")): event["args"]["name"] for event in events if event["ph"] == "M"}
            launch = next(event for event in whole if event["name"] == "add")
            self.assertEqual((names[launch["pid"], None], names[launch["pid"], launch["tid"]], launch["cat"]), ("cpu:0", "stream 1", "kernel"))
            self.assertEqual(launch["args"], {"programs": 16})
            flows = [event for event in events if event["ph"] in "sf"]
            self.assertEqual([event["ph"] for event in sorted(flows, key=lambda e: e["ph"], reverse=True)], ["s", "f"])
            self.assertEqual(len({event["id"] for event in flows}), 1)
            self.assertEqual(os.listdir(folder), ["t.json"])
            empty = pathlib.Path(folder, "empty.json")
            with ts.profiler.trace(empty):
                pass
            self.assertEqual(json.loads(empty.read_text())["traceEvents"], [])
            for wrong_path in (folder, folder + "/no/such.json"):
                with self.assertRaises(ts.Error) as raised:
                    with ts.profiler.trace(wrong_path):
                        self.fail("it has begun")
                self.assertEqual(raised.exception.code, "TSR_EIO")
                with self.assertRaises(ts.Error):
                    profile.save(wrong_path)
            target, link = pathlib.Path(folder, "target.json"), pathlib.Path(folder, "link.json")
            link.symlink_to(target)
            for _ in range(2):  # the file that the link leads to is made, then replaced
                profile.save(link)
                self.assertTrue(link.is_symlink())
                self.assertEqual(len(json.loads(target.read_text())["traceEvents"]), len(events))
                target.chmod(0o640)
            self.assertEqual(target.stat().st_mode & 0o777, 0o640)
            savers = [threading.Thread(target=profile.save, args=(target,)) for _ in range(8)]
            for saver in savers:
                saver.start()
            for saver in savers:
                saver.join()
            self.assertEqual(len(json.loads(target.read_text())["traceEvents"]), len(events))
            before = sorted(os.listdir(folder))
            with mock.patch.object(ts.profiler.Profile, "_events", side_effect=MemoryError), self.assertRaises(MemoryError):
                profile.save(target)
            self.assertEqual(sorted(os.listdir(folder)), before)  # no part of a file stays
            self.assertEqual(len(json.loads(target.read_text())["traceEvents"]), len(events))
            pipe = pathlib.Path(folder, "pipe")
            os.mkfifo(pipe)
            read = []
            thread = threading.Thread(target=lambda: read.append(pipe.read_text()))
            thread.start()
            with ts.profiler.trace(pipe):
                add(self.x, self.y)
            thread.join()
            self.assertEqual(json.loads(read[0])["displayTimeUnit"], "ns")
            self.assertTrue(pipe.is_fifo())
            profile.save(os.devnull)
            self.assertFalse(os.path.isfile(os.devnull))
            for made in (target, link, pipe):
                made.unlink()
            for wrong_path in (3, "a\0b"):
                with self.assertRaisesRegex(ts.ArgumentError, "E_ARG_TYPE"):
                    ts.profiler.trace(wrong_path)
            self.assertEqual(sorted(os.listdir(folder)), ["empty.json", "t.json"])

    def test_one_at_a_time(self):
        with ts.profiler.trace() as profile:
            with self.assertRaisesRegex(ts.ArgumentError, "TSR_EINVAL"):
                with ts.profiler.trace():
                    self.fail("it has begun")
            add(self.x, self.y)
        self.assertEqual(self.named(profile, "launch"), ["add"])
        with ts.profiler.trace() as after:
            pass
        self.assertEqual(after.records, ())

    def test_children_of_a_fork(self):
        with ts.profiler.trace() as profile:
            with ts.profiler.range("around"):
                child = os.fork()
                if child == 0:  # it has no trace of the parent's, and may have one of its own
                    with ts.profiler.trace() as own:
                        add(np.ones(100, "f4"), np.zeros(100, "f4"))
                    os._exit(0 if self.named(own, "launch") == ["add"] else 1)
                self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
            add(self.x, self.y)
        self.assertEqual((self.named(profile, "launch"), self.named(profile, "range")), (["add"], ["around"]))

    def test_threads(self):
        """Records from several threads, and a trace that begins and ends while they work."""
        end = threading.Event()

        def work():
            x, y = np.ones(100, "f4"), np.zeros(100, "f4")
            while not end.is_set():
                with ts.profiler.range("work"):
                    add(x, y)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(20):
                with ts.profiler.trace() as profile:
                    add(self.x, self.y)
                for record in profile.records:
                    self.assertIn((record.kind, record.name), {("launch", "add"), ("call", "tsrLaunch"), ("range", "work")})
                    self.assertLessEqual(record.begin_ns, record.end_ns)
        finally:
            end.set()
            for thread in threads:
                thread.join()

    def test_failures_in_a_trace(self):
        with self.assertRaises(ZeroDivisionError):
            with ts.profiler.trace() as profile:
                add(self.x, self.y)
                1 / 0
        self.assertEqual(self.named(profile, "launch"), ["add"])
        with ts.profiler.trace() as profile:  # it has ended
            pass
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(ZeroDivisionError) as raised:
                with ts.profiler.trace(folder + "/t.json"):
                    os.rmdir(folder)
                    1 / 0
            self.assertRegex(raised.exception.__notes__[0], "TSR_EIO.*t.json: No such file")
            os.mkdir(folder)
            with self.assertRaisesRegex(ts.Error, "TSR_EIO") as raised:
                with ts.profiler.trace(folder + "/t.json"):
                    os.rmdir(folder)
            self.assertEqual(raised.exception.code, "TSR_EIO")
            os.mkdir(folder)

    def test_tables(self):
        with ts.profiler.trace() as profile:
            with ts.profiler.range("step"):
                for _ in range(3):
                    add(self.x, self.y)
        lines = str(profile).splitlines()
        self.assertEqual(lines[0].split()[:4], ["name", "kind", "backend", "calls"])
        self.assertEqual(len(lines), 4)
        row = next(line for line in lines if line.startswith("add")).split()
        self.assertEqual(row[:4], ["add", "launch", "cpu", "3"])
        self.assertRegex(repr(profile), r"<tessera.profiler.Profile of 7 records>")
        self.assertEqual(len(str(ts.profiler.Profile()).splitlines()), 1)
        self.assertEqual(ts.profiler.Profile().duration_ns, 0)
        with self.assertRaisesRegex(ts.UnsupportedError, "tessera.profiler.Profile.roofline.*needs"):
            profile.roofline()

    def test_pages(self):
        made = ts.profiler.Profile()
        rows = [("launch" if i % 3 else "copy", f"<k{i % 700}>&\"'", "cpu", 0, i * 1000, i * 1000 + 600, i, i % 3 * 8, 1, 0, i % 40 + 1)
                for i in range(20000)]
        rows += [("call", "tsrLaunch", "cpu", 0, i * 1000, i * 1000 + 10, i, 0, 0, i % 50, 0) for i in range(20000)]
        made._fill(rows, 7)
        for profile in (made, ts.profiler.Profile()):
            page = profile._repr_html_()
            self.assertLess(len(page.encode()), 200_000)
            self.assertNotIn("<script", page)
            self.assertNotRegex(page, r"https?:")
            self.assertNotIn("<k", page)
        page = made._repr_html_()
        self.assertIn("7 more records were not kept", page)
        self.assertIn("66 more rows", page)
        self.assertLess(page.count("<rect"), 2000)
        self.assertEqual(len(re.findall("<title>", page)), page.count("<rect"))
        self.assertIn("7 more records", made.table())


if __name__ == "__main__":
    unittest.main()
