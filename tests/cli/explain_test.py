#!/usr/bin/env python3
"""The examples of `tsr explain`: of every code, what is wrong gives exactly this code, and what is right gives none."""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import numpy as np

from cli_test import ROOT, Cli, Tsr

EXAMPLES = ROOT / "tools" / "tsr" / "explain"
CODE = re.compile(r"\[([EW]_[A-Z0-9_]+)\]")

# Errors that no program and no command gives on a sound machine, and the files that provoke or report them.
ELSEWHERE = {
    "E_AMBIGUOUS_KERNEL": "compiler/frontend/test/CasesTest.cpp",
    "E_ARG_ALIGNMENT": "tests/python/test_arguments.py",
    "E_ARG_COUNT": "tests/python/test_arguments.py",
    "E_ARG_DEVICE": "python/core/Kernel.cpp",
    "E_ARG_DLPACK": "tests/python/test_arguments.py",
    "E_ARG_OVERLAP": "tests/python/test_arguments.py",
    "E_ARG_RANGE": "tests/python/test_arguments.py",
    "E_ARG_READONLY": "tests/python/test_arguments.py",
    "E_ARG_STRIDES": "tests/python/test_arguments.py",
    "E_ARG_TYPE": "tests/python/test_arguments.py",
    "E_BACKEND": "compiler/codegen",
    "E_BUNDLE_VERSION": "tests/cli/bundle_test.py",
    "E_CALL": "tests/python/test_errors.py",
    "E_CAPTURE": "tests/python/test_capture.py",
    "E_CAPTURING": "tests/python/test_streams.py",
    "E_CODEGEN_PLUGIN": "compiler/codegen/test/PluginTargetTest.cpp",
    "E_DIM_VALUE": "compiler/frontend/test/CasesTest.cpp",
    "E_EMU_ALIGNMENT": "tests/emulation/PlantedTest.cpp",
    "E_EMU_ALLOCATION": "tests/emulation/WarpgroupMutantTest.cpp",
    "E_EMU_BOUNDS": "tests/emulation/PlantedTest.cpp",
    "E_EMU_DEADLOCK": "tests/emulation/PlantedTest.cpp",
    "E_EMU_DIVERGENCE": "tests/emulation/PlantedTest.cpp",
    "E_EMU_FENCE": "tests/emulation/WarpgroupTest.cpp",
    "E_EMU_NOT_AWAITED": "tests/emulation/PlantedTest.cpp",
    "E_EMU_OPERANDS": "tests/emulation/MatrixTest.cpp",
    "E_EMU_UNINITIALIZED": "tests/emulation/PlantedTest.cpp",
    "E_IMAGE_LOAD": "tests/cli/bundle_test.py",
    "E_INTERNAL": "tests/cli/cli_test.py",
    "E_LAUNCH_REFUSED": "tools/tsr/Session.cpp",
    "E_LEVEL_UNKNOWN": "compiler/pipeline/test/PipelineTest.cpp",
    "E_MAPPER_ANSWER": "tests/cli/mapper_test.py",
    "E_MAPPER_FAILED": "core/test",
    "E_MAPPER_TIMEOUT": "mapper/test/HostTest.cpp",
    "E_NO_COMPILER": "tests/cli/backends_test.py",
    "E_NO_SOURCE": "tests/python/test_capture.py",
    "E_NO_TUNER": "tests/python/test_autotune.py",
    "E_PROGRAM": "tools/tsr/Session.cpp",
    "E_TUNE_DEFAULT": "tools/tune/test/TunerTest.cpp",
    "E_TUNE_SPACE": "tools/tune/test/SpaceTest.cpp",
    "E_TUNE_WRONG": "tests/cli/tune_test.py",
    "E_VARIANT": "core/test/VariantsTest.cpp",
    "E_UNKNOWN_KERNEL": "compiler/frontend/test/CasesTest.cpp",
    "W_CODEGEN_PLUGIN": "compiler/codegen/test/PluginTargetTest.cpp",
    "W_CPU_STATE": "core/objects/LoadBundle.cpp",
    "W_PLUGIN": "core/test/plugin/ProfilesTest.cpp",
    "W_TRACE": "core/objects/Tracer.cpp",
    "W_VARIANT": "core/test/FunctionBodiesTest.cpp",
}


