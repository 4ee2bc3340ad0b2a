"""What notebooks show: well-formed HTML below 200 kB, without scripts and networks, with every text of the program escaped."""
import html.parser
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

import numpy as np

import tessera as ts

HOSTILE = "<img src=x onerror=alert(1)>&\"'</pre></div><script>alert(2)</script>"
VOID = {"br", "img", "meta", "link", "input", "hr"}
TAGS = {"div", "style", "b", "span", "table", "tr", "th", "td", "details", "summary", "pre", "p", "u"}
ATTRIBUTES = {"class", "open"}


@ts.kernel.autotune(space=dict(B=[32, 64]))
def tuned(x: ts.Tensor["n", ts.f32], a: ts.f32 = 2.0):
    ctx = ts.tile.context()
    for i in ts.tile.parallel(0, n, ctx.B):
        x[i:i+ctx.B] = x[i:i+ctx.B] + a  # 1 < 2


@ts.jit
def product(x: ts.Tensor["M", "N", ts.f32], W: ts.Tensor["N", "K", ts.f32]):
    return ts.softmax(ts.gemm(x, W))


class Checker(html.parser.HTMLParser):
    """Fails at what is not balanced, not in the lists, or has handlers; keeps the text."""

    def __init__(self, test):
        super().__init__()
        self.test, self.open, self.text = test, [], ""

    def handle_starttag(self, tag, attrs):
        self.test.assertIn(tag, TAGS)
        self.test.assertLessEqual({name for name, _ in attrs}, ATTRIBUTES, tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        self.test.assertEqual(self.open.pop(), tag)

    def handle_data(self, data):
        self.text += data if not self.open or self.open[-1] != "style" else ""


class Html(unittest.TestCase):
    def shown(self, it):
        """The text of what is shown for an object, after all checks."""
        page = it._repr_html_()
        self.assertLess(len(page.encode()), 200_000)
        self.assertIn("prefers-color-scheme:dark", page)
        for word in ("http:", "https:", "url(", "@import", "<script", "javascript:", "src="):
            self.assertNotIn(word, page.replace("&lt;img src=x", "").lower())
        checker = Checker(self)
        checker.feed(page)
        checker.close()
        self.assertEqual(checker.open, [])
        return checker.text

    def expect(self, it, *words):
        text = self.shown(it)
        for word in words:
            self.assertIn(word, text)

    def test_kernels(self):
        self.expect(tuned, "kernel tuned", "Tensor['n', f32]", "2.0", "32, 64", "1 < 2", f"{__file__}:")
        self.expect(product, "graph function product", "Tensor['M', 'N', f32]")
        self.expect(tuned.jit(B=64), "tuned", "n", "reads writes", "{B: 64}", "tile.kernel", "graph.func", "llvm.func")
        self.expect(tuned.jit(target="ptx:sm_90"), "for ptx:sm_90", "nvvm")
        self.expect(tuned.jit().inspect_ir("tile"), "tile.kernel", "schedule.kernel")
        self.expect(tuned.inspect_ir("asm"), "asm", "ret")
        self.expect(ts.compile("import tessera as ts\n@ts.jit\ndef f(x):\n    return x\n"), "f", "x")

    def test_arrays(self):
        self.expect(ts.asarray(np.arange(120, dtype="f4").reshape(10, 12)), "f32[10, 12]", "on cpu", "480 bytes", "0.0", "119.0", "…")
        self.expect(ts.asarray(np.arange(6, dtype="i4").reshape(2, 3)), "i32[2, 3]", "5")
        self.expect(ts.full((2, 2), 1.5, ts.bf16), "bf16[2, 2]", "1.5")
        self.expect(ts.zeros(()), "f32[]", "0.0")
        self.expect(ts.zeros((0, 3)), "f32[0, 3]")
        self.expect(ts.ones((2, 3, 4, 5)), "[0, 0, :, :]", "1.0")
        self.assertEqual(self.shown(ts.asarray(np.arange(1000, dtype="f4"))).count(".0"), 6)
        self.assertNotIn("0.0", self.shown(ts.empty(10 ** 6, ts.bf16)))  # its values would have to be converted

    def test_errors(self):
        module = ts.compile(f"import tessera as ts\n@ts.jit\ndef f(x):\n    return x + first + {HOSTILE!r}\n", filename=f"{HOSTILE}.py")
        with self.assertRaises(ts.CompileError) as raised:
            module.f(np.ones(3, "f4"))
        self.expect(raised.exception, "CompileError", "E_UNDEFINED_NAME", f"{HOSTILE}.py:4:", "first")
        self.expect(raised.exception.diagnostics[0], HOSTILE)
        with self.assertRaises(ts.ArgumentError) as raised:
            tuned(np.ones((2, 2), "f4"))
        self.expect(raised.exception, "ArgumentError", "E_ARG_RANK")
        self.expect(ts.Error(HOSTILE, "E_X", HOSTILE), HOSTILE, "E_X", "help: " + HOSTILE)

    def test_hostile_names(self):
        space = {"ts": ts}
        text = f"@ts.kernel.autotune(space=dict(B=[1]))\ndef f(x: {HOSTILE!r}, y={HOSTILE!r}):\n    pass\n"
        exec(compile(text, HOSTILE, "exec"), space)
        self.expect(space["f"], HOSTILE)

    def test_large_ones(self):
        lines = "".join(f"    y = y + x * {i}.0\n" for i in range(400))
        module = ts.compile(f"import tessera as ts\n@ts.jit\ndef f(x: ts.Tensor['n', ts.f32]):\n    y = x\n{lines}    return y\n")
        self.expect(module.f, "399.0")
        self.expect(module.f.jit(), "more characters")
        text = f"import tessera as ts\n@ts.jit\ndef f(x):\n    y = x\n{f'    # {60 * chr(60)}{chr(10)}' * 1400}    return y\n"
        self.expect(ts.compile(text).f, "too large to be shown")  # it grows by escaping
        many = "".join(f"    y = undefined_{i}  # {'<' * 500}\n" for i in range(200))
        with self.assertRaises(ts.CompileError) as raised:
            ts.compile(f"import tessera as ts\n@ts.jit\ndef f(x):\n{many}    return y\n").f(np.ones(3, "f4"))
        self.expect(raised.exception, "undefined_0")
        self.shown(ts.Error("<" * 10 ** 6, "E_X", "&" * 10 ** 6))

    def test_frames_of_a_notebook(self):
        module = ts.compile("import tessera as ts\n@ts.jit\ndef f(x):\n    return y\n", filename="cell.py")
        try:
            module.f(np.ones(3, "f4"))
        except ts.CompileError as e:
            lines = e._render_traceback_()
        self.assertEqual(lines[0], "Traceback (most recent call last):")
        self.assertIn("\x1b[1m\x1b[31m[E_UNDEFINED_NAME]\x1b[0m 'y' is not defined", lines)
        self.assertIn("module.f(np.ones", "".join(lines))

    def test_importing_shows_nothing(self):
        program = "import sys, tessera; assert 'tessera._html' not in sys.modules and 'html' not in sys.modules"
        subprocess.run([sys.executable, "-c", program], check=True)

    @unittest.skipUnless(shutil.which("chromium"), "chromium is not installed")
    def test_in_a_browser(self):
        """Chromium reads the page, in both colour schemes, and the text has contrast."""
        profile = ts.profiler.Profile()
        profile._fill([("launch", HOSTILE, "cpu", 0, at, at + 60, 0, 0, 1, 0, 1) for at in range(0, 400, 100)], 0)
        page = "<!doctype html><meta charset=utf-8><title>before</title>" + "".join(
            it._repr_html_() for it in (tuned, product.jit(), ts.ones((10, 12)), ts.Error(HOSTILE, "E_X"), profile))
        page += textwrap.dedent("""
            <script>
            const block = getComputedStyle(document.querySelector('.tessera'));
            document.title = [document.querySelectorAll('.tessera').length, document.images.length, document.querySelectorAll('rect').length, block.color, block.backgroundColor].join(' ');
            </script>""")
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "page.html"
            file.write_text(page)
            for words, colours in (((), "rgb(31, 35, 40) rgb(255, 255, 255)"),
                                   (("--blink-settings=preferredColorScheme=0",), "rgb(230, 237, 243) rgb(13, 17, 23)")):
                done = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile",
                                       *words, "--dump-dom", file.as_uri()], capture_output=True, text=True, timeout=120,
                                      env={**os.environ, "HOME": folder})
                self.assertIn(f"<title>5 0 4 {colours}</title>", done.stdout, done.stderr)


if __name__ == "__main__":
    unittest.main()
