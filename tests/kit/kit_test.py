#!/usr/bin/env python3
"""tsr-conformance against plugins that are broken in one way each, and against its own arguments.

Every plugin here must fail the check made for what is wrong with it; with --whole it runs every check, and must fail
no other.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent

# KIT_BROKEN -> the one check that has to fail.
BACKEND = {
    "thread": "purity.threads",
    "descriptor": "purity.files",
    "environment": "purity.environment",
    "signal": "purity.signal_handlers",
    "mask": "purity.signal_mask",
    "locale": "purity.locale",
    "rounding": "purity.floating_point",
    "directory": "purity.directory",
    "umask": "purity.umask",
    "output": "purity.output",
    "wordless": "abi.strings",
    "sizeless": "abi.query",
    "past": "abi.info_exact",
    "whole": "abi.info_truncated",
    "too_new": "abi.host_minor_newer",
    "trusts_host": "abi.host_truncated",
    "fickle": "abi.query_repeats",
    "odd_size": "abi.table_size",
    "half": "abi.slot_groups",
    "exits": "probe.returns",
    "crashes": "probe.returns",
    "hangs": "probe.returns",
    "boasts": "probe.answer",
    "mumbles": "probe.reason",
    "differs": "probe.repeats",
    "probe_past": "probe.in_bounds",
    "silent": "lifecycle.create_behaves",
    "refuses": "lifecycle.create",
    "once": "lifecycle.create_again",
    "counts": "lifecycle.device_count",
    "nameless": "lifecycle.device_info",
    "any_device": "lifecycle.bad_device",
    "device_past": "lifecycle.device_info_bounds",
    "text_past": "lifecycle.texts",
    "leaks": "lifecycle.leaks",
    "hoards": "lifecycle.allocator",
    "stays": "lifecycle.exit",
    "misaligned": "memory.alignment",
    "zero": "memory.zero_bytes",
    "overlaps": "memory.distinct",
    "hardy": "memory.exhaustion",
    "touches": "memory.exhaustion",
    "available": "memory.available",
    "uncounted": "memory.info",
    "claims": "memory.flags",
    "trims": "memory.trim",
    "impatient": "streams.timeouts",
    "never_idle": "streams.is_idle",
    "never_done": "streams.query",
    "unrecorded": "events.never_recorded",
    "backwards": "events.timestamps",
    "forwards": "copies.overlap",
    "truncates": "copies.sizes",
    "aligned_only": "copies.places",
    "signed": "fill.values",
    "fills_past": "fill.sizes",
    "flat": "launch.grid",
    "flushes": "launch.numerics",
    "keeps": "launch.keep",
    "desc_past": "launch.descriptor_sizes",
    "guesses": "launch.unknown_kernel",
    "formats": "launch.unknown_format",
    "graph_keeps": "graph.keep",
    "graph_fills": "graph.replay",
    "not_empty": "graph.empty",
    "unnumbered": "activities.copies",
    "other_clock": "activities.times",
    "tags_late": "activities.tags",
    "calls_deaf": "streams.calls_fail",
    "calls_early": "streams.calls",
    "renews": "streams.native",
    "nameless_launch": "activities.launches",
    "swallows_ranges": "activities.ranges",
    "reports_on": "activities.ends",
}
COLLECTIVE = {
    "sums": "collectives.all_reduce",
    "casts": "collectives.broadcast",
    "writes_past": "collectives.all_gather",
    "scatters": "collectives.reduce_scatter",
    "exchanges": "collectives.all_to_all",
    "untagged": "collectives.pairs",
    "unordered": "collectives.split",
    "reasonless": "collectives.abort",
    "nowhere": "collectives.info",
    "in_place": "collectives.in_place",
    "nothing": "collectives.nothing",
    "trusting": "collectives.bad_calls",
    "options": "collectives.bad_options",
    "deaf": "collectives.mismatch",
    "patient": "collectives.deadline",
    "meeting": "collectives.meeting",
}
MAPPER = {
    "uncreated": "mapper.create",
    "arguments": "mapper.arguments",
    "placed": "mapper.place",
    "ring": "mapper.collective",
    "outside": "mapper.variant",
    "stalls": "mapper.variant",
    "racy": "mapper.threads",
    "answers_past": "mapper.short_answers",
    "twice": "profiles.listed",
    "two": "profiles.permissions",
    "moody": "profiles.pure",
    "profile_past": "profiles.in_bounds",
}
CODEGEN = {
    "twice": "codegen.listed",
    "three": "codegen.fields",
    "moody": "codegen.pure",
    "target_past": "codegen.in_bounds",
    "empty": "codegen.compiles",
    "counts": "codegen.repeats",
    "credulous": "codegen.refuses_garbage",
    "anywhere": "codegen.unknown_architecture",
    "deaf": "codegen.full_sink",
    "racy": "codegen.threads",
    "crashes": "codegen.refuses_garbage",
    "hangs": "codegen.refuses_garbage",
}
# Plugins of core/test/plugin.
LOADER = {
    "noteless": "abi.manifest",
    "undefined": "abi.loads",
    "mute": "abi.export",
    "extra": "abi.exports_only",
    "fails": "abi.query",
    "lies": "abi.manifest_equals_query",
    "major": "abi.manifest_equals_query",
    "newer": "abi.numbers",
    "writes": "abi.info_exact",
    "tableless": "abi.tables",
    "interface": "abi.interface_version",
    "slotless": "abi.required_slots",
    "chatty": "purity.output",
    "throws": "lifecycle.create",
    "sound": None,
    "nodevice": None,
}
# Wrong answers of mappers show on every thread, and in every question. Records are on the clock of events and count
# the programs of a launch.
ALSO = {"calls_early": {"streams.calls_fail"}, "backwards": {"activities.times"}, "flat": {"activities.launches"}, "placed": {"mapper.threads"}, "ring": {"mapper.threads"}, "outside": {"mapper.threads"}}


class Kit(unittest.TestCase):
    maxDiff = None

    def run_kit(self, *words, broken=None, status=None):
        env = dict(os.environ, LC_ALL="C", NO_COLOR="1")
        env.pop("KIT_BROKEN", None)
        if broken:
            env["KIT_BROKEN"] = broken
        done = subprocess.run([ARGS.kit, *map(str, words)], env=env, capture_output=True, text=True, timeout=300, check=False)
        if status is not None:
            self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def report(self, *words, broken=None):
        done = self.run_kit("--json", "-", *words, broken=broken)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(report["result"], "failed" if done.returncode else "passed")
        return report

    def plugin(self, name):
        return ARGS.plugins / f"libtessera-{name}.so"

    def judge(self, plugin, way, wanted, *words):
        if wanted and not ARGS.whole:
            words += tuple(word for check in sorted({wanted} | ALSO.get(way, set())) for word in ("--only", check))
        report = self.report("--plugin", plugin, *words, broken=way)
        failed = {c["id"]: c for c in report["checks"] if c["state"] in ("failed", "stale")}
        return way or plugin.name, wanted, failed

    def expect_each(self, jobs):
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            for way, wanted, failed in pool.map(lambda job: self.judge(*job), jobs):
                with self.subTest(way):
                    self.assertEqual(set(failed), ({wanted} if wanted else set()) | ALSO.get(way, set()), failed)
                    for check in failed.values():
                        self.assertTrue(check["expected"] and check["found"], check)

    def test_broken_backends(self):
        self.expect_each([(self.plugin("broken"), way, check, "--patience", "0.5") for way, check in BACKEND.items()])

    def test_broken_collectives(self):
        self.expect_each([(self.plugin("collective-broken"), way, check) for way, check in COLLECTIVE.items()])

    def test_broken_mappers_and_profiles(self):
        self.expect_each([(self.plugin("numerics-broken"), way, check, "--patience", "0.25") for way, check in MAPPER.items()])

    def test_broken_code_generators(self):
        self.expect_each([(self.plugin("codegen-broken"), way, check, "--patience", "0.25") for way, check in CODEGEN.items()])

    def test_plugins_the_loader_refuses(self):
        words = ("--expect", HERE / "loader.yaml")
        self.expect_each([(ARGS.loader / f"libtessera-{name}.so", None, check, *words) for name, check in LOADER.items()])

    def test_a_slow_probe(self):
        report = self.report("--plugin", self.plugin("broken"), "--only", "probe.in_time", broken="slow")
        self.assertIn("ms", report["checks"][0]["found"])

    def test_the_sound_ones_pass(self):
        for name in ("broken", "collective-broken", "numerics-broken", "codegen-broken"):
            self.run_kit("--plugin", self.plugin(name), status=0)

    def test_every_group_has_its_broken_plugins(self):
        listed = {line.split()[0] for line in self.run_kit("--list", status=0).stdout.splitlines()}
        covered = {c for table in (BACKEND, COLLECTIVE, MAPPER, CODEGEN, LOADER) for c in table.values() if c} | {"probe.in_time"}
        self.assertLessEqual(covered, listed)
        self.assertEqual({c.split(".")[0] for c in listed}, {c.split(".")[0] for c in covered})

    def test_missing_optional_slots_are_unsupported(self):
        report = self.report("--plugin", self.plugin("broken"), "--only", "fill.*", broken="no_fill")
        self.assertEqual([c["state"] for c in report["checks"]], ["unsupported"] * 3)
        self.assertEqual(report["checks"][0]["reason"], "the plugin has no stream_fill")

    def test_expectations(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "expect.yaml"
            words = ("--plugin", self.plugin("broken"), "--only", "fill.*", "--expect", file)

            def write(text):
                file.write_text(text, encoding="utf-8")

            write('{"expected_failure": [{"checks": "fill.values", "reason": "0x80 is signed there"}]}')
            done = self.run_kit(*words, broken="signed", status=0)
            self.assertIn("0x80 is signed there", done.stdout)
            self.assertIn("1 expected_failure", done.stdout)
            done = self.run_kit(*words, status=1)  # sound: the expectation is stale
            self.assertIn("stale", done.stdout)
            self.assertIn("take it off the list", done.stdout)
            write("unsupported:\n  - checks: [fill.*]\n    reason: not yet\n")
            self.assertIn("3 unsupported", self.run_kit(*words, broken="signed", status=0).stdout)
            self.assertIn("cannot be read", self.run_kit(*words[:-1], folder, status=2).stderr)
            for text, what in [
                ("unsupported:\n  - checks: fill.*\n", "expect.yaml:2: a reason is missing"),
                ("unsupported:\n  - {checks: fill.*, reason: ' '}\n", "a reason is missing"),
                ("unsupported:\n  - {reason: x}\n", "checks is missing"),
                ("unsupported:\n  - {checks: nothing.*, reason: x}\n", "'nothing.*' is the id of no check"),
                ("unsupported:\n  - {checks: fill.*, reason: x, until: y}\n", "'until' is no key"),
                ("unsuported: []\n", "'unsuported' is no key"),
                ("unsupported:\n  - {checks: '*', reason: x}\n", "expect.yaml:2: '*' is every check"),
                ("unsupported: []\nexpected_failure: []\nunsupported: []\n", "expect.yaml:3: the key unsupported is there twice"),
                ("unsupported:\n  - {checks: fill.*, reason: x, checks: abi.*}\n", "the key checks is there twice"),
                ("unsupported: 3\n", "expected a list"),
                ("unsupported: [3]\n", "expected {checks"),
                ("[]\n", "expected the keys"),
                ("a: [\n", "expect.yaml:"),
            ]:
                write(text)
                self.assertIn(what, self.run_kit(*words, status=2).stderr)

    def test_arguments(self):
        plugin = self.plugin("broken")
        for words, what in [
            ((), "no plugin is named"),
            (("--plugin",), "--plugin needs a value"),
            (("--plugin", plugin, "--expect", ""), "--expect needs a value"),
            (("--plugin", plugin, "--json="), "--json needs a value"),
            (("--plugin", ""), "--plugin needs a value"),
            (("--plugin", "/no/\x1b[31m.so"), r"/no/\x1b[31m.so cannot be read"),
            (("--plugin", "/no/such.so"), "/no/such.so cannot be read"),
            (("--plugin", plugin, "--onyl", "x"), "unknown option --onyl"),
            (("--plugin", plugin, "--only", "nothing"), "there is no such check"),
            (("--plugin", plugin, "--ranks", "0"), "--ranks 0: expected 1 to 64"),
            (("--plugin", plugin, "--patience", "-1"), "--patience -1"),
            (("--plugin", plugin, "--image", plugin), "go together"),
            (("--plugin", plugin, "stray"), "'stray' is no option"),
            (("--plugin", plugin, "--only", "abi.loads", "--json", "/no/such/file"), "cannot be written"),
        ]:
            self.assertIn(what, self.run_kit(*words, status=2).stderr)
        self.assertIn("usage: tsr-conformance", self.run_kit("--help", status=0).stdout)
        self.assertIn("plugin ABI 1.", self.run_kit("--version", status=0).stdout)

    def test_pipes_are_not_waited_for(self):
        with tempfile.TemporaryDirectory() as folder:
            pipe = pathlib.Path(folder) / "pipe"
            os.mkfifo(pipe)
            for words in (("--plugin", pipe), ("--plugin", self.plugin("broken"), "--expect", pipe),
                          ("--plugin", self.plugin("broken"), "--image", pipe, "--metadata", pipe)):
                self.assertIn("pipe cannot be read: it is no regular file", self.run_kit(*words, status=2).stderr)

    def test_what_cannot_be_printed_is_no_success(self):
        plugin = self.plugin("broken")
        for words in (["--help"], ["--list"], ["--version"], ["--plugin", plugin, "--only", "abi.*"],
                      ["--plugin", plugin, "--only", "abi.*", "--json", "-"], ["--plugin", plugin, "--only", "abi.*", "--json", "/dev/full"]):
            for redirection in (">/dev/full", ">&-") if "/dev/full" not in words else ("",):
                done = subprocess.run(["sh", "-c", f'exec "$@" {redirection}', "sh", ARGS.kit, *map(str, words)],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
                self.assertEqual(done.returncode, 2, (words, done.stderr))
                self.assertRegex(done.stderr, "standard output: |cannot be written")

    def test_the_man_page_has_every_option(self):
        page = (HERE.parents[1] / "tools/tsr-conformance/tsr-conformance.1").read_text(encoding="utf-8")
        completion = (HERE.parents[1] / "tools/tsr-conformance/completions/tsr-conformance.bash").read_text(encoding="utf-8")
        for line in self.run_kit("--help", status=0).stdout.splitlines():
            if line.startswith("  --"):
                option = line.split()[0].rstrip(",")
                self.assertIn(option.removeprefix("--"), page)
                self.assertIn(option, completion)

    def test_the_report(self):
        with tempfile.TemporaryDirectory() as folder:
            plugin = pathlib.Path(folder) / "libtessera-broken.so"
            shutil.copy(self.plugin("broken"), plugin)
            self.run_kit("--plugin", plugin, "--report", "--only", "abi.*", status=0)
            report = json.loads((pathlib.Path(folder) / "libtessera-broken.conformance.json").read_text(encoding="utf-8"))
            self.assertEqual(report["schema"], 1)
            self.assertEqual(report["plugin"]["name"], "broken")
            self.assertEqual(report["plugin"]["kinds"], "backend")
            self.assertEqual(len(report["plugin"]["hash"]), 32)
            self.assertEqual(report["counts"]["passed"], len(report["checks"]))
            os.chmod(folder, 0o755)
            os.chmod(plugin, 0o644)
            self.assertGreater(report["total"], len(report["checks"]))
            part = rf"{len(report['checks'])} of {report['total']} checks"
            self.assertRegex(self.tell(folder),
                             rf"conformance +partial \({part}\): {len(report['checks'])} passed, 0 failed, 20..-..-..T\S+Z\n")
            self.assertNotIn("stale", self.tell(folder))
            with open(plugin, "ab") as file:
                file.write(b"\0")
            self.assertIn("; stale: the file has changed since", self.tell(folder))
            row = json.loads(self.tell(folder, "--json"))[0]["conformance"]
            self.assertEqual((row["result"], row["failed"], row["stale"]), ("partial", 0, True))
            self.run_kit("--plugin", self.plugin("broken"), "--json", pathlib.Path(folder) / "libtessera-broken.conformance.json", status=0)
            row = json.loads(self.tell(folder, "--json"))[0]["conformance"]
            self.assertEqual((row["result"], row["run"]), ("passed", row["total"]))
            (pathlib.Path(folder) / "libtessera-broken.conformance.json").write_text("[1, 2", encoding="utf-8")
            self.assertNotIn("conformance", self.tell(folder))

    def tell(self, folder, *words):
        """What `tsr backends` says of the plugin in the folder."""
        env = dict(os.environ, TESSERA_PLUGIN_PATH=folder, TESSERA_CACHE_DIR="off", NO_COLOR="1")
        done = subprocess.run([ARGS.tsr, "backends", "--why", "broken", *words], env=env, capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kit", required=True)
    parser.add_argument("--tsr", required=True)
    parser.add_argument("--plugins", required=True, type=pathlib.Path)
    parser.add_argument("--loader", required=True, type=pathlib.Path)
    parser.add_argument("--whole", action="store_true", help="run every check on each broken plugin")
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=sys.argv[:1] + rest)
