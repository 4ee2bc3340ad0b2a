#!/usr/bin/env python3
"""What an addition to the tree touches. Each NAME.patch beside this file is one addition, written by following a page of
docs/extending, with the source files alone: its tests and documentation are not counted.

extending_test.py                     the patches touch what the pages promise, and apply, alone and together
extending_test.py --build DIR [-j N]  also builds a copy of the tree with all of them in DIR and runs their cases there
"""
import argparse
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGES = ROOT / "docs" / "extending"
sys.path.insert(0, str(ROOT / "tests"))
from support import copies  # noqa: E402
from support.host import Tsr  # noqa: E402

TARGETS = ("tsr", "tessera-compiler", "tessera-blue")


@dataclasses.dataclass(frozen=True)
class Promise:
    """What a section of a page says. Files are those it names between backticks."""
    page: str
    section: str  # the title
    words: str    # how it says how many
    most: int     # files of sources; 0: any number of new files in one folder


PROMISES = {
    "activation": Promise("add-an-op.md", "A graph operation", "Three files", 3),
    "graph-op": Promise("add-an-op.md", "A graph operation", "Four files", 4),
    "tile-function": Promise("add-an-op.md", "A tile function", "five files", 5),
    "dtype": Promise("add-a-dtype.md", "The row and the casts", "four files", 4),
    "pass": Promise("add-a-pass.md", "Add a pass", "two files and one line in a third", 3),
    "architecture": Promise("add-a-target.md", "Another architecture of a known vendor", "One row", 1),
    "vendor": Promise("add-a-target.md", "Another GPU vendor", "Nothing outside the folder names the vendor", 0),
}


@dataclasses.dataclass
class Change:
    path: str
    is_new: bool
    added: int = 0
    removed: int = 0


def changes(patch):
    """The files of a patch as git wrote it."""
    found = []
    for line in patch.read_text().splitlines():
        if named := re.fullmatch(r"diff --git a/(\S+) b/\1", line):
            found.append(Change(named.group(1), False))
        elif line.startswith("new file mode"):
            found[-1].is_new = True
        elif line.startswith("+") and not line.startswith("+++"):
            found[-1].added += 1
        elif line.startswith("-") and not line.startswith("---"):
            found[-1].removed += 1
    return found


def patch_of(name):
    return HERE / f"{name}.patch"


def section_of(promise):
    text = (PAGES / promise.page).read_text()
    parts = re.split(r"^#+ (.*)\n", text, flags=re.MULTILINE)
    for title, body in zip(parts[1::2], parts[2::2]):
        if title == promise.section:
            return " ".join(body.split())
    raise AssertionError(f"{promise.page} has no section '{promise.section}'")


def is_named(path, section):
    """Whether the section names the file, perhaps as `folder/<level>/NAME.cpp`."""
    for name in re.findall(r"`([\w./<>*-]+)`", section):
        pattern = re.sub(r"<\w+>|NAME", r"\\w+", re.escape(name).replace(r"\<", "<").replace(r"\>", ">"))
        if re.fullmatch(pattern, path):
            return True
    return False


def apply(patch, folder, *options):
    """`git apply` as in a folder that is no repository. One line of context is enough: a comment nearby may be reworded."""
    environment = dict(os.environ, GIT_CEILING_DIRECTORIES=str(pathlib.Path(folder).resolve().parent))
    done = subprocess.run(["git", "apply", "-C1", *options, str(patch)], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"{patch.name} does not apply; write it for this tree:\n{done.stderr}")


class Counts(unittest.TestCase):
    def test_every_patch_has_a_promise(self):
        self.assertEqual({p.stem for p in HERE.glob("*.patch")}, set(PROMISES))

    def test_files(self):
        for name, promise in PROMISES.items():
            with self.subTest(name):
                section = section_of(promise)
                self.assertIn(promise.words, section, f"{promise.page}, '{promise.section}'")
                touched = changes(patch_of(name))
                self.assertTrue(touched)
                if not promise.most:
                    folder = f"plugins/{touched[0].path.split('/')[1]}/"
                    self.assertEqual([c.path for c in touched if not (c.is_new and c.path.startswith(folder))], [])
                    self.assertFalse((ROOT / folder).exists())
                    continue
                self.assertLessEqual(len(touched), promise.most, [c.path for c in touched])
                self.assertEqual([c.path for c in touched if not is_named(c.path, section)], [],
                                 f"files that {promise.page} does not name")

    def test_lines(self):
        place = {c.path: c for c in changes(patch_of("pass"))}["compiler/pipeline/Pipeline.cpp"]
        self.assertEqual((place.added, place.removed), (1, 0))
        row = changes(patch_of("architecture"))[0]
        self.assertEqual((row.added, row.removed), (1, 0))

    def test_a_file_that_no_page_names(self):
        self.assertTrue(is_named("compiler/tile/Transforms/Fuse.cpp", "in `compiler/<level>/Transforms/NAME.cpp`"))
        self.assertFalse(is_named("compiler/tile/IR/Fuse.cpp", "in `compiler/<level>/Transforms/NAME.cpp`"))


