"""Memory that arrays share with other libraries: whose it is, how long it lives, and who may read it when."""
import ctypes
import importlib.util
import os
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest

import numpy as np

import tessera as ts
from tessera import _core


@ts.kernel
def add(x: ts.Tensor["n", ts.f32], y: ts.Tensor["n", ts.f32], a: ts.f32 = 0.0):
    for i in ts.tile.parallel(0, n, 16):
        y[i:i+16] = x[i:i+16] + a


@ts.kernel
def slow(x: ts.Tensor["n", ts.f32], y: ts.Tensor["n", ts.f32]):
    for i in ts.tile.parallel(0, n, 16):
        for _ in range(20000):
            y[i:i+16] = y[i:i+16] + ts.tile.exp(x[i:i+16])


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]


class DLManagedTensor(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Producer:
    """A tensor of f32 [4], or of another DLPack type, that says it is on the given device."""

    alive: list = []  # the tensors have no deleter

    def __init__(self, device_type, device_id=0, code=2, bits=32, strides=None, size=4):
        self.alive.append(self)
        self.elements = np.arange(16, dtype="f4")
        self.shape = (ctypes.c_int64 * 1)(size)
        self.strides = (ctypes.c_int64 * 1)(strides) if strides else None
        self.device = device_type, device_id
        self.managed = DLManagedTensor(DLTensor(self.elements.ctypes.data, device_type, device_id, 1, code, bits, 1, self.shape,
                                                self.strides, 0), None, None)

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.managed), b"dltensor", None)


def memory(array, flags):
    """The bytes that a consumer of the buffer protocol with these flags reads."""
    view = (ctypes.c_byte * 256)()
    get = ctypes.pythonapi.PyObject_GetBuffer
    get.argtypes = [ctypes.py_object, ctypes.c_void_p, ctypes.c_int]
    get(array, view, flags)
    try:
        address, length = ctypes.c_void_p.from_buffer(view).value, ctypes.c_ssize_t.from_buffer(view, 16).value
        return ctypes.string_at(address, length)
    finally:
        ctypes.pythonapi.PyBuffer_Release(ctypes.byref(view))


class Devices(unittest.TestCase):
    def refused(self, code, call, *words):
        with self.assertRaises(ts.Error) as raised:
            call()
        self.assertEqual(raised.exception.code, code, raised.exception)
        for word in words:
            self.assertIn(word, str(raised.exception))

    def test_tensors_of_other_devices(self):
        for device, words in (((2, 0), "CUDA device 0"), ((2, 3), "CUDA device 3"), ((10, 0), "ROCm"), ((14, 1), "oneAPI"),
                              ((12, 0), "type 12"), ((99, 0), "type 99")):
            with self.subTest(device):
                foreign = Producer(*device)
                self.refused("E_ARG_DEVICE", lambda: ts.from_dlpack(foreign), words)
                self.refused("E_ARG_DEVICE", lambda: ts.asarray(foreign), words)
                self.refused("E_ARG_DEVICE", lambda: add(foreign, np.zeros(4, "f4")), words)
                self.refused("E_ARG_DEVICE", lambda: add(np.zeros(4, "f4"), foreign), words)

    def test_memory_of_the_host(self):
        for device in (1, 3, 11):  # 3 and 11: page-locked for a GPU
            y = np.zeros(4, "f4")
            add(Producer(device), y, 1.0)
            self.assertEqual(y.tolist(), [1, 2, 3, 4])
            self.assertEqual(ts.from_dlpack(Producer(device)).numpy().tolist(), [0, 1, 2, 3])

    def test_exports_name_the_device(self):
        x = ts.ones(4)
        self.assertEqual(x.__dlpack_device__(), (1, 0))
        x.__dlpack__(dl_device=(1, 0), copy=False)
        for wrong in (dict(dl_device=(2, 0)), dict(dl_device=(1, 1)), dict(dl_device="cuda"), dict(copy=True)):
            with self.subTest(wrong), self.assertRaises(BufferError):
                x.__dlpack__(**wrong)

    def test_elements_of_less_than_a_byte(self):
        for dtype in ("fp6_e2m3", "fp6_e3m2", "fp4_e2m1"):
            with self.subTest(dtype), self.assertRaisesRegex(BufferError, "a byte each"):
                ts.empty(4, dtype).__dlpack__()
        ts.empty(4, "fp8_e4m3").__dlpack__()
        for code, bits in ((15, 6), (16, 6), (17, 4), (14, 8)):
            self.refused("E_ARG_DLPACK", lambda: ts.from_dlpack(Producer(1, code=code, bits=bits)), f"type {code}")


