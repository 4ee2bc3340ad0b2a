#!/usr/bin/env python3
"""The suites of tessera-bench: their JSON and HTML, the choice of cases, and what they say of missing peers. No time is judged."""
import argparse
import html.parser
import json
import os
import re
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as xml

BENCH = TSR = ""


def run(*arguments):
    return subprocess.run([BENCH, *arguments], capture_output=True, text=True, timeout=300, check=False)


def target_of_this_machine(folder):
    """Returns what the compiler takes this machine for."""
    source, bundle = os.path.join(folder, "set.py"), os.path.join(folder, "set.tsrb")
    with open(source, "w", encoding="utf-8") as file:
        file.write("import tessera as ts\n\n\n@ts.kernel\ndef set(y: ts.Tensor[\"n\", ts.f32]):\n    i = ts.tile.linear_id()\n"
                   "    if i < n:\n        y[i] = 1.0\n")
    subprocess.run([TSR, "compile", source, "--emit", "bundle", "-o", bundle], capture_output=True, timeout=300, check=True)
    inspected = subprocess.run([TSR, "inspect", bundle, "--json"], capture_output=True, text=True, timeout=60, check=True)
    image, = json.loads(inspected.stdout)["images"]
    return image["target"]


class Balanced(html.parser.HTMLParser):
    """Fails where a tag is closed that is not open; counts what it sees."""
    VOID = {"meta", "link", "br"}

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.links = [], {}, []

    def handle_starttag(self, tag, attrs):
        self.seen[tag] = self.seen.get(tag, 0) + 1
        self.links += [value for name, value in attrs if name in ("src", "href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen[tag] = self.seen.get(tag, 0) + 1

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()


class Suites(unittest.TestCase):
    def test_report(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "report.html")
            done = run("elementwise", "--only", "of 4096$", "--threads", "1", "--json", "--html", path)
            self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
            printed = json.loads(done.stdout)
            table, = printed["elementwise"]
            machine = printed["machine"]
            self.assertEqual(machine["cores"], len(os.sched_getaffinity(0)))
            if not re.search(r"-\d+-\d+$", machine["microarchitecture"]):  # LLVM has a name for it
                self.assertEqual("cpu:" + machine["microarchitecture"], target_of_this_machine(folder))
            cases = table["cases"]
            self.assertEqual(sorted(c["name"] for c in cases), ["exp of 4096", "gelu of 4096", "linear of 4096", "tanh of 4096"])
            for case in cases:
                self.assertEqual(case["contenders"], ["tessera", "oneDNN"])
                self.assertEqual([len(s) for s in case["samples"]], [9, 9])
                self.assertTrue(all(0 < s < 1 for samples in case["samples"] for s in samples))
                self.assertGreater(case["limit"], 0)
                self.assertTrue(case["ok"])
            text = "\n".join(table["notes"])
            self.assertRegex(text, r"oneDNN \(\w+\)")
            goal, = [n for n in table["notes"] if n.startswith("call: score")]
            self.assertRegex(goal, r"over 4 cases.*; goal 1\.50 \(1\.00\) (reached|missed)")
            scores = {c["name"]: max(min(c["samples"][1]), c["limit"] / 0.95) / min(c["samples"][0]) for c in cases}
            for name, score in scores.items():  # those below are named
                if abs(score - 1) > 0.02:
                    self.assertEqual(f"{name} ({score:.2f})" in goal.partition("below it")[2], score < 1, goal)
            for peer in ("OpenBLAS", "BLIS", "libxsmm"):  # there, or named as missing
                self.assertIn(peer, text)
            with open(path, encoding="utf-8") as file:
                page = file.read()
            self.assertIn(f"{machine['processor']} ({machine['microarchitecture']}), {machine['cores']} cores", page)
        parser = Balanced()
        parser.feed(page)
        self.assertEqual(parser.open, [])
        self.assertEqual(parser.links, [])  # self-contained
        self.assertNotIn("script", parser.seen)
        self.assertEqual(parser.seen["svg"], 1)  # ratios; a roofline needs operations
        drawings = [xml.fromstring(s) for s in re.findall(r"<svg.*?</svg>", page, re.S)]
        self.assertEqual(len(drawings[0].findall(".//rect")), 4)
        self.assertEqual(len(drawings[0].findall(".//circle")), 4 * 9)
        for case in cases:
            self.assertIn(case["name"], page)

    def test_wrong_peers(self):
        """A library whose result is wrong (oneDNN's i8 without VNNI, whose sums of two products saturate) is named, not compared."""
        done = run("narrow", "--only", "i8 64x64x64", "--threads", "1", "--json")
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        table, = json.loads(done.stdout)["narrow"]
        (case,), (row,) = table["cases"], table["rows"]
        self.assertTrue(case["ok"])
        self.assertNotEqual(row[1], "WRONG")
        self.assertGreater(case["limit"], 0)
        self.assertLessEqual(set(case["wrong"]), {"oneDNN"})
        self.assertEqual(row[3], "-" if case["wrong"] else "oneDNN")
        named = [n for n in table["notes"] if n.startswith("Wrong results of oneDNN")]
        self.assertEqual(len(named), len(case["wrong"]), table["notes"])
        self.assertEqual("wrong: oneDNN of i8 64x64x64" in done.stderr, bool(case["wrong"]))

    def test_choice(self):
        done = run("choice", "--only", "(sum u8|cumsum f32) of", "--threads", "1", "--seed", "3", "--full", "--json")
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        table, = json.loads(done.stdout)["choice"]
        variants = {"sum u8": ["short", "streamed", "general"], "cumsum f32": ["short", "general"]}
        self.assertEqual({c["family"] for c in table["cases"]}, set(variants))
        for case in table["cases"]:
            self.assertEqual(case["contenders"], ["tessera", *variants[case["family"]]])
            self.assertTrue(case["ok"])
        for name, chosen, *_ in table["rows"]:
            columns = int(name.rpartition("x")[2])
            is_short = columns <= (112 if name.startswith("sum") else 48)
            self.assertEqual(chosen == "short", is_short, name)
        text = "\n".join(table["notes"])
        self.assertIn("--seed 3 repeats them", text)
        self.assertRegex(text, r"within 8% of the fastest in \d+ of \d+ cases \(goal 90%\): (reached|missed)\.")

    def test_bad_options(self):
        for arguments, says in ((("--only", "("), "not a regular expression"), (("--threads", "0"), "the usable cores"),
                                (("random", "--seed", "x"), "--seed needs a number"), (("gem",), "no measurement gem"),
                                (("launch", "gemm", "--seed", "5"), "--seed has no effect on launch, gemm; it is an option of random, choice"),
                                (("saxpy", "--only", "x"), "--only has no effect on saxpy"),
                                (("norm", "--only", "x", "--record"), "--record writes whole pages"),
                                (("saxpy", "--html", "/no/such/page.html"), "/no/such/page.html: "),
                                (("norm", "--only", "of nothing"), "no case matches --only of nothing"),
                                (("sweep", "--only", "of nothing"), "no case matches --only of nothing")):
            done = run(*arguments)
            self.assertEqual(done.returncode, 1)
            self.assertIn(says, done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bench", required=True)
    parser.add_argument("--tsr", required=True)
    known, rest = parser.parse_known_args()
    BENCH, TSR = known.bench, known.tsr
    unittest.main(argv=["bench_test.py", *rest])
