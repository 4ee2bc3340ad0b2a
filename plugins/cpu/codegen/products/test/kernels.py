"""Micro-kernels in objects: their names, families and innermost loops, from a disassembly."""
import dataclasses
import re
import subprocess

# What multiplies, by family.
INSTRUCTIONS = {"f32": "vfmadd", "f64": "vfmadd", "bf16.dot": "vdpbf16ps", "i8.dot": "vpdpbusd", "i16": "vpmaddwd",
                "i8.amx": "tdpbssd", "u8.amx": "tdpbuud", "bf16.amx": "tdpbf16ps"}
UNROLL = 2  # steps of k in one iteration (kUnroll in MicroKernels.cpp); a tile has sixteen words of k


@dataclasses.dataclass
class Kernel:
    name: str
    family: str
    rows: int
    vectors: int
    instructions: list  # texts
    loops: list  # the innermost ones, each a list of texts

    def multiplies(self, loop):
        return sum(text.startswith(INSTRUCTIONS[self.family]) for text in loop)

    @property
    def is_tiled(self):
        return self.family.endswith(".amx")

    @property
    def multiplies_of_loop(self):
        return self.rows * self.vectors * (1 if self.is_tiled else UNROLL)

    @property
    def unrolled(self):
        """The loop that does most of the work; None if there is none with the multiply-adds of the block."""
        return next((loop for loop in self.loops if self.multiplies(loop) == self.multiplies_of_loop), None)


def innermost(instructions):
    """The bodies of innermost loops: from the target of a backward jump to the jump, if no other loop is inside."""
    spans = []
    for address, text in instructions:
        jump = re.match(r"j\w+\s+0x([0-9a-f]+)", text)
        if jump and int(jump[1], 16) <= address:
            spans.append((int(jump[1], 16), address))
    for first, last in spans:
        if not any(first <= f and l <= last and (f, l) != (first, last) for f, l in spans):
            yield [t for a, t in instructions if first <= a <= last]


def kernels_of(objdump, path):
    text = subprocess.run([objdump, "-d", "--no-show-raw-insn", path], check=True, capture_output=True, text=True).stdout
    for function, block in re.findall(r"^[0-9a-f]+ <(tsr\.mk\.[^>]+)>:\n((?:.+\n)*)", text, re.M):
        instructions = [(int(a, 16), t.strip()) for a, t in re.findall(r"^\s*([0-9a-f]+):\s+(.*)$", block, re.M)]
        family, rows, vectors = re.match(r"tsr\.mk\.(.*)\.[nt]\.(\d+)x(\d+)$", function).groups()
        yield Kernel(function, family, int(rows), int(vectors), [t for _, t in instructions], list(innermost(instructions)))
