#!/usr/bin/env python3
"""Writes the samples beside this file again from the documents of the specification: extract.py FOLDER [TARGET].

A sample is a part of a code block, or the examples in a table. It is named by the number that its document begins with, its first line
and its last one.
"""
import pathlib
import re
import sys

SAMPLES = {
    "capabilities.py": ("000", "from tessera import runtime", "    Y = op.flash_attention(Q, K, V)  # bf16/fp16 with fp32 accum"),
    "concepts.txt": ("004", "| **Execution model** |", "| **Deployment** |"),
    "domain.py": ("001", "D = tessera.domain.Rect(", "X = tessera.array.from_domain("),
    "flash_attention.py": ("002", "@ts.kernel.autotune(", "    return ts.tile.cast(acc"),
    "gemm.py": ("002", "@ts.kernel\ndef gemm", "    return C"),
    "index_launch.py": ("001", "tessera.index_launch(", "tessera.index_launch("),
    "inspect_ir.py": ("001", "kernel = gemm_tile.jit(", "print(kernel.inspect_ir(\"target\"))"),
    "mapper.py": ("001", "class MyMapper(", "tessera.runtime.set_mapper("),
    "mesh.py": ("004", "from tessera import dist", "Y = gemm(X, W)"),
    "portable_attention.py": ("000", "from tessera import runtime, op", "    Y = op.flash_attention(Q, K, V, causal=True)"),
    "precision.py": ("002", "# Explicit precision control", "x: Tensor["),
    "saxpy.py": ("002", "import tessera as ts", "    return y"),
    "select_backend.py": ("000", "from tessera import runtime\nruntime.select_backend", "runtime.select_backend("),
    "specialize.py": ("000", "@op.specialize(", "def my_gemm("),
    "train_step.py": ("002", "# Create mesh for distributed execution", "grad_W = "),
}


def extract(folder: pathlib.Path, name: str) -> str:
    number, first, last = SAMPLES[name]
    document, = folder.glob(f"{number}_*.txt")
    text = document.read_text()
    begin = text.index("\n" + first) + 1
    end = re.compile("^" + re.escape(last) + ".*", re.MULTILINE).search(text, begin)
    if end is None:
        raise SystemExit(f"{name}: {document.name} has no line that begins with {last!r}")
    part = text[begin:end.end()] + "\n"
    if name.endswith(".txt"):  # a table: the code in the last column of each row
        part = "".join(f"{row.rsplit('|', 2)[1].strip().strip('`')}\n" for row in part.splitlines())
    return part


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    target = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else pathlib.Path(__file__).parent
    for name in SAMPLES:
        (target / name).write_text(extract(folder, name))


if __name__ == "__main__":
    main()
