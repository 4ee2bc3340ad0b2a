"""What programs get wrong: each is refused by its code, or does what Python does, and never crashes."""
import copy
import ctypes
import importlib.util
import json
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest

import numpy as np

import tessera as ts
from tessera import _errors

HAS_TORCH = importlib.util.find_spec("torch") is not None


@ts.kernel
def add(x: ts.Tensor["n", ts.f32], y: ts.Tensor["n", ts.f32], a: ts.f32 = 0.0):
    for i in ts.tile.parallel(0, n, 16):
        y[i:i+16] = x[i:i+16] + a


@ts.kernel
def last(x: ts.Tensor["n", ts.u8, ts.strides("s")], out: ts.Tensor[1, ts.i64]):
    for i in ts.tile.parallel(0, 1, 1):
        out[i:i+1] = ts.tile.cast(x[n-1:n], ts.i64)


@ts.jit
def doubled(x):
    return x + x


class Case(unittest.TestCase):
    def refused(self, code, call, *words, cls=ts.Error):
        with self.assertRaises(cls) as raised:
            call()
        self.assertEqual(raised.exception.code, code, raised.exception)
        for word in words:
            self.assertIn(word, str(raised.exception))
        return raised.exception

    def run_program(self, text, **environment):
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, timeout=60,
                              env={**os.environ, **environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout


@unittest.skipUnless(HAS_TORCH, "torch is not installed")
class Torch(Case):
    def setUp(self):
        import torch
        self.torch = torch

    def test_what_works(self):
        torch = self.torch
        x, y = torch.arange(5.0), torch.zeros(5)
        add(x, y, 1.0)
        self.assertEqual(y.tolist(), [1, 2, 3, 4, 5])
        for value in (torch.ones(3), torch.tensor(3.0), torch.ones(0, 3), torch.ones(2, 1, dtype=torch.bfloat16), torch.ones(4, 1).t()):
            got = doubled(value)
            self.assertEqual((got.shape, got.dtype), (value.shape, value.dtype))
            self.assertTrue((got == 2 * value).all())
        add(x.numpy(), y, torch.tensor(2.0))
        self.assertEqual(y.tolist(), [2, 3, 4, 5, 6])

    def test_what_its_library_does_not_export(self):
        torch = self.torch
        out = np.zeros(5, "f4")
        needs = torch.ones(5, requires_grad=True)
        for wrong in (needs, needs * 2, torch.nn.Parameter(torch.ones(5)), torch.ones(5).to_sparse(), torch.ones(5, device="meta"),
                      torch.ones(5, dtype=torch.complex64).conj(), torch.quantize_per_tensor(torch.ones(5), 0.1, 0, torch.qint8)):
            error = self.refused("E_ARG_DLPACK", lambda: add(wrong, out), "x: its library does not export it")
            self.assertIsInstance(error.__cause__, RuntimeError)
            self.refused("E_ARG_DLPACK", lambda: ts.asarray(wrong))
            self.refused("E_ARG_DLPACK", lambda: ts.from_dlpack(wrong))
        self.refused("E_ARG_DLPACK", lambda: add(torch.ones(5), needs), "y: ", "detach()")
        self.refused("E_ARG_DLPACK", lambda: add(torch.ones(5, dtype=torch.complex64), out))
        self.refused("E_ARG_STRIDES", lambda: doubled(torch.ones(3, 4).t()), "x.contiguous()")

    def test_overlap(self):
        x = self.torch.arange(10.0)
        self.refused("E_ARG_OVERLAP", lambda: add(x[:5], x[4:9]))
        self.refused("E_ARG_OVERLAP", lambda: add(x.numpy()[:5], x[:5]))


class Capsules(Case):
    def managed(self, version=None, deleter=None):
        """A capsule of DLPack 0.x, or 1.x with that version, of an f32[4]."""
        class Tensor(ctypes.Structure):
            _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("rank", ctypes.c_int32), ("code", ctypes.c_uint8),
                        ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                        ("offset", ctypes.c_uint64)]

        class Old(ctypes.Structure):
            _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]

        class New(ctypes.Structure):
            _fields_ = [("version", ctypes.c_uint32 * 2), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                        ("flags", ctypes.c_uint64), ("tensor", Tensor)]

        elements, shape = np.arange(4, dtype="f4"), (ctypes.c_int64 * 1)(4)
        tensor = Tensor(elements.ctypes.data, (ctypes.c_int32 * 2)(1, 0), 1, 2, 32, 1, ctypes.addressof(shape), None, 0)
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter) if deleter else None
        address = ctypes.cast(function, ctypes.c_void_p).value if function else None
        struct = New((ctypes.c_uint32 * 2)(*version), None, address, 0, tensor) if version else Old(tensor, None, address)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        capsule = new(ctypes.addressof(struct), b"dltensor_versioned" if version else b"dltensor", None)
        return type("Producer", (), {"__dlpack__": lambda self, **more: capsule, "__dlpack_device__": lambda self: (1, 0),
                                     "alive": (elements, shape, struct, function)})()

    def test_versions(self):
        for version in (None, (1, 0), (1, 7)):
            y = np.zeros(4, "f4")
            add(self.managed(version), y, 1.0)
            self.assertEqual(y.tolist(), [1, 2, 3, 4])
        for version in ((2, 0), (0, 9), (99, 1)):
            self.refused("E_ARG_DLPACK", lambda: add(self.managed(version), np.zeros(4, "f4")), f"DLPack {version[0]}")

    def test_capsules_are_used_once(self):
        producer = self.managed((1, 0))
        ts.from_dlpack(producer)
        self.refused("E_ARG_DLPACK", lambda: ts.from_dlpack(producer), "has been used")
        self.refused("E_ARG_DLPACK", lambda: add(producer, np.zeros(4, "f4")), "has been used")

    def test_deleters_that_raise(self):
        def deleter(_):
            raise RuntimeError("in a deleter")

        seen = []
        before, sys.unraisablehook = sys.unraisablehook, lambda e: seen.append(str(e.exc_value))
        try:
            for version in (None, (1, 0)):
                y = np.zeros(4, "f4")
                add(self.managed(version, deleter), y, 1.0)
                self.assertEqual(y.tolist(), [1, 2, 3, 4])
                array = ts.from_dlpack(self.managed(version, deleter))
                del array
        finally:
            sys.unraisablehook = before
        self.assertEqual(seen, ["in a deleter"] * 4)

    def test_exports_that_raise(self):
        def producing(result):
            def export(self, **more):
                if isinstance(result, BaseException):
                    raise result
                return result
            return type("Producer", (), {"__dlpack__": export})()

        for wrong in (ValueError("x"), BufferError("x"), ZeroDivisionError("x"), 3, None):
            self.refused("E_ARG_DLPACK", lambda: add(producing(wrong), np.zeros(4, "f4")))
        for through in (KeyboardInterrupt(), SystemExit(), MemoryError()):
            with self.assertRaises(type(through)):
                add(producing(through), np.zeros(4, "f4"))
        self.refused("E_ARG_TYPE", lambda: ts.from_dlpack(3), "has no __dlpack__")


