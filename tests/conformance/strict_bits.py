"""The promise of `strict`: conformance programs have the same bits on every instruction set, backend and fusion.

usage: strict_bits.py RUNNER FOLDER SHARE FAMILY... (FOLDER/FAMILY holds the programs of generate.py)
Prints the outputs whose hashes differ from those of the first device."""
import os
import pathlib
import subprocess
import sys
import tempfile

# Arguments of kernel-conformance. GPUs are emulated; what a device has no dtype for is left out there.
DEVICES = [["--target", "cpu:x86-64-v3"], ["--target", "cpu:x86-64-v2"], ["--target", "cpu"], ["--target", "cpu", "--fusion", "none"],
           ["--backend", "ptx:emulated:sm_90a"], ["--backend", "rocm:emulated:gfx942"], ["--backend", "levelzero:emulated:pvc"]]
KNOWN = pathlib.Path(__file__).resolve().parent.parent / "emulation" / "unimplemented.txt"


def digests(runner, folder, share, device, mapper=None):
    """{program, dims and output: hash}"""
    environment = os.environ | {"TESSERA_CACHE_DIR": "off"} | ({"TESSERA_MAPPER": mapper} if mapper else {})
    with tempfile.NamedTemporaryFile("r", suffix=".digests") as file:
        ran = subprocess.run([runner, folder, "--numerics", "strict", "--share", share, "--known", KNOWN,
                              "--digests", file.name, *device], env=environment, capture_output=True, text=True)
        # A share may have no program of a short family.
        if ran.returncode and not ran.stdout.startswith("0 passed, 0 failed"):
            sys.exit(f"{' '.join(device)}: {ran.stdout[-4000:]}{ran.stderr[-2000:]}")
        return dict(line.rsplit(" ", 1) for line in file.read().splitlines())


class Comparison:
    """The bits of each output, as the first device has them."""

    def __init__(self):
        self.expected, self.wrong, self.compared = {}, [], 0

    def add(self, device, outputs):
        for output, bits in outputs.items():
            first, of = self.expected.setdefault(output, (bits, device))
            self.compared += device != of
            if bits != first:
                self.wrong.append(f"{output}: {device} has other bits than {of}")

    def report(self):
        """Prints what differs and returns the exit status."""
        print(*self.wrong, f"{self.compared} outputs compared, {len(self.wrong)} differ", sep="\n")
        return 1 if self.wrong or not self.compared else 0


def main(runner, folder, share, *families):
    comparison = Comparison()
    for family in families:
        for device in DEVICES:
            comparison.add(" ".join(device), digests(runner, pathlib.Path(folder) / family, share, device))
    return comparison.report()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