class Explain(Cli):
    def setUp(self):
        super().setUp()
        self.home = self.folder / "home"
        self.home.mkdir()
        for sample in ("saxpy", "softmax", "mlp"):
            shutil.copy(ROOT / "samples" / sample / f"{sample}.py", self.home)
        np.save(self.home / "x.npy", np.arange(5, dtype="f4"))
        np.save(self.home / "y.npy", np.ones(5, "f4"))
        self.environment["PATH"] = f"{pathlib.Path(self.tsr.program).parent}:/usr/bin:{os.environ['PATH']}"

    def halves(self, text, comment):
        wrong, right = re.fullmatch(rf"({comment} wrong.*\n)\n({comment} right.*)", text, re.DOTALL).groups()
        return wrong, right

    def compiled(self, text, name):
        """The codes of the diagnostics of a program, and its status."""
        path = self.home / name
        path.write_text(text)
        result = self.call("compile", path, "--emit", "bundle", "-o", self.home / "out.tsrb", cwd=self.home)
        return result.status, CODE.findall(result.errors), result.errors

    def executed(self, text):
        """Runs the commands in a folder of their own. All but the last one must succeed without a word of a code."""
        folder = self.folder / "run"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.home, folder)
        commands = re.findall(r"^\$ (.*)$", text, re.MULTILINE)
        self.assertEqual(text.count("\n"), len(commands) + 1, text)
        for i, command in enumerate(commands):
            done = subprocess.run(["bash", "-c", command], cwd=folder, env=self.environment, capture_output=True, timeout=120,
                                  check=False)
            errors = done.stderr.decode()
            if i + 1 < len(commands):
                self.assertEqual((done.returncode, CODE.findall(errors)), (0, []), f"{command}\n{errors}")
        return done.returncode, CODE.findall(errors), errors

    def check(self, code, kind, text):
        if kind == "txt":
            self.assertIn(code, ELSEWHERE, "an example of this code can be run")
            place = ROOT / ELSEWHERE[code]
            files = [p for p in place.rglob("*.cpp")] if place.is_dir() else [place]
            self.assertTrue(any(code in p.read_text() for p in files), f"{ELSEWHERE[code]} does not have {code}")
            return
        self.assertNotIn(code, ELSEWHERE)
        wrong, right = self.halves(text, "//" if kind == "mlir" else "#")
        for half, wanted in ((wrong, code), (right, None)):
            if kind == "console":
                status, codes, errors = self.executed(half)
            else:
                status, codes, errors = self.compiled(half, f"kernel.{'mlir' if kind == 'mlir' else 'py'}")
            self.assertEqual(status, 1 if wanted and not code.startswith("W_") else 0, f"{half}\n{errors}")
            if code.startswith("W_"):  # warnings have their code in the log only
                self.assertEqual("warning: " in errors, wanted is not None, f"{half}\n{errors}")
            else:
                self.assertEqual(set(codes), {wanted} - {None}, f"{half}\n{errors}")

    def test_every_code_has_an_example(self):
        listed = json.loads(self.call("explain", "--list", "--json").output)
        self.assertEqual({c["code"] for c in listed if "example" not in c}, set(), "add a file to tools/tsr/explain")
        self.assertEqual({c["code"] for c in listed}, {p.stem for p in EXAMPLES.iterdir()})

    def test_it_is_shown(self):
        text = (EXAMPLES / "E_TYPE_MIX.tsr").read_text()
        shown = self.call("explain", "E_TYPE_MIX").output
        self.assertTrue(shown.endswith("\n\n" + text), shown)


def add_tests(tsr):
    for entry in json.loads(tsr.call("explain", "--list", "--json").output):
        if "example" in entry:
            def test(self, entry=entry):
                self.check(entry["code"], entry["example"]["kind"], entry["example"]["text"])

            setattr(Explain, f"test_{entry['code']}", test)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tsr", default=str(ROOT / "build/release/bin/tsr"))
    known, rest = parser.parse_known_args()
    Cli.tsr = Tsr(known.tsr)
    add_tests(Cli.tsr)
    unittest.main(argv=sys.argv[:1] + rest)
