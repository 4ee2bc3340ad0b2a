"""The library's messages are records of the logger "tessera"."""
import logging
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

import tessera as ts


class Logging(unittest.TestCase):
    def run_program(self, text, **environment):
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, timeout=60,
                              env={**os.environ, **environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr

    def test_records(self):
        errors = self.run_program("""
            import logging
            logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s %(code)s %(message)s")
            import numpy as np, tessera as ts
            ts.ones(3)
        """, TESSERA_NO_SUCH="1")
        self.assertIn("WARNING tessera W_ENVIRONMENT [W_ENVIRONMENT] unknown environment variable TESSERA_NO_SUCH", errors)
        self.assertIn("INFO tessera N_BACKEND", errors)

    def test_advice_names_only_profiles_that_exist(self):
        @ts.kernel
        def twice(x: ts.Tensor["n", ts.f32]):
            for i in ts.tile.parallel(0, n, 16):
                x[i:i+16] = x[i:i+16] * 2.0

        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/twice.tsrb"
            twice.save(path)
            for asked, advice in (("fast", "; compile it again with --numerics fast"),
                                  ("Fast", "; TESSERA_NUMERICS 'Fast': there is no such profile; available: fast, standard, ")):
                errors = self.run_program(f"import tessera as ts; ts.load({path!r})", TESSERA_NUMERICS=asked)
                self.assertIn(f"TESSERA_NUMERICS={asked} has no effect on code that was compiled with --numerics standard{advice}", errors)
                self.assertEqual("did you mean fast?" in errors, asked == "Fast")
                self.assertEqual("compile it again" in errors, asked == "fast")

    def test_without_logging(self):
        program = "import sys, tessera as ts\nts.empty(3)\nprint('logging' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        self.assertEqual((done.stdout, done.stderr), ("False\n", ""))  # notes load nothing
        self.assertIn("TESSERA_NO_SUCH", self.run_program(program, TESSERA_NO_SUCH="1"))

    def test_levels(self):
        for level, shown in ((logging.ERROR, False), (logging.WARNING, True)):
            errors = self.run_program(f"""
                import logging
                logging.getLogger("tessera").setLevel({level})
                import tessera as ts
                ts.empty(3)
            """, TESSERA_NO_SUCH="1")
            self.assertEqual("TESSERA_NO_SUCH" in errors, shown)
            self.assertNotIn("N_BACKEND", errors)

    def test_handlers_that_raise(self):
        errors = self.run_program("""
            import logging, numpy as np
            class Handler(logging.Handler):
                def emit(self, record):
                    raise RuntimeError("in a handler")
            logging.getLogger("tessera").addHandler(Handler())
            logging.getLogger("tessera").setLevel(logging.DEBUG)
            import tessera as ts
            assert ts.ones(3).numpy().tolist() == [1, 1, 1]
            try:
                ts.runtime.select_backend("nosuch")
            except ts.BackendError:
                pass
            else:
                raise AssertionError
        """)
        self.assertIn("RuntimeError: in a handler", errors)

    def test_handlers_that_call_the_library(self):
        self.run_program("""
            import logging, numpy as np
            class Handler(logging.Handler):
                def emit(self, record):
                    ts.runtime.backends()
                    ts.ones(4).numpy()
            logging.getLogger("tessera").addHandler(Handler())
            logging.getLogger("tessera").setLevel(logging.DEBUG)
            import tessera as ts
            assert ts.ones(3).numpy().tolist() == [1, 1, 1]
        """)

    def test_what_kernels_print(self):
        program = """
            import numpy as np, sys
            {setup}
            import tessera as ts
            m = ts.compile('''import tessera as ts
            @ts.kernel
            def k(x: ts.Tensor["n", ts.f32]):
                for i in ts.tile.parallel(0, n, 8):
                    ts.tile.print("i is {{}}", i)
            '''.replace("\\n            ", "\\n"))
            m.k(np.ones(8, "f4"))
        """
        errors = self.run_program(program.format(setup=""), TESSERA_DEBUG="on")
        self.assertIn("i is 0", errors)
        self.assertNotIn("N_PRINT", errors)
        errors = self.run_program(program.format(setup="import logging; logging.basicConfig(level=logging.INFO)"), TESSERA_DEBUG="on")
        self.assertIn("INFO:tessera:[N_PRINT]", errors)


if __name__ == "__main__":
    unittest.main()
