#!/usr/bin/env python3
"""tessera_add_plugin(): which texts of plugin.json are refused at once, and that the others arrive as they are written.
tessera_known_backends(): what the runtime knows of the folders under plugins/."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROJECT = f"""cmake_minimum_required(VERSION 3.25)
project(json_test LANGUAGES C CXX)
include({ROOT}/cmake/TesseraPlugin.cmake)
tessera_add_plugin(chosen MANIFEST plugin.json SOURCES plugin.cpp)
"""
SOURCE = """#include <tessera/mapper.hpp>
#include <tessera/plugin.hpp>
struct Chosen : tessera::Mapper {
  explicit Chosen(std::string_view) {}
};
TSR_PLUGIN(Chosen);
"""


class PluginJson(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="tessera-json-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        (self.folder / "CMakeLists.txt").write_text(PROJECT)
        (self.folder / "plugin.cpp").write_text(SOURCE)

    def configure(self, **keys):
        manifest = {"name": "chosen", "version": "1.0", "description": "d", "kinds": ["mapper"], **keys}
        (self.folder / "plugin.json").write_text(json.dumps(manifest))
        return subprocess.run([ARGS.cmake, "-S", self.folder, "-B", self.folder / "build", f"-DCMAKE_C_COMPILER={ARGS.cc}",
                               f"-DCMAKE_CXX_COMPILER={ARGS.cxx}"], capture_output=True, text=True, check=False)

    def test_what_is_refused(self):
        for keys, text in [
            ({"description": "two\nlines"}, '"description" has a line end'),
            ({"description": "red \x1b[31m"}, '"description" has a line end, a tab or another control character'),
            ({"description": "x" * 513}, '"description" has 513 bytes'),
            ({"version": "1\t0"}, '"version" has a line end'),
            ({"features_optional": ["a@1", "b\n@1"]}, '"features_optional" has a line end'),
            ({"name": "Chosen"}, "\"name\" is 'Chosen'"),
            ({"name": ""}, "\"name\" is ''"),
            ({"name": "a" * 65}, "expected 1 to 64"),
            ({"name": "codegen-x"}, "codegen- in front of a file's name tells its kind"),
            ({"name": "mapper-x"}, "mapper- in front of a file's name tells its kind"),
        ]:
            with self.subTest(text):
                done = self.configure(**keys)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(text, " ".join(done.stderr.split()))

    def test_everything_else_arrives(self):
        description = 'says "a\\b", @name@, ${name}, $<1:x>; 100% of ??/ and \u00fc'
        done = self.configure(description=description)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = subprocess.run([ARGS.cmake, "--build", self.folder / "build"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        plugins = self.folder / "build" / "lib" / "tessera"
        plugins.chmod(0o755)
        for path in (self.folder, self.folder / "build", self.folder / "build" / "lib", *plugins.iterdir()):
            path.chmod(0o755)
        env = dict(os.environ, TESSERA_PLUGIN_PATH=str(plugins), TESSERA_BACKEND="cpu", TESSERA_MAPPER="chosen")
        done = subprocess.run([ARGS.tsr, "backends", "--json"], env=env, capture_output=True, text=True, check=False)
        rows = {row["name"]: row for row in json.loads(done.stdout)["plugins"]}
        self.assertEqual(rows["chosen"]["state"], "usable", rows["chosen"])
        self.assertEqual(rows["chosen"]["description"], description)
        header = (self.folder / "build" / "chosen-manifest" / "tessera_manifest.h").read_text()
        self.assertIn(r'says \"a\\b\", @name@', header)

    def test_the_catalogue_belongs_to_tesseras_own_build(self):
        done = self.configure(catalogue={"aliases": ["other"]})
        self.assertEqual(done.returncode, 0, done.stderr)
        done = subprocess.run([ARGS.cmake, "--build", self.folder / "build"], capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("unknown field: catalogue", done.stdout + done.stderr)


class KnownBackends(unittest.TestCase):
    def rows(self, plugins):
        """The rows for a folder with these plugins: {folder: {file name: contents}}."""
        with tempfile.TemporaryDirectory(prefix="tessera-known-") as name:
            folder = pathlib.Path(name)
            for plugin, files in plugins.items():
                (folder / "plugins" / plugin).mkdir(parents=True)
                for file, contents in files.items():
                    (folder / "plugins" / plugin / file).write_text(json.dumps(contents))
            (folder / "CMakeLists.txt").write_text(
                f"cmake_minimum_required(VERSION 3.25)\nproject(known LANGUAGES NONE)\n"
                f"include({ROOT}/cmake/TesseraKnownBackends.cmake)\n"
                f"tessera_known_backends({folder}/plugins {folder}/rows.inc)\n")
            done = subprocess.run([ARGS.cmake, "-S", folder, "-B", folder / "build"], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            return (folder / "rows.inc").read_text().splitlines()

    def test_a_folder_is_a_vendor(self):
        shared = {"version": "1.0", "kinds": ["backend"]}
        found = self.rows({
            "blue": {"plugin.json": dict(shared, name="blue", description='"Blue" \\ GPUs', pci_vendors=["1234", "5678"],
                                         catalogue={"aliases": ["azure", "navy"], "image_formats": ["spirv"]})},
            "cpu": {"plugin.json": dict(shared, name="cpu", description="the host", catalogue={"package": "lib"})},
            "plain": {"plugin.json": dict(shared, name="plain", description="a template"), "other.json": dict(
                shared, name="second", description="another")},
            "sourceless": {},
        })
        self.assertEqual(found, [
            'TESSERA_KNOWN_BACKEND("cpu", "the host", "lib", {}, {}, {})',
            'TESSERA_KNOWN_BACKEND("blue", "\\"Blue\\" \\\\ GPUs", "tessera-backend-blue", {"azure", "navy"}, '
            '{"1234", "5678"}, {"spirv"})',
        ] + [f'TESSERA_OWN_NAME("{name}")' for name in
             ("blue", "cpu", "plain", "sourceless", "azure", "navy", "second")])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for word in ("cmake", "cc", "cxx", "tsr"):
        parser.add_argument("--" + word, required=True)
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=sys.argv[:1] + rest)
