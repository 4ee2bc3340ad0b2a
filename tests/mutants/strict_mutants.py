#!/usr/bin/env python3
"""Mutants of the profile strict: changes of the compiler that alter what docs/strict.md promises. A test must fail for each.

strict_mutants.py                     each text that a mutant replaces is in the tree once
strict_mutants.py --build DIR [-j N]  also builds a copy of the tree in DIR and each mutant there, and tests them
strict_mutants.py --tree DIR [-j N]   the same in a tree that has a build/release, whose files are edited and restored

A mutant is tested by tests/cli/strict_test.py, first of all by the case that is named beside it; if that passes, by
tests/cli/strict_hashes_test.py; and then by tests/conformance/strict_bits.py, which compares devices. Those run until the first
failure. A mutant that does not build, or whose programs do not compile or run, shows nothing and counts as a failure of this script.
"""
import argparse
import dataclasses
import fnmatch
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from support import copies  # noqa: E402

TARGETS = ("tsr", "tessera-compiler", "kernel-conformance")
FAMILY, SHARE = "reductions", "1/16"  # of strict_bits.py
BROKEN = ("\nERROR: ", "does not compile: ", "does not run: ")  # what tests print if there are no bits to compare

CPU, GPU = "plugins/cpu/codegen", "compiler/codegen/gpu"
SCHEDULE, TILE = "compiler/schedule/Transforms", "compiler/tile/Transforms"


@dataclasses.dataclass(frozen=True)
class Edit:
    path: str
    old: str
    new: str


@dataclasses.dataclass(frozen=True)
class Mutant:
    name: str
    first: str  # the case of strict_test.py that is tried first
    edits: tuple

    def apply(self, root):
        for e in self.edits:
            path = root / e.path
            path.write_text(path.read_text().replace(e.old, e.new))


def mutant(name, first, *edits):
    """`edits`: a path and pairs of texts, perhaps of several files."""
    found, path = [], None
    words = iter(edits)
    for word in words:
        if isinstance(word, str):
            path = word
        else:
            found.append(Edit(path, *word))
    return Mutant(name, first, tuple(found))


