#!/usr/bin/env python3
"""A program that embeds the compiler survives a limit on its memory: every compilation succeeds or returns TSR_EOOM."""
import argparse
import ctypes
import os
import resource
import sys
import tempfile
import unittest

SUCCESS, EOOM, NO_CONTEXT = 0, 1, 100
SMALL = """import tessera as ts

@ts.kernel
def add(X: ts.Tensor["n", ts.f32], Y: ts.Tensor["n", ts.f32]):
    for i in ts.tile.parallel(0, n, 32):
        Y[i:i+32] = X[i:i+32] + 1.0
"""
LARGE = SMALL.replace("+ 1.0\n", "+ 1.0\n" + "        Y[i:i+32] = ts.tile.exp(Y[i:i+32]) * 0.5 + X[i:i+32]\n" * 300)


class Memory(unittest.TestCase):
    library = ""

    def child(self, source, mebibytes):
        """Compiles in a child that may map so much more than it has; its wait status and its last words."""
        with tempfile.TemporaryFile() as words:
            pid = os.fork()
            if pid == 0:
                os.dup2(words.fileno(), 2)
                tessera = ctypes.CDLL(self.library)
                tessera.tsrLastError.restype = ctypes.c_char_p
                context, module = ctypes.c_void_p(), ctypes.c_void_p()
                if tessera.tsrCreateContext(ctypes.byref(context)) != SUCCESS:
                    os._exit(NO_CONTEXT)
                with open("/proc/self/statm") as statm:
                    used = int(statm.read().split()[0]) * resource.getpagesize()
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
                resource.setrlimit(resource.RLIMIT_AS, (used + (mebibytes << 20), resource.RLIM_INFINITY))
                text = source.encode()
                status = tessera.tsrLoadModuleFromSource(context, text, ctypes.c_size_t(len(text)), None, ctypes.byref(module))
                os.write(2, tessera.tsrLastError())
                os._exit(status)
            status = os.waitpid(pid, 0)[1]
            words.seek(0)
            return status, words.read().decode(errors="replace")

    def outcomes(self, source, limits):
        seen = {}
        for limit in limits:
            status, words = self.child(source, limit)
            self.assertTrue(os.WIFEXITED(status), f"{limit} MB: signal {os.WTERMSIG(status)}\n{words}")
            self.assertIn(os.WEXITSTATUS(status), (SUCCESS, EOOM), f"{limit} MB: {words}")
            if os.WEXITSTATUS(status) == EOOM:
                self.assertIn("too little memory", words)
            seen[limit] = os.WEXITSTATUS(status)
        return seen

    def test_every_limit_compiles_or_reports_that_memory_ran_out(self):
        seen = self.outcomes(SMALL, [1, 64, *range(192, 480, 12), 1024])
        self.assertEqual(seen[1], EOOM)
        self.assertEqual(seen[1024], SUCCESS)

    def test_a_large_program_asks_for_more(self):
        seen = self.outcomes(LARGE, [*range(384, 560, 24), 2048])
        self.assertEqual(seen[384], EOOM)
        self.assertEqual(seen[2048], SUCCESS)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    options, rest = parser.parse_known_args()
    Memory.library = options.library
    os.environ["TESSERA_CACHE_DIR"] = "off"
    unittest.main(argv=[sys.argv[0], *rest])
