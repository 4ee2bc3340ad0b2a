#!/usr/bin/env python3
"""`tsr backends`: --probe, colour, and what it says about a GPU whose package is not installed."""
import argparse
import json
import os
import pathlib
import pty
import shutil
import subprocess
import sys
import unittest

from cli_test import Cli, Tsr


class Backends(Cli):
    plugins = lib = None

    def setUp(self):
        super().setUp()
        self.directory = self.folder / "plugins"
        self.directory.mkdir(mode=0o755)
        self.environment |= {"TESSERA_PLUGIN_PATH": str(self.directory), "TESSERA_CACHE_DIR": str(self.folder / "cache"),
                             "TESSERA_BACKEND": "cpu"}

    def install(self, name, mode=0o644):
        path = self.directory / f"libtessera-{name}.so"
        shutil.copyfile(self.plugins / path.name, path)
        path.chmod(mode)

    def row(self, name, *more):
        result = self.call("backends", "--json", *more)
        self.assertEqual(result.status, 0, result.errors)
        return next(row for row in json.loads(result.output)["plugins"] if row["name"] == name)

    def without_packages(self):
        """From now on the runtime is one that has no plugins beside it."""
        beside = self.folder / "lib"
        beside.mkdir()
        shutil.copy(self.lib, beside / "libtessera.so.1")
        self.environment["LD_LIBRARY_PATH"] = str(beside)


class Probe(Backends):
    def test_hardware_that_does_not_fit_is_probed_all_the_same(self):
        self.install("hardware")
        self.assertNotIn("probe", self.row("hardware"))
        row = self.row("hardware", "--probe")
        self.assertEqual((row["code"], row["state"]), ("TSRP-113", "refused"))
        self.assertGreater(row["probe"]["devices"], 0)
        self.assertGreater(row["probe"]["ms"], 0)
        text = self.call("backends", "--probe").output
        self.assertRegex(text, r"    probe: \d devices?, score \d+ \(\d+\.\d ms\)\n")

    def test_a_note_that_is_believed_is_probed_all_the_same(self):
        self.install("crashes")
        self.environment["TESSERA_PROBE"] = "note"
        row = self.row("crashes", "--probe")
        self.assertNotIn("code", row)
        self.assertEqual(row["probe"]["code"], "TSRP-201")

    def test_a_quarantine_is_passed_over_and_stays(self):
        self.install("crashes")
        self.assertEqual(self.row("crashes")["code"], "TSRP-201")
        self.assertEqual(self.row("crashes")["code"], "TSRP-121")
        row = self.row("crashes", "--probe")
        self.assertEqual((row["code"], row["probe"]["code"]), ("TSRP-121", "TSRP-201"))
        self.assertEqual(self.row("crashes")["code"], "TSRP-121")

    def test_what_must_not_run_does_not(self):
        self.install("sound", 0o666)
        self.install("major")
        for name in ("sound", "major"):
            self.assertNotIn("probe", self.row(name, "--probe"), name)


class Terminal(Backends):
    def on_terminal(self, **environment):
        ours, theirs = pty.openpty()
        done = subprocess.Popen([self.tsr.program, "backends"], stdout=theirs, stderr=theirs,
                                env=self.environment | {"TERM": "xterm"} | environment)
        os.close(theirs)
        out = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other end is closed
                part = b""
            if not part:
                break
            out += part
        os.close(ours)
        self.assertEqual(done.wait(), 0)
        return out.decode()

    def test_colour_is_for_terminals(self):
        self.assertIn("\033[", self.on_terminal())
        self.assertNotIn("\033", self.on_terminal(NO_COLOR="1"))
        self.assertNotIn("\033", self.call("backends").output)


