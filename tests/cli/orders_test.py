#!/usr/bin/env python3
"""Orders of sums: that each variant and each body of a product adds in the order that it declares, and that in
`deterministic` neither variants, threads nor a tuning database change bits."""
import argparse
import hashlib
import itertools
import json
import os
import random
import re
import sqlite3
import sys
import unittest

import numpy as np

from cli_test import Cli, Tsr

ROWS = """import tessera as ts


@ts.jit
def f(x: ts.Tensor["R", "N", ts.f32]):
    return {}
"""
PRODUCT = """import tessera as ts


@ts.jit
def f(a: ts.Tensor["M", "K", ts.f32], b: ts.Tensor[{}, ts.f32]):
    return a @ b{}
"""
TILES = """import tessera as ts


@ts.kernel.autotune(space=dict(R=[1, 2, 8], B=[16, 64, 128, 512]))
def f(X: ts.Tensor["M", "N", ts.f32], Y: ts.Tensor["M", ts.f32]):
    c = ts.tile.context()
    for m in ts.tile.parallel(0, M, c.R):
        s = ts.tile.zeros((c.R,), dtype=ts.f32)
        for n in ts.tile.range(0, N, c.B):
            s = s + ts.tile.sum(X[m:m+c.R, n:n+c.B], axis=1)
        Y[m:m+c.R] = s
"""
CPUS = sorted(os.sched_getaffinity(0))
THREADS = range(1, min(8, len(CPUS)) + 1)
WAYS = ("dot", "row", "columns", "two_by_two", "shared", "flat", "small", "skinny", "panels")


def cancelling(shape, seed):
    """Numbers whose sum is another one in another order: large ones of both signs, and small ones that they absorb."""
    rng = np.random.default_rng(seed)
    return rng.choice(np.array([2.0**26, -(2.0**26), 3, 1, -1, 2.0**13, -(2.0**13)], "f4"), shape)


def chain(a, b):
    """A chain over rising k. Each product is exact, so that a multiplication and an addition are a fused one."""
    out = np.zeros((a.shape[0], b.shape[1]), "f4")
    for k in range(a.shape[1]):
        out += np.outer(a[:, k], b[k])
    return out


