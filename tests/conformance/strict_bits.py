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


def digests(runner, folder, share, device):
    """{program, dims and output: hash}"""
    with tempfile.NamedTemporaryFile("r", suffix=".digests") as file:
        ran = subprocess.run([runner, folder, "--numerics", "strict", "--share", share, "--known", KNOWN,
                              "--digests", file.name, *device],
                             env=os.environ | {"TESSERA_CACHE_DIR": "off"}, capture_output=True, text=True)
        # A share may have no program of a short family.
        if ran.returncode and not ran.stdout.startswith("0 passed, 0 failed"):
            sys.exit(f"{' '.join(device)}: {ran.stdout[-4000:]}{ran.stderr[-2000:]}")
        return dict(line.rsplit(" ", 1) for line in file.read().splitlines())


def main(runner, folder, share, *families):
    wrong, compared = [], 0
    for family in families:
        expected = {}
        for device in DEVICES:
            for output, bits in digests(runner, pathlib.Path(folder) / family, share, device).items():
                first, of = expected.setdefault(output, (bits, device))
                compared += device != of
                if bits != first:
                    wrong.append(f"{family}: {output}: {' '.join(device)} has other bits than {' '.join(of)}")
    print(*wrong, f"{compared} outputs compared, {len(wrong)} differ", sep="\n")
    return 1 if wrong or not compared else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