class Buffers(unittest.TestCase):
    SIMPLE, ND, STRIDES, C, F, ANY = 0, 0x8, 0x18, 0x38, 0x58, 0x98

    def test_strided(self):
        x = ts.from_dlpack(Producer(1, strides=3))
        for flags in (self.SIMPLE, self.ND, self.C, self.F, self.ANY):
            with self.subTest(flags), self.assertRaises(BufferError):
                memory(x, flags)
        memory(x, self.STRIDES)
        self.assertEqual(x.numpy().tolist(), [0, 3, 6, 9])
        self.assertEqual(ts.asarray(np.arange(12, dtype="f4")[::3]).numpy().tolist(), [0, 3, 6, 9])
        out = np.zeros(4, "f4")
        x._copy_to(out)
        self.assertEqual(out.tolist(), [0, 3, 6, 9])

    def test_contiguous(self):
        x = ts.asarray(np.arange(6, dtype="f4").reshape(2, 3))
        for flags in (self.SIMPLE, self.ND, self.STRIDES, self.C, self.ANY):
            self.assertEqual(memory(x, flags), np.arange(6, dtype="f4").tobytes())
        with self.assertRaises(BufferError):
            memory(x, self.F)
        memory(ts.ones((4, 1)), self.F)
        memory(ts.from_dlpack(Producer(1, strides=3, size=1)), self.SIMPLE)

    def test_calls_wait_for_memory_that_others_see(self):
        """A call with an array that NumPy sees, or that views another's memory, returns when its result is there."""
        x, y = ts.zeros(1600), ts.zeros(1600)
        seen = y.numpy()
        slow(x, y)
        np.testing.assert_array_equal(seen, 20000)
        del seen

        capsule = y.__dlpack__()
        address = np.from_dlpack(y).ctypes.data
        slow(x, y)
        self.assertEqual(ctypes.c_float.from_address(address).value, 40000)
        del capsule

        base = np.zeros(1600, "f4")
        slow(x, ts.from_dlpack(base))
        np.testing.assert_array_equal(base, 20000)


class Ends(unittest.TestCase):
    def test_no_memory_for_a_copy(self):
        self.assertEqual("TSR_EOOM\n", self.run_program("""
            import resource
            import numpy as np
            import tessera as ts
            ts.ones(3)
            x = np.ones(40_000_000, "f4")[::2]
            used = int(open("/proc/self/statm").read().split()[0]) * 4096
            resource.setrlimit(resource.RLIMIT_AS, (used + 120_000_000,) * 2)
            try:
                ts.asarray(x)
            except ts.OutOfMemoryError as error:
                print(error.code)
        """))

    def test_threads_at_the_end(self):
        for call in ("g(x, 'no')", "ts.from_dlpack(x)", "np.from_dlpack(a)", "a.numpy()"):
            with self.subTest(call):
                self.run_program(f"""
                    import sys, threading, time
                    import numpy as np
                    import tessera as ts
                    @ts.jit
                    def g(x, y):
                        return x + y
                    x, a = np.ones(100, "f4"), ts.ones(100)
                    g(x, x)
                    sys.setswitchinterval(1e-5)
                    def work():
                        while True:
                            try:
                                {call}
                            except ts.Error:
                                pass
                    for _ in range(3):
                        threading.Thread(target=work, daemon=True).start()
                    time.sleep(0.1)
                """)

    @unittest.skipUnless(hasattr(os, "fork"), "needs os.fork")
    def test_arrays_of_the_parent(self):
        self.assertIn("of the process that forked this one", self.run_program("""
            import os
            import tessera as ts
            @ts.jit
            def g(x):
                return x + x
            x = ts.ones(3)
            g(x)
            if os.fork() == 0:
                try:
                    g(x)
                except ts.ArgumentError as error:
                    os.write(1, str(error).encode())
                os._exit(0)
            os.wait()
        """))

    def run_program(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(textwrap.dedent(text))
            file.flush()
            done = subprocess.run([sys.executable, file.name], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_threads_that_run_at_the_end(self):
        self.run_program("""
            import threading, time, numpy as np, tessera as ts
            def work():
                x = ts.ones(64)
                while True:
                    ts.runtime.synchronize()
                    x.numpy()
            for _ in range(8):
                threading.Thread(target=work, daemon=True).start()
            time.sleep(0.3)
        """)

    def test_capsules_that_outlive_the_interpreter(self):
        self.run_program("""
            import ctypes, tessera as ts
            capsule = ts.ones(4).__dlpack__()
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(capsule))
            pointer = ctypes.pythonapi.PyCapsule_GetPointer
            pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
            managed = pointer(capsule, b"dltensor")
            deleter = ctypes.c_void_p.from_address(managed + 56).value
            # libc calls deleter(managed) when the interpreter is gone.
            ctypes.CDLL(None).__cxa_atexit(ctypes.c_void_p(deleter), ctypes.c_void_p(managed), None)
        """)

    def test_a_second_load(self):
        spec = importlib.util.spec_from_file_location("tessera._core", _core.__file__)
        with self.assertRaisesRegex(ImportError, "a second time"):
            spec.loader.exec_module(importlib.util.module_from_spec(spec))
        self.assertIsInstance(ts.ones(3), ts.Array)
        self.assertEqual(ts.ones(3).numpy().tolist(), [1, 1, 1])

    def test_synchronize_waits_for_the_backend_before(self):
        x, y = ts.zeros(1600), ts.zeros(1600)
        address = y.numpy().ctypes.data
        slow(x, y)
        try:
            ts.runtime.select_backend("cpu")
            ts.runtime.synchronize()
            self.assertEqual(ctypes.c_float.from_address(address).value, 20000)
        finally:
            ts.runtime.select_backend(None)
            ts.runtime.synchronize()

    def test_synchronize_in_several_threads(self):
        def work():
            for _ in range(50):
                ts.runtime.select_backend("cpu")
                ts.runtime.synchronize()

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ts.runtime.select_backend(None)


if __name__ == "__main__":
    unittest.main()
