#!/usr/bin/env python3
"""The bodies of a kernel: which one runs, that each computes the same, what an edited list may say."""
import argparse
import json
import pathlib
import re
import sys
import unittest

import numpy as np

from cli_test import Cli, Tsr

# The most columns of the variant `short` of a sum on this machine (docs/decisions/0135, 0179).
SHORT = 112 if "avx512vl" in pathlib.Path("/proc/cpuinfo").read_text() else 64
# From so many elements on rows that are read again are streamed.
AGAIN = 1 << 20 if SHORT == 112 else 3 << 17

PROGRAMS = """import tessera as ts


@ts.jit
def total(x: ts.Tensor["R", "N", ts.f32]) -> ts.Tensor["R", ts.f32]:
    return ts.sum(x, axis=-1)


@ts.jit
def columns(x: ts.Tensor["R", "N", ts.f32]) -> ts.Tensor["N", ts.f32]:
    return ts.sum(x, axis=0)


@ts.jit
def largest(x: ts.Tensor["R", "N", ts.f32]) -> ts.Tensor["N", ts.f32]:
    return ts.max(x, axis=0)


@ts.jit
def softmax(x: ts.Tensor["R", "N", ts.f32]) -> ts.Tensor["R", "N", ts.f32]:
    return ts.softmax(x)


@ts.jit
def best(x: ts.Tensor["R", "N", ts.f32]) -> ts.Tensor["R", ts.i32]:
    return ts.argmax(x, axis=-1)


@ts.jit
def norm(x: ts.Tensor["R", "N", ts.f32]) -> ts.Tensor["R", "N", ts.f32]:
    return ts.layer_norm(x)


@ts.jit
def running(x: ts.Tensor["R", "N", ts.f32]) -> ts.Tensor["R", "N", ts.f32]:
    return ts.cumsum(x, axis=-1)


@ts.jit
def vector(x: ts.Tensor["N", ts.f32]) -> ts.Tensor["N", ts.f32]:
    return ts.softmax(x)
"""


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True)) if x.size else x
    return e / e.sum(-1, keepdims=True)


def norm(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) if x.size else x


REFERENCES = {
    "total": lambda x: x.sum(-1),
    "columns": lambda x: x.sum(0),
    "largest": lambda x: x.max(0) if x.size else np.full(x.shape[1], -np.inf),
    "softmax": softmax,
    "norm": norm,
    "best": lambda x: x.argmax(-1).astype("i4"),
    "running": lambda x: x.cumsum(-1),
}
STREAMED = {"total", "softmax", "norm", "best"}  # have a body for long rows, of the order of the general one
WIDE = {"columns", "largest"} if SHORT == 64 else set()  # have a body for many columns (docs/decisions/0195)
SAME_ORDER = {"columns", "largest", "best"}  # bodies for short rows and others compute equal bits
SHAPES = [(1, 1), (65, 17), (5, 48), (2, 64), (129, 65), (67, 112), (9, 113), (1499, 700)]
EMPTY = [(0, 5), (5, 0)]
ANY_SIZE = "R >= 0"