class Orders(Cli):
    def schedule(self, *options):
        result = self.call("compile", self.file, "--emit", "schedule", "-o", "-", *options)
        self.assertEqual(result.status, 0, result.errors)
        return result.output

    def results(self, text, inputs, name, threads=None, out="result"):
        """The results of Schedule IR."""
        path = self.folder / f"{name}.mlir"
        path.write_text(text)
        return self.of_file(path, inputs, threads, out)

    def of_file(self, path, inputs, threads=None, out="result", *options):
        target = self.folder / "out.npy"
        words = ["run", path, "--in", *(f"{n}={self.array(n, x)}" for n, x in inputs.items()), "--out", f"{out}={target}", *options]
        result = self.call(*words, preexec_fn=lambda: os.sched_setaffinity(0, CPUS[:threads]))
        self.assertEqual(result.status, 0, result.errors)
        return np.load(target)

    def pinned(self, text, variant):
        return re.sub(r'when = "[^"]*"', 'when = "R >= 0"', text).replace(", variants =", f', variant = "{variant}", variants =')

    def test_a_variant_adds_in_the_order_that_it_declares(self):
        """Variants of one order class have equal bits. Those of two have not, or the data would not tell them apart."""
        for expression, n in (("ts.sum(x, axis=-1)", 1500), ("ts.mean(x, axis=-1)", 1100), ("ts.cumsum(x, axis=-1)", 700),
                              ("ts.sum(x, axis=0)", 900)):
            with self.subTest(expression=expression):
                self.source(ROWS.format(expression))
                text = self.schedule("--numerics", "deterministic")
                orders = dict(re.findall(r'#schedule\.variant<"(\w+)".*?order = (\w+(?:\("[^"]*"\))?)', text))
                self.assertGreater(len(orders), 1, text)
                x = cancelling((33, n), n)
                bits = {v: self.results(self.pinned(text, v), {"x": x}, v).tobytes() for v in orders}
                for a, b in itertools.combinations(orders, 2):
                    self.assertEqual(orders[a] == orders[b], bits[a] == bits[b], f"{a}: {orders[a]}, {b}: {orders[b]}")

    def test_a_body_of_a_product_adds_in_its_order(self):
        """All of them over extents of edges; what cannot compute a product leaves it to panels."""
        for transposed in (False, True):
            self.source(PRODUCT.format('"N", "K"' if transposed else '"K", "N"', ".T" if transposed else ""))
            text = self.schedule()
            for way in WAYS:
                path, bundle = self.folder / f"{way}.mlir", self.folder / f"{way}.tsrb"
                path.write_text(text.replace('body = "tile"', f'body = "product.{way}"'))
                made = self.call("compile", path, "--emit", "bundle", "-o", bundle)
                self.assertEqual(made.status, 0, made.errors)
                for m, n, k in ((1, 65, 300), (3, 7, 129), (49, 65, 33), (16, 16, 16), (5, 6, 0)):
                    with self.subTest(way=way, transposed=transposed, m=m, n=n, k=k):
                        a = cancelling((m, k), m)
                        b = np.random.default_rng(n).choice(np.array([1, -1, 2, 4], "f4"), (k, n))
                        wanted = chain(a, b)
                        found = self.of_file(bundle, {"a": a, "b": np.ascontiguousarray(b.T) if transposed else b})
                        few = way == "skinny" and m <= 48 and k > 0 or way == "row" and m == 1
                        if way == "panels" or (few and not transposed):
                            self.assertEqual(found.tobytes(), wanted.tobytes())
                        elif way == "dot" and transposed and m < 5 and k > 32:
                            self.assertNotEqual(found.tobytes(), wanted.tobytes())

    def forced(self, way, order, *options):
        """The bundle of a product by one way, or the message that refuses it."""
        self.source(PRODUCT.format('"K", "N"', ""))
        text = self.schedule(*options)
        text = re.sub(r'(body = "tile"(?:(?!order).)*order = )\w+', rf'\g<1>{order}', text)
        path, bundle = self.folder / f"{way}.mlir", self.folder / f"{way}.tsrb"
        path.write_text(text.replace('body = "tile"', f'body = "product.{way}"'))
        made = self.call("compile", path, "--emit", "bundle", "-o", bundle)
        return bundle, made

    def test_a_body_that_does_not_apply_is_reported_once(self):
        for way, m, applies in (("row", 1, True), ("row", 3, False), ("skinny", 48, True), ("skinny", 49, False),
                                ("panels", 3, True), ("dot", 40, False), ("columns", 3, False)):
            with self.subTest(way=way, m=m):
                bundle, made = self.forced(way, "chain")
                self.assertEqual(made.status, 0, made.errors)
                a, b = cancelling((m, 129), m), cancelling((129, 65), 2)
                ran = self.call("run", bundle, "--in", f"a={self.array('a', a)}", f"b={self.array('b', b)}", "--time", "5")
                self.assertEqual(ran.status, 0, ran.errors)
                self.assertEqual(ran.errors.count("the schedule asks for"), 0 if applies else 1, ran.errors)
                if not applies:
                    self.assertRegex(ran.errors, rf"kernel f\S*: the schedule asks for product\.{way}, which computes .*; it does not "
                                                 "apply to these operands, so that product.panels runs")

    def test_the_order_of_a_body_is_checked_where_the_profile_fixes_orders(self):
        for way, order in (("panels", "chain"), ("row", "chain"), ("flat", "chain"), ("dot", "extents")):
            for declared in ("chain", "extents", "dot", "exact"):
                with self.subTest(way=way, declared=declared):
                    _, made = self.forced(way, declared, "--numerics", "deterministic")
                    self.assertEqual(made.status == 0, declared == order, made.errors)
                    if declared != order:
                        self.assertIn("E_VARIANT", made.errors)
                        self.assertIn(f'"general" declares order {declared}; numerics profile deterministic fixes orders, and that of '
                                      f"product.{way} of f32 is {order}: write order = {order}", made.errors)
                    self.assertEqual(self.forced(way, declared)[1].status, 0, "standard fixes no orders")
        self.assertEqual(self.forced("panels", "leaves", "--numerics", "strict")[1].status, 0)
        for way, declared in (("panels", "chain"), ("dot", "extents"), ("dot", "leaves")):
            with self.subTest(way=way, declared=declared):
                refused = self.forced(way, declared, "--numerics", "strict")[1]
                self.assertNotEqual(refused.status, 0)
                self.assertIn("E_VARIANT", refused.errors)
                self.assertIn("strict", refused.errors)

    def test_what_no_body_computes_is_refused(self):
        self.source(PRODUCT.format('"K", "N"', "").replace("f32", "i32"))
        path = self.folder / "i32.mlir"
        text = self.schedule()
        self.assertNotIn("variants =", text)
        path.write_text(text.replace("matmul(%arg0, %arg1) attributes {", 'matmul(%arg0, %arg1) attributes {variants = [#schedule.variant<"general", body = "product.panels", order = exact>], '))
        result = self.call("compile", path, "--emit", "bundle", "-o", self.folder / "i32.tsrb")
        self.assertNotEqual(result.status, 0)
        self.assertIn("asks for the body product.panels, but no body of cpu computes its product", result.errors)

    def test_deterministic_has_equal_bits_for_all_threads(self):
        for expression in ("ts.sum(x, axis=-1)", "ts.softmax(x)", "ts.sum(x, axis=0)", "ts.sum(x)"):
            with self.subTest(expression=expression):
                self.source(ROWS.format(expression))
                x = cancelling((70, 1500), 1) * np.float32(2.0**-20)
                bits = {hashlib.sha256(self.of_file(self.file, {"x": x}, threads, "result", "--numerics", "deterministic").tobytes()).digest()
                        for threads in THREADS}
                self.assertEqual(len(bits), 1)

    def test_a_random_database_changes_no_bits(self):
        """Configurations that were never measured, as if they were the fastest."""
        self.source(TILES)
        database, table = self.folder / "tune.db", self.folder / "tune.tsrt"
        self.environment |= {"TESSERA_TUNED": str(table), "TESSERA_CACHE_DIR": "off"}
        m, n = 37, 1100
        tuned = self.call("tune", self.file, "--database", database, "--dim", f"M={m}", f"N={n}", "--numerics", "deterministic", "--budget", "2")
        self.assertEqual(tuned.status, 0, tuned.errors)
        x = cancelling((m, n), 5)
        seed = int(os.environ.get("TESSERA_SEED", random.randrange(2**32)))
        print("seed", seed)
        rng = random.Random(seed)
        bits, used, warned = set(), 0, 0
        for i in range(8):
            rows, columns = rng.choice([1, 2, 8]), rng.choice([16, 64, 128, 512])
            with sqlite3.connect(database) as db:
                key, text, run = db.execute("SELECT key, configuration, run FROM timing").fetchone()
                configuration = re.sub(r"\bR=\d+", f"R={rows}", re.sub(r"\bB=\d+", f"B={columns}", text))
                for table_ in ("timing", "fault", "choice"):
                    db.execute(f"DELETE FROM {table_}")
                db.executemany("INSERT INTO timing VALUES(?, ?, ?, ?, ?, 2000.0, 1000.0)",
                               [(key, configuration, run, number, int(number >= 9)) for number in range(60)])
            db.close()
            exported = self.call("tune", f"--export={table}", "--database", database)
            self.assertEqual(exported.status, 0, exported.errors)
            out = self.folder / "y.npy"
            result = self.call("run", self.file, "--in", f"X={self.array('X', x)}", "--out", f"Y={out}", "--numerics", "deterministic", "--json",
                               preexec_fn=lambda: os.sched_setaffinity(0, CPUS[:THREADS[i % len(THREADS)]]))
            self.assertEqual(result.status, 0, result.errors)
            bits.add(hashlib.sha256(np.load(out).tobytes()).hexdigest())
            used += "tuned" in json.loads(result.output)
            warned += "W_TUNED" in result.errors
        self.assertEqual(len(bits), 1)
        self.assertGreater(used + warned, 0, "no choice of the database was seen")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tsr", required=True)
    args, rest = parser.parse_known_args()
    Cli.tsr = Tsr(args.tsr)
    unittest.main(argv=sys.argv[:1] + rest)
