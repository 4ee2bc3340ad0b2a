#!/usr/bin/env python3
"""The Debian packaging against the install tree, without building a package: every installed file belongs to exactly one
package, every line of debian/*.install takes something, libtessera1.symbols lists what the library exports, the other
libraries of its package are left out of symbols files, and the versions that stand in several files agree."""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import debian  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEBIAN = ROOT / "packaging/debian"
TRIPLET = "x86_64-linux-gnu"


def number(file, name):
    return re.search(rf"#define {name} (\d+)", (ROOT / "sdk/include/tessera" / file).read_text()).group(1)


class Files(unittest.TestCase):
    cmake = build = None

    @classmethod
    def setUpClass(cls):
        cls.stage = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.stage)
        subprocess.run([cls.cmake, "--install", cls.build, "--prefix", cls.stage / "usr"], check=True,
                       stdout=subprocess.DEVNULL)
        found = (p.relative_to(cls.stage).as_posix() for p in cls.stage.rglob("*") if not p.is_dir())
        # This build's libraries may lie in usr/lib; a package's are in the folder of their architecture.
        cls.installed = sorted(re.sub(rf"^usr/lib/(?!{TRIPLET}/|python3/)", f"usr/lib/{TRIPLET}/", path) for path in found)
        cls.install = {p.stem: debian.lines(p.read_text()) for p in DEBIAN.glob("*.install")}

    def test_every_file_belongs_to_one_package_and_every_line_takes_one(self):
        wrong = debian.split(self.installed, self.install, debian.lines((DEBIAN / "not-installed").read_text()),
                             lambda pattern: any(ROOT.glob(pattern)))
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))

    def test_every_package_of_the_control_file_installs_something(self):
        packages = set(debian.stanzas((DEBIAN / "control").read_text())) - {""}
        self.assertEqual(packages, set(self.install))

    def test_each_library_beside_a_symbols_file_is_listed_or_left_out(self):
        left_out = debian.untracked((DEBIAN / "rules").read_text())
        for file in DEBIAN.glob("*.symbols"):
            listed = set(re.findall(r"^(lib\S+)\.so\S* \S+ #MINVER#", file.read_text(), re.MULTILINE))
            self.assertTrue(listed)
            found = {path.rsplit("/", 1)[1].split(".so")[0] for path in self.installed
                     if re.match(rf"usr/lib/{TRIPLET}/lib[^/]*\.so", path)
                     and any(debian.matches(pattern.split()[0], path) for pattern in self.install[file.stem])}
            self.assertEqual(found, listed | {name.removesuffix(".so") for name in left_out})

    def test_links_stay_within_what_is_installed(self):
        links = [p for p in self.stage.rglob("*") if p.is_symlink()]
        self.assertTrue(links)
        for link in links:
            self.assertTrue((link.parent / link.readlink()).is_relative_to(self.stage) and link.exists(), link)

    def test_the_check_sees_what_it_should(self):
        install = {"a": ["usr/lib/*/liba.so.*", "usr/include/a"], "b": ["usr/include/a/b.h", "usr/bin/none"]}
        wrong = debian.split(["usr/lib/x/liba.so.1", "usr/include/a/b.h", "usr/bin/c", "usr/share/doc/L"], install,
                             ["usr/share/doc/L", "usr/share/doc/M"])
        self.assertEqual(wrong, ["usr/include/a/b.h belongs to a and b", "usr/bin/c belongs to no package",
                                 "b: 'usr/bin/none' takes no file", "not-installed: 'usr/share/doc/M' takes no file"])