class Sizes(Case):
    def test_more_than_2_31_elements(self):
        out = np.zeros(1, "i8")
        last(np.lib.stride_tricks.as_strided(np.full(1, 7, "u1"), (2 ** 31 + 5,), (0,)), out)
        self.assertEqual(out[0], 7)
        last(np.lib.stride_tricks.as_strided(np.full(1, 8, "u1"), (2 ** 40,), (0,)), out)
        self.assertEqual(out[0], 8)

    def test_shapes(self):
        for shape in (-1, (2, -3), 2 ** 62, (2 ** 40, 2 ** 40)):
            self.refused("E_ARG_SHAPE", lambda: ts.empty(shape))
        for shape in (2.5, "ab", None, (1, "x"), ((1,),)):
            self.refused("E_ARG_SHAPE", lambda: ts.zeros(shape), "a shape is")
        self.refused("E_ARG_RANK", lambda: ts.empty((1,) * 9))
        self.assertIsInstance(self.refused("TSR_EOOM", lambda: ts.empty(2 ** 45)), MemoryError)
        self.refused("E_ARG_DTYPE", lambda: ts.zeros(3, "f77"))
        x = np.ones(3, "f4")
        cyclic = [1]
        cyclic.append(cyclic)
        for call in (lambda: ts.exp(cyclic), lambda: ts.softmax(x, axis=cyclic), lambda: ts.round(cyclic), lambda: ts.round(3.0),
                     lambda: ts.loss_scale("much"), lambda: ts.loss_scale(None)):
            self.refused("E_ARG_TYPE", call)
        for call in (lambda: ts.round(x, 2), lambda: ts.round(x, decimals=1), lambda: ts.std(x, ddof=1)):
            self.refused("E_ARGUMENTS", call, "it is ")
        self.refused("E_ARG_RANGE", lambda: ts.arange(0, 3, 0))
        self.assertIsInstance(self.refused("TSR_EOOM", lambda: ts.zeros(2 ** 45)), MemoryError)
        self.refused("TSR_EOOM", lambda: ts.arange(1e300))
        for start in (float("nan"), float("inf"), "a", None, 1j):
            self.refused("E_ARG_RANGE", lambda: ts.arange(start), "finite")
        self.refused("E_ARG_SHAPE", lambda: ts.asarray([[1, 2], [3]]), "differ in length")
        self.refused("E_ARG_RANGE", lambda: ts.asarray([2 ** 70]))
        self.refused("E_ARG_SHAPE", lambda: ts.full(2, [1, 2]))
        for call in (ts.empty, ts.zeros, lambda shape, dtype: ts.asarray([1], dtype)):
            for dtype in (ts.i4, "u4"):
                self.refused("E_ARG_DTYPE", lambda: call(3, dtype), "share a byte")
        for call in (ts.zeros, lambda shape, dtype: ts.asarray([1], dtype), lambda shape, dtype: ts.asarray(ts.ones(shape), dtype)):
            self.refused("E_ARG_DTYPE", lambda: call(3, "tf32"), "ts.f32")
        for call in (ts.empty_like, ts.zeros_like, ts.ones_like, lambda x: ts.full_like(x, 1)):
            self.refused("E_ARG_TYPE", lambda: call(3), "found int")
            self.assertEqual(call(np.ones((2, 3), "f4")).shape, (2, 3))