class Variants(Cli):
    def setUp(self):
        super().setUp()
        self.source(PROGRAMS, "programs.py")

    def schedule(self, name, *options):
        result = self.call("compile", self.file, "--kernel", name, "--emit", "schedule", "-o", "-", *options)
        self.assertEqual(result.status, 0, result.errors)
        return result.output

    def bundle(self, text, name="edited"):
        edited = self.folder / f"{name}.mlir"
        edited.write_text(text)
        out = self.folder / f"{name}.tsrb"
        result = self.call("compile", edited, "--emit", "bundle", "-o", out)
        self.assertEqual(result.status, 0, result.errors)
        return out

    def run_bundle(self, bundle, x, *options):
        out = self.folder / "out.npy"
        result = self.call("run", bundle, "--in", f"x={self.array('x', x)}", "--out", f"result={out}", *options)
        self.assertEqual(result.status, 0, result.errors)
        return np.load(out), result

    def input(self, shape):
        # sums of small integers are exact, those of the others are not
        return np.random.default_rng(sum(shape)).standard_normal(shape).astype("f4")

    def test_sizes_choose(self):
        bundle = self.bundle(self.schedule("total"))
        for r, n, name in ((3, 1, "short"), (3, SHORT, "short"), (3, SHORT + 1, "general"), (3, 1024, "general"), (376, 683, "general"),
                           (382, 684, "general"), (384, 684, "streamed"), (8, 32768, "streamed"), (8, 32769, "general"), (5600, 520, "general"), (5700, 520, "streamed")):
            with self.subTest(r=r, n=n):
                _, result = self.run_bundle(bundle, self.input((r, n)), "--verbose")
                self.assertRegex(result.errors + result.output, rf"variant +{name} of total\.g0 \(R={r} N={n}\), [\d.]+ [num]s predicted")
                tile = {"short": r"columns=64 rows=64 stages=1 of total\.g0\.short", "streamed": r"columns=512 rows=1 stages=1 of total\.g0\.streamed",
                        "general": r"columns=512 rows=8 stages=1 of total\.g0"}
                self.assertRegex(result.errors + result.output, rf"\ntile +{tile[name]}\n")
                _, result = self.run_bundle(bundle, self.input((r, n)), "--json")
                chosen, = json.loads(result.output)["variants"]
                self.assertGreater(chosen.pop("predicted_ns"), 0)
                self.assertEqual(chosen, {"kernel": "total.g0", "variant": name, "dims": {"R": r, "N": n}})

    def test_inspect_lists_them(self):
        bundle = self.bundle(self.schedule("total"))
        text = self.call("inspect", bundle).output
        self.assertRegex(text, rf"variant +short +N <= {SHORT} +tiles\(64\) +tile\n +cost in ns .*fma_f32.*\n")
        self.assertRegex(text, r"variant +general +else +tiles\(512\) +tile\n +cost in ns .*bwm.*\n")
        entries = json.loads(self.call("inspect", bundle, "--json").output)["images"][0]["entries"]
        kernel = next(e for e in entries if e["name"] == "total.g0")
        for variant in kernel["variants"]:
            self.assertRegex(variant.pop("cost"), r"^90000 // \(2 \* fma_f32\) \+ .*R \* N")
        self.assertEqual(kernel["variants"], [
            {"name": "short", "entry": "total.g0.short", "when": [f"N <= {SHORT}"], "body": "tile", "order": "tiles(64)"},
            {"name": "streamed", "entry": "total.g0.streamed", "when": ["N + min(R * N // 16384, 188) >= 700", "N <= 32768", "R * N >= 262144"], "body": "tile",
             "order": "tiles(512)"},
            {"name": "general", "when": [], "body": "tile", "order": "tiles(512)"}])

    def test_limits_follow_the_vectors(self):
        for target, columns, elements in (("cpu:x86-64-v3", 64, 3 << 17), ("cpu:x86-64-v4", 112, 1 << 20)):
            text = self.schedule("norm", "--target", target)
            self.assertIn(f'when = "N <= {columns}"', text)
            self.assertIn(f"R * N >= {elements}", text)

    def test_a_prediction_follows_the_extents(self):
        """Also that of a product, whose body chooses by itself."""
        self.source("""import tessera as ts


@ts.jit
def f(a: ts.Tensor["M", "K", ts.f32], b: ts.Tensor["K", "N", ts.f32]):
    return a @ b
""")
        predicted = []
        for m, n, k in ((2, 3, 4), (64, 64, 64), (128, 128, 512)):
            a, b = np.ones((m, k), "f4"), np.ones((k, n), "f4")
            result = self.call("run", self.file, "--in", f"a={self.array('a', a)}", f"b={self.array('b', b)}", "--json")
            self.assertEqual(result.status, 0, result.errors)
            chosen, = json.loads(result.output)["variants"]
            self.assertEqual((chosen["kernel"], chosen["variant"]), ("f.g0", "general"))
            predicted.append(chosen["predicted_ns"])
        self.assertGreater(predicted[1], predicted[0])
        self.assertGreater(predicted[2], 5 * predicted[1])
        self.assertLess(predicted[2], 100_000_000)

    def test_costs_rank_variants_as_conditions_do(self):
        """Also of groups whose functions take most of the time: the variant that was made for short rows costs least there."""
        machine = {"cores": 2, "fma_f32": 112, "l2": 1 << 20, "l3": 1 << 24, "bw3": 40, "bwm": 10, "min": min, "max": max, "ceildiv": lambda a, b: -(-a // b)}
        for dtype, expression in (("f32", "ts.sum(x, axis=-1)"), ("bf16", "ts.sum(ts.exp(x), axis=-1)"), ("f32", "ts.sum(ts.exp(ts.tanh(x)), axis=-1)"),
                                  ("bf16", "ts.softmax(ts.exp(ts.tanh(x)))"), ("f32", "ts.argmax(ts.sin(ts.exp(x)), axis=-1)")):
            self.source(f"""import tessera as ts


@ts.jit
def f(x: ts.Tensor["R", "N", ts.{dtype}]):
    return {expression}
""")
            result = self.call("inspect", self.bundle(self.schedule("f")), "--json")
            kernel = next(e for e in json.loads(result.output)["images"][0]["entries"] if "variants" in e)
            short, *_, general = kernel["variants"]
            for r in (1, 70, 4096):
                for n in range(1, int(short["when"][0].split()[-1]) + 1):
                    costs = [eval(v["cost"], machine | {"R": r, "N": n}) for v in (short, general)]
                    self.assertLessEqual(*costs, f"{dtype} {expression} R={r} N={n}")

    def test_a_dim_with_the_name_of_a_machine_constant_is_no_constant(self):
        """Costs would read it as one. Without them the first variant whose condition holds is chosen."""
        head = "import tessera as ts\n\n\n@ts.jit\ndef f"
        for program, wanted in ((f'{head}(x: ts.Tensor["cores", "l2", ts.f32]):\n    return ts.sum(x, axis=-1)\n', [f"l2 <= {SHORT}"]),
                                (f'{head}(x: ts.Tensor["B", "2*bw3", "N", ts.f32]):\n    return ts.sum(x, axis=-1)\n', [f"N <= {SHORT}"]),
                                (f'{head}(a: ts.Tensor["M", "fma_f32", ts.f32], b: ts.Tensor["fma_f32", "N", ts.f32]):\n    return a @ b\n', [])):
            with self.subTest(program=program):
                self.source(program)
                text = self.schedule("f")
                self.assertNotIn("cost =", text)
                self.assertEqual(re.findall(r'<"short", when = "(.*?)"', text), wanted)
                self.bundle(text)

    def test_what_a_group_reads_decides_which_rows_stream(self):
        """Elements that are read again are in a cache by then; a search reads them once and compares."""
        for name, when in (("total", "N + min(R * N // 16384, 188) >= 700 and N <= 32768 and R * N >= 262144"), ("best", "N >= 600"),
                           ("softmax", f"N + min(R * N // 16384, 188) >= 700 and N <= max(32768, R * N - 4194304) and R * N >= {AGAIN}"),
                           ("norm", f"N + min(R * N // 16384, 188) >= 700 and N <= max(32768, R * N - 4194304) and R * N >= {AGAIN}")):
            self.assertIn(f'<"streamed", when = "{when}"', self.schedule(name))
        narrow = PROGRAMS.replace('"N", ts.f32]) -> ts.Tensor["R", ts.f32]', '"N", ts.bf16]) -> ts.Tensor["R", ts.bf16]')
        self.source(narrow, "programs.py")
        self.assertIn('<"streamed", when = "N >= 700 and N <= 32768 and R * N >= 4194304"', self.schedule("total"))

    def test_strict_streams_rows(self):
        """In tiles of whole blocks, which decide the bits; short rows have no such tiles."""
        for name in ("total", "softmax", "norm"):
            text = self.schedule(name, "--numerics", "strict")
            self.assertEqual(re.findall(r'schedule\.variant<"(\w+)".*?order = (\w+)', text), [("streamed", "lanes64"), ("general", "lanes64")])
            streamed = re.sub(r'(<"streamed", when = )"[^"]*"', rf'\1"{ANY_SIZE}"', text)
            bundles = [self.bundle(streamed.replace(", variants =", ', variant = "streamed", variants ='), "streamed"),
                       self.bundle(text.replace(", variants =", ', variant = "general", variants ='), "general")]
            for shape in ((3, 65), (9, 1024), (5, 3000)):
                with self.subTest(name=name, shape=shape):
                    x = self.input(shape)
                    found = [self.run_bundle(bundle, x)[0] for bundle in bundles]
                    np.testing.assert_allclose(found[0], REFERENCES[name](x.astype("f8")), rtol=1e-5, atol=1e-4)
                    np.testing.assert_array_equal(found[0].view("u4"), found[1].view("u4"))

    def test_columns_of_tensors_in_memory_are_wide(self):
        """Where rows are read once, of whole words, and vectors have 32 bytes. The order of `strict` has parts of 64 rows."""
        for dtype, least in (("f32", 6291456), ("f64", 3145728), ("u8", None)):
            for expression in ("ts.max(x, axis=0)", "ts.sum(x * x, axis=0)", "ts.argmin(x, axis=0)", "ts.softmax(x, axis=0)"):
                if dtype == "u8" and "softmax" in expression:
                    continue
                for target, options in (("cpu:x86-64-v3", []), ("cpu:x86-64-v4", []), ("cpu:x86-64-v3", ["--numerics", "strict"])):
                    with self.subTest(dtype=dtype, expression=expression, target=target, options=options):
                        self.source(f"""import tessera as ts


@ts.jit
def f(x: ts.Tensor["R", "N", ts.{dtype}]):
    return {expression}
""")
                        found = re.findall(r'<"wide", when = "(.*?)"', self.schedule("f", "--target", target, *options))
                        has = target.endswith("v3") and not options and least and "softmax" not in expression
                        self.assertEqual(found, [f"N >= 2048 and R * N >= {least}"] if has else [])

    def test_every_body_computes_the_same(self):
        for name, reference in REFERENCES.items():
            text = self.schedule(name)
            self.assertEqual(text.count("#schedule.variant<"), 3 if name in STREAMED | WIDE else 2, text)
            guard = re.search(r'when = "(.*?)"', text)[0]
            forms = {"chosen": text,
                     "short": text.replace(guard, f'when = "{ANY_SIZE}"'),
                     "general": text.replace(", variants =", ', variant = "general", variants =')}
            for form in ("streamed",) * (name in STREAMED) + ("wide",) * (name in WIDE):
                edited = re.sub(rf'(<"{form}", when = )"[^"]*"', rf'\1"{ANY_SIZE}"', text)
                forms[form] = edited.replace(", variants =", f', variant = "{form}", variants =')
            bundles = {form: self.bundle(edited, form) for form, edited in forms.items()}
            for shape in SHAPES + ([] if name in ("softmax", "norm", "best") else EMPTY):
                with self.subTest(name=name, shape=shape):
                    x = self.input(shape)
                    wanted = reference(x.astype("f8"))
                    results = {form: self.run_bundle(bundle, x)[0] for form, bundle in bundles.items()}
                    for form, found in results.items():
                        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-4, err_msg=form)
                    is_short = shape[1] <= int(guard[:-1].split()[-1])
                    np.testing.assert_array_equal(results["chosen"], results["short" if is_short else "general"])
                    if name in STREAMED:
                        np.testing.assert_array_equal(results["streamed"], results["general"])
                    if name == "largest" and name in WIDE:
                        np.testing.assert_array_equal(results["wide"], results["general"])
                    if name in SAME_ORDER:
                        np.testing.assert_array_equal(results["short"], results["general"])

    def test_the_report_names_the_body_that_ran(self):
        """Also if an address decides: the runtime warns where a pinned variant does not fit."""
        text = self.schedule("total").replace(", variants =", ', variant = "short", variants =')
        guard = re.search(r'when = "(.*?)"', text)[0]
        named = []
        for bytes_ in (64, 512, 4096):
            bundle = self.bundle(text.replace(guard, f'when = "aligned(in0, {bytes_})"'), "aligned")
            for shape in ((3, 70), (64, 3001)):
                with self.subTest(bytes=bytes_, shape=shape):
                    _, result = self.run_bundle(bundle, self.input(shape), "--json")
                    named.append(json.loads(result.output)["variants"][0]["variant"])
                    self.assertEqual("variant short was chosen for it, but" in result.errors, named[-1] == "general", result.errors)
        self.assertEqual(named[:2], ["short", "short"])  # allocations are aligned to 64 bytes

    def test_a_text_has_the_list_that_is_written_in_it(self):
        text = self.schedule("total")
        guard = re.search(r'when = "(.*?)"', text)[0]
        without = re.sub(r", variants = \[.*?>\]", "", text)
        streamed = 'N + min(R * N // 16384, 188) >= 700", "N <= 32768", "R * N >= 262144'
        for edited, wanted in ((text.replace(guard, f'when = "{ANY_SIZE}"'), [ANY_SIZE, streamed]), (without, [])):
            path = self.folder / "edited.mlir"
            path.write_text(edited)
            result = self.call("compile", path, "--emit", "tile")
            self.assertEqual(result.status, 0, result.errors)
            self.assertEqual(re.findall(r'when = \["(.*?)"\]', result.output), wanted)

    def test_known_sizes_need_no_choice(self):
        self.assertNotIn("variants =", self.schedule("vector"))
        self.assertNotIn("variants =", self.schedule("total", "--dim", "N=10", "--exact-dims"))

    def test_a_profile_that_fixes_bits_has_them_too(self):
        self.assertIn("variants =", self.schedule("total", "--numerics", "deterministic"))

    def test_edited_lists_are_checked(self):
        text = self.schedule("total")
        general = re.search(r"#schedule.variant<\"general\".*?>\]", text)[0][:-1]
        for what, edited in {
                "sizes are left without a variant": text.replace(f", {general}", ""),
                "unknown name 'Z'": text.replace(f"N <= {SHORT}", "Z <= 112"),
                "divides by zero": text.replace(f"N <= {SHORT}", "N // 0 <= 112"),
                "the body takes 1 to 262144": text.replace("rows = 64", "rows = 0"),
                "the bodies of kind reduce are tile": text.replace('body = "tile"', 'body = "magic"', 1)}.items():
            with self.subTest(what=what):
                self.assertNotEqual(edited, text)
                bad = self.folder / "bad.mlir"
                bad.write_text(edited)
                result = self.call("compile", bad, "--emit", "bundle", "-o", self.folder / "bad.tsrb")
                self.assertEqual(result.status, 1, result.errors)
                self.assertIn(what, result.errors)
        # the tile of a variant may be changed
        x = self.input((70, 30))
        found, _ = self.run_bundle(self.bundle(text.replace("rows = 64", "rows = 7")), x)
        np.testing.assert_allclose(found, x.sum(-1), rtol=1e-5, atol=1e-4)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tsr", required=True)
    args, rest = parser.parse_known_args()
    Cli.tsr = Tsr(args.tsr)
    unittest.main(argv=sys.argv[:1] + rest)
