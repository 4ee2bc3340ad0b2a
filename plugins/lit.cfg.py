# IR tests of the code generators in this folder, with the compiler's lit configuration.
import os

lit_config.load_config(config, os.path.join(os.path.dirname(__file__), "..", "compiler", "lit.cfg.py"))
config.name = "tessera-plugins-ir"
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(lit_config.params["exec_root"], "plugins")
