"""The samples of the specification, as they are printed there (seeds/), run as Python. Where a sample needs names that the text around it
defines, the test defines them. Where a printed text is wrong, seeds/NAME.patch is the smallest correction, and a second test has the
diagnostics of the printed one. SPECIFICATION names the folder of the documents, if it is at hand."""
import linecache
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import tessera as ts
import tessera

SEEDS = pathlib.Path(__file__).parent / "seeds"


def run(name, folder=SEEDS, **names):
    """Runs a sample as a module; its names."""
    file = str(folder / name)
    text = pathlib.Path(file).read_text()
    linecache.checkcache(file)
    space = {"__name__": name, **names}
    exec(compile(text, file, "exec"), space)
    return space


def corrected(name, folder, **names):
    """Runs a sample with its patch."""
    target = pathlib.Path(folder) / name
    subprocess.run(["patch", "--quiet", "--output", target, SEEDS / name, (SEEDS / name).with_suffix(".patch")], check=True)
    return run(name, pathlib.Path(folder), **names)


def floats(*shape, seed=1):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype("f4")


class Seeds(unittest.TestCase):
    def test_saxpy(self):
        saxpy = run("saxpy.py")["saxpy"]
        x, y = floats(1000), floats(1000, seed=2)
        want = 2 * x.astype("f8") + y
        self.assertIs(saxpy(x, y, 2.0), y)
        np.testing.assert_allclose(y, want, rtol=1e-6, atol=1e-6)
        self.assertEqual(saxpy.__doc__, "Simple SAXPY: y = alpha * x + y")

    def test_gemm(self):
        gemm = run("gemm.py", ts=ts)["gemm"]
        A, B = (ts.asarray(floats(100, 70)), ts.asarray(floats(70, 90, seed=2)))
        a, b = (ts.asarray(X, dtype=ts.bf16) for X in (A, B))
        C = ts.ones((100, 90))
        self.assertIs(gemm(a, b, C), C)
        wide = [ts.asarray(X, dtype=ts.f32).numpy().astype("f8") for X in (a, b)]
        np.testing.assert_allclose(C.numpy(), wide[0] @ wide[1] + 1, rtol=1e-5, atol=1e-5)

    def test_inspect_ir(self):
        gemm_tile = run("gemm.py", ts=ts)["gemm"]
        printed = []
        run("inspect_ir.py", gemm_tile=gemm_tile, print=printed.append)
        self.assertIn("tile.", printed[0])
        self.assertIn("llvm.func", printed[1])
        self.assertIn(".target sm_90", gemm_tile.jit(M=4096, N=4096, K=4096, target="ptx:sm_90").inspect_ir("asm"))

    def test_flash_attention_as_printed_is_refused(self):
        flash = run("flash_attention.py", ts=ts, math=math)["flash_attention"]
        with self.assertRaises(ts.CompileError) as raised:
            flash.jit(S=128, D=64)
        codes = [d.code for d in raised.exception.diagnostics]
        self.assertEqual(codes.count("E_SHAPE"), 3, codes)
        self.assertIn("E_MMA", codes)
        for d in raised.exception.diagnostics:
            self.assertEqual(d.file, str(SEEDS / "flash_attention.py"))

    def test_flash_attention_corrected(self):
        with tempfile.TemporaryDirectory() as folder:
            flash = corrected("flash_attention.py", folder, ts=ts, math=math)["flash_attention"]
            for S in (1, 63, 130):
                Q, K, V = (ts.asarray(floats(3, S, 64, seed=seed), ts.bf16) for seed in (1, 2, 3))
                q, k, v = (ts.asarray(a, ts.f32).numpy().astype("f8") for a in (Q, K, V))
                for is_causal in (True, False):
                    O = ts.empty((3, S, 64), ts.bf16)
                    self.assertIs(flash(Q, K, V, O, is_causal), O)
                    scores = q @ k.transpose(0, 2, 1) / 8
                    if is_causal:
                        scores[:, ~np.tri(S, dtype=bool)] = -np.inf
                    weights = np.exp(scores - scores.max(-1, keepdims=True))
                    weights /= weights.sum(-1, keepdims=True)
                    got = ts.asarray(O, ts.f32).numpy()
                    np.testing.assert_array_less(abs(got - weights @ v), 2 ** -7 * (weights @ abs(v)) + 1e-3)

    def test_the_result_of_the_printed_flash_attention(self):
        """Its other errors hide that one: with them corrected, no axis of a grid walks the rows of what it returns."""
        text = (SEEDS / "flash_attention.py").read_text()
        for wrong, right in (("_block+BM]", "_block+BM, :]"), ("_block+BN]", "_block+BN, :]"), ("scores - m_i_new)", "scores - m_i_new[:, None])"),
                             ("alpha * acc + ts.tile.mma(p,", "alpha[:, None] * acc + ts.tile.mma(ts.tile.cast(p, ts.bf16),")):
            self.assertIn(wrong, text)
            text = text.replace(wrong, right)
        module = ts.compile(text, filename="flash.py", constants={"ts": ts, "math": math})
        with self.assertRaises(ts.CompileError) as raised:
            module.flash_attention.jit(S=128, D=64)
        found, = raised.exception.diagnostics
        self.assertEqual((found.code, found.source_line.strip()), ("E_RETURN_TYPE", "return ts.tile.cast(acc / l_i[:, None], ts.bf16)"))

    def test_the_texts_are_those_of_the_specification(self):
        folder = os.environ.get("SPECIFICATION")
        if not folder:
            self.skipTest("SPECIFICATION names no folder")
        with tempfile.TemporaryDirectory() as target:
            subprocess.run([sys.executable, SEEDS / "extract.py", folder, target], check=True)
            for file in sorted(pathlib.Path(target).iterdir()):
                self.assertEqual(file.read_text(), (SEEDS / file.name).read_text(), file.name)
            kept = {file.name for file in SEEDS.iterdir() if file.suffix in (".py", ".txt")} - {"extract.py"}
            self.assertEqual(kept, set(os.listdir(target)))

    def test_capabilities_and_portable_attention(self):
        Q, K, V = (floats(2, 33, 64, seed=seed) for seed in (1, 2, 3))
        scores = Q.astype("f8") @ K.transpose(0, 2, 1) / 8
        want = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True) @ V
        np.testing.assert_allclose(run("capabilities.py", op=ts.op, Q=Q, K=K, V=V)["Y"], want, rtol=1e-4, atol=1e-5)
        scores[:, ~np.tri(33, dtype=bool)] = -np.inf
        want = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True) @ V
        np.testing.assert_allclose(run("portable_attention.py", Q=Q, K=K, V=V)["Y"], want, rtol=1e-4, atol=1e-5)

    def test_select_backend(self):
        if "ptx" not in [b["name"] for b in ts.runtime.backends() if b["available"]]:
            with self.assertRaisesRegex(ts.BackendError, "TSRP-"):
                run("select_backend.py")
        ts.runtime.select_backend("cpu")
        ts.runtime.select_backend(None)
        program = "import tessera as ts; print(ts.runtime.capabilities()['backend'])"
        printed = subprocess.run([sys.executable, "-c", program], env={**os.environ, "TESSERA_BACKEND": "cpu"}, capture_output=True,
                                 text=True, check=True).stdout
        self.assertEqual(printed, "cpu\n")

    def test_distributed_ones_corrected(self):
        """Training: the correction names W, since the printed text differentiates with respect to x. The mesh: operands share a dtype.
        Neither is built."""
        for name, names in (("train_step.py", {"ts": ts}), ("mesh.py", {})):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                with self.assertRaisesRegex(ts.UnsupportedError, r"tessera\.dist\.mesh"):
                    corrected(name, folder, **names)

    def test_specialize(self):
        my_gemm = run("specialize.py", op=ts.op)["my_gemm"]
        A, B = floats(200, 70), floats(70, 130)
        np.testing.assert_allclose(my_gemm(A, B), A @ B, rtol=1e-4, atol=1e-5)

    def test_numerics_profile(self):
        before = ts.numerics.profile("strict")
        try:
            self.assertEqual(tessera._settings.numerics(), "strict")
        finally:
            before.__exit__(None, None, None)
        self.assertIsNone(tessera._settings.numerics())

    def test_precision_in_a_kernel(self):
        """The operators and the text are read by the compiler, too."""
        from tessera import Tensor, accum, bf16, fp8_e4m3, fp32, loss_scale

        @ts.kernel
        def wide(x: Tensor["B", "D", fp8_e4m3 @accum(fp32) @loss_scale(128.0)], y: Tensor["B", "D", fp32]):
            for i in ts.tile.parallel(0, B, 4):
                y[i:i+4, :] = ts.tile.cast(x[i:i+4, :], fp32)

        @ts.jit
        def product(x: Tensor["B", "D", bf16 @ ts.accum(ts.f32)], w: Tensor["D", "E", "bf16 @accum(f32)"]):
            return ts.gemm(x, w)

        x, y = ts.asarray(np.arange(10, dtype="f4").reshape(5, 2), fp8_e4m3), np.zeros((5, 2), "f4")
        wide(x, y)
        np.testing.assert_array_equal(y, ts.asarray(x, fp32).numpy())
        got = product(ts.ones((2, 300), bf16), ts.ones((300, 2), bf16))
        np.testing.assert_array_equal(ts.asarray(got, fp32).numpy(), 300)

    def test_precision(self):
        names = {name: getattr(tessera, name) for name in ("Tensor", "fp8_e4m3", "accum", "fp32", "loss_scale")}
        space = run("precision.py", **names)
        self.assertIn("fp8_e4m3 @accum(f32) @loss_scale(128.0)", repr(space["__annotations__"]["x"]))

    def test_mapper(self):
        """Its answer for this machine, 'ptx', is no variant of a product on the CPU: the question that gets it fails."""
        mapper = run("mapper.py", tessera=tessera)["MyMapper"]()
        try:
            with self.assertRaises(ts.ArgumentError) as raised:
                ts.gemm(floats(3, 4), floats(4, 5, seed=2), trans_a=False)
            self.assertEqual(raised.exception.code, "E_MAPPER_ANSWER")
            self.assertRegex(str(raised.exception), "mapper MyMapper.*'ptx' is not legal here; legal: .*tile")
        finally:
            ts.runtime.set_mapper(None)
        self.assertEqual(mapper.choose_collective("all_reduce", 72), "sharp_ring")

    def test_version(self):
        printed = subprocess.run([sys.executable, "-c", "import tessera; print(tessera.__version__)"], capture_output=True, text=True,
                                 check=True).stdout
        self.assertRegex(printed, r"^\d+\.\d+\.\d+\n$")

    def test_what_is_not_built(self):
        """Each names what it needs. When it is built, it gets a test of its own."""
        gemm_tile = run("gemm.py", ts=ts)["gemm"]
        for name, names, words in (("domain.py", {"tessera": tessera, "B": 2, "S": 4, "Dm": 8}, r"tessera\.domain .*distributed execution"),
                                   ("index_launch.py", {"tessera": tessera, "gemm_tile": gemm_tile},
                                    r"tessera\.index_launch .*distributed execution"),
                                   ("mesh.py", {}, r"tessera\.dist\.mesh .*distributed execution"),
                                   ("train_step.py", {"ts": ts}, r"tessera\.dist\.mesh .*distributed execution")):
            with self.subTest(name), self.assertRaisesRegex(ts.UnsupportedError, words):
                run(name, **names)

    def test_concepts(self):
        """The examples of a table: expressions of the host work, or name what they need and is not built."""
        gemm = run("gemm.py", ts=ts)["gemm"]
        from tessera import Tensor, accum, all_gather, fp8_e4m3, fp32, grad, jit  # noqa: F401
        names = {**locals(), "tessera": tessera, "tile": ts.tile, "gemm_tile": gemm, "loss_fn": jit(loss_fn),
                 "W": floats(3, 3), "y_local": floats(3),
                 "inspect_ir": gemm.jit(M=64, N=64, K=64).inspect_ir, "ShardSpec": ts.ShardSpec}
        not_built = {"grad(": r"tessera\.grad .*derivatives", "ShardSpec(": r"tessera\.ShardSpec .*distributed execution",
                     "all_gather(": r"tessera\.op\.all_gather .*distributed execution",
                     "tessera.index_launch(": r"tessera\.index_launch .*distributed execution"}
        seen = set()
        for text in (SEEDS / "concepts.txt").read_text().splitlines():
            with self.subTest(text):
                head = re.match(r"@?[\w.]+(\(|\[| )", text)[0]
                seen.add(head)
                if head in not_built:
                    with self.assertRaisesRegex(ts.UnsupportedError, not_built[head]):
                        eval(text, names)
                elif head == "def ":
                    with self.assertRaisesRegex(ts.UnsupportedError, r"tessera\.Region .*privileges"):
                        exec(f"from tessera import Region\n{text}: pass", dict(names))
                elif head == "@jit(":
                    function = ts.compile(f"{text}\ndef f(x):\n    return x + x\n", constants={"jit": jit}).f
                    self.assertEqual(function(np.ones(2, "f4")).tolist(), [2, 2])
                elif head == "tile.linear_id(":
                    with self.assertRaisesRegex(ts.UnsupportedError, r"E_CALL.*\n.*@ts\.kernel"):
                        eval(text, names)
                elif head == "tile.mma ":  # not an expression: the kernel with that operation compiles for NVIDIA
                    self.assertIn(".target sm_90", gemm.jit(M=4096, N=4096, K=4096, target="ptx:sm_90").inspect_ir("asm"))
                elif head == "inspect_ir(":
                    self.assertIn("tile.", eval(text, names))
                else:
                    self.assertEqual(repr(eval(text, names)), "tessera.Tensor['B', 'D', 'fp8_e4m3 @accum(f32)']")
        self.assertEqual(len(seen), 10)


def loss_fn(W):
    return ts.sum(W)


if __name__ == "__main__":
    unittest.main()
