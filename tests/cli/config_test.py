#!/usr/bin/env python3
"""The configuration file from outside: who stands before it, where it is found, and what a wrong one does."""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

from cli_test import Cli, Tsr


class Config(Cli):
    def config(self, text, name="tessera.yaml"):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(path)

    def numerics(self, *more):
        result = self.run_saxpy("--json", *more)
        self.assertEqual(result.status, 0, result.errors)
        return json.loads(result.output)["numerics"]

    def test_call_environment_file_default(self):
        self.assertEqual(self.numerics(), "standard")
        self.environment["TESSERA_CONFIG"] = self.config("numerics: fast\n")
        self.assertEqual(self.numerics(), "fast")
        self.environment["TESSERA_NUMERICS"] = ""
        self.assertEqual(self.numerics(), "fast")
        self.environment["TESSERA_NUMERICS"] = "deterministic"
        self.assertEqual(self.numerics(), "deterministic")
        self.assertEqual(self.numerics("--numerics", "standard"), "standard")

    def test_the_users_own_file_is_found(self):
        self.environment["XDG_CONFIG_HOME"] = str(self.folder / "xdg")
        self.config("numerics: fast\n", "xdg/tessera/tessera.yaml")
        del self.environment["TESSERA_CONFIG"]
        self.assertEqual(self.numerics(), "fast")

    def test_a_backend_that_cannot_be_used_is_laid_to_the_file(self):
        path = self.environment["TESSERA_CONFIG"] = self.config("backend: rocm\n")
        self.refused(self.run_saxpy(), "E_BACKEND_UNUSABLE", f"backend in {path}: rocm")
        self.environment["TESSERA_BACKEND"] = "cpu"
        self.assertEqual(self.run_saxpy().status, 0)

    def test_disabled_backends_and_the_cache(self):
        cache = self.folder / "cache"
        path = self.environment["TESSERA_CONFIG"] = self.config(f"backends_disable: [cpu, rocm]\ncache_dir: {cache}\n")
        self.assertEqual(self.call("cache", "path").output.strip(), str(cache))
        shown = self.call("backends", "--why", "cpu")
        self.assertIn(f"backends_disable in {path} names cpu", shown.output + shown.errors)

    def test_with_another_groups_rights_neither_variables_nor_files_count(self):
        groups = [65534] if os.geteuid() == 0 else [g for g in os.getgroups() if g != os.getegid()]
        if not groups or os.statvfs(self.folder).f_flag & os.ST_NOSUID or pathlib.Path("/etc/tessera").exists():
            self.skipTest("no set-group-id program can be made here, or this machine has settings of its own")
        program = self.folder / "tsr"
        shutil.copy(self.tsr.program, program)
        os.chown(program, -1, groups[0])
        log = self.folder / "log"
        self.environment |= {"TESSERA_CONFIG": self.config("numerics: fast\n"), "TESSERA_NUMERICS": "fast",
                             "TESSERA_PLUGIN_LOG": str(log), "HOME": str(self.folder)}
        for mode, numerics in ((0o755, "fast"), (0o2755, "standard")):
            program.chmod(mode)
            log.unlink(missing_ok=True)
            ran = subprocess.run([program, "run", self.file, "--in", f"x={self.x}", f"y={self.y}", "--scalar", "alpha=2", "--json"],
                                 env=self.environment, cwd=self.folder, capture_output=True, text=True)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertEqual(json.loads(ran.stdout)["numerics"], numerics)
            self.assertEqual(log.exists(), numerics == "fast")
            self.assertEqual((self.folder / ".cache").exists(), numerics == "fast")
            shutil.rmtree(self.folder / ".cache", ignore_errors=True)

    def test_wrong_files(self):
        path = self.environment["TESSERA_CONFIG"] = self.config("cache_size: 1G\nbakend: cpu\n")
        for words in (["backends"], ["compile", self.file], ["cache", "path"]):
            self.refused(self.call(*words), "E_CONFIG", f"{path}:2: unknown key 'bakend', did you mean backend?")
        for words in (["version"], ["help"], ["help", "run"], ["explain", "E_CONFIG"]):
            self.assertEqual(self.call(*words).status, 0)
        self.environment["TESSERA_CONFIG"] = "/nowhere/t.yaml"
        self.refused(self.run_saxpy(), "E_CONFIG", "/nowhere/t.yaml cannot be read: No such file or directory")
        explained = self.call("explain", "E_CONFIG")
        self.assertIn("TESSERA_CONFIG=off", explained.output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tsr", required=True)
    arguments, rest = parser.parse_known_args()
    Cli.tsr = Tsr(arguments.tsr)
    unittest.main(argv=[sys.argv[0], *rest])