class Objects(Case):
    def test_conversions_of_numbers(self):
        """The language's casts, whatever the numbers are in."""
        for numbers in ([300.0, -5.0, 1.5, float("nan")], np.float32([300.0, -5.0, 1.5, np.nan])):
            self.assertEqual(ts.asarray(numbers, "u8").numpy().tolist(), [255, 0, 1, 0])
        for numbers in ([300, -5], np.array([300, -5])):
            self.assertEqual(ts.asarray(numbers, "u8").numpy().tolist(), [44, 251])
        self.assertEqual(ts.full(2, 300.0, "u8").numpy().tolist(), [255, 255])
        self.assertEqual(ts.full(2, 300, "u8").numpy().tolist(), [44, 44])
        self.assertEqual(ts.arange(254, 258, dtype="u8").numpy().tolist(), [254, 255, 0, 1])
        self.assertEqual(ts.arange(254.0, 258.0, dtype="u8").numpy().tolist(), [254, 255, 255, 255])
        self.assertEqual(ts.asarray(ts.full(2, 1.5, "bf16"), "f32").numpy().tolist(), [1.5, 1.5])
        for number, dtype in ((np.float32(3), ts.f32), (np.float64(3), ts.f64), (np.int8(3), ts.i8), (3, ts.i64), (3.0, ts.f32)):
            self.assertEqual(ts.asarray(number).dtype, dtype)
            self.assertEqual(float(ts.asarray(number)), 3)

    def test_arrays_as_numbers(self):
        self.assertEqual((float(ts.asarray(2.5)), int(ts.asarray([3.7])), float(ts.asarray([1.5], "bf16"))), (2.5, 3, 1.5))
        self.assertEqual([bool(ts.asarray(x)) for x in (0.0, -0.0, 2.0, False, [True])], [False, False, True, False, True])
        for number in (float, int, bool):
            for shape in (0, 2, (1, 3)):
                self.refused("E_ARG_SHAPE", lambda: number(ts.ones(shape)), "is no number")

    def test_masked_arrays(self):
        for call in (ts.asarray, ts.from_dlpack):
            self.refused("E_ARG_TYPE", lambda: call(np.ma.array([1.0, 2.0], mask=[1, 0])), "x.filled(value)")

    def test_dtypes_are_keys(self):
        self.assertEqual({ts.f32: 1}["f32"], 1)
        self.assertEqual({"f32": 1}[ts.f32], 1)

    def test_frames_of_programs(self):
        package = os.path.dirname(ts.__file__)
        self.assertTrue(_errors.is_own(os.path.join(package, "_kernel.py")))
        self.assertFalse(_errors.is_own(package + "_models/net.py"))

    def test_backends_and_devices(self):
        for call in (ts.runtime.capabilities, ts.runtime.devices, ts.runtime.select_backend):
            for wrong in (3, b"cpu", "cpu\0x"):
                self.refused("E_ARG_TYPE", lambda: call(wrong), "a backend is a name")
        self.refused("E_ARG_RANGE", lambda: ts.runtime.capabilities(device=2 ** 40), "no device")
        self.refused("E_ARG_TYPE", lambda: ts.runtime.capabilities(device="0"), "a device is an int")
        self.refused("E_ARG_TYPE", lambda: ts.runtime.set_mapper("a\0b"))

    def test_scalars_that_are_none(self):
        x, y = np.ones(5, "f4"), np.zeros(5, "f4")

        class Raises:
            def __float__(self):
                raise RuntimeError("no")

        for wrong in (1j, "1", None, Raises(), [1.0], b"1", add):
            self.refused("E_ARG_TYPE", lambda: add(x, y, wrong), "a is a scalar")
        add(x, y, np.array(2.0))
        self.assertEqual(y.tolist(), [3] * 5)

    def test_methods(self):
        class Holder:
            @ts.jit
            def method(self, x):
                return x

        self.refused("E_ARG_TYPE", lambda: Holder().method(np.ones(3, "f4")), "@staticmethod")

    def test_habits_of_other_libraries(self):
        """What is written for Triton, Numba, NumPy: it works, or the message says what to write."""
        x = np.ones(4, "f4")
        self.refused("E_CALL", lambda: add[(4,)](x, x), "add is called without a grid", "write add(x, y, a)")
        self.refused("E_ARG_UNKNOWN", lambda: add(x, x, num_warps=4), "'num_warps'")
        with self.assertRaisesRegex(TypeError, r"^kernel\(\) got an unexpected keyword argument 'num_warps'"):
            ts.kernel(num_warps=4)
        self.refused("E_ARG_TYPE", lambda: add([1.0, 2.0], x), "x is a tensor of f32, found list", "pass a NumPy array")
        self.refused("E_ARG_TYPE", lambda: doubled([x, x]), "x: expected an array or a number, found list")
        self.refused("E_ARG_TYPE", lambda: ts.softmax([1.0, 2.0]), "ts.asarray([1.0, 2.0])")
        self.refused("E_UNIMPLEMENTED", lambda: ts.array([1.0]), "ts.asarray")
        got = ts.asarray([ts.ones(2), ts.zeros(2)])
        self.assertEqual(got.numpy().tolist(), [[1, 1], [0, 0]])
        series = type("Series", (), {"__array__": lambda self, dtype=None, copy=None: np.arange(3.0)})()
        self.assertEqual(ts.asarray(series, ts.f32).numpy().tolist(), [0, 1, 2])
        for copied in (pickle.loads(pickle.dumps(add)), copy.deepcopy(add), copy.copy(add)):
            self.assertIs(copied, add)
        with self.assertRaisesRegex(TypeError, "was not made by a decorator"):
            pickle.dumps(ts.load(self.bundle_of(add)).add)

    def bundle_of(self, kernel):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        kernel.save(folder + "/k.tsrb")
        return folder + "/k.tsrb"

    def test_names_of_arguments(self):
        with self.assertRaises(TypeError):
            add(**{1: 2})

    def test_what_compiles_ahead(self):
        self.refused("E_DIM_UNKNOWN", lambda: add.jit(q=3), "add has no dim 'q'", "it has n")
        self.refused("E_ARG_TYPE", lambda: add.jit(n="a"), "n is an int")
        self.refused("E_ARG_TYPE", lambda: add.jit(n=3.5), "n is an int")
        self.refused("E_ARG_RANGE", lambda: add.jit(n=2 ** 70), "64-bit")
        for wrong in (3, "cpu\0x"):
            self.refused("E_ARG_TYPE", lambda: add.jit(target=wrong), "target")
            self.refused("E_ARG_TYPE", lambda: add.jit(numerics=wrong), "numerics")
        self.refused("E_ARG_TYPE", lambda: ts.kernel.autotune(space=3), "space is a dict")
        self.refused("E_TARGET_UNKNOWN", lambda: add.jit(target="nosuch"))
        self.refused("E_LEVEL_UNKNOWN", lambda: add.inspect_ir("nosuch"))
        self.refused("E_LEVEL_UNKNOWN", lambda: add.inspect_ir(3))
        self.refused("TSR_EINVAL", lambda: add.jit(numerics="nosuch"), "available: ")
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(ts.Error):
                add.save(folder + "/no/such/file.tsrb")
            junk = pathlib.Path(folder, "junk.tsrb")
            junk.write_bytes(b"junk" * 100)
            self.refused("E_BUNDLE_FORMAT", lambda: ts.load(junk))
            self.refused("TSR_EIO", lambda: ts.load(folder))
            self.refused("TSR_EIO", lambda: ts.load(folder + "/none"))
            add.save(pathlib.Path(folder, "add.tsrb"))
            self.assertIn("add", ts.load(os.fsencode(folder + "/add.tsrb")))
            for wrong in ("a\0b", "\udc80", None, 3.5):
                self.refused("E_ARG_TYPE", lambda: ts.load(wrong), "a path")
                self.refused("E_ARG_TYPE", lambda: add.save(wrong), "a path")

    def test_texts(self):
        self.refused("E_ARG_TYPE", lambda: ts.compile(b"x"))
        for name in (3, "a\ud800.py", "a\0.py"):
            self.refused("E_ARG_TYPE", lambda: ts.compile("x = 1", filename=name), "filename")
        self.refused("E_ARG_TYPE", lambda: ts.compile("x = 1", constants=5), "constants")
        for text in ("a\0b", "x = '\ud800'", "def (", "x = 1\n  y = 2"):
            self.refused("E_SYNTAX", lambda: ts.compile(text), cls=ts.CompileError)
        with self.assertRaises(ZeroDivisionError):
            ts.compile("1/0")
        self.assertEqual(len(ts.compile("")), 0)


