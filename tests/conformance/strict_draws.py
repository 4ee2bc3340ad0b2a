"""The promise of `strict` for graph functions that are drawn when the test runs.

usage: strict_draws.py RUNNER COUNT [SEED] (COUNT programs from SEED on, which is printed; without it, another one each time)
Beside the devices of strict_bits.py, the CPU takes random tiles and bodies, and one thread. A program, dims and inputs are one draw."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from strict_bits import DEVICES, Comparison, digests

CPU = ["--target", "cpu"]


def main(runner, count, seed=None):
    seed = int(seed) if seed else time.time_ns() // 10**6 % 10**9
    print(f"{count} programs from seed {seed} on", flush=True)
    comparison = Comparison()
    with tempfile.TemporaryDirectory() as folder:
        generate = pathlib.Path(__file__).with_name("generate.py")
        subprocess.run([sys.executable, generate, "graph_random", folder, count, str(seed)], check=True)
        for device in DEVICES:
            comparison.add(" ".join(device), digests(runner, folder, "1/1", device))
        for mapper in (f"random({seed + i})" for i in range(3)):
            comparison.add(f"cpu, mapper {mapper}", digests(runner, folder, "1/1", CPU, mapper))
        cores = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(cores)})
        comparison.add("cpu, one core", digests(runner, folder, "1/1", CPU))
        os.sched_setaffinity(0, cores)
    print(f"{len({output.rsplit(' ', 1)[0] for output in comparison.expected})} draws")
    return comparison.report()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
