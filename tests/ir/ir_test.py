#!/usr/bin/env python3
"""ir_test.py --tsr TSR: IR text that a person got wrong. Each case is one edit of a sound program (programs/*.mlir, as --emit
wrote them); the compiler must answer with the code, the line of the edit and the words given, whatever the target. Edits that it accepts are
run by the conformance family ir_text."""
import argparse
import os
import subprocess
import sys
import tempfile

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
INVALID = "E_IR_INVALID"

# (program, what is there, what is written instead, words of the error)
CASES = [
    ("tile-kernel", "tile.load %x[%1] extents [64]", "tile.load %z[%1] extents [64]", "undeclared SSA value"),
    ("tile-kernel", "arith.muli %0, %c64", "arith.muly %0, %c64", "arith.muly"),
    ("tile-kernel", "tile.program_id 0", "tile.program_id 7", "axis 7 is outside the grid of 1 axes"),
    ("tile-kernel", "tile.program_id 0", "tile.program_id 99999999999999999999", "integer"),
    ("tile-kernel", "extents [64] : !tile.view<?xf32>", "extents [-64] : !tile.view<?xf32>", ""),
    ("tile-kernel", "-> tensor<64xf32>", "-> tensor<63xf32>", ""),
    ("tile-kernel", "-> tensor<64xf32>", "-> tensor<?xf32>", ""),
    ("tile-kernel", "%7 = arith.addf %2, %cst : tensor<64xf32>", "%7 = arith.addf %2, %cst : tensor<64xi32>", ""),
    ("tile-kernel", '["ceildiv(n, 64)"]', '["ceildiv(n, "]', "no index expression"),
    ("tile-kernel", '["ceildiv(n, 64)"]', '["ceildiv(q, 64)"]', "no index expression"),
    ("tile-kernel", "vector_bytes = 32", "vector_bytes = 0", "vectors of 0 bytes"),
    ("tile-kernel", "vector_bytes = 32", "lanes_per_program = -1", "lanes per program"),
    ("tile-kernel", 'name = "n", kind = dim', 'name = "m", kind = dim', "no expression of dims among the parameters"),
    ("tile-kernel", 'name = "n", kind = dim', 'name = "x", kind = dim', "two parameters named 'x'"),
    ("tile-kernel", 'access = read, dims = ["n"]', "access = read", "tensor 'x' needs dims"),
    ("tile-kernel", 'access = read, dims = ["n"]', "access = read, dims = []", "needs one entry of dims"),
    ("tile-kernel", 'name = "x", kind = tensor, dtype = f32', 'name = "x", kind = tensor, dtype = f33', "'f33' is not a dtype"),
    ("tile-kernel", "tile.return", "", "terminator"),
    ("tile-kernel", "%0 = tile.program_id 0 : index",
     "%0 = tile.program_id 0 : index\n    %big = tile.broadcast %0 : index -> tensor<9000x9000xindex>", "more than 16777216 elements"),
    ("tile-kernel", "%0 = tile.program_id 0 : index", "%0 = tile.program_id 0 : index\n    %w = arith.constant 1 : i77", "no type of the language"),
    ("tile-kernel", "%0 = tile.program_id 0 : index", "%0 = tile.program_id 0 : index\n    %w = llvm.mlir.zero : !llvm.ptr", "does not belong in a program"),
    ("tile-kernel", "%0 = tile.program_id 0 : index",
     "%0 = tile.program_id 0 : index\n    scf.execute_region { scf.yield }", "does not belong in a program"),
    *[("tile-kernel", "    %7 = arith", f"    %step = arith.constant {step} : index\n    scf.for %i = %c0 to %n step %step {{\n    }}\n    %7 = arith",
       f"has a step of {step}") for step in (0, -1, -(1 << 63))],
    ("tile-kernel", "    %7 = arith", "    scf.for unsigned %i = %c0 to %n step %c64 {\n    }\n    %7 = arith", "compares unsigned"),
    ("tile-kernel", "arith.muli %0, %c64 : index", "arith.muli %0, %c64 overflow<nsw> : index", "overflow flags"),
    ("tile-kernel", "arith.addf %2, %cst :", "arith.addf %2, %cst fastmath<nnan> :", "fast-math flags"),
    ("tile-kernel", "    %7 = arith", "    %w = arith.fptosi %2 : tensor<64xf32> to tensor<64xi32>\n    %7 = arith", "use tile.cast"),
    ("tile-kernel", "    %7 = arith", "    tile.prefetch %x[%1] extents [4611686018427387904] : !tile.view<?xf32>\n    %7 = arith", "more than 16777216 elements"),
    ("tile-kernel", "%7 = arith.addf %2, %cst : tensor<64xf32>", "%7 = math.exp %2 : tensor<64xf32>", "does not belong in a program"),
    ("tile-kernel", "tile.kernel @k(", "tile.kernel @q(", "launches @k, which is no kernel"),
    ("tile-function", "graph.launch @f.g0(read %arg0)", "graph.launch @f(read %arg0)", "which is no kernel"),
    ("tile-function", "(read %arg0)", "(write %arg0)", "has effect write on operand 0"),
    ("tile-function", "(read %arg0)", "(%arg0)", "has effect none on operand 0"),
    ("tile-function", 'dims ["M", "N"]', 'dims ["M"]', "gives 1 dims"),
    ("tile-function", 'returns = ["result"]', 'returns = ["x", "x"]', "needs returns to name its 1 results"),
    ("tile-function", 'returns = ["result"]', 'returns = ["rasult"]', "no tensor among its parameters"),
    ("tile-function", 'name = "result", kind = result', "kind = result", "missing required parameter: name"),
    ("schedule-kernel", 'step ("64")', 'step ("64", "1")', "not as many bounds"),
    ("schedule-kernel", 'to ("n")', 'to ("n +")', "no index expression"),
    ("schedule-kernel", "order = array<i64: 0>", "order = array<i64: 3>", "order must name"),
    ("schedule-kernel", "order = array<i64: 0>", "batch = array<i1: true, true>", "batch needs one entry"),
    ("schedule-kernel", 'placement = "any"', 'placement = "gpu"', 'only "any" is built'),
    ("schedule-function", "tile = array<i64: 8, 512>", "tile = array<i64: 8, -512>", "has -512 as extent 1 of its tile"),
    ("schedule-function", "tile = array<i64: 8, 512>", "tile = array<i64: 8>", "needs tile to have 2 extents"),
    ("schedule-function", "tile = array<i64: 8, 512>", "tile = array<i64: 262144, 262144>", "at most 262144 fit a program"),
    ("schedule-function", "schedule.group map", "schedule.group matmul", "needs tile to have 3 extents"),
    ("schedule-function", "schedule.group map", "schedule.group mop", "expected string or keyword"),
    ("schedule-function", "schedule.yield %2 :", "schedule.yield %arg1 :", "gives a value that the group does not compute"),
    ("schedule-function", "schedule.yield %2 : !graph.tensor<[\"M\", \"N\"], f32>", "schedule.yield", "gives ()"),
    ("graph-function", "graph.unary relu", "graph.unary rely", ""),
    ("graph-function", '!graph.tensor<["M", "N"], f32>) -> !graph.tensor<["M", "N"], f32> attributes',
     '!graph.tensor<["M", -1], f32>) -> !graph.tensor<["M", "N"], f32> attributes', "non-negative"),
    ("graph-function", "graph.func @f(%arg0", "graph.func @f(%arg0: i32, %arg0", ""),
    ("graph-function", "graph.func @f", "func.func @f", ""),
]