class Applies(unittest.TestCase):
    def copies(self, folder):
        for path in {c.path for name in PROMISES for c in changes(patch_of(name)) if not c.is_new}:
            target = pathlib.Path(folder, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, target)

    def test_alone(self):
        for name in PROMISES:
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                self.copies(folder)
                apply(patch_of(name), folder)

    def test_together(self):
        results = []
        for order in (list(PROMISES), list(reversed(PROMISES))):
            with tempfile.TemporaryDirectory() as folder:
                self.copies(folder)
                for name in order:
                    apply(patch_of(name), folder)
                results.append({str(p.relative_to(folder)): p.read_bytes()
                                for p in pathlib.Path(folder).rglob("*") if p.is_file()})
        self.assertEqual(*results)


class Cases(unittest.TestCase):
    """One program for each addition, run by the tsr that has them all."""
    tsr = None

    def run_program(self, body, outputs, inputs, *options):
        result = self.tsr.run("import tessera as ts\n\n" + body, outputs, inputs, *options)
        self.assertEqual(result.status, 0, result.errors)
        return result.outputs

    def compile(self, target, emit, *options):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder, "out")
            result = self.tsr.call("compile", ROOT / "samples" / "saxpy" / "saxpy.py", "--target", target, "--emit", emit,
                                   "-o", out, *options)
            self.assertEqual(result.status, 0, result.errors)
            return out.read_bytes()

    def test_activation(self):
        x = np.linspace(-9, 9, 1000, dtype="f4")
        y, = self.run_program("""@ts.jit
def f(x: ts.Tensor["n", ts.f32]) -> ts.Tensor["n", ts.f32]:
    return ts.softsign(x)
""", ["result"], {"x": x})
        np.testing.assert_array_equal(y, x / (np.float32(1) + np.abs(x)))

    def test_graph_op(self):
        x = np.random.default_rng(1).normal(size=(7, 33)).astype("f4")
        y, = self.run_program("""@ts.jit
def f(x: ts.Tensor["m", "n", ts.f32]) -> ts.Tensor["m", "n", ts.f32]:
    return ts.softmin(x)
""", ["result"], {"x": x})
        powers = np.exp(x.min(axis=1, keepdims=True) - x.astype("f8"))
        np.testing.assert_allclose(y, powers / powers.sum(axis=1, keepdims=True), rtol=1e-6)

    def test_tile_function(self):
        for dtype, bound in (("f4", 4e-7), ("f8", 1e-15)):
            x = np.geomspace(1e-6, 1e6, 999).astype(dtype)
            name = {"f4": "f32", "f8": "f64"}[dtype]
            for body in (f"""@ts.kernel
def f(x: ts.Tensor["n", ts.{name}], y: ts.Tensor["n", ts.{name}]):
    for i in ts.tile.parallel(0, n, 64):
        y[i:i+64] = ts.tile.log3(x[i:i+64])
""", f"""@ts.jit
def f(x: ts.Tensor["n", ts.{name}]) -> ts.Tensor["n", ts.{name}]:
    return ts.log3(x)
"""):
                y, = self.run_program(body, ["y" if "kernel" in body else "result"], {"x": x})
                np.testing.assert_allclose(y, np.log(x.astype("f8")) / np.log(3), rtol=bound, atol=bound)

    def test_dtype(self):
        """fp8_e3m4 has the shape of IEEE 754's formats: infinities and NaN, and denormals below 2^-2."""
        codes = np.arange(256, dtype="u1")
        exponent, mantissa = (codes >> 4 & 7).astype(int), (codes & 15).astype(int)
        values = np.where(exponent == 0, mantissa / 16 * 2.0 ** -2, (1 + mantissa / 16) * 2.0 ** (exponent - 3))
        values = np.where(exponent == 7, np.where(mantissa == 0, np.inf, np.nan), values)
        values = np.copysign(values, np.where(codes < 128, 1.0, -1.0)).astype("f4")
        read, = self.run_program("""@ts.kernel
def f(x: ts.Tensor["n", ts.fp8_e3m4], y: ts.Tensor["n", ts.f32]):
    for i in ts.tile.parallel(0, n, 64):
        y[i:i+64] = ts.tile.cast(x[i:i+64], ts.f32)
""", ["y"], {"x": codes}, "--raw")
        np.testing.assert_array_equal(read, values)

        x = np.concatenate([np.random.default_rng(2).uniform(-20, 20, 4000), np.linspace(-1, 1, 4097), values, values / 2])
        x = x.astype("f4")
        written, = self.run_program("""@ts.kernel
def f(x: ts.Tensor["n", ts.f32], y: ts.Tensor["n", ts.fp8_e3m4]):
    for i in ts.tile.parallel(0, n, 64):
        y[i:i+64] = ts.tile.cast(x[i:i+64], ts.fp8_e3m4)
""", ["y"], {"x": x}, "--raw")
        finite = values[:0x70].astype("f8")  # rounding to nearest even, and beyond the largest to the largest
        magnitude = np.minimum(np.abs(np.where(np.isnan(x), 0, x)).astype("f8"), finite[-1])
        above = np.clip(np.searchsorted(finite, magnitude), 1, len(finite) - 1)
        low, high = finite[above - 1], finite[above]
        takes_high = np.where(magnitude - low == high - magnitude, above % 2 == 0, high - magnitude < magnitude - low)
        expected = np.where(takes_high, above, above - 1)
        is_nan = np.isnan(x)
        np.testing.assert_array_equal(written[~is_nan], (expected + 128 * np.signbit(x))[~is_nan])
        self.assertTrue(np.isnan(values[written[is_nan]]).all())

    def test_pass(self):
        source = """import tessera as ts

@ts.kernel
def f(x: ts.Tensor["n", ts.f32], y: ts.Tensor["n", ts.f32], z: ts.Tensor["n", ts.f32]):
    for i in ts.tile.parallel(0, n, 64):
        z[i:i+64] = x[i:i+64] + (-y[i:i+64])
"""
        text = self.tsr.compile(source, "tile").output
        self.assertIn("arith.subf", text)
        self.assertNotIn("arith.negf", text)
        x, y = np.random.default_rng(3).normal(size=(2, 500)).astype("f4")
        result = self.tsr.run(source, ["z"], {"x": x, "y": y})
        self.assertEqual(result.status, 0, result.errors)
        np.testing.assert_array_equal(result.outputs[0], x - y)

    def test_architecture(self):
        image = self.compile("rocm:gfx950", "object")
        self.assertEqual((image[:4], image[18]), (b"\x7fELF", 224))  # EM_AMDGPU
        self.assertEqual(image[48], 0x4F)  # EF_AMDGPU_MACH_AMDGCN_GFX950, of e_flags

    def test_vendor(self):
        for name in ("blue:b1", "azure:b1"):
            self.assertIn(b".entry tsr_kernel_saxpy", self.compile(name, "object"))
        listed = self.tsr.call("backends")
        self.assertIn("Blue GPUs", listed.output + self.tsr.call("backends", "--why", "blue").output)


def build(folder, jobs):
    """The tsr of a copy of the tree with every addition."""
    tree, made = folder / "tree", folder / "build"
    copies.update(ROOT, tree, lambda fresh: [apply(patch_of(name), fresh) for name in PROMISES])
    copies.configure(tree, made, "-DTESSERA_BUILD_TESTS=OFF")
    copies.build(made, jobs, TARGETS, check=True)
    return made / "bin" / "tsr"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, metavar="DIR")
    parser.add_argument("-j", type=int, default=os.cpu_count(), dest="jobs")
    parser.add_argument("--tsr", type=pathlib.Path, help="run the cases by this one, which has the additions")
    arguments, rest = parser.parse_known_args()
    program = build(arguments.build.resolve(), arguments.jobs) if arguments.build else arguments.tsr
    if program:
        Cases.tsr = Tsr(program)
    else:
        del Cases
    os.environ.setdefault("TESSERA_CACHE_DIR", "off")
    unittest.main(argv=[sys.argv[0], *rest])
