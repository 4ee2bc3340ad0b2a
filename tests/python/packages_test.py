"""Wheels, editable installations and the source distribution, made from a finished build and installed with pip into empty
environments, without a network. Prints the sizes."""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import unittest.mock
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
import build_backend  # noqa: E402

README = next(block for block in re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
              if "import numpy" in block)
EXTRAS = {"cpu": None, "gpu-cuda": "ptx", "gpu-rocm": "rocm", "gpu-levelzero": "levelzero"}


class Packages(unittest.TestCase):
    build = None

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="tessera-packages-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.wheels, cls.venv = cls.folder / "wheels", cls.folder / "venv"
        cls.wheels.mkdir()
        for name in (None, *build_backend.PLUGINS):
            settings = {"build-dir": cls.build, "compression": "0", **({"distribution": name} if name else {})}
            wheel = cls.wheels / build_backend.build_wheel(cls.wheels, settings)
            unpacked = sum(entry.file_size for entry in zipfile.ZipFile(wheel).infolist())
            print(f"{wheel.name}: {wheel.stat().st_size:,} bytes, {unpacked:,} unpacked", file=sys.stderr)
        subprocess.run(["/usr/bin/python3", "-m", "venv", cls.venv], check=True)
        libraries = cls.folder / "numpy"  # the environment has nothing but pip; the program of the README needs NumPy
        libraries.mkdir()
        (libraries / "numpy").symlink_to("/usr/lib/python3/dist-packages/numpy")
        cls.env = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PIP_"))}
        cls.env.update(PYTHONPATH=str(libraries), PIP_NO_INDEX="1", PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_ROOT_USER_ACTION="ignore",
                       TESSERA_CACHE_DIR="off")

    def pip(self, *words):
        done = subprocess.run([self.venv / "bin/pip", "-q", *words], env=self.env, cwd=ROOT, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def python(self, text):
        done = subprocess.run([self.venv / "bin/python", "-c", text], env=self.env, cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def files(self):
        return {path.relative_to(self.venv) for path in self.venv.rglob("*")}

    def uses(self):
        """Runs the program of the README with what is installed; the shared objects that it loads."""
        file = self.folder / "readme.py"
        file.write_text(README + "\nprint(open('/proc/self/maps').read())\n")
        done = subprocess.run([self.venv / "bin/python", file], env=self.env, cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.startswith("[1. 3. 5. 7.]\n"), done.stdout[:200])
        return set(re.findall(r"/\S+/(?:libtessera|libMLIR|libLLVM|libtbb|_core)\S*", done.stdout))

    def test_wheel(self):
        before = self.files()
        self.pip("install", "--find-links", self.wheels, "tessera")
        loaded = self.uses()
        self.assertGreater(len(loaded), 4)
        self.assertEqual([path for path in loaded if not path.startswith(str(self.venv))], [])
        self.assertEqual(self.pip("check"), "")
        self.assertIn(build_backend.VERSION, self.python("import importlib.metadata as m; print(m.version('tessera'))"))
        self.pip("uninstall", "-y", "tessera")
        self.assertEqual(self.files() - before, set())

    def test_extras(self):
        before = self.files()
        for extra, plugin in EXTRAS.items():
            with self.subTest(extra):
                self.pip("install", "--find-links", self.wheels, f"tessera[{extra}]")
                names = self.python("import tessera as ts\nfor b in ts.runtime.backends(): print(b['name'], b['reason'])").splitlines()
                missing = {line.split()[0] for line in names if "not installed" in line}
                self.assertEqual(missing, {"ptx", "rocm", "levelzero"} - {plugin})
                self.pip("uninstall", "-y", *([f"tessera-backend-{plugin}"] if plugin else []), "tessera")
                self.assertEqual(self.files() - before, set())

    def test_from_the_tree(self):
        before = self.files()
        self.pip("install", "--config-settings", f"build-dir={self.build}", "--config-settings", "compression=0", ROOT)
        self.uses()
        self.pip("uninstall", "-y", "tessera")
        self.assertEqual(self.files() - before, set())

    def test_editable(self):
        before = self.files()
        self.pip("install", "--config-settings", f"build-dir={self.build}", "-e", ROOT)
        self.uses()
        where = self.python("import tessera; print(tessera.__file__)\nimport os; print(os.path.realpath(tessera.__file__))").split()
        self.assertEqual(where, [f"{self.build}/python/tessera/__init__.py", f"{ROOT}/python/tessera/__init__.py"])
        self.pip("uninstall", "-y", "tessera")
        self.assertEqual(self.files() - before, set())

    def test_source_distribution(self):
        name = build_backend.build_sdist(self.folder)
        with tarfile.open(self.folder / name) as archive:
            names = {pathlib.PurePosixPath(path).relative_to(name.removesuffix(".tar.gz")).as_posix() for path in archive.getnames()}
        self.assertEqual({"PKG-INFO", "pyproject.toml", "CMakeLists.txt", "CMakePresets.json", "python/build_backend.py",
                          "python/tessera/__init__.py", "python/tessera/py.typed", "core/CMakeLists.txt", "LICENSE"} - names, set())
        self.assertEqual([path for path in names if path.startswith("build/")], [])
        before = self.files()
        self.pip("install", "--no-build-isolation", "--config-settings", f"build-dir={self.build}", "--config-settings",
                 "compression=0", self.folder / name)
        self.uses()
        self.pip("uninstall", "-y", "tessera")
        self.assertEqual(self.files() - before, set())

    def test_wheels_are_reproducible_and_complete(self):
        again = self.folder / "again"
        again.mkdir()
        settings = {"build-dir": self.build, "compression": "0", "distribution": "tessera-backend-ptx"}
        name = build_backend.build_wheel(again, settings)
        self.assertEqual((again / name).read_bytes(), (self.wheels / name).read_bytes())
        with zipfile.ZipFile(next(self.wheels.glob("tessera-*.whl"))) as wheel:
            names = set(wheel.namelist())
            modules = {f"tessera/{path.name}" for path in (ROOT / "python/tessera").iterdir() if path.suffix in (".py", ".pyi", ".typed")}
            self.assertEqual((modules | {"tessera/py.typed", "tessera/_operations.py", "tessera/_core.abi3.so"}) - names, set())
            for library in (name for name in names if name.endswith(".so") or ".so." in name):
                target = self.folder / pathlib.PurePosixPath(library).name
                target.write_bytes(wheel.read(library))
                path = re.search(r"R(?:UN)?PATH\).*\[(.*)\]", subprocess.run(["readelf", "-dW", target], capture_output=True, text=True).stdout)
                self.assertIn(path and path[1], (None, "$ORIGIN", "$ORIGIN/lib", "$ORIGIN/../lib"), library)

    def test_wrong_settings(self):
        with self.assertRaisesRegex(SystemExit, "no distribution 'tessera-backend-none'.*tessera-backend-ptx"):
            build_backend.build_wheel(self.folder, {"distribution": "tessera-backend-none"})
        with self.assertRaisesRegex(SystemExit, "compression=10: expected a digit"):
            build_backend.build_editable(self.folder, {"build-dir": self.build, "compression": "10"})
        with self.assertRaisesRegex(SystemExit, "build-dir=docs is no folder that CMake has configured"):
            build_backend.build_wheel(self.folder, {"build-dir": "docs"})
        with unittest.mock.patch.dict(os.environ, PATH=str(self.folder)), self.assertRaisesRegex(SystemExit, "cmake is not installed"):
            build_backend.build_wheel(self.folder)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=str(ROOT / "build/release"))
    known, rest = parser.parse_known_args()
    Packages.build = known.build
    unittest.main(argv=sys.argv[:1] + rest)