def fail(name, message, said):
    print(f"FAIL {name}: {message}\n{said}")
    return 1


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--tsr", required=True)
    tsr = arguments.parse_args().tsr
    programs = {f[:-5]: open(os.path.join(HERE, f)).read() for f in sorted(os.listdir(HERE)) if f.endswith(".mlir")}
    failures = 0

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "edited.mlir")

        def compile_text(text, target="cpu:x86-64-v3", stage="metadata"):
            with open(path, "w") as f:
                f.write(text)
            return subprocess.run([tsr, "compile", path, "--emit", stage, "--target", target], capture_output=True, text=True, timeout=120)

        def refused(name, text, words, lines, code=INVALID, targets=("cpu:x86-64-v3", "ptx:sm_90")):
            """The first error has the code, a line among `lines` (any: empty) and the words."""
            for target in targets:
                p = compile_text(text, target)
                first = p.stderr.splitlines()[0] if p.stderr else ""
                if p.returncode != 1 or f"[{code}]" not in first or words not in first:
                    return fail(f"{name} for {target}", f"status {p.returncode}, wanted [{code}] and '{words}'", p.stderr)
                line = first[len(path) + 1:].split(":")[0]
                if not line.isdigit() or (lines and int(line) not in lines):
                    return fail(f"{name} for {target}", f"wanted a line of {list(lines)[:4]}", p.stderr)
            return 0

        for name, text in programs.items():
            p = compile_text(text)
            if p.returncode:
                failures += fail(name, "is sound but was refused", p.stderr)

        for program, old, new, words in CASES:
            text = programs[program]
            if old not in text:
                failures += fail(program, f"no longer holds {old!r}", "")
                continue
            failures += refused(f"{program}: {old!r} -> {new!r}", text.replace(old, new, 1), words, ())

        # Cut off anywhere.
        for name, text in programs.items():
            for part in range(1, 8):
                failures += refused(f"{name} cut at {part}/8", text[:len(text) * part // 8].rsplit("}", 1)[0] or "{", "", ())

        # What is no program at all.
        for name, text, words, line in [
            ("empty", "", "holds no kernel", 1),
            ("a comment", "// nothing\n", "holds no kernel", 1),
            ("no IR", "hello\n", "", 1),
            ("bytes", "\x01\x02\x7f\n", "", 1),
            ("an empty module", "module {\n}\n", "holds no kernel", 1),
            ("a module in a module", "module {\n  module {\n  }\n}\n", "neither", 2),
            ("another dialect", "module {\n  llvm.func @f()\n}\n", "neither", 2),
            ("brackets", "module attributes {a = " + "[" * 100000 + "\n", "nest deeper than 256", 1),
            ("regions", "module {\n" + "module {\n" * 5000, "nest deeper than 256", 257),
            ("both levels", programs["tile-kernel"].rstrip().rstrip("}") + programs["schedule-kernel"].split("\n", 5)[-1].replace("@k(", "@k2("), "Schedule IR", None),
        ]:
            failures += refused(name, text, words, [line] if line else ())

        # Too much code: refused before LLVM sees it.
        adds = "".join(f"    %s{i + 1} = arith.addf %s{i}, %cst : tensor<64xf32>\n" for i in range(170000))
        text = programs["tile-kernel"].replace("    %7 = arith.addf %2, %cst : tensor<64xf32>\n",
                                               "    %s0 = arith.addf %2, %cst : tensor<64xf32>\n" + adds).replace("tile.store %7", "tile.store %s170000")
        failures += refused("170000 operations", text, "operations of machine code; at most 500000 are compiled", (), "E_IR_SIZE", ["cpu:x86-64-v3"])

    print(f"{len(CASES)} edits; {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