class Symbols(unittest.TestCase):
    library = nm = None

    def test_the_symbols_file_lists_what_the_library_exports(self):
        nm = subprocess.run([self.nm, "-D", "--defined-only", self.library], check=True, capture_output=True, text=True)
        exported = debian.exported(nm.stdout)
        listed = debian.symbols((DEBIAN / "libtessera1.symbols").read_text())
        self.assertEqual(sorted(exported - listed), [], "exported, and not in debian/libtessera1.symbols")
        self.assertEqual(sorted(listed - exported), [], "in debian/libtessera1.symbols, and not exported")

    def test_the_newest_node_of_the_version_script_is_the_headers_minor(self):
        nodes = re.findall(r"^TESSERA_(\d+)\.(\d+) \{", (ROOT / "core/tessera.map").read_text(), re.MULTILINE)
        self.assertEqual(nodes[-1], (number("tessera.h", "TSR_ABI_MAJOR"), number("tessera.h", "TSR_ABI_MINOR")))

    def test_the_abi_page_has_every_minor(self):
        page = (ROOT / "docs/abi-changelog.md").read_text()
        for minor in range(int(number("tessera.h", "TSR_ABI_MINOR")) + 1):
            self.assertIn(f"\n### 1.{minor}", page.split("## The plugin ABI")[0])

    def test_symbols_are_read_as_dpkg_reads_them(self):
        text = "lib.so.1 lib1 #MINVER#\n* Build-Depends-Package: lib-dev\n f@V_1 0.1.0\n g@Base 0.2.0\n"
        self.assertEqual(debian.symbols(text), {"f@V_1", "g@Base"})
        self.assertEqual(debian.exported("0001 T f@@V_1\n0002 T g\n"), {"f@V_1", "g@Base"})


class Embedded(unittest.TestCase):
    SOURCES = {"libflatbuffers-dev": "FlatBuffers", "liblld-22-dev": "LLD", "libxxhash-dev": "xxHash",
               "nlohmann-json3-dev": "nlohmann-json3", "spirv-tools": "SPIRV-Tools"}

    def test_who_holds_code_of_others_says_so(self):
        held = debian.embedded((DEBIAN / "rules").read_text())
        stanzas = debian.stanzas((DEBIAN / "control").read_text())
        notices = (DEBIAN / "copyright").read_text().split("\nFiles: *")[0]
        self.assertEqual({name for name, fields in stanzas.items() if "Static-Built-Using" in fields}, set(held))
        for name, libraries in held.items():
            for library in libraries:
                self.assertIn(library, stanzas[""]["Build-Depends"], name)
                self.assertIn(self.SOURCES[library], notices, name)

    def test_the_compiler_holds_the_static_libraries_it_links(self):
        links = (ROOT / "compiler/CMakeLists.txt").read_text()
        held = debian.embedded((DEBIAN / "rules").read_text())["libtessera-compiler"]
        self.assertIn("--exclude-libs,liblldELF.a:liblldCommon.a:libSPIRV-Tools-opt.a:libSPIRV-Tools.a)", links)
        self.assertLessEqual({"liblld-22-dev", "spirv-tools"}, set(held))


class Versions(unittest.TestCase):
    def test_the_changelog_is_of_the_projects_version(self):
        project = re.search(r"project\(tessera VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
        first = (DEBIAN / "changelog").read_text().split("\n")[0]
        self.assertRegex(first, rf"^tessera \({re.escape(project)}-\d+~bookworm\d+\) ")

    def test_libtessera1_provides_the_plugin_abi_and_plugins_depend_on_it(self):
        stanzas = debian.stanzas((DEBIAN / "control").read_text())
        major, minor = number("plugin.h", "TSR_PLUGIN_ABI_MAJOR"), number("plugin.h", "TSR_PLUGIN_ABI_MINOR")
        self.assertIn(f"tessera-plugin-abi-{major} (= {major}.{minor})", stanzas["libtessera1"]["Provides"])
        for name, fields in stanzas.items():
            if name.startswith(("tessera-backend-", "tessera-collective-")):
                self.assertIn(f"tessera-plugin-abi-{major} (>= {major}.", fields["Depends"], name)
                self.assertNotIn("libtessera1", fields["Depends"], name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--cmake", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--nm", required=True)
    parser.add_argument("--library", required=True)
    options, rest = parser.parse_known_args()
    Files.cmake, Files.build = options.cmake, options.build
    Symbols.nm, Symbols.library = options.nm, options.library
    unittest.main(argv=[sys.argv[0], *rest])
