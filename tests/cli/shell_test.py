#!/usr/bin/env python3
"""What a person at a shell meets: a terminal's colours and progress, completion, the manual page, --json."""
import argparse
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

import numpy as np

from cli_test import ROOT, SUM, Cli, Tsr

COMPLETION = ROOT / "tools" / "tsr" / "completions" / "tsr.bash"


class Output(Cli):
    """What cannot be printed is no success."""

    def to(self, where, *words):
        with open(where, "wb") as out:
            done = subprocess.run([self.tsr.program, *map(str, words)], stdout=out, stderr=subprocess.PIPE, text=True,
                                  env=self.environment, check=False)
        return done.returncode, done.stderr

    WORDS = (["version"], ["help"], ["help", "--man"], ["run", "--help"], ["explain", "--list"], ["explain", "E_INTERNAL"],
             ["backends"], ["backends", "--json"], ["backends", "--why", "cpu"], ["cache", "path"])

    def test_a_full_device(self):
        for words in (*self.WORDS, ["kernels", self.file], ["compile", self.file, "--emit", "tile"],
                      ["run", self.file, "--in", f"x={self.x}", f"y={self.y}", "--scalar", "alpha=2", "--time", "1"]):
            with self.subTest(words):
                status, errors = self.to("/dev/full", *words)
                self.assertEqual(status, 1, errors)
                self.assertRegex(errors, r"^tsr: error: \[E_OUTPUT_WRITE\] standard output[^\n]*\n$")
        self.no_leftovers()

    def test_a_closed_one(self):
        for words in (["version"], ["backends"], ["compile", self.file, "--emit", "tile"]):
            with self.subTest(words):
                done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", self.tsr.program, *map(str, words)], env=self.environment,
                                      stderr=subprocess.PIPE, text=True, check=False)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn("[E_OUTPUT_WRITE] standard output", done.stderr)

    def test_nothing_to_print_needs_none(self):
        out = self.folder / "out.npy"
        done = subprocess.run(["sh", "-c", 'exec "$@" >&- 2>&- <&-', "sh", self.tsr.program, "run", self.file, "--in", f"x={self.x}",
                               f"y={self.y}", "--scalar", "alpha=2", "--out", f"y={out}"], env=self.environment, check=False)
        self.assertEqual(done.returncode, 0)
        self.assertTrue(out.read_bytes().startswith(b"\x93NUMPY"))

    def test_errors_that_nobody_can_read_end_it_all_the_same(self):
        with open("/dev/full", "wb") as full:
            for words in ([], ["nothing"], ["run", "/no/such.py"]):
                self.assertEqual(subprocess.run([self.tsr.program, *words], stderr=full, check=False).returncode, 1)

    def test_control_characters_are_escaped(self):
        name = "a\x1b[31m\x07b"
        for words in ([name], ["run", name + ".py"], ["kernels", name + ".py"], ["compile", self.file, "--emit", name],
                      ["run", self.file, "--backend", name], ["run", self.file, "--numerics", name],
                      ["backends", "--why", name]):
            with self.subTest(words):
                result = self.call(*words)
                self.assertEqual(result.status, 1)
                self.assertNotRegex(result.errors + result.output, "[\x1b\x07]")
                self.assertIn(r"a\x1b[31m\x07b", result.errors)
        for words in (["explain", name], ["run", self.file, "--mapper", name]):
            self.assertNotRegex(self.call(*words).errors, "[\x1b\x07]")


