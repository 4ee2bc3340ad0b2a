"""Driving tsr from tests: arrays in, arrays out, through .npy files in a folder of their own."""
import dataclasses
import os
import pathlib
import subprocess
import tempfile

import numpy as np


@dataclasses.dataclass
class Result:
    status: int
    output: str  # stdout
    errors: str  # stderr
    outputs: list


class Tsr:
    def __init__(self, program):
        self.program = os.path.abspath(program)

    def call(self, *words, timeout=120, **popen):
        done = subprocess.run([self.program, *map(str, words)], capture_output=True, timeout=timeout, **popen)
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode(errors="replace"), [])

    def run(self, source, outputs, inputs, *options):
        """Runs `source` on `inputs` (arrays, scalars; `dims` and `set` are dicts) and reads back `outputs`."""
        with tempfile.TemporaryDirectory(prefix="tsr-test-") as folder:
            folder = pathlib.Path(folder)
            (folder / "kernel.py").write_text(source)
            words = ["run", "kernel.py", *options]  # a constant name: the cache has what another run has compiled
            for name, value in inputs.items():
                if name in ("dims", "set"):
                    for key, number in value.items():
                        words += ["--dim" if name == "dims" else "--set", f"{key}={number}"]
                elif isinstance(value, np.ndarray):
                    np.save(folder / f"in-{name}.npy", value)
                    words += ["--in", f"{name}={folder}/in-{name}.npy"]
                else:
                    text = str(value).lower() if isinstance(value, bool) else repr(value)
                    words += ["--scalar", f"{name}={text}"]
            for name in outputs:
                words += ["--out", f"{name}={folder}/out-{name}.npy"]
            result = self.call(*words, cwd=folder)
            if result.status == 0:
                result.outputs = [np.load(folder / f"out-{name}.npy") for name in outputs]
            return result

    def compile(self, source, emit="metadata", *options):
        with tempfile.TemporaryDirectory(prefix="tsr-test-") as folder:
            path = pathlib.Path(folder) / "kernel.py"
            path.write_bytes(source if isinstance(source, bytes) else source.encode())
            return self.call("compile", path, "--emit", emit, *options)


def bf16(x):
    """Rounds float32 to bfloat16 (nearest even), still as float32."""
    bits = np.asarray(x, "f4").view("u4").astype("u8")
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16 << 16).astype("u4").view("f4")


def philox_words(seed, offsets):
    """The four words of Philox4x32-10 (Salmon et al., SC 2011) with counter (offset, 0) and key seed."""
    offsets = np.asarray(offsets, "u8")
    low = np.uint64(0xFFFFFFFF)
    c = [offsets & low, offsets >> np.uint64(32), np.zeros_like(offsets), np.zeros_like(offsets)]
    k = [np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32 & 0xFFFFFFFF)]
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(p1 >> np.uint64(32)) ^ c[1] ^ k[0], p1 & low, (p0 >> np.uint64(32)) ^ c[3] ^ k[1], p0 & low]
        k = [np.uint64((int(k[0]) + 0x9E3779B9) & 0xFFFFFFFF), np.uint64((int(k[1]) + 0xBB67AE85) & 0xFFFFFFFF)]
    return c


def philox(seed, offsets):
    """The first word as a float in [0, 1)."""
    return ((philox_words(seed, offsets)[0] >> np.uint64(8)).astype("f8") * 2.0**-24).astype("f4")
