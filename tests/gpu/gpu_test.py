#!/usr/bin/env python3
"""Every sample's tile kernels for every GPU target: code comes out, says what it should, and the vendors' own tools
take it. The tools (ptxas, llvm-readelf, spirv-val, ocloc) judge where they are there; where not, the reason is printed.
"""
import argparse
import array
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "samples"
TARGETS = ("ptx:sm_80", "ptx:sm_90", "ptx:sm_90a", "rocm:gfx90a", "rocm:gfx942", "rocm:gfx1100", "levelzero:pvc")
# Their code differs little from that of the targets above.
MORE_TARGETS = ("ptx:sm_75", "ptx:sm_86", "ptx:sm_89", "ptx:sm_100a", "ptx:sm_120", "levelzero:acm-g10", "levelzero:generic")
# Dims that a sample's kernel wants to know at compile time.
DIMS = {"cholesky": {"N": 48}, "fft": {"N": 256}, "flash_attention": {"D": 64}, "gpt2_block": {"K": 64}, "lstm": {"H": 64},
        "paged_decode": {"G": 4, "T": 16, "D": 64}, "transformer": {"K": 64}}
# These are compiled for all targets, the other samples for one, because each object takes a second.
FOR_ALL_TARGETS = {"flash_attention", "gemm", "histogram", "softmax"}
FOR_MORE_TARGETS = {"gemm"}
KERNEL = re.compile(r"^@ts\.kernel\b.*?^def\s+(\w+)", re.MULTILINE | re.DOTALL)
FUNCTION = re.compile(r"^@ts\.jit\b.*?^def\s+(\w+)", re.MULTILINE | re.DOTALL)
# By device: the instructions that gemm executes for 128 x 128 x 96 multiply-adds.
INSTRUCTIONS = {"ptx:emulated:sm_80": 128 * 128 * 96 // (16 * 8 * 16), "rocm:emulated:gfx90a": 128 * 128 * 96 // (16 * 16 * 16),
                "rocm:emulated:gfx942": 128 * 128 * 96 // (16 * 16 * 16), "rocm:emulated:gfx1100": 128 * 128 * 96 // (16 * 16 * 16),
                "levelzero:emulated:pvc": 128 * 128 * 96 // (8 * 16 * 16), "levelzero:emulated:acm-g10": 128 * 128 * 96 // (8 * 8 * 16)}
TOOL_FOLDERS = ("/usr/local/cuda/bin", "/usr/lib/llvm-22/bin")

TSR = None
said = set()


def tool(name, package):
    """The tool's path; None, once with the reason, when it is not installed."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *TOOL_FOLDERS])
    found = shutil.which(name, path=path)
    if not found and name not in said:
        said.add(name)
        print(f"skipped: what {name} says ({name} is not installed; it comes with {package})", file=sys.stderr)
    return found


def symbol(kernels):
    """What one of the kernels, "a|b", is called in an image: a regular expression."""
    return rf"tsr_kernel_(?:{kernels.replace('.', '[$]')})"


def kernels():
    """(file, what is compiled, kernels of which its image has one) of every sample: a graph function may have its own, and calls some."""
    for path in sorted(SAMPLES.glob("*/*.py")):
        named = KERNEL.findall(path.read_text())
        for name in named:
            yield path, name, name
        for name in FUNCTION.findall(path.read_text()):
            yield path, name, "|".join(f"{name}.{kernel}" for kernel in ("g0", *named))


class Gpu(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_tool(self, *words):
        done = subprocess.run(words, capture_output=True, text=True, timeout=300, cwd=self.folder)
        self.assertEqual(done.returncode, 0, f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def compile(self, path, kernel, target, emit):
        out = self.folder / f"{kernel}.{target.replace(':', '-')}.{emit}"
        self.run_tool(TSR, "compile", path, "--kernel", kernel, "--target", target, "--emit", emit, "-o", out,
                      *(word for dim, n in DIMS.get(path.parent.name, {}).items() for word in ("--dim", f"{dim}={n}")))
        return out

    def check_ptx(self, image, kernel, arch):
        text = image.read_text()
        self.assertIn(f".target {arch}", text)
        self.assertRegex(text, rf"\.visible \.entry {symbol(kernel)}\(")
        self.assertNotIn(".ftz", text)
        self.assertNotIn(".approx", text)
        self.assertNotRegex(text, r"call\b", "a library function")
        if ptxas := tool("ptxas", "NVIDIA's CUDA toolkit"):
            report = self.run_tool(ptxas, "-v", f"-arch={arch}", "-o", self.folder / "cubin", image)
            self.assertRegex(report, r"\b0 bytes spill stores")

    def check_rocm(self, image, kernel, arch):
        data = image.read_bytes()
        self.assertEqual(data[:4], b"\x7fELF")
        kind, machine = struct.unpack_from("<HH", data, 16)
        self.assertEqual((kind, machine), (3, 224), "a shared object for AMDGPU")
        self.assertEqual((data[7], data[8]), (64, 3), "HSA, code object version 5")
        if readelf := tool("llvm-readelf", "llvm-22-tools or llvm-22"):
            notes = self.run_tool(readelf, "-h", "--notes", image)
            self.assertIn(arch, notes)
            self.assertRegex(notes, rf"\.symbol: +'?{symbol(kernel)}\.kd'?\n")

    def check_levelzero(self, image, kernel, arch):
        magic, version = struct.unpack_from("<II", image.read_bytes())
        self.assertEqual((magic, version), (0x07230203, 0x00010200))
        if validate := tool("spirv-val", "spirv-tools"):
            # The general rules: those of OpenCL's profiles leave out extensions that every device here has.
            self.run_tool(validate, "--target-env", "spv1.2", image)
        if ocloc := tool("ocloc", "intel-opencl-icd"):
            for device in (arch,) if arch != "generic" else ("skl", "acm-g10", "pvc"):  # the first has no target of its own
                self.run_tool(ocloc, "compile", "-q", "-spirv_input", "-device", device, "-file", image,
                              "-output_no_suffix", "-output", "binary")

    def test_objects_of_every_sample(self):
        found = list(kernels())
        self.assertGreaterEqual(len(found), 5, "the samples' kernels are not found")
        self.assertTrue(any(name != first for _, name, first in found), "the samples' graph functions are not found")
        for path, name, first in found:
            targets = TARGETS if path.parent.name in FOR_ALL_TARGETS else ("rocm:gfx90a",)
            for target in targets + (MORE_TARGETS if path.parent.name in FOR_MORE_TARGETS else ()):
                kind, arch = target.split(":")
                with self.subTest(kernel=name, target=target):
                    getattr(self, f"check_{kind}")(self.compile(path, name, target, "object"), first, arch)

    def test_products_use_matrix_instructions(self):
        gemm = SAMPLES / "gemm" / "gemm.py"
        text = self.compile(gemm, "gemm", "ptx:sm_80", "asm").read_text()
        self.assertIn("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", text)
        self.assertRegex(text, r"ldmatrix\.sync\.aligned\.m8n8\.x2\.trans\.shared")
        self.assertNotRegex(text, r"\bfma\.rn\.f32\b", "a product by multiply-adds")
        for target, instruction in (("rocm:gfx90a", "v_mfma_f32_16x16x16bf16_1k"), ("rocm:gfx942", "v_mfma_f32_16x16x16_bf16"),
                                    ("rocm:gfx1100", "v_wmma_f32_16x16x16_bf16")):
            text = self.compile(gemm, "gemm", target, "asm").read_text()
            self.assertIn(instruction, text)
            self.assertNotRegex(text, r"\b(ds_read_u|ds_load_u)", f"{target}: a factor is loaded element by element")
            self.assertRegex(text, r"\bv_perm_b32\b")
            (self.assertNotIn if target == "rocm:gfx1100" else self.assertIn)("s_setprio 1", text)
            self.assertNotRegex(text, r"\bv_(fma|fmac|mad|mac)_f32\b", f"{target}: a product by multiply-adds")
            self.assertRegex(text, r"\.vgpr_spill_count: +0\b")
        for target, left, lanes in (("levelzero:pvc", "Dv8_sDv8_i", 16), ("levelzero:acm-g10", "Dv8_iS_", 8)):
            text = self.compile(gemm, "gemm", target, "asm").read_text()
            self.assertIn(f'LinkageAttributes "_Z40intel_sub_group_bf16_bf16_matrix_mad_k16{left}Dv8_f" Import', text)
            self.assertRegex(text, rf"OpExecutionMode %\d+ SubgroupSize {lanes}\b")
            self.assertNotRegex(text, r"\bfma\b", f"{target}: a product by multiply-adds")
        for numerics, times in (("fast", self.assertIn), ("standard", self.assertNotIn)):  # f32 as tf32
            out = self.folder / f"{numerics}.spvasm"
            self.run_tool(TSR, "compile", SAMPLES / "gemm_loops" / "gemm_loops.py", "--numerics", numerics, "--target", "levelzero:pvc", "--emit", "asm", "-o", out)
            times("_Z39intel_sub_group_tf32_tf32_matrix_mad_k8Dv4_fDv8_fS0_", out.read_text())

    def test_metadata_names_the_instruction_of_each_product(self):
        entry = re.compile(r"\{instruction: (\S+), in: (\w+), acc: (\w+), at: \"(\w+\.py):(\d+)\"\}")
        for sample, target, *products in (
                ("gemm", "ptx:sm_80", "mma.m16n8k16 bf16"), ("gemm", "ptx:sm_90a", "wgmma.m64n64k16 bf16"),
                ("gemm", "ptx:sm_100a", "tcgen05.m64n64k16 bf16"), ("gemm", "rocm:gfx90a", "mfma.16x16x16 bf16"),
                ("gemm", "rocm:gfx1100", "wmma.16x16x16 bf16"), ("gemm", "levelzero:acm-g10", "dpas.8x8x16 bf16"),
                ("gemm", "ptx:sm_75", "fma.m4n4k1 f32"),  # which has no instruction for bf16
                ("flash_attention", "ptx:sm_90a", "wgmma.m64n64k16 bf16", "wgmma.m64n64k16 bf16")):
            with self.subTest(sample=sample, target=target):
                text = self.compile(SAMPLES / sample / f"{sample}.py", sample, target, "metadata").read_text()
                found = [at[:4] for at in dict.fromkeys(entry.findall(text))]  # variants of a kernel multiply alike
                self.assertEqual(found, [(*product.split(), "f32", f"{sample}.py") for product in products])

    def test_programs_of_a_chiplet_are_neighbours(self):
        """By default on gfx942; an edit of the decision is in the metadata and in the code."""
        gemm = SAMPLES / "gemm" / "gemm.py"
        self.assertIn("tile: {chiplets: 8, group_rows: 8,", self.compile(gemm, "gemm", "rocm:gfx942", "metadata").read_text())
        self.assertNotIn("chiplets", self.compile(gemm, "gemm", "rocm:gfx90a", "metadata").read_text())
        text = self.compile(gemm, "gemm", "rocm:gfx942", "schedule").read_text()
        self.assertIn("chiplets = 8 : i64", text)
        code = set()
        for chiplets in (8, 6, 1):
            edited = self.folder / f"edited{chiplets}.mlir"
            edited.write_text(text.replace("chiplets = 8 : i64", f"chiplets = {chiplets} : i64"))
            for emit in ("metadata", "asm"):
                self.run_tool(TSR, "compile", edited, "--target", "rocm:gfx942", "--emit", emit, "-o", self.folder / emit)
            self.assertIn(f"chiplets: {chiplets},", (self.folder / "metadata").read_text())
            code.add((self.folder / "asm").read_text())
        self.assertEqual(len(code), 3)

    def save_zeros(self, **shapes):
        """Files of NumPy with zeros of f32."""
        for name, shape in shapes.items():
            head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".encode()
            head += b" " * (-(len(head) + 11) % 64) + b"\n"
            (self.folder / f"{name}.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + bytes(4 * shape[0] * shape[1]))

    def test_attention_takes_turns(self):
        """By default on sm_90a, where eight warps compute."""
        for warps, turns in ((4, False), (8, True)):
            text = self.run_tool(TSR, "compile", SAMPLES / "flash_attention" / "flash_attention.py", "--target", "ptx:sm_90a", "--dim", "D=64",
                                 "--set", "BLOCK_M=128", "--set", "BLOCK_N=128", "--set", f"num_warps={warps}", "--emit", "metadata")
            self.assertEqual("copy_warps: 4, pingpong_groups: 2," in text, turns, text)

    def test_matrix_instructions_execute_whole_products(self):
        """The emulator counts: every multiply-add of the sample's product is in a matrix instruction."""
        counted = re.compile(r"executed (\d+) matrix instructions \((\d+) multiply-adds\) and (\d+) other fused multiply-adds")
        self.save_zeros(A=(100, 70), B=(70, 90), C=(100, 90))
        for device, instructions in INSTRUCTIONS.items():
            with self.subTest(device=device):
                text = self.run_tool(TSR, "run", SAMPLES / "gemm" / "gemm.py", "--in", "A=A.npy", "B=B.npy", "C=C.npy", "--out", "C=out.npy",
                                     "--backend", f"{device}+check", "--verbose")
                # Tiles of 64 x 64 x 32: 2 x 2 programs, three steps.
                self.assertEqual(tuple(map(int, counted.search(text).groups())), (instructions, 128 * 128 * 96, 0), text)
                if device.startswith("ptx"):  # 24 steps of k of 4 warps, each with 2 x 4 and 4 x 2 matrices; the buffers are swizzled
                    self.assertRegex(text, r"loaded 1536 matrices with 0 bank conflicts")

    def disassembly(self, image, kernel):
        """What the compiler of Intel's driver makes of a kernel of the image for pvc; None without the tools."""
        ocloc, iga = tool("ocloc", "intel-opencl-icd"), tool("iga64", "libigc-tools")
        if not ocloc or not iga:
            return None
        said = self.run_tool(ocloc, "compile", "-q", "-spirv_input", "-device", "pvc", "-file", image, "-output_no_suffix", "-output", "binary")
        self.assertNotIn("spill", said)
        self.run_tool(ocloc, "disasm", "-file", "binary", "-device", "pvc", "-dump", "dump")
        return self.run_tool(iga, "-d", "-p=xehpc", self.folder / "dump" / f"tsr_kernel_{kernel.replace('.', '$')}_KernelHeap.dat")

    def test_factors_are_read_as_blocks(self):
        """On pvc, by one message for each operand of an instruction, without shared memory; without blocks by it."""
        source = self.folder / "product.py"
        for dtype, sums, isAlongK, reads in (("bf16", "f32", False, ("u16_m8k16v1", "transform_u16_k16")), ("f16", "f32", True, ("u16_m8k16v1", "transpose_u32_k8")),
                                             ("i8", "i32", False, ("u8_m8k32v1", "transform_u8_k32")), ("u8", "i32", True, ("u8_m8k32v1", "transpose_u32_k8"))):
            with self.subTest(dtype=dtype):
                source.write_text(f"""import tessera as ts

@ts.kernel
def k(A: ts.Tensor["M", "K", ts.{dtype}], B: ts.Tensor[{'"N", "K"' if isAlongK else '"K", "N"'}, ts.{dtype}], C: ts.Tensor["M", "N", ts.{sums}]):
    for m in ts.tile.parallel(0, M, 64):
        for n in ts.tile.parallel(0, N, 64):
            acc = ts.tile.zeros((64, 64), ts.{sums})
            for k in ts.tile.range(0, K, 32):
                acc = ts.tile.mma(A[m:m+64, k:k+32], B[{'n:n+64, k:k+32].T' if isAlongK else 'k:k+32, n:n+64]'}, acc)
            C[m:m+64, n:n+64] = acc
""")
                text = self.compile(source, "k", "levelzero:pvc", "asm").read_text()
                for read in reads:
                    self.assertIn(f'LinkageAttributes "__builtin_IB_subgroup_block_read_flat_{read}" Import', text)
                image = self.compile(source, "k", "levelzero:pvc", "object")
                code = self.disassembly(image, "k.block2d")
                if code is None:
                    continue
                # A warp has 32 x 16 of the sums: four operands A and one B for each step of an instruction, all unrolled.
                steps = 32 // (16 if dtype in ("bf16", "f16") else 32)
                self.assertEqual(len(re.findall(r"\bdpas\.8x8", code)), 4 * steps)
                self.assertEqual(len(re.findall(r"load_block2d", code)), 5 * steps)
                self.assertNotRegex(code, r"\bcalla\b|\.slm\.")
                self.assertNotIn("load_block2d", self.disassembly(image, "k"))

    def test_launches_choose_blocks(self):
        """Rows of 64 bytes or more that are multiples of 16 bytes; others just miss."""
        gemm = SAMPLES / "gemm" / "gemm.py"
        for m, n, k, name in ((5, 32, 32, "block2d"), (1, 40, 200, "block2d"), (5, 32, 24, "shared"), (5, 24, 32, "shared"), (5, 32, 36, "shared"),
                              (5, 36, 32, "shared")):
            with self.subTest(m=m, n=n, k=k):
                self.save_zeros(A=(m, k), B=(k, n), C=(m, n))
                text = self.run_tool(TSR, "run", gemm, "--in", "A=A.npy", "B=B.npy", "C=C.npy", "--out", "C=out.npy", "--backend",
                                     "levelzero:emulated:pvc+check", "--verbose")
                self.assertRegex(text, rf"(?m)^variant +{name} of gemm ")

    def test_products_of_other_dtypes(self):
        """One instruction of each dtype and vendor, in code that the vendor's assembler takes, and no multiply-adds."""
        source = self.folder / "product.py"
        for target, dtype, sums, instruction in (
                ("ptx:sm_75", "f16", "f32", "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"),
                ("ptx:sm_75", "u8", "i32", "mma.sync.aligned.m8n8k16.row.col.s32.u8.u8.s32"),
                ("ptx:sm_80", "i8", "i32", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"),
                ("ptx:sm_80", "f32", "f32", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"),
                ("ptx:sm_80", "f64", "f64", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"),
                ("ptx:sm_89", "fp8_e4m3", "f32", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"),
                ("ptx:sm_120", "fp8_e5m2", "f32", "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32"),
                ("rocm:gfx90a", "i8", "i32", "v_mfma_i32_32x32x8i8"), ("rocm:gfx90a", "f64", "f64", "v_mfma_f64_16x16x4f64"),
                ("rocm:gfx942", "i8", "i32", "v_mfma_i32_32x32x16_i8"), ("rocm:gfx942", "fp8_e4m3", "f32", "v_mfma_f32_16x16x32_fp8_fp8"),
                ("rocm:gfx1100", "u8", "i32", "v_wmma_i32_16x16x16_iu8")):
            with self.subTest(target=target, dtype=dtype):
                source.write_text(f"""import tessera as ts

@ts.kernel
def k(A: ts.Tensor["M", "K", ts.{dtype}], B: ts.Tensor["N", "K", ts.{dtype}], C: ts.Tensor["M", "N", ts.{sums}]):
    for m in ts.tile.parallel(0, M, 64):
        for n in ts.tile.parallel(0, N, 64):
            acc = ts.tile.zeros((64, 64), ts.{sums})
            for k in ts.tile.range(0, K, 32):
                acc = ts.tile.mma(A[m:m+64, k:k+32], B[n:n+64, k:k+32].T, acc)
            C[m:m+64, n:n+64] = acc
""")
                asm = self.folder / "product.s"
                self.run_tool(TSR, "compile", source, "--target", target, "--numerics", "fast", "--emit", "asm", "-o", asm)
                text = asm.read_text()
                self.assertIn(instruction, text)
                self.assertNotRegex(text, r"\bfma\.rn\.f|\bmad\.lo\.s32|\bv_fmac?_f64|\bv_mad_u32", "a product by multiply-adds")
                if target.startswith("ptx") and (ptxas := tool("ptxas", "NVIDIA's CUDA toolkit")):
                    self.run_tool(ptxas, f"-arch={target[4:]}", "-o", self.folder / "cubin", asm)

    def test_fast_approximates_functions(self):
        source = self.folder / "near.py"
        source.write_text("""import tessera as ts

@ts.kernel
def near(X: ts.Tensor["n", ts.f32], Y: ts.Tensor["n", ts.f32]):
    for i in ts.tile.parallel(0, n, 256):
        x = X[i:i+256]
        Y[i:i+256] = ts.tile.exp(x) / x + ts.tile.log(x) + ts.tile.sqrt(x) + ts.tile.rsqrt(x) + ts.tile.tanh(x)
""")
        for target, *instructions in (
                ("ptx:sm_80", "ex2.approx.ftz.f32", "lg2.approx.ftz.f32", "sqrt.approx.ftz.f32", "rsqrt.approx.ftz.f32", "rcp.approx.ftz.f32", "tanh.approx.f32"),
                ("rocm:gfx90a", "v_exp_f32", "v_log_f32", "v_sqrt_f32", "v_rsq_f32", "v_rcp_f32"),
                ("levelzero:pvc", "native_exp2", "native_log2", "native_sqrt", "native_rsqrt", "native_recip")):
            for numerics in ("fast", "standard"):
                with self.subTest(target=target, numerics=numerics):
                    text = self.run_tool(TSR, "compile", source, "--target", target, "--numerics", numerics, "--emit", "asm")
                    # Other profiles have those that a step of Newton's method or more follows.
                    found = [name for name in instructions if re.search(rf"\b{re.escape(name)}(_e32|_e64)?\s", text)]
                    if numerics == "fast":
                        self.assertEqual(found, instructions)
                    else:
                        self.assertFalse({"ex2.approx.ftz.f32", "tanh.approx.f32", "v_exp_f32", "v_log_f32", "native_exp2", "native_recip"} & {*found}, found)

    def test_fast_weights_are_a_multiply_add_and_a_power(self):
        """Of attention: the scale and log2(e) are one factor of each score, and no other multiplication is left."""
        for target, scores in (("ptx:sm_80", 32), ("ptx:sm_90a", 32)):  # of a lane, of 64 x 64 and four warps
            with self.subTest(target=target):
                text = self.run_tool(TSR, "compile", SAMPLES / "flash_attention" / "flash_attention.py", "--dim", "D=64", "--target", target,
                                     "--numerics", "fast", "--emit", "asm")
                body = re.split(r"(?=\.visible \.entry)", text)[1]
                powers = re.findall(r"ex2\.approx\.ftz\.f32\s+%r\d+, (%r\d+);", body)
                added = set(re.findall(r"fma\.rn\.f32\s+(%r\d+),", body))
                self.assertEqual(sum(x in added for x in powers), scores)
                self.assertEqual(len(powers), scores + 2, "two rows of a lane rescale their sums")

    def test_extremes_of_f32_are_one_instruction(self):
        """From sm_80 on. A NaN that strict stores is quieted by a comparison and a selection; others compare both operands."""
        source = self.folder / "extremes.py"
        source.write_text("""import tessera as ts

@ts.kernel
def extremes(X: ts.Tensor["n", ts.f32], Y: ts.Tensor["n", ts.f32]):
    for i in ts.tile.parallel(0, n, 256):
        Y[i:i+256] = ts.tile.minimum(ts.tile.maximum(X[i:i+256], Y[i:i+256]), 1.0)
""")
        for target, numerics, maxima, minima, comparisons in (
                ("ptx:sm_75", "standard", 0, 0, 4), ("ptx:sm_80", "standard", 1, 1, 0), ("ptx:sm_90a", "fast", 1, 1, 0),
                ("ptx:sm_100a", "strict", 1, 1, 0)):
            with self.subTest(target=target, numerics=numerics):
                text = self.run_tool(TSR, "compile", source, "--target", target, "--numerics", numerics, "--emit", "asm")
                found = [len(re.findall(name, text)) for name in (r"\bmax\.NaN\.f32", r"\bmin\.NaN\.f32", r"\bsetp\.\w+\.f32")]
                self.assertEqual(found, [maxima, minima, comparisons])

    def test_attention_of_doubles_does_not_spill(self):
        """Heads of 128 columns: 64 queries and 64 keys take more registers than a thread has."""
        source = self.folder / "attention.py"
        source.write_text("""import tessera as ts

@ts.jit
def attention(q: ts.Tensor["B", "S", 128, ts.f64], k: ts.Tensor["B", "T", 128, ts.f64], v: ts.Tensor["B", "T", 128, ts.f64]):
    return ts.op.flash_attention(q, k, v)
""")
        for arch in ("sm_80", "sm_90a"):
            with self.subTest(arch=arch):
                image = self.compile(source, "attention", f"ptx:{arch}", "asm")
                if ptxas := tool("ptxas", "NVIDIA's CUDA toolkit"):
                    report = self.run_tool(ptxas, "-v", f"-arch={arch}", "-o", self.folder / "cubin", image)
                    self.assertEqual(set(re.findall(r"(\d+) bytes spill stores", report)), {"0"}, report)

    def test_fast_has_an_effect_where_sums_keep_fewer_bits(self):
        """Factors of fp6 and fp4 are multiplied as fp8 where the target has no narrower instruction."""
        source = self.folder / "narrow.py"
        for dtype in ("fp8_e4m3", "fp8_e5m2", "fp6_e2m3", "fp6_e3m2", "fp4_e2m1", "f16", "i8"):
            source.write_text(f"""import tessera as ts

@ts.kernel
def narrow(A: ts.Tensor["M", "K", ts.{dtype}], B: ts.Tensor["N", "K", ts.{dtype}], C: ts.Tensor["M", "N", ts.{'i32' if dtype == 'i8' else 'f32'}]):
    for m in ts.tile.parallel(0, M, 64):
        for n in ts.tile.parallel(0, N, 64):
            C[m:m+64, n:n+64] = ts.tile.mma(A[m:m+64, 0:64], B[n:n+64, 0:64].T)
""")
            for target, keeps_fewer in (("ptx:sm_80", False), ("ptx:sm_89", True), ("ptx:sm_90a", True), ("rocm:gfx942", False)):
                with self.subTest(dtype=dtype, target=target):
                    metadata = self.run_tool(TSR, "compile", source, "--target", target, "--numerics", "fast", "--emit", "metadata")
                    has_effect = keeps_fewer and dtype.startswith("fp")
                    self.assertEqual("numerics fast has no effect" in metadata, not has_effect, metadata)

    def test_large_tiles_are_not_spilled(self):
        """Sums of 128 x 256 that are added to bf16, and that are stored as bf16 beside sums of their squares."""
        ptxas = tool("ptxas", "NVIDIA's CUDA toolkit")
        if not ptxas:
            self.skipTest("only ptxas, of NVIDIA's CUDA toolkit, says what it spills")
        source, asm = self.folder / "large.py", self.folder / "large.s"
        for more, stores in (("", ("C[m:m+128, n:n+256] = ts.tile.cast(C[m:m+128, n:n+256] + acc, ts.bf16)",)),
                             (', S: ts.Tensor["M", ts.f32]', ("S[m:m+128] = ts.tile.row_sum(acc * acc)",
                                                              "C[m:m+128, n:n+256] = ts.tile.cast(acc, ts.bf16)"))):
            with self.subTest(stores=stores):
                source.write_text(f"""import tessera as ts

@ts.kernel
def large(A: ts.Tensor["M", "K", ts.bf16], B: ts.Tensor["K", "N", ts.bf16], C: ts.Tensor["M", "N", ts.bf16]{more}):
    for m in ts.tile.parallel(0, M, 128):
        for n in ts.tile.parallel(0, N, 256):
            acc = ts.tile.zeros((128, 256), ts.f32)
            for k in ts.tile.range(0, K, 64):
                acc = ts.tile.mma(A[m:m+128, k:k+64], B[k:k+64, n:n+256], acc)
""" + "".join(f"            {store}\n" for store in stores))
                self.run_tool(TSR, "compile", source, "--target", "ptx:sm_90a", "--emit", "asm", "-o", asm)
                report = self.run_tool(ptxas, "-v", "-arch=sm_90a", "-o", self.folder / "cubin", asm)
                self.assertEqual(re.findall(r"(\d+) bytes spill stores", report), ["0", "0"])
                self.assertNotRegex(report, r"C75\d\d")

    def test_blocks_of_a_persistent_grid_have_a_workspace_each(self):
        """Six programs on four blocks, each of which transposes a tile that does not fit into shared memory."""
        (self.folder / "turn.mlir").write_text("""
tile.kernel @turn(%x: !tile.view<3x512x256xf32>, %o: !tile.view<3x256x512xf32>) grid ["3", "2"] attributes {params = [
    #tile.param<name = "x", kind = tensor, dtype = f32, dims = ["3", "512", "256"], access = read>,
    #tile.param<name = "o", kind = tensor, dtype = f32, dims = ["3", "256", "512"], access = write>]} {
  tile.roles copy 4 warps 24 registers {
    %c0 = arith.constant 0 : index
  } math 168 registers {
    %first, %count, %blocks = tile.block_programs
    scf.for %p = %first to %count step %blocks {
      %c0 = arith.constant 0 : index
      %c256 = arith.constant 256 : index
      %i = tile.program_id 0 of %p : index
      %q = tile.program_id 1 of %p : index
      %r = arith.muli %q, %c256 : index
      %t = tile.load %x[%i, %r, %c0] extents [-1, 256, 256] {in_bounds, tile.materialize} : !tile.view<3x512x256xf32> -> tensor<256x256xf32>
      %s = tile.transpose %t : tensor<256x256xf32> -> tensor<256x256xf32>
      tile.store %s, %o[%i, %c0, %r] extents [-1, 256, 256] {in_bounds} : tensor<256x256xf32>, !tile.view<3x256x512xf32>
    }
  }
  tile.return
}
""")
        device = "ptx:emulated:sm_90a+check"
        metadata = self.run_tool(TSR, "compile", "turn.mlir", "--target", device, "--emit", "metadata")
        self.assertRegex(metadata, r"workspace_per_program: 524288\b")
        self.assertIn("persistent: true", metadata)
        values = array.array("f", range(3 * 512 * 256))
        for name, shape, data in (("x", (3, 512, 256), values.tobytes()), ("o", (3, 256, 512), bytes(values.itemsize * len(values)))):
            head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".encode()
            head += b" " * (-(len(head) + 11) % 64) + b"\n"
            (self.folder / f"{name}.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data)
        self.run_tool(TSR, "run", "turn.mlir", "--in", "x=x.npy", "o=o.npy", "--out", "o=out.npy", "--backend", device)
        out = array.array("f", (self.folder / "out.npy").read_bytes()[-values.itemsize * len(values):])
        for i in range(3):
            for j in range(256):
                start = (i * 256 + j) * 512
                self.assertEqual(out[start:start + 512], values[i * 512 * 256 + j:(i + 1) * 512 * 256:256])

    def test_names_are_free(self):
        """Kernels called like the vendors' functions, the linker's symbols and shared memory."""
        names = ("_Z12get_local_idj", "_Z7barrierj", "dynamic_shared", "dynamic", "main", "memcpy",
                 "kernels", "llvm", "entry", "reg")
        path = self.folder / "names.py"
        for name in names:  # whose sum goes through shared memory
            path.write_text(f"""import tessera as ts

@ts.kernel
def {name}(X: ts.Tensor["n", ts.f32], Y: ts.Tensor[1, ts.f32]):
    buffer = ts.tile.alloc_shared((512,), ts.f32)
    for i in ts.tile.parallel(0, 1, 1):
        buffer[0:512] = X[0:512]
        ts.tile.barrier()
        Y[0] = ts.tile.sum(buffer[0:512])
""")
            for target in ("ptx:sm_90", "rocm:gfx90a", "levelzero:pvc"):
                kind, arch = target.split(":")
                with self.subTest(kernel=name, target=target):
                    getattr(self, f"check_{kind}")(self.compile(path, name, target, "object"), name, arch)

    def test_assembly_is_text_of_the_target(self):
        path = SAMPLES / "saxpy" / "saxpy.py"
        for target, word in (("ptx:sm_90", "st.global"), ("rocm:gfx90a", "s_endpgm"), ("levelzero:pvc", "OpEntryPoint")):
            with self.subTest(target=target):
                self.assertIn(word, self.compile(path, "saxpy", target, "asm").read_text())

    def test_one_bundle_for_all(self):
        out = self.folder / "saxpy.tsrb"
        self.run_tool(TSR, "compile", SAMPLES / "saxpy" / "saxpy.py", "--emit", "bundle", "-o", out,
                      "--target", ",".join(("cpu:x86-64-v3", *TARGETS)))
        listed = self.run_tool(TSR, "inspect", out)
        for target in ("cpu:x86-64-v3", *TARGETS):
            self.assertIn(target, listed)
        for form in ("elf", "ptx", "hsaco", "spirv"):
            self.assertIn(form, listed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tsr", required=True)
    options, rest = parser.parse_known_args()
    TSR = pathlib.Path(options.tsr).resolve()
    unittest.main(argv=[sys.argv[0], *rest])