class Processes(Case):
    def test_arrays_and_streams_of_the_parent(self):
        self.run_program("""
            import os, numpy as np, tessera as ts
            m = ts.compile('''import tessera as ts
            @ts.jit
            def f(x):
                return x + 1.0
            ''')
            x, stream, event = ts.ones(8), ts.Stream(), ts.Event()
            y = m.f(x)
            with ts.runtime.capture() as graph:
                m.f(x)
            child = os.fork()
            if child == 0:
                for call in (y.numpy, stream.synchronize, event.record, graph.replay, lambda: m.f(x)):
                    try:
                        call()
                    except ts.Error:
                        pass
                    else:
                        os._exit(1)
                assert m.f(np.ones(8, "f4")).tolist() == [2] * 8
                assert (m.f(ts.ones(8)).numpy() == 2).all()
                ts.runtime.synchronize()
                os._exit(0)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            assert y.numpy().tolist() == [2] * 8
        """)

    def test_a_fork_while_threads_work(self):
        self.run_program("""
            import os, threading, time, numpy as np, tessera as ts
            x = np.ones(64, "f4")
            text = "import tessera as ts\\n@ts.jit\\ndef f(x):\\n    return x * {}.0\\n"
            f = ts.compile(text.format(2)).f
            end = threading.Event()
            def work():
                i = 0
                while not end.is_set():
                    f(x)
                    i += 1
                    if i % 50 == 0:
                        ts.compile(text.format(i)).f(x)
            threads = [threading.Thread(target=work) for _ in range(3)]
            for t in threads: t.start()
            for _ in range(4):
                begin = time.monotonic()
                child = os.fork()
                if child == 0:
                    os._exit(0 if f(x)[0] == 2 and ts.compile(text.format(7)).f(x)[0] == 7 else 1)
                # after 10 seconds a fork gives up waiting for the compilations, which need a part of one
                assert time.monotonic() - begin < 9
                assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            end.set()
            for t in threads: t.join()
        """, TESSERA_CACHE_DIR="off")

    def test_a_fork_while_a_thread_imports(self):
        """The child of a fork would wait for ever for a module that another thread of the parent was importing."""
        self.run_program("""
            import array, os, sys, threading, time
            entered = threading.Event()
            class Slow:
                def find_spec(name, path=None, target=None):
                    if threading.current_thread() is not threading.main_thread():
                        entered.set()
                        time.sleep(0.1)
            import tessera as ts
            text = "import tessera as ts\\n@ts.kernel\\ndef f(x: ts.Tensor['n', ts.f32]):\\n    x[0] = 2.0\\n"
            f = ts.compile(text).f
            sys.modules.pop("tokenize")
            sys.meta_path.insert(0, Slow)
            thread = threading.Thread(target=lambda: f(array.array("f", [1.0])))
            thread.start()
            assert entered.wait(30)
            child = os.fork()
            if child == 0:
                x = array.array("f", [1.0])
                f(x)
                os._exit(0 if x[0] == 2 else 1)
            for _ in range(1200):
                ended, status = os.waitpid(child, os.WNOHANG)
                if ended:
                    break
                time.sleep(0.05)
            else:
                os.kill(child, 9)
            assert ended and status == 0, (ended, status)
            thread.join()
        """)

    def test_without_a_compiler(self):
        """Of an installation the library alone, and one beside something that is no compiler, or that of another build."""
        package = pathlib.Path(ts.__file__).parent
        library = next(line.split()[-1] for line in open("/proc/self/maps") if "libtessera.so" in line)
        says = {None: "not installed", b"no library": "cannot be loaded", "libc": "another build", "another build": "another build"}
        for other, words in says.items():
            with self.subTest(other), tempfile.TemporaryDirectory() as folder:
                shutil.copytree(package, folder + "/python/tessera", ignore=shutil.ignore_patterns("__pycache__"))
                os.mkdir(folder + "/lib")
                shutil.copy(library, folder + "/lib/libtessera.so.1")
                beside = pathlib.Path(folder, "lib", "libtessera-compiler.so")
                if other == "libc":
                    shutil.copy(next(line.split()[-1] for line in open("/proc/self/maps") if "libc.so.6" in line), beside)
                elif other == "another build":  # it compares the build ids, and gives nothing
                    text = "void *tesseraCompilerService(const char *id, void *plugins) { return 0; }"
                    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", beside], input=text, text=True, check=True)
                elif other:
                    beside.write_bytes(other)
                self.run_program("""
                    import tessera as ts
                    assert ts.__file__.startswith(%r), ts.__file__
                    m = ts.compile("import tessera as ts\\n@ts.jit\\ndef f(x):\\n    return x\\n")
                    try:
                        m.f(bytearray(8))
                    except ts.BackendError as e:
                        assert %r in str(e), e
                        assert isinstance(e, RuntimeError)
                    else:
                        raise AssertionError
                    assert ts.empty(4).shape == (4,)
                """ % (folder, words), PYTHONPATH=folder + "/python", TESSERA_CACHE_DIR=folder + "/cache")

    def test_the_configuration(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "c.yaml")
            program = "import json, tessera as ts\nprint(json.dumps([ts.runtime.config(), ts.runtime.plugins()]))"
            file.write_text("numerics: fast\nbackends_disable: [ptx]\n")
            config, report = json.loads(self.run_program(program, TESSERA_CONFIG=str(file), TESSERA_BACKEND="cpu"))
            self.assertEqual((config["file"], config["error"]), (str(file), None))
            self.assertEqual(config["settings"]["numerics"], {"value": "fast", "from": f"numerics in {file}"})
            self.assertEqual(config["settings"]["backend"], {"value": "cpu", "from": "TESSERA_BACKEND"})
            self.assertEqual(config["settings"]["probe"], {"value": None, "from": None})
            self.assertIn("cpu", [plugin["name"] for plugin in report["plugins"]])
            file.write_text("numerics: fast\nbakend: cpu\n")
            config, _ = json.loads(self.run_program(program, TESSERA_CONFIG=str(file)))
            self.assertIn("did you mean backend?", config["error"])

    def test_plugin_paths(self):
        for path in ("relative/folder", "/no/such/folder", ":::", "/etc/passwd"):
            out = self.run_program("import tessera as ts\nprint(ts.ones(3).numpy().sum(), 'cpu' in [b['name'] for b in ts.runtime.backends()])",
                                   TESSERA_PLUGIN_PATH=path)
            self.assertEqual(out, "3.0 True\n")

    def test_an_end_with_work_queued(self):
        self.run_program("""
            import numpy as np, tessera as ts
            m = ts.compile('''import tessera as ts
            @ts.kernel
            def slow(x: ts.Tensor["n", ts.f32], y: ts.Tensor["n", ts.f32]):
                for i in ts.tile.parallel(0, n, 16):
                    for _ in range(20000):
                        y[i:i+16] = y[i:i+16] + ts.tile.exp(x[i:i+16])
            ''')
            x, y = ts.zeros(1600), ts.zeros(1600)
            streams = [ts.Stream() for _ in range(3)]
            for s in streams:
                with s:
                    m.slow(x, y)
            m.slow(x, y)
        """)

    def test_many_threads(self):
        x = np.ones(100, "f4")
        wrong = []

        def work(i):
            y = np.zeros(100, "f4")
            array = ts.asarray(x)
            for k in range(20):
                add(x, y, float(i))
                z = doubled(array)
                if y[0] != 1 + i or z.numpy()[0] != 2:
                    wrong.append(i)

        for _ in range(3):
            threads = [threading.Thread(target=work, args=(i,)) for i in range(16)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