class Terminal(Cli):
    def on_terminal(self, *words, until=None, **environment):
        """Runs tsr with a terminal of its own; presses Ctrl-C once `until` has been seen. Returns status and text."""
        pid, terminal = pty.fork()
        if pid == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # ignored if the tests run in the background of a script
            os.execve(self.tsr.program, [self.tsr.program, *map(str, words)],
                      {**self.environment, "TERM": "xterm", **environment})
        text, deadline = "", time.monotonic() + 120
        while time.monotonic() < deadline:
            try:
                text += os.read(terminal, 65536).decode()
            except OSError:  # the other end is closed
                break
            if until and re.search(until, text):
                os.write(terminal, b"\x03")
                until = None
        status = os.waitpid(pid, 0)[1]
        os.close(terminal)
        return status, text

    def test_colours_only_on_a_terminal(self):
        self.assertIn("\033[1;31m", self.on_terminal("run")[1])
        self.assertNotIn("\033", self.on_terminal("run", NO_COLOR="1")[1])
        self.assertNotIn("\033", self.on_terminal("run", TERM="dumb")[1])
        self.assertNotIn("\033", self.on_terminal("run", "--color=never")[1])
        self.assertIn("\033", self.on_terminal("run", "--color=always", NO_COLOR="1")[1])
        self.assertIn("\033", self.call("run", "--color", "always").errors)
        self.assertNotIn("\033", self.call("run", "--color", "auto").errors)
        self.refused(self.call("version", "--color=sometimes"), "E_OPTION_VALUE", "auto, always or never")

    def test_progress_on_what_takes_long(self):
        x, y = (self.array(name, np.ones(1 << 20, "f4")) for name in ("long-x", "long-y"))  # minutes, were it not ended
        long = ("run", self.file, "--in", f"x={x}", f"y={y}", "--scalar", "alpha=1", "--time", "1000000")
        status, text = self.on_terminal(*long, until=r"run \d+ of 1000000 \(\d+\.\d s\)")
        self.assertEqual(os.WTERMSIG(status), signal.SIGINT)
        self.assertTrue(text.endswith("\r\033[K"), repr(text[-80:]))  # the line is gone
        self.assertNotIn("crash", text)

    def test_what_is_quick_shows_no_progress(self):
        self.assertEqual(self.on_terminal("kernels", self.file)[0], 0)
        self.assertNotIn("\r\033", self.on_terminal("kernels", self.file)[1])


class Completion(Cli):
    def candidates(self, line):
        script = f'source "{COMPLETION}"; COMP_LINE=$1 COMP_POINT=${{#1}}; _tsr; printf "%s\\n" "${{COMPREPLY[@]}}"'
        done = subprocess.run(["bash", "-c", script, "bash", line], capture_output=True, cwd=self.folder, env=self.environment)
        self.assertEqual(done.stderr, b"")
        return done.stdout.decode().split()

    def tsr_line(self, rest):
        return self.candidates(f"{self.tsr.program} {rest}")

    def test_commands_and_options(self):
        self.assertIn("compile", self.tsr_line(""))
        self.assertEqual(self.tsr_line("ru"), ["run"])
        self.assertEqual(self.tsr_line("help comp"), ["compile", "complete"])
        self.assertEqual(self.tsr_line("compile --outp"), ["--output"])
        self.assertEqual(self.tsr_line("explain E_DIM_CL"), ["E_DIM_CLASH"])
        self.assertEqual(self.tsr_line("nothing "), [])

    def test_values(self):
        self.assertIn("tile", self.tsr_line("compile kernel.py --emit "))
        self.assertEqual(self.tsr_line("compile kernel.py --emit=ob"), ["object"])
        self.assertEqual(self.tsr_line("compile --target cpu:x86-64-v3"), ["x86-64-v3"])  # what stands behind the ':'
        self.assertEqual(self.tsr_line("compile --target ptx:sm_9"), ["sm_90", "sm_90a"])
        self.assertEqual(self.tsr_line("run --numerics st"), ["standard", "strict"])
        self.assertEqual(self.tsr_line("run --backend cp"), ["cpu"])
        self.assertEqual(self.tsr_line("cache "), ["stat", "clear", "path"])
        self.assertEqual(self.tsr_line("cache c"), ["clear"])
        self.assertEqual(self.tsr_line("cache clear --js"), ["--json"])
        self.assertEqual(self.tsr_line("new-plugin "), ["mapper", "backend", "codegen"])
        self.assertEqual(self.tsr_line("new-plugin mapper "), [])
        self.assertEqual(self.tsr_line("backends --why cp"), ["cpu"])
        self.assertIn("rocm", self.tsr_line("backends --why "))

    def test_names_come_from_the_file(self):
        self.source(SUM)
        self.assertEqual(self.tsr_line("run kernel.py --kernel "), ["add"])
        self.assertEqual(self.tsr_line("run kernel.py --in "), ["X=", "Y=", "Z="])
        self.assertEqual(self.tsr_line("run kernel.py --in X=x.npy "), ["X=", "Y=", "Z="])
        self.assertEqual(self.tsr_line("run kernel.py --out "), ["Z="])
        self.assertEqual(self.tsr_line("run kernel.py --dim "), ["M=", "N="])
        self.assertEqual(self.tsr_line("run kernel.py --set "), ["BLOCK="])
        self.assertEqual(self.tsr_line("run kernel.py --set BLOCK="), ["16", "32"])
        self.assertEqual(self.tsr_line("compile kernel.py --set=BLOCK=3"), ["32"])
        self.assertEqual(self.tsr_line("run kernel.py --set BLOK="), [])
        self.source("this is no program")
        self.assertEqual(self.tsr_line("run kernel.py --in "), [])

    def test_file_names(self):
        self.assertEqual(self.tsr_line("run ker"), ["kernel.py"])
        self.assertEqual(self.tsr_line("run kernel.py --in x=x"), ["x.npy"])
        (self.folder / "folder").mkdir()
        self.assertEqual(self.tsr_line("compile kernel.py --print-ir-after-all=f"), ["folder"])