MUTANTS = [
    # The code of the CPU.
    mutant("cpu: leaves of sums of 128", "test_sums", f"{CPU}/FixedReduce.cpp",
           ("    Vec<Vec<Value>> leaves;\n", "    Vec<Vec<Value>> leaves;\n    const int64_t block = 128;\n")),
    mutant("cpu: blocks of sums of 512", "test_sums", f"{CPU}/FixedReduce.cpp",
           ("    Vec<Vec<Value>> blocks;\n", "    Vec<Vec<Value>> blocks;\n    const int64_t block = 512;\n")),
    mutant("cpu: 32 lanes", "test_sums", f"{CPU}/FixedReduce.cpp",
           ("lanes = op.getOrder()->getLanes(), block", "lanes = std::max<int64_t>(op.getOrder()->getLanes() / 2, 1), block")),
    mutant("cpu: lanes of a vector are folded with their neighbours", "test_sums", f"{CPU}/Reduce.cpp",
           ("    std::iota(low.begin(), low.end(), 0);\n    std::iota(high.begin(), high.end(), n / 2);\n",
            "    for (int64_t i = 0; i < n / 2; ++i)\n      low[i] = 2 * i, high[i] = 2 * i + 1;\n")),
    mutant("cpu: vectors of lanes are folded with their neighbours", "test_sums", f"{CPU}/FixedReduce.cpp",
           ("sums[i] = fold(sums[i], sums[i + left / 2]);", "sums[i] = fold(sums[2 * i], sums[2 * i + 1]);")),
    mutant("cpu: blocks are joined one after another", "test_tiles_of_kernels", f"{CPU}/FixedReduce.cpp",
           ("""      joined.push_back(joinPairwise(
          Vec<Value>(llvm::map_range(blocks, [&](const Vec<Value> &block) { return block[v]; })), fold));
""", """    {
      joined.push_back(blocks[0][v]);
      for (const Vec<Value> &block : blocks.drop_front())
        joined.back() = fold(joined.back(), block[v]);
    }
""")),
    mutant("cpu: chains of sums start from -0", "test_sums_of_negative_zeros", f"{CPU}/FixedReduce.cpp",
           ("return neutral(kind, /*isUnsigned=*/false, vectorOf(element, width)); };",
            "Value zero = neutral(kind, /*isUnsigned=*/false, vectorOf(element, width));\n"
            "    return kind == tile::ReduceKind::Sum ? arith::NegFOp::create(b_, zero).getResult() : zero; };")),
    mutant("cpu: leaves of products of 128", "test_products", f"{CPU}/Product.cpp",
           ("put(offsetof(product::Leaves, steps), constant(product.leaf));",
            "put(offsetof(product::Leaves, steps), constant(product.leaf / 2));"),
           ("ofElements = product.leaf * view", "ofElements = product.leaf / 2 * view")),
    mutant("cpu: leaves of products are joined one after another", "test_products", f"{CPU}/products/bodies/LeavesBody.cpp",
           ("""    for (; j.isLast ? j.leaf >> level != 0 : j.leaf >> level & 1; ++level)
      if (j.leaf >> level & 1) digits[count++] = own + level * j.digitStride;
""", "    if (j.leaf) digits[count++] = own;\n")),
    mutant("cpu: a product without fma rounds twice", "test_products", f"{CPU}/Mma.cpp",
           ("if (vectorBytes_ >= 32 || permits_.fixedReductions)", "if (vectorBytes_ >= 32)")),
    mutant("cpu: bodies of products round twice", "test_products", f"{CPU}/products/generator/MicroKernels.cpp",
           ("return math::FmaOp::create(b_, x, y, sum);", "return arith::AddFOp::create(b_, sum, arith::MulFOp::create(b_, x, y));")),
    mutant("cpu: subnormals are flushed to zero", "test_nans_have_one_form", "numerics/FloatEnvironment.h",
           ("    if (areDefault()) return;\n", "    if (areDefault()) {\n      __builtin_ia32_ldmxcsr(0x9fc0);\n      return;\n    }\n")),
    # The code of GPUs.
    mutant("gpu: leaves and blocks of half the length", "test_tiles_of_kernels", f"{GPU}/FixedReduce.cpp",
           ("block = op.getOrder()->getBlock();", "block = op.getOrder()->getBlock() / 2;")),
    mutant("gpu: 32 lanes", "test_tiles_of_kernels", f"{GPU}/FixedReduce.cpp",
           ("lanes = op.getOrder()->getLanes(), block", "lanes = std::max<int64_t>(op.getOrder()->getLanes() / 2, 1), block")),
    mutant("gpu: lanes of a thread are folded with their neighbours", "test_tiles_of_kernels", f"{GPU}/FixedReduce.cpp",
           ("sums[lane] = fold(sums[lane], sums[lane + half]);", "sums[lane] = fold(sums[2 * lane], sums[2 * lane + 1]);")),
    mutant("gpu: blocks are joined one after another", "test_tiles_of_kernels", f"{GPU}/FixedReduce.cpp",
           ("    return joinPairwise(std::move(blocks), fold);\n",
            "    for (size_t i = 1; i < blocks.size(); ++i)\n      blocks[0] = fold(blocks[0], blocks[i]);\n    return blocks[0];\n")),
    mutant("gpu: chains of sums start from -0", "test_sums_of_negative_zeros", f"{GPU}/FixedReduce.cpp",
           ("  const Value start = neutral(op.getKind(), /*isUnsigned=*/false, type.getElementType());\n",
            "  Value start = neutral(op.getKind(), /*isUnsigned=*/false, type.getElementType());\n"
            "  if (op.getKind() == tile::ReduceKind::Sum) start = arith::NegFOp::create(b_, start);\n")),
    mutant("gpu: chains that threads share start from the first element", "test_sums_of_negative_zeros", f"{GPU}/Reduce.cpp",
           ("    if (isFixed) // each begins", "    if (isFixed && lanes == 0) // each begins")),
    mutant("gpu: threads are folded with their neighbours first", "test_sums", f"{GPU}/Reduce.cpp",
           ("      parts[0] = fold(parts[0], from(parts[0], half));\n",
            "      parts[0] = fold(parts[0], from(parts[0], width / 2 / half));\n")),
    mutant("gpu: a product rounds twice", "test_products", f"{GPU}/Mma.cpp",
           ("math::FmaOp::create(b_, x, y, sum)", "arith::AddFOp::create(b_, sum, arith::MulFOp::create(b_, x, y))")),
    # What all targets share.
    mutant("leaves of products in a program of 128", "test_products", f"{SCHEDULE}/GroupMatmul.cpp",
           ("  const TypedValue leaf = b_.integer(kReductionLeaf);\n",
            "  constexpr int64_t kReductionLeaf = 128;\n  const TypedValue leaf = b_.integer(kReductionLeaf);\n")),
    mutant("a product in a program is one chain", "test_products", f"{SCHEDULE}/GroupMatmul.cpp",
           ("  if (hasLeaves && !isForBody) {\n", "  if (hasLeaves && !isForBody && shape.empty()) {\n"),
           ("      if (hasLeaves)\n", "      if (hasLeaves && isForBody)\n")),
    mutant("blocks of unknown number are joined one after another", "test_sums", f"{SCHEDULE}/TreeJoin.cpp",
           ("  Values joined = b_.loop(ones, 1, node,", "  Values joined = b_.loop(b_.binary(BinaryKind::Minimum, index, b_.integer(1)), 1, node,"),
           ("  write(ones, joined);", "  write(b_.integer(0), joined);"),
           ("[&] { return read(lowest); });", "[&] { return read(zero); });"),
           ("      b_.sub(bits, leading), 1, last,", "      b_.mul(zero, b_.sub(bits, leading)), 1, last,")),
    mutant("lanes of short axes are folded with their neighbours", "test_sums_of_short_axes", f"{SCHEDULE}/UnrollReductions.cpp",
           ("    for (int64_t half = isLast ? kMostElements / 2 : 0; half > 0; half /= 2)\n"
            "      for (int64_t lane = 0; lane < half && lane + half < std::min(count, 2 * half); ++lane)\n",
            "    for (int64_t half = 1; isLast && half < count; half *= 2)\n"
            "      for (int64_t lane = 0; lane + half < count; lane += 2 * half)\n")),
    mutant("sums of short axes keep -0", "test_sums_of_short_axes", f"{SCHEDULE}/UnrollReductions.cpp",
           ("    if (adds() && isa<FloatType>(element)) result", "    if (adds() && !isFixed_ && isa<FloatType>(element)) result")),
    mutant("products that underflow keep -0", "test_underflow_leaves_no_negative_zero", f"{TILE}/FixReductions.cpp",
           ("return arith::AddFOp::create(b, v.getLoc(), v, zero);",
            "return arith::SubFOp::create(b, v.getLoc(), v, zero);")),
    mutant("a * b + c rounds once", "test_a_product_and_a_sum_round_twice", "compiler/codegen/emit/LlvmEmission.cpp",
           ("options.AllowFPOpFusion = llvm::FPOpFusion::Strict;", "options.AllowFPOpFusion = llvm::FPOpFusion::Fast;")),
    mutant("NaNs have the bits of the processor", "test_nans_have_one_form", f"{TILE}/CanonicalizeNans.cpp",
           ("return seen.areSeenBy(use); }", "return seen.areSeenBy(use) && computes(use.getOwner()); }")),
    mutant("NaNs have a sign", "test_nans_have_one_form", f"{TILE}/CanonicalizeNans.cpp",
           ("constant(APFloat::getQNaN(format).bitcastToAPInt());", "constant(APFloat::getQNaN(format, true).bitcastToAPInt());")),
    mutant("NaNs that are moved lose their bits", "test_nans_have_one_form", f"{TILE}/CanonicalizeNans.cpp",
           ("if (isa<arith::SelectOp, arith::BitcastOp,", "if (isa<arith::BitcastOp,")),
    mutant("constants of f32 are computed in f64", "test_constants", "compiler/frontend/sema/ElabFold.cpp",
           ("  bool compares = ops::isComparison(op);\n",
            "  bool compares = ops::isComparison(op);\n"
            "  if (t == DType::F32 && !compares) {\n"
            "    auto wide = [](const Value &v) { return fromDouble(v.floatValue, DType::F64); };\n"
            "    Value exact = fromBits(tessera::evaluate(*arith, DType::F64, wide(a), b ? wide(*b) : 0), DType::F64);\n"
            "    exact.dtype = t;\n"
            "    return exact;\n"
            "  }\n")),
    mutant("Philox has nine rounds", "test_random_numbers", "compiler/codegen/common/Evaluate.cpp",
           ("round < 10;", "round < 9;")),
    mutant("Philox has the halves of its counter exchanged", "test_random_numbers", "compiler/codegen/common/Evaluate.cpp",
           ("Value c0 = low(offset), c1 = high(offset),", "Value c0 = high(offset), c1 = low(offset),")),
    mutant("blocks of 64 keys", "test_attention", f"{SCHEDULE}/GroupAttention.cpp",
           ("  if (group_.getTile()[1] != kKeyBlock) {\n", "  constexpr int64_t kKeyBlock = 64;\n  if (group_.getTile()[1] != kKeyBlock) {\n"),
           f"{SCHEDULE}/EmitGroup.cpp", ("tile.back() = kKeyBlock;", "tile.back() = kKeyBlock / 2;")),
    mutant("runs of 1024 keys", "test_attention", f"{SCHEDULE}/GroupAttention.cpp",
           ("  const int64_t stages = group_.getStages().value_or(0);\n  if (known",
            "  const int64_t stages = group_.getStages().value_or(0);\n  constexpr int64_t kKeyRun = 1024;\n  if (known")),
    mutant("rows see blocks of keys that are hidden", "test_infinite_values_of_later_blocks_change_nothing", f"{SCHEDULE}/GroupAttention.cpp",
           ("    if (op.getCausal() && hasKeyBlocks(op)) {\n", "    if (op.getCausal() && !hasKeyBlocks(op)) {\n")),
    mutant("casts round ties up", "test_casts", f"{TILE}/ExpandCasts.cpp",
           ("(int64_t(1) << (dropped - 1)) - 1), odd);", "int64_t(1) << (dropped - 1)), m.andi(odd, 0));")),
]


