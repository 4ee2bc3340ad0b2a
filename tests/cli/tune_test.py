#!/usr/bin/env python3
"""tsr tune from outside: a kernel is tuned, its choice is used by what is compiled later, and what is in the way is said.

No test depends on which configuration is faster, but the ones whose default is slower by a factor of its tile.
"""
import argparse
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import unittest

import numpy as np

from cli_test import ROOT, Cli, Tsr

HEAD = "import tessera as ts\n\n"


def add(space, expression="X[m:m+1, n:n+B] + Y[m:m+1, n:n+B]"):
    return HEAD + f"""@ts.kernel.autotune(space=dict(B={space}))
def add(X: ts.Tensor["M", "N", ts.f32], Y: ts.Tensor["M", "N", ts.f32], Z: ts.Tensor["M", "N", ts.f32]):
    B = ts.tile.context().B
    for m in ts.tile.parallel(0, M, 1):
        for n in ts.tile.parallel(0, N, B):
            Z[m:m+1, n:n+B] = {expression}
"""


class Tune(Cli):
    def setUp(self):
        super().setUp()
        self.source(add([1, 2048]))  # a program for each element, or for each row
        self.database = self.folder / "tune.db"
        self.table = self.folder / "tune.tsrt"
        self.environment["TESSERA_TUNED"] = str(self.table)
        self.environment["TESSERA_CACHE_DIR"] = str(self.folder / "cache")

    def tune(self, *words, status=0):
        result = self.call("tune", self.file, "--database", self.database, *words)
        self.assertEqual(result.status, status, result.errors)
        return result

    def tuned(self):
        """Tunes and returns the document."""
        return json.loads(self.tune("--dim", "M=64", "N=2048", "--json").output)

    def tile(self, *words):
        result = self.call("compile", self.file, "--emit", "metadata", *words)
        self.assertEqual(result.status, 0, result.errors)
        return next(line for line in result.output.splitlines() if line.startswith("tile:")), result

    def test_a_choice_is_used(self):
        document = self.tuned()
        one = document["results"][0]
        self.assertEqual((one["choice"], one["default"], one["dims"]), ({"B": 2048}, {"B": 1}, {"M": 64, "N": 2048}))
        self.assertGreater(one["fastest"]["gain"], 1.03)
        self.assertEqual(document["look_up"], str(self.table))

        self.assertIn("B: 2048", self.tile("--dim", "M=64", "--dim", "N=2048")[0])
        self.assertIn("B: 2048", self.tile("--dim", "M=64", "--dim", "N=2064")[0])
        self.assertIn("B: 1", self.tile("--dim", "M=64", "--dim", "N=2047")[0])  # another class of sizes
        self.assertIn("B: 1", self.tile("--dim", "M=64", "--dim", "N=2048", "--set", "B=1")[0])
        self.assertIn("B: 1", self.tile("--dim", "M=64", "--dim", "N=2048", "--numerics", "deterministic")[0])
        x, y = np.random.default_rng(1).random((2, 64, 2048), "f4")
        ran = self.ran(x, y, self.file)
        self.assertEqual((ran["tile"], ran["tuned"]), ({"B": 2048}, str(self.table)))
        ran = self.ran(x[:, :5], y[:, :5], self.file)
        self.assertEqual((ran["tile"], "tuned" in ran), ({"B": 1}, False))
        self.environment["TESSERA_TUNED"] = "off"
        self.assertEqual(self.ran(x, y, self.file)["tile"], {"B": 1})

    def ran(self, x, y, file):
        out = self.folder / "z.npy"
        result = self.call("run", file, "--in", f"X={self.array('x', x)}", f"Y={self.array('y', y)}", "--out", f"Z={out}", "--json")
        self.assertEqual(result.status, 0, result.errors)
        np.testing.assert_array_equal(np.load(out), x + y)
        return json.loads(result.output)

    def test_a_bundle_chooses_by_size(self):
        self.tuned()
        bundle = self.folder / "add.tsrb"
        result = self.call("compile", self.file, "--emit", "bundle", "-o", bundle)
        self.assertEqual(result.status, 0, result.errors)
        self.environment["TESSERA_TUNED"] = "off"  # the bundle has its bodies
        x, y = np.random.default_rng(1).random((2, 64, 2048), "f4")
        for rows, columns, name, block in ((64, 2048, "tuned0", 2048), (79, 2048, "default", 1), (64, 2047, "default", 1),
                                           (1, 1, "default", 1), (0, 5, "default", 1)):
            with self.subTest(rows=rows, columns=columns):
                a, b = (np.resize(t, (rows, columns)) for t in (x, y))
                document = self.ran(a, b, bundle)
                self.assertEqual([v["variant"] for v in document["variants"]], [name])
                self.assertEqual(document["tile"], {"B": block})

    def test_two_classes_share_a_body(self):
        self.tune("--dim", "M=64,1", "N=2048")
        text = self.call("compile", self.file, "--emit", "bundle", "-o", self.folder / "add.tsrb")
        self.assertEqual(text.status, 0, text.errors)
        entries = json.loads(self.call("inspect", self.folder / "add.tsrb", "--json").output)["images"][0]["entries"]
        self.assertEqual(sorted(e["name"] for e in entries), ["add", "add.tuned0"])
        variants = next(e for e in entries if e["name"] == "add")["variants"]
        self.assertEqual([v.get("entry") for v in variants], ["add.tuned0", "add.tuned0", None])

    def test_a_wrong_configuration_never_wins(self):
        self.source(add([1, 2048], "X[m:m+1, n:n+B] * B"))
        document = self.tuned()["results"][0]
        self.assertIsNone(document["choice"])
        self.assertEqual([w["configuration"] for w in document["wrong"]], ["B=2048"])
        self.assertRegex(document["wrong"][0]["reason"], r"^Z: \d+ of 131072 elements differ; element ")
        output = self.tune("--dim", "M=64", "N=2048").output
        self.assertIn("E_TUNE_WRONG", output)
        self.assertIn("the default B=1 stays: every other is illegal or wrong", output)
        self.assertIn("B: 1", self.tile("--dim", "M=64", "--dim", "N=2048")[0])

    def test_a_small_error_of_each_element_is_found(self):
        self.source(add([16, 1024], "X[m:m+1, n:n+B] + B * 0.0000004"))
        wrong = self.tune("--dim", "M=1", "N=1000000").output
        self.assertIn("wrong    B=1024: [E_TUNE_WRONG] Z: ", wrong)

    def test_another_order_of_a_sum_is_not_wrong(self):
        self.source(HEAD + """@ts.kernel.autotune(space=dict(B=[16, 256, 4096]))
def total(X: ts.Tensor["R", "N", ts.f32], Y: ts.Tensor["R", ts.f32], Z: ts.Tensor["R", "N", ts.f32]):
    B = ts.tile.context().B
    for r in ts.tile.parallel(0, R, 1):
        acc = ts.tile.zeros((1, B), ts.f32)
        for n in range(0, N, B):
            acc += ts.tile.exp(X[r:r+1, n:n+B])
        total = ts.tile.row_sum(acc)
        Y[r:r+1] = total
        for n in range(0, N, B):
            Z[r:r+1, n:n+B] = ts.tile.exp(X[r:r+1, n:n+B]) / total[:, None]
""")
        self.assertIn("3 of 3 configurations measured, 0 illegal, 0 wrong", self.tune("--dim", "R=2", "N=300007").output)

    def test_a_correction_counts(self):
        wrong = add([1, 2048], "X[m:m+1, n:n+B] + B")
        self.source(wrong)
        self.assertIsNone(self.tuned()["results"][0]["choice"])
        self.source(wrong.replace("+ B\n", "+ 1.0\n"))
        document = self.tuned()
        self.assertEqual((document["results"][0]["choice"], document["results"][0]["wrong"]), ({"B": 2048}, []))
        self.assertIn("B: 2048", self.tile("--dim", "M=64", "--dim", "N=2048")[0])
        self.assertIn("with earlier runs: B=2048, ", self.tune("--dim", "M=64", "N=2048").output)
        self.source(wrong)
        self.assertIsNone(self.tuned()["results"][0]["choice"])
        self.assertIn("B: 1", self.tile("--dim", "M=64", "--dim", "N=2048")[0])

    def test_an_illegal_space_names_each_reason(self):
        self.source(add([-1, -2]))
        result = self.tune("--dim", "M=4", "N=4", status=1)
        self.assertIn("[E_TUNE_EMPTY]", result.errors)
        for configuration in ("B=-1: [E_", "B=-2: [E_"):
            self.assertIn(configuration, result.errors)
        self.source(add([-1, 16]))
        self.assertIn("[E_TUNE_DEFAULT]", self.tune("--dim", "M=4", "N=4", status=1).errors)
        self.source(add([16, -1]))
        document = json.loads(self.tune("--dim", "M=4", "N=4", "--json").output)["results"][0]
        self.assertEqual([i["configuration"] for i in document["illegal"]], ["B=-1"])

    def test_what_cannot_be_tuned(self):
        self.assertIn("[E_TUNE_EMPTY]", self.tune("--dim", "M=4", "N=4", "--numerics", "strict", status=1).errors)
        self.assertIn("[E_DIM_MISSING]", self.tune("--dim", "M=4", status=1).errors)
        self.assertIn("[E_DIM_UNKNOWN]", self.tune("--dim", "M=4", "Q=4", status=1).errors)
        self.assertIn("[E_OPTION_VALUE]", self.tune("--dim", "M=4", "N=4", "--budget", "0", status=1).errors)
        self.assertIn("[E_NO_FILE]", self.call("tune", "--database", self.database).errors)

    def test_other_backends_are_not_tuned(self):
        sizes = ("--dim", "M=4", "N=64")
        refused = self.tune(*sizes, "--backend", "ptx:emulated", status=1).errors
        self.assertIn("[E_TUNE_BACKEND] --backend names backend ptx:emulated; configurations are measured on the CPU alone", refused)
        self.environment["TESSERA_BACKEND"] = "ptx:emulated"
        self.assertIn("[E_TUNE_BACKEND] TESSERA_BACKEND names backend ptx:emulated", self.tune(*sizes, status=1).errors)
        self.assertFalse(self.database.exists())
        self.tune(*sizes, "--backend", "cpu")
        del self.environment["TESSERA_BACKEND"]

    def test_one_choice_is_singular(self):
        self.assertIn(f"{self.table}: 1 choice\n", self.tune("--dim", "M=4", "N=64").output)

    def test_every_size_is_read_before_one_is_measured(self):
        for sizes in ("4,", ",4", "4,x"):
            result = self.tune("--dim", "M=4", f"N={sizes}", status=1)
            self.assertIn(f"[E_OPTION_VALUE] --dim N={sizes}: ", result.errors)
        self.assertFalse(self.database.exists())

    def test_a_size_that_fails_leaves_the_choices_before_it(self):
        result = self.tune("--dim", "M=64", f"N=2048,{10**14}", status=1)
        self.assertIn("[E_OUT_OF_MEMORY]", result.errors)
        self.assertIn("B: 2048", self.tile("--dim", "M=64", "--dim", "N=2048")[0])

    def test_options_that_measure_nothing(self):
        for words in ((self.file, "--list"), ("--list", "--budget", "3"), ("--list", "--merge"), ("--list", "--export"),
                      ("--merge", self.database, "--json"), ("--export", "--seed", "1")):
            self.assertIn("[E_OPTION_VALUE]", self.call("tune", *words, "--database", self.database).errors, words)
        for words in (("--database", self.table), ("--database", self.database, f"--export={self.database}")):
            result = self.call("tune", self.file, "--dim", "M=4", "N=4", *words)
            self.assertIn("would be the database and the look-up file", result.errors)
        self.assertFalse(self.database.exists() or self.table.exists())

    def test_an_edited_kernel_falls_back(self):
        self.tuned()
        self.source(add([1, 2048]).replace("ts.tile.parallel(0, M, 1)", "ts.tile.parallel(0, M, 1 if B == 1 else -1)"))
        for words in (("--dim", "M=64", "--dim", "N=2048"), ()):
            out = self.folder / "add.tsrb"
            result = self.call("compile", self.file, "--emit", "bundle", "-o", out, *words)
            self.assertEqual(result.status, 0, result.errors)
            self.assertIn("[W_TUNED] add does not compile with its tuned configuration B=2048", result.errors)
            entries = json.loads(self.call("inspect", out, "--json").output)["images"][0]["entries"]
            self.assertEqual([e["name"] for e in entries], ["add"])
        tile, result = self.tile("--dim", "M=64", "--dim", "N=2048")
        self.assertIn("B: 1", tile)
        self.assertIn("W_TUNED", result.errors)

    def test_a_faulty_table_is_a_warning(self):
        self.tuned()
        self.table.write_bytes(self.table.read_bytes()[:-4])
        tile, result = self.tile("--dim", "M=64", "--dim", "N=2048")
        self.assertIn("B: 1", tile)
        self.assertIn(f"[W_TUNED] tuned configurations are not used: {self.table}: it has ", result.errors)
        export = self.call("tune", "--export", "--database", self.database)
        self.assertEqual((export.status, export.output), (0, f"{self.table}: 1 choice\n"), export.errors)
        self.assertIn("B: 2048", self.tile("--dim", "M=64", "--dim", "N=2048")[0])

    def test_a_choice_ends_with_its_compiler(self):
        self.tuned()
        with sqlite3.connect(self.database) as db:
            db.execute("UPDATE key SET compiler = 'older'")
        self.assertEqual(self.call("tune", "--export", "--database", self.database).status, 0)
        self.assertIn("B: 1", self.tile("--dim", "M=64", "--dim", "N=2048")[0])
        listed = json.loads(self.call("tune", "--list", "--json", "--database", self.database).output)
        self.assertEqual([(c["applies"], c["configuration"]) for c in listed], [(False, {"B": 2048})])
        self.assertIn("of another compiler, not used", self.call("tune", "--list", "--database", self.database).output)

    def test_merging_is_commutative(self):
        self.tuned()
        first = self.database
        self.database = self.folder / "second.db"
        self.tune("--dim", "M=1", "N=2048")
        tables = []
        for order in ((first, self.database), (self.database, first)):
            out = self.folder / f"all{len(tables)}.db"
            result = self.call("tune", "--merge", *order, "--database", out)
            self.assertEqual(result.status, 0, result.errors)
            self.assertIn("2 databases added; 2 choices", result.output)
            tables.append(out.with_suffix(".tsrt").read_bytes())
        self.assertEqual(*tables)

    def test_databases_that_cannot_be_used(self):
        def refusal(*words):
            result = self.tune("--dim", "M=4", "N=4", *words, status=1)
            self.assertIn(f"[E_TUNE_DATABASE] {self.database}: ", result.errors)
            return result.errors

        self.database.write_text("no database" * 100)
        self.assertIn("no SQLite database", refusal())
        self.database.unlink()
        with sqlite3.connect(self.database) as db:
            db.execute("CREATE TABLE t(x)")
        self.assertIn("not a tuner's", refusal())
        self.database.unlink()
        self.tune("--dim", "M=4", "N=4")
        with sqlite3.connect(self.database) as db:
            db.execute("PRAGMA user_version = 7")
        self.assertIn("its version is 7, this tsr reads 2", refusal())
        with sqlite3.connect(self.database) as db:
            db.execute("PRAGMA user_version = 2")
        other = sqlite3.connect(self.database, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        self.assertIn("another process has locked it", refusal())
        other.close()
        self.tune("--dim", "M=4", "N=4")

    def test_an_interrupted_run_says_what_remains(self):
        self.source(add(list(range(1, 33))))
        process = subprocess.Popen([str(self.tsr.program), "tune", str(self.file), "--database", str(self.database), "--dim", "M=64",
                                    "N=2048,2049,2050,2051"], env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:  # until something was stored
            try:
                with sqlite3.connect(f"file:{self.database}?mode=ro", uri=True) as db:
                    if db.execute("SELECT count(*) FROM timing").fetchone()[0]:
                        break
            except sqlite3.Error:
                pass
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        errors = process.communicate()[1]
        self.assertEqual(process.returncode, -signal.SIGINT, errors)
        self.assertEqual(errors.count(f"tsr: interrupted: {self.database} keeps the sizes that were finished"), 1, errors)

    def test_killed_at_any_moment(self):
        self.source(add([1, 2, 3, 4, 5, 6, 7, 8]))
        words = [self.tsr.program, "tune", self.file, "--database", self.database, "--dim", "M=64", "N=2048"]
        for delay in (0.2, 0.5, 1, 1.5):
            process = subprocess.Popen(list(map(str, words)), env=self.environment, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, start_new_session=True)
            time.sleep(delay)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self.tune("--dim", "M=64", "N=2048")
        self.assertEqual(self.call("tune", "--export", "--database", self.database).status, 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tsr", default=str(ROOT / "build/release/bin/tsr"))
    known, rest = parser.parse_known_args()
    Cli.tsr = Tsr(known.tsr)
    unittest.main(argv=sys.argv[:1] + rest)