class Manual(Cli):
    def page(self):
        path = self.folder / "tsr.1"
        result = self.call("help", "--man")
        self.assertEqual(result.status, 0)
        path.write_text(result.output)
        return path

    def test_every_option_is_in_the_manual_and_the_documentation(self):
        manual = self.page().read_text().replace("\\-", "-")
        documents = (ROOT / "docs" / "cli.md").read_text()
        for command in json.loads(self.call("help", "--json").output):
            self.assertIn(f"tsr {command['name']}", documents)
            self.assertIn(f".Ss tsr {command['name']}", manual)
            for option in command["options"]:
                self.assertIn(f'"{option["spelling"]}"', manual)
                self.assertRegex(documents, "|".join(re.findall(r"--?[a-z-]+", option["spelling"])))
        variables = set(re.findall(r"^\| `(\w+)", documents, re.MULTILINE)) - {"status"}
        for variable in variables:
            self.assertIn(variable.split("=")[0], manual)

    @unittest.skipUnless(shutil.which("mandoc"), "mandoc is not installed")
    def test_the_source_is_sound(self):
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", self.page()], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        shown = subprocess.run(["mandoc", "-T", "ascii", self.page()], capture_output=True, text=True).stdout
        self.assertIn("EXIT STATUS", re.sub(r".\x08", "", shown))


class MachineReadable(Cli):
    def document(self, *words):
        result = self.call(*words, "--json")
        self.assertEqual(result.status, 0, result.errors)
        return json.loads(result.output)

    def test_backends(self):
        report = self.document("backends")
        self.assertEqual(report["selected"], "cpu")
        cpu = next(b for b in report["plugins"] if b["name"] == "cpu")
        self.assertEqual((cpu["state"], cpu["devices"]), ("built in", 1))

    def test_kernels(self):
        self.source(SUM)
        (kernel,) = self.document("kernels", self.file)
        self.assertEqual((kernel["name"], kernel["kind"], kernel["dims"]), ("add", "kernel", ["M", "N"]))
        self.assertEqual(kernel["params"][2], {"name": "Z", "kind": "tensor", "dtype": "f32", "dims": ["M", "N"], "access": "write"})
        self.assertEqual(kernel["tunables"], {"BLOCK": [16, 32]})
        self.assertIn("Z            f32[M, N], write", self.call("kernels", self.file).output)
        self.refused(self.call("kernels"), "E_NO_FILE")

    def test_defaults_that_are_no_number_of_json(self):
        for dtype in ("f16", "f32", "f64"):
            defaults = {"a": ("float('inf')", "inf"), "b": ("-float('inf')", "-inf"), "c": ("float('nan')", "nan"), "d": ("0.5", 0.5)}
            scalars = ", ".join(f"{name}: ts.{dtype} = {text}" for name, (text, _) in defaults.items())
            self.source(f"import tessera as ts\n\n@ts.kernel\ndef k(X: ts.Tensor[4, ts.{dtype}], {scalars}):\n    X[0:4] = X[0:4] * a\n")
            (kernel,) = self.document("kernels", self.file)
            self.assertEqual([p.get("default") for p in kernel["params"]], [None, *(value for _, value in defaults.values())])

    def test_run(self):
        words = ("run", self.file, "--in", f"x={self.x}", f"y={self.y}", "--scalar", "alpha=2")
        once = self.document(*words)
        self.assertEqual((once["kernel"], once["backend"], once["dims"]), ("saxpy", "cpu", {"n": 5}))
        self.assertNotIn("timing", once)
        self.assertIsInstance(once["grid"], list)
        timing = self.document(*words, "--time", "3")["timing"]
        self.assertEqual(timing["runs"], 3)
        self.assertLessEqual(timing["min_seconds"], timing["median_seconds"])

    def test_versions_and_codes(self):
        self.assertEqual(set(self.document("version")), {"tessera", "abi", "compiler"})
        self.assertEqual(self.document("explain", "E_DIM_CLASH")["code"], "E_DIM_CLASH")
        self.assertGreater(len(self.document("explain", "--list")), 20)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tsr", default=str(ROOT / "build/release/bin/tsr"))
    known, rest = parser.parse_known_args()
    Cli.tsr = Tsr(known.tsr)
    unittest.main(argv=sys.argv[:1] + rest)