def alone(made):
    """A file for CMake that takes the sources of mutants out of those that are compiled several at a time: an edit of one costs a
    tenth. CMake reads it after the command `project`, and the targets exist at the end of the folder."""
    sources = sorted({f"${{PROJECT_SOURCE_DIR}}/{e.path}" for m in MUTANTS for e in m.edits if e.path.endswith(".cpp")})
    made.mkdir(parents=True, exist_ok=True)
    file = made / "alone.cmake"
    file.write_text("cmake_language(DEFER CALL set_source_files_properties " + " ".join(sources) +
                    "\n  TARGET_DIRECTORY tessera-compiler tessera-frontend PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)\n")
    return f"-DCMAKE_PROJECT_tessera_INCLUDE={file}"


class Trial:
    """A tree and its build, in which mutants are made one after another."""

    def __init__(self, tree, made, jobs):
        self.tree, self.made, self.jobs = tree, made, jobs
        self.cases = made / "strict-mutants"
        self.environment = dict(os.environ, TESSERA_CACHE_DIR="off")

    def prepare(self):
        copies.configure(self.tree, self.made, alone(self.made))
        copies.build(self.made, self.jobs, TARGETS, check=True)
        subprocess.run([sys.executable, self.tree / "tests" / "conformance" / "generate.py", FAMILY, self.cases / FAMILY], check=True,
                       capture_output=True)

    def build(self):
        """Empty, or the end of what the compiler says."""
        done = copies.build(self.made, self.jobs, TARGETS, capture_output=True, text=True)
        return done.stdout[-2000:] if done.returncode else ""

    def run(self, *words):
        return subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True, env=self.environment, timeout=3600)

    def tests(self, first=None):
        """The name of each test and its command, in the order in which they run."""
        cli, tsr = ROOT / "tests" / "cli", ("--tsr", self.made / "bin" / "tsr")
        if first:
            yield f"strict_test.py {first}", (cli / "strict_test.py", *tsr, "-f", f"Strict.{first}")
        yield "strict_test.py", (cli / "strict_test.py", *tsr, "-f")
        yield "strict_hashes_test.py", (cli / "strict_hashes_test.py", *tsr, "-f")
        yield "strict_bits.py", (ROOT / "tests" / "conformance" / "strict_bits.py", self.made / "bin" / "kernel-conformance", self.cases,
                                 SHARE, FAMILY)

    def failure(self, first=None):
        """The first test that fails, why, and whether it has compared bits; or nothing."""
        for name, command in self.tests(first):
            done = self.run(*command)
            if done.returncode:
                lines = (done.stdout + done.stderr).splitlines()
                case = next((line.split()[1] for line in lines if line.startswith(("FAIL: ", "ERROR: "))), "")
                why = next((line for line in lines if "Error" in line), lines[-1] if lines else "")
                output = "\n".join(lines)
                has_bits = "has other bits than" in output if name == "strict_bits.py" else not any(word in output for word in BROKEN)
                return f"{name.split()[0]} {case}".strip(), why[:160], has_bits
        return None

    def try_mutant(self, m):
        """Whether a test has caught it, and a line about it."""
        before = {e.path: (self.tree / e.path).read_text() for e in m.edits}
        try:
            m.apply(self.tree)
            if why := self.build():
                return False, f"does not build\n{why}"
            found = self.failure(m.first)
            if not found:
                return False, "SURVIVES"
            name, why, has_bits = found
            return has_bits, f"caught by {name}: {why}" if has_bits else f"breaks {name}: {why}"
        finally:
            for path, text in before.items():
                (self.tree / path).write_text(text)


