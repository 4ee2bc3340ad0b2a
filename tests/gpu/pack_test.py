#!/usr/bin/env python3
"""What bench/gpu/pack.sh writes, in a root that has the C and C++ libraries and /proc, but no compiler, LLVM, shell or package.

There it compiles samples for an NVIDIA GPU and runs them on the shim of CUDA's driver and on the emulator; results are compared with
NumPy. Without being root, needs namespaces of users.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench" / "samples"), str(ROOT / "tests")]
import samples  # noqa: E402
from support.host import Tsr  # noqa: E402

PACK = ROOT / "bench" / "gpu" / "pack.sh"
LIMIT = 64 << 20  # bytes of all archives
SYSTEM = re.compile(r"(ld-linux-x86-64|lib(c|m|dl|pthread|rt|stdc\+\+|gcc_s))\.so")


class InRoot(Tsr):
    """The tsr that was unpacked into /tessera of a root, run there; words may name files of the root by their paths on this machine."""

    def __init__(self, root, **environment):
        super().__init__("/usr/bin/unshare")
        self.root, self.environment = str(root), environment

    def call(self, *words, cwd="", timeout=300):
        namespaces = ["--mount"] if os.geteuid() == 0 else ["--mount", "--user", "--map-root-user"]
        enter = 'mount --rbind /proc "$0/proc" && exec chroot "$0" /tessera/bin/tsr "$@"'
        inside = [str(pathlib.Path(cwd, word) if str(word).endswith(".py") else word).replace(self.root, "") for word in words]
        return super().call(*namespaces, "sh", "-c", enter, self.root, *inside, timeout=timeout,
                            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TESSERA_CACHE_DIR": "off", **self.environment})


class Pack(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        ARGS.out.mkdir(parents=True, exist_ok=True)
        subprocess.run([PACK, ARGS.out, ARGS.build], check=True, stdout=subprocess.DEVNULL)
        cls.folder = tempfile.TemporaryDirectory(prefix="tsr-pack-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.root = pathlib.Path(cls.folder.name) / "root"
        cls.tessera = cls.root / "tessera"
        for name in ("tmp", "dev", "proc", "table"):
            (cls.root / name).mkdir(parents=True)
        (cls.root / "dev" / "null").touch()
        subprocess.run(["sh", ARGS.out / "unpack.sh", cls.tessera], check=True)
        cls.add_system()
        cls.add_shim()
        tempfile.tempdir = str(cls.root / "tmp")  # where Tsr.run keeps arrays
        cls.addClassCleanup(setattr, tempfile, "tempdir", None)

    @classmethod
    def put(cls, source, inside):
        path = cls.root / str(inside).lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, path)

    @classmethod
    def add_system(cls):
        """The libraries of C and C++, where the dynamic linker looks for them."""
        said = subprocess.run(["ldd", cls.tessera / "bin" / "tsr", *cls.tessera.glob("lib/*.so*")], capture_output=True, text=True).stdout
        for path in set(re.findall(r"(/\S+\.so\S*) \(0x", said)):
            if SYSTEM.match(pathlib.Path(path).name):
                cls.put(path, path)

    @classmethod
    def add_shim(cls):
        """CUDA's driver, and the entry of an NVIDIA GPU on the bus that the plugin asks for."""
        cls.put(ARGS.drivers / "libcuda.so.1", "/driver/libcuda.so.1")
        cls.put(ARGS.build / "lib" / "libtessera-emulator.so", (ARGS.build / "lib" / "libtessera-emulator.so").resolve())
        device = cls.root / "sys/bus/pci/devices/0000:01:00.0"
        device.mkdir(parents=True)
        for name, value in (("vendor", "0x10de"), ("device", "0x2330"), ("class", "0x030200")):
            (device / name).write_text(value + "\n")

    def tsr(self, backend):
        return InRoot(self.root, TESSERA_BACKEND=backend, LD_LIBRARY_PATH="/driver:/tessera/lib", SHIM_TABLE="/table", SHIM_OPTIONS="arch=sm_90a")

    def test_archives_are_small(self):
        self.assertLess(sum(path.stat().st_size for path in ARGS.out.iterdir()), LIMIT)

    def test_nothing_of_this_machine_is_needed(self):
        done = self.tsr("cpu").call("backends")
        self.assertEqual(done.status, 0, done.errors)
        self.assertRegex(done.output, r"(?m)^  ptx +usable +.*1 device")

    def test_samples_on_the_driver_and_the_emulator(self):
        for name in ("saxpy", "softmax"):
            sample = samples.Sample(ROOT / "samples" / name)
            source = self.root / "tmp" / f"{name}.py"
            source.write_text(sample.source)
            for target, kind in (("ptx:sm_90a", "image"), ("ptx:emulated:sm_90a", "emulated")):
                done = self.tsr("ptx").call("compile", source, "--target", target, "--emit", "object", "-o", f"/table/{name}.{kind}")
                self.assertEqual(done.status, 0, done.errors)
            for backend in ("ptx", "ptx:emulated"):
                with self.subTest(sample=name, backend=backend):
                    samples.Case(sample, sample.check.SMALL[0]).run(self.tsr(backend))

    def test_environment(self):
        """What `environment` sets gives Python the package of the archive."""
        said = subprocess.run(["sh", "-c", f'. "{self.tessera}/environment" && exec "$0" -c "import tessera; print(tessera.__file__)"', ARGS.python],
                              capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"})
        self.assertTrue(said.stdout.startswith(str(self.tessera)), said.stdout + said.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path, help="keeps the archives; the one of LLVM serves the next time")
    parser.add_argument("--drivers", required=True, type=pathlib.Path)
    parser.add_argument("--python", default="/usr/bin/python3")
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=sys.argv[:1] + rest)
