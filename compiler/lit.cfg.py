# IR tests: every *.mlir below a test folder of the compiler runs through tsr-opt and FileCheck.
import os
import lit.formats

config.name = "tessera-ir"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(lit_config.params["exec_root"], "compiler")
config.environment["PATH"] = os.pathsep.join(
    [lit_config.params["tools"], lit_config.params["llvm_tools"], config.environment["PATH"]])