def misplaced():
    """What is wrong with the table, a line each."""
    names = [m.name for m in MUTANTS]
    for name in sorted({n for n in names if names.count(n) > 1}):
        yield f"two mutants are called '{name}'"
    cases = (ROOT / "tests" / "cli" / "strict_test.py").read_text()
    for m in MUTANTS:
        if f"def {m.first}(" not in cases:
            yield f"{m.name}: strict_test.py has no {m.first}"
        for e in m.edits:
            count = (ROOT / e.path).read_text().count(e.old) if (ROOT / e.path).exists() else 0
            if count != 1 or e.old == e.new:
                yield f"{m.name}: {e.path} has its text {count} times; write it for this tree:\n{e.old}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--tree", type=pathlib.Path, metavar="DIR")
    parser.add_argument("-j", type=int, default=os.cpu_count(), dest="jobs")
    parser.add_argument("--only", nargs="+", default=["*"], metavar="PATTERN", help="mutants whose names match one of them")
    options = parser.parse_args()
    wrong = list(misplaced())
    print(*wrong, f"{len(MUTANTS)} mutants, {len(wrong)} misplaced", sep="\n")
    if wrong or not (options.build or options.tree):
        return 1 if wrong else 0
    if options.tree:
        trial = Trial(options.tree.resolve(), options.tree.resolve() / "build" / "release", options.jobs)
    else:
        trial = Trial(options.build.resolve() / "tree", options.build.resolve() / "build", options.jobs)
        copies.update(ROOT, trial.tree)
    trial.prepare()
    if found := trial.failure():
        print("without a mutant: {} fails: {}".format(*found))
        return 1
    chosen = [m for m in MUTANTS if any(fnmatch.fnmatch(m.name, pattern) for pattern in options.only)]
    survivors = 0
    for m in chosen:
        begun = time.monotonic()
        is_caught, line = trial.try_mutant(m)
        survivors += not is_caught
        print(f"{m.name}: {line} ({time.monotonic() - begun:.0f} s)", flush=True)
    if why := trial.build():  # the tree is as it was
        print(why)
        return 1
    print(f"{len(chosen) - survivors} of {len(chosen)} mutants are caught")
    return 1 if survivors or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
