#!/usr/bin/env python3
"""Calls of the Python package with the tensors of another library on a GPU, over the driver's shim: they come after what that library
has queued, and what it queues then comes after them (docs/decisions/0086). The other library is this file: it uses the driver itself.
"""
import ctypes
import os
import pathlib
import sys
import threading
import time
import unittest

import numpy as np
import producer  # of tests/python/producer.c

import tessera as ts

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "samples" / "saxpy"))
from saxpy import saxpy  # noqa: E402

N = 1000
CUDA = 2
NOT_READY = 600
cuda = ctypes.CDLL("libcuda.so.1")
POINTER = ctypes.c_void_p


def made(function, *arguments):
    """The handle that a function of the driver gives."""
    out = POINTER()
    check(function(ctypes.byref(out), *arguments))
    return out


def check(status):
    if status:
        raise RuntimeError(f"the driver returned {status}")


def pointer_of(capsule):
    """What a capsule of DLPack 0.x points to; its first field is the address of the elements."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = POINTER, [ctypes.py_object, ctypes.c_char_p]
    return POINTER.from_address(get(capsule, b"dltensor")).value


class DLTensor(ctypes.Structure):
    _fields_ = [("data", POINTER), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", POINTER), ("strides", POINTER), ("byte_offset", ctypes.c_uint64), ("context", POINTER), ("deleter", POINTER)]


class Tensor:
    """A tensor of a library without a table of functions: its __dlpack__ orders the stream that it is given."""
    def __init__(self, address, stream):
        self.stream, self.asked = stream, []
        self.shape = (ctypes.c_int64 * 1)(N)
        self.tensor = DLTensor(address, CUDA, 0, 1, 2, 32, 1, ctypes.addressof(self.shape))

    def __dlpack_device__(self):
        return CUDA, 0

    def __dlpack__(self, *, stream=None, max_version=None):
        self.asked.append(stream)
        event = made(cuda.cuEventCreate, 0)
        check(cuda.cuEventRecord(event, self.stream))
        check(cuda.cuStreamWaitEvent(POINTER(stream), event, 0))
        check(cuda.cuEventDestroy_v2(event))
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [POINTER, ctypes.c_char_p, POINTER]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


class TableTensor(producer.Tensor):
    """A tensor of a library whose table tells its current stream."""
    __dlpack_c_exchange_api__ = producer.table("view")[0]

    def __init__(self, address, stream=None):
        super().__init__((ctypes.c_float * N).from_address(address), CUDA)
        self.exported = Tensor(address, stream)

    def __dlpack__(self, **keywords):  # only to hold the memory: the table orders the work
        return self.exported.__dlpack__(**keywords)


def floats(value):
    return np.full(N, value, "f4")


class Foreign(unittest.TestCase):
    def setUp(self):
        self.stream, self.other = made(cuda.cuStreamCreate, 1), made(cuda.cuStreamCreate, 1)
        self.x, self.y = (made(cuda.cuMemAlloc_v2, ctypes.c_size_t(4 * N)).value for _ in "xy")
        producer.use_stream(self.stream.value)
        self.put(self.x, floats(0)), self.put(self.y, floats(0))
        check(cuda.cuStreamSynchronize(self.stream))
        self.late = threading.Timer(10, cuda.tesseraShimResume)  # a call that waits fails the test, and does not hang
        self.late.start()

    def tearDown(self):
        self.late.cancel()
        cuda.tesseraShimResume()
        ts.runtime.synchronize()
        for stream in self.stream, self.other, POINTER(0):
            check(cuda.cuStreamSynchronize(stream))
        for address in self.x, self.y:
            check(cuda.cuMemFree_v2(ctypes.c_uint64(address)))
        for stream in self.stream, self.other:
            check(cuda.cuStreamDestroy_v2(stream))
        breaches = ctypes.create_string_buffer(1 << 16)
        cuda.tesseraShimTake(breaches, ctypes.c_size_t(len(breaches)))
        self.assertEqual(breaches.value, b"")

    def put(self, address, values):
        self.kept = getattr(self, "kept", []) + [values]
        check(cuda.cuMemcpyAsync(ctypes.c_uint64(address), ctypes.c_uint64(values.ctypes.data), ctypes.c_size_t(4 * N), self.stream))

    def get(self, address, stream):
        """Queues a copy to the host, and returns where it will be."""
        out = floats(-1)
        check(cuda.cuMemcpyAsync(ctypes.c_uint64(out.ctypes.data), ctypes.c_uint64(address), ctypes.c_size_t(4 * N), stream))
        return out

    def pause(self):
        """From here on the library's stream does nothing: what does not wait for it is done too early."""
        check(cuda.tesseraShimPause(self.stream))
        self.paused = True

    def resume(self):
        self.assertTrue(self.late.is_alive(), "something has waited for the stream")
        time.sleep(0.05)
        cuda.tesseraShimResume()

    def test_a_call_is_queued_between(self):
        x, y = TableTensor(self.x), TableTensor(self.y)
        asked = producer.use_stream(self.stream.value)
        self.pause()
        self.put(self.x, floats(3)), self.put(self.y, floats(1))
        saxpy(x, y, 2.0)
        found = self.get(self.y, self.stream)
        self.resume()
        check(cuda.cuStreamSynchronize(self.stream))
        np.testing.assert_array_equal(found, floats(7))
        self.assertEqual(producer.use_stream(self.stream.value) - asked, 1)  # once for both tensors

    def test_default_streams(self):
        for handle in 0, 1, 2:
            producer.use_stream(handle)
            self.stream, own = POINTER(handle), self.stream
            self.pause()
            self.put(self.x, floats(3)), self.put(self.y, floats(1))
            saxpy(TableTensor(self.x), TableTensor(self.y), 2.0)
            found = self.get(self.y, self.stream)
            self.resume()
            check(cuda.cuStreamSynchronize(self.stream))
            self.stream = own
            np.testing.assert_array_equal(found, floats(7))

    def test_without_a_table(self):
        """The call waits for its end, since nobody tells which stream should."""
        x, y = Tensor(self.x, self.stream), Tensor(self.y, self.stream)
        self.pause()
        self.put(self.x, floats(3)), self.put(self.y, floats(1))
        threading.Timer(0.1, cuda.tesseraShimResume).start()
        saxpy(x, y, 2.0)
        found = self.get(self.y, self.other)  # which waits for nothing
        check(cuda.cuStreamSynchronize(self.other))
        np.testing.assert_array_equal(found, floats(7))
        self.assertEqual((x.asked, y.asked), ([1], [1]))

    def test_arrays_from_other_libraries(self):
        y = ts.asarray(floats(1))
        self.pause()
        self.put(self.x, floats(3))
        theirs = Tensor(self.x, self.stream)  # which has no deleter: it stays
        x = ts.from_dlpack(theirs)
        with ts.Stream():  # another one than at the import
            threading.Timer(0.1, cuda.tesseraShimResume).start()
            saxpy(x, y, 2.0)
        np.testing.assert_array_equal(y.numpy(), floats(7))
        del x
        self.assertEqual(theirs.asked, [1])

    def test_arrays_for_other_libraries(self):
        array = ts.asarray(floats(1))
        self.pause()
        self.put(self.x, floats(3))
        saxpy(TableTensor(self.x), array, 2.0)  # done after resume()
        address = pointer_of(array.__dlpack__(stream=-1))
        self.assertEqual(cuda.cuStreamQuery(POINTER(0)), 0)  # which nothing was ordered for
        array.__dlpack__(stream=self.other.value)
        found = self.get(address, self.other)
        array.__dlpack__()
        self.assertEqual(cuda.cuStreamQuery(POINTER(0)), NOT_READY)
        for number in 0, -2:
            with self.assertRaisesRegex(BufferError, f"no number {number} for a stream of cuda"):
                array.__dlpack__(stream=number)
        self.resume()
        check(cuda.cuStreamSynchronize(self.other))
        np.testing.assert_array_equal(found, floats(7))

    def test_graphs(self):
        x, y = TableTensor(self.x, self.other), TableTensor(self.y, self.other)
        with ts.runtime.capture() as graph:
            saxpy(x, y, 2.0)
        self.pause()
        self.put(self.x, floats(3)), self.put(self.y, floats(1))
        graph.replay()
        graph.replay()
        found = self.get(self.y, self.stream)
        self.resume()
        check(cuda.cuStreamSynchronize(self.stream))
        np.testing.assert_array_equal(found, floats(13))

    def test_streams_that_record_are_refused(self):
        x, y = TableTensor(self.x), TableTensor(self.y)
        check(cuda.cuStreamBeginCapture_v2(self.stream, 1))
        with self.assertRaisesRegex(ts.Error, "the stream of the other library records a graph"):
            saxpy(x, y, 2.0)
        check(cuda.cuGraphDestroy(made(lambda out: cuda.cuStreamEndCapture(self.stream, out))))
        saxpy(x, y, 2.0)


if __name__ == "__main__":
    ts.runtime.synchronize()  # the plugin finds its devices
    check(cuda.cuInit(0))
    check(cuda.cuCtxPushCurrent_v2(made(cuda.cuDevicePrimaryCtxRetain, 0)))
    ended = unittest.main(exit=False)
    sys.stdout.flush(), sys.stderr.flush()
    os._exit(not ended.result.wasSuccessful())  # the package leaves its context to the process's end, which the shim would call a leak