class Names(Backends):
    def test_control_characters_of_files_are_escaped(self):
        (self.directory / "libtessera-a\x1b[31m\n.so").write_bytes(b"x")
        log = self.folder / "log"
        self.environment["TESSERA_PLUGIN_LOG"] = str(log)
        for words in (["backends"], ["backends", "--why", "a\x1b[31m\n"]):
            output = self.call(*words).output
            self.assertNotIn("\x1b", output)
            self.assertIn(r"a\x1b[31m\x0a", output)
        self.assertNotIn("\x1b", log.read_text())
        self.assertIn(r"libtessera-a\x1b[31m\x0a.so: TSRP-020", log.read_text())
        self.assertIn("a\x1b[31m\n", [row["name"] for row in json.loads(self.call("backends", "--json").output)["plugins"]])

    def test_a_file_named_as_another_kind_is_refused(self):
        self.install("sound")
        (self.directory / "libtessera-sound.so").rename(self.directory / "libtessera-mapper-sound.so")
        row = self.row("sound")
        self.assertEqual((row["code"], row["state"]), ("TSRP-117", "refused"))
        self.assertIn("libtessera-sound.so", row["fix"])

    def test_a_directory_named_often_is_listed_once(self):
        self.install("sound")
        self.environment["TESSERA_PLUGIN_PATH"] = ":".join([str(self.directory), f"{self.directory}/"] * 500)
        report = json.loads(self.call("backends", "--json").output)
        self.assertEqual([row["name"] for row in report["plugins"]].count("sound"), 1)
        self.assertEqual(report["directories"].count(str(self.directory)), 1)


class NoCompiler(Backends):
    def test_one_error_and_no_crash_pack(self):
        compiler = self.lib.parent / "libtessera-compiler.so"
        hidden = ["unshare", "-m", "sh", "-c", 'mount --bind /dev/null "$0" && exec "$@"', str(compiler.resolve())]
        if subprocess.run([*hidden, "true"], capture_output=True).returncode:
            self.skipTest("this user may not mount something over the compiler")
        self.environment["TESSERA_CACHE_DIR"] = "off"
        self.environment["PATH"] = f"{pathlib.Path(self.tsr.program).parent}:{os.environ['PATH']}"
        for words in (["run", self.file, "--in", f"x={self.x}", f"y={self.y}", "--scalar", "alpha=2"], ["kernels", self.file],
                      ["compile", self.file, "--emit", "tile"], ["compile", self.file, "--emit", "bundle"]):
            with self.subTest(words[0]):
                done = subprocess.run([*hidden, "tsr", *map(str, words)], env=self.environment, capture_output=True,
                                      text=True, check=False)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertEqual(done.stderr.count("E_NO_COMPILER"), 1, done.stderr)
                self.assertEqual(done.stderr.count("error:"), 1, done.stderr)
                lines = done.stderr.splitlines()
                self.assertEqual(len(lines), len(set(lines)), done.stderr)
                self.assertNotIn("crash pack", done.stderr)
                self.no_leftovers()


class NotInstalled(Backends):
    def test_the_error_names_the_package(self):
        self.without_packages()
        self.environment["TESSERA_BACKEND"] = "rocm"
        result = self.call("backends")
        self.assertEqual(result.status, 1)
        self.assertIn("[E_BACKEND_UNUSABLE] TESSERA_BACKEND=rocm: TSRP-401", result.errors)
        self.assertIn("install tessera-backend-rocm", result.errors)
        self.refused(self.run_saxpy(), "E_BACKEND_UNUSABLE", "install tessera-backend-rocm")

    def test_a_gpu_without_its_plugin_is_hinted_at(self):
        self.without_packages()
        device = self.folder / "pci" / "0000:65:00.0"
        device.mkdir(parents=True)
        (device / "class").write_text("0x038000\n")
        (device / "vendor").write_text("0x1002\n")
        inside = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /sys/bus/pci/devices && exec "$@"', str(device.parent)]
        if subprocess.run([*inside, "true"], capture_output=True).returncode:
            self.skipTest("this user may not mount another list of PCI devices")
        shown = subprocess.run([*inside, self.tsr.program, "backends"], env=self.environment, capture_output=True, text=True)
        self.assertRegex(shown.stdout, r"(?m)^hint: .*tessera-backend-rocm", shown.stderr)
        shown = subprocess.run([*inside, self.tsr.program, "backends", "--json"], env=self.environment,
                               capture_output=True, text=True)
        hints = json.loads(shown.stdout)["hints"]
        self.assertEqual(len(hints), 1)
        self.assertIn("tessera-backend-rocm", hints[0])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tsr", required=True)
    parser.add_argument("--plugins", required=True, type=pathlib.Path)
    parser.add_argument("--lib", required=True, type=pathlib.Path)
    options, rest = parser.parse_known_args()
    Cli.tsr = Tsr(options.tsr)
    Backends.plugins, Backends.lib = options.plugins, options.lib
    unittest.main(argv=[sys.argv[0], *rest])
