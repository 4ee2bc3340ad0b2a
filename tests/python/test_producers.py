"""Tensors of other libraries: DLPack's table of C functions, PyTorch's attributes, and producers that break the rules."""
import ctypes
import gc
import importlib.util
import mmap
import unittest
import weakref

import numpy as np
import producer  # of producer.c

import tessera as ts

HAS_TORCH = importlib.util.find_spec("torch") is not None


@ts.kernel
def add(x: ts.Tensor["n", ts.f32], y: ts.Tensor["n", ts.f32], a: ts.f32 = 1.0):
    for i in ts.tile.parallel(0, n, 16):
        y[i:i+16] = x[i:i+16] + a


@ts.jit
def doubled(x):
    return x + x


def kind(**attributes):
    """A class of tensors with these attributes, and a __dlpack__ that counts its calls."""
    class Made(producer.Tensor):
        asked = 0

        def __init__(self, array, *more):
            super().__init__(array, *more)
            self.array = array

        def __dlpack__(self, **keywords):
            type(self).asked += 1
            return self.array.__dlpack__()

    for name, value in attributes.items():
        setattr(Made, name, value)
    return Made


def floats(n=20):
    return np.arange(n, dtype="f4")


class Case(unittest.TestCase):
    def refused(self, code, call, *words):
        with self.assertRaises(ts.Error) as raised:
            call()
        self.assertEqual(raised.exception.code, code, raised.exception)
        for word in words:
            self.assertIn(word, str(raised.exception))


class Tables(Case):
    def call(self, made):
        """The counts of views, exports and capsules of a call. A view does not say whether it is read-only: what is written is exported, too."""
        before = producer.counts()
        x, y = made(floats()), made(np.zeros(20, "f4"))
        add(x, y)
        np.testing.assert_array_equal(y.array, floats() + 1)
        after = producer.counts()
        self.assertEqual(after[2], before[2])  # nothing is left exported
        return after[0] - before[0], after[1] - before[1], made.asked

    def test_both_names(self):
        capsule, address = producer.table("view")
        self.assertEqual((2, 1, 0), self.call(kind(__dlpack_c_exchange_api__=capsule)))
        self.assertEqual((2, 1, 0), self.call(kind(__c_dlpack_exchange_api__=address)))
        self.assertEqual((2, 1, 0), self.call(kind(__dlpack_c_exchange_api__=capsule, __c_dlpack_exchange_api__="no table")))
        self.assertEqual((2, 1, 0), self.call(kind(__dlpack_c_exchange_api__=17, __c_dlpack_exchange_api__=address)))

    def test_a_table_without_views(self):
        capsule, _ = producer.table("export")
        made = kind(__dlpack_c_exchange_api__=capsule)
        self.assertEqual((0, 2, 0), self.call(made))
        self.refused("E_ARG_READONLY", lambda: add(made(floats()), made(floats(), 1, True)))

    def test_read_only(self):
        capsule, _ = producer.table("view")
        made = kind(__dlpack_c_exchange_api__=capsule)
        y = made(np.zeros(20, "f4"))
        add(made(floats(), 1, True), y)
        np.testing.assert_array_equal(y.array, floats() + 1)
        self.refused("E_ARG_READONLY", lambda: add(made(floats()), made(floats(), 1, True)), "y is read-only")
        self.assertEqual(producer.counts()[2], 0)

    def test_versions(self):
        _, first = producer.table("view")
        newer, address = producer.table("fail", 2, first)
        self.assertEqual((2, 1, 0), self.call(kind(__dlpack_c_exchange_api__=newer)))
        self.assertEqual((2, 1, 0), self.call(kind(__c_dlpack_exchange_api__=address)))
        alone, address = producer.table("view", 2)
        self.assertEqual((0, 0, 2), self.call(kind(__dlpack_c_exchange_api__=alone)))
        self.assertEqual((0, 0, 2), self.call(kind(__c_dlpack_exchange_api__=address)))

    def test_what_is_no_table(self):
        wrong = ctypes.pythonapi.PyCapsule_New
        wrong.restype, wrong.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        for value in (None, "table", 1.5, object(), wrong(1, b"another", None)):
            with self.subTest(value):
                self.assertEqual((0, 0, 2), self.call(kind(__dlpack_c_exchange_api__=value)))
        for value in (None, "17", 0, -1.0):
            with self.subTest(value):
                self.assertEqual((0, 0, 2), self.call(kind(__c_dlpack_exchange_api__=value)))

    def test_failures_ask_for_a_capsule(self):
        capsule, _ = producer.table("fail")
        self.assertEqual((0, 0, 2), self.call(kind(__dlpack_c_exchange_api__=capsule)))

    def test_gradients_and_signs(self):
        capsule, _ = producer.table("view")
        refuses = kind(__dlpack_c_exchange_api__=capsule, requires_grad=True)
        self.assertEqual((0, 0, 2), self.call(refuses))  # its __dlpack__ is asked, which may refuse
        self.assertEqual((2, 1, 0), self.call(kind(__dlpack_c_exchange_api__=capsule, requires_grad=False, is_neg=lambda self: False)))
        negative = kind(__dlpack_c_exchange_api__=capsule, is_neg=lambda self: True)
        self.refused("E_ARG_DLPACK", lambda: add(negative(floats()), floats()), "x: ", "resolve_neg()")

    def test_other_devices_ask_for_a_capsule(self):
        """The memory of a device is ready in the order of its library's stream, which a table may not tell, and which
        not every device has (tests/shims/foreign_test.py has those)."""
        for kind_of_table, device in ("quiet", 2), ("view", 14), ("export", 14):
            capsule, _ = producer.table(kind_of_table)
            made = kind(__dlpack_c_exchange_api__=capsule)
            y = np.zeros(20, "f4")
            add(made(floats(), device), y)
            np.testing.assert_array_equal(y, floats() + 1)
            self.assertEqual(made.asked, 1)
        self.assertEqual(producer.counts()[2], 0)

    def test_a_buffer_that_is_refused(self):
        """CuPy's arrays and JAX's have a buffer in their type, and none on a device."""
        class Both(mmap.mmap):
            def __dlpack__(self, **keywords):
                return self.array.__dlpack__()

        x, y = Both(-1, 16), Both(-1, 16)
        x.close(), y.close()  # now their buffers are refused
        x.array, y.array = floats(), np.zeros(20, "f4")
        add(x, y)
        np.testing.assert_array_equal(y.array, floats() + 1)
        x.array = None
        self.refused("E_ARG_TYPE", lambda: add(x, y), "x has no __dlpack__")

    def test_memory_outlives_the_call_where_it_must(self):
        """A graph and a ts.Array hold a capsule of their own, and not the view."""
        capsule, _ = producer.table("view")
        made = kind(__dlpack_c_exchange_api__=capsule)
        x, y = made(floats()), made(np.zeros(20, "f4"))
        seen = weakref.ref(x)
        with ts.runtime.capture() as graph:
            add(x, y)
        self.assertEqual(made.asked, 2)
        graph.replay()
        np.testing.assert_array_equal(y.array, floats() + 1)
        array = ts.from_dlpack(x)
        self.assertEqual(made.asked, 3)
        del x, graph
        gc.collect()
        self.assertIsNone(seen())
        np.testing.assert_array_equal(array.numpy(), floats())


    def test_memory_that_changes_under_a_capture(self):
        """The graph launches on what was read; the tensor must still have it when the graph takes hold of it."""
        capsule, _ = producer.table("view")

        class Moving(kind(__dlpack_c_exchange_api__=capsule)):
            def __dlpack__(self, **keywords):
                return floats().__dlpack__()

        class Refusing(kind(__dlpack_c_exchange_api__=capsule)):
            def __dlpack__(self, **keywords):
                raise BufferError("not today")

        for made, words in ((Moving, "other memory"), (Refusing, "not today")):
            y = np.zeros(20, "f4")
            add(made(floats()), y)
            np.testing.assert_array_equal(y, floats() + 1)
            with self.assertRaises(ts.ArgumentError) as raised:
                with ts.runtime.capture():
                    add(made(floats()), y)
            self.assertEqual(raised.exception.code, "E_ARG_DLPACK")
            self.assertIn(words, str(raised.exception))

    def test_classes_end(self):
        """What is known of a class does not keep it."""
        capsule, _ = producer.table("view")
        seen = []
        for attributes in ({"__dlpack_c_exchange_api__": capsule}, {}):
            for _ in range(20):
                made = kind(**attributes)
                add(made(floats()), made(np.zeros(20, "f4")))
                doubled(made(floats()))
                seen.append(weakref.ref(made))
        del made
        gc.collect()
        self.assertEqual([ref for ref in seen if ref() is not None], [])


class Nonsense(Case):
    """What a capsule says is checked before it is used."""

    def capsule(self, **fields):
        class Tensor(ctypes.Structure):
            _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("rank", ctypes.c_int32),
                        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                        ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64), ("context", ctypes.c_void_p),
                        ("deleter", ctypes.c_void_p)]

        memory = floats()
        shape = fields.pop("shape", (20,))
        strides = fields.pop("strides", None)
        made = Tensor(memory.ctypes.data, 1, 0, len(shape or ()), 2, 32, 1)
        if shape is not None:
            made.shape = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        if strides is not None:
            made.strides = (ctypes.c_int64 * len(strides))(*strides)
        for name, value in fields.items():
            setattr(made, name, value)
        made.memory = memory
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        self.kept = getattr(self, "kept", []) + [made]
        return new(ctypes.addressof(made), b"dltensor", None)

    def argument(self, result):
        class Producer:
            def __dlpack__(self, **keywords):
                return result() if callable(result) else result

            def __dlpack_device__(self):
                return 1, 0

        return Producer()

    def test_no_capsule(self):
        for result in (None, 3, "dltensor", object(), (), NotImplemented):
            with self.subTest(result):
                self.refused("E_ARG_DLPACK", lambda: add(self.argument(result), floats()), "x: __dlpack__ returned no DLPack capsule")
                self.refused("E_ARG_DLPACK", lambda: ts.from_dlpack(self.argument(result)))

    def test_it_raises(self):
        def fails():
            raise ValueError("not today")
        self.refused("E_ARG_DLPACK", lambda: add(self.argument(fails), floats()), "not today")

    def test_descriptions(self):
        y = np.zeros(20, "f4")
        for words, fields in (("-1 dims", {"rank": -1}), ("without a shape", {"shape": None, "rank": 1}), ("without memory", {"data": None}),
                              ("no dtype", {"lanes": 4}), ("no dtype", {"bits": 33}), ("no dtype", {"code": 99}), ("no dtype", {"code": 3, "bits": 64})):
            with self.subTest(words):
                self.refused("E_ARG_DLPACK", lambda: add(self.argument(self.capsule(**fields)), y), "x: ", words)
        for fields in ({"shape": (-4,)}, {"shape": (2**62, 2**62)}, {"shape": (2**32, 2**32)}, {"shape": (20,), "strides": (2**62,)}):
            with self.subTest(fields):
                self.refused("E_ARG_SHAPE", lambda: add(self.argument(self.capsule(**fields)), y), "x has ")
        self.refused("E_ARG_RANK", lambda: add(self.argument(self.capsule(shape=(1,) * 9)), y), "9 dims")
        self.refused("E_ARG_DEVICE", lambda: add(self.argument(self.capsule(device_type=2)), y), "CUDA device 0")
        self.assertFalse(y.any())

    def test_what_works(self):
        y = np.zeros(20, "f4")
        add(self.argument(self.capsule()), y)
        np.testing.assert_array_equal(y, floats() + 1)
        add(self.argument(self.capsule(shape=(0,), data=None)), np.zeros(0, "f4"))
        self.assertEqual(doubled(self.argument(self.capsule(shape=(0, 2**62, 2**62), data=None))).shape, (0, 2**62, 2**62))

    def test_it_ignores_what_it_is_asked(self):
        """A producer that takes every keyword and heeds none."""
        class Deaf:
            def __init__(self, array):
                self.array = array

            def __dlpack__(self, *args, **keywords):
                return self.array.__dlpack__()  # of version 0, without a copy, whatever was asked

            def __dlpack_device__(self, *args):
                return 1, 0

        y = np.zeros(20, "f4")
        add(Deaf(floats()), y)
        np.testing.assert_array_equal(y, floats() + 1)
        self.assertEqual(ts.from_dlpack(Deaf(floats())).numpy().tolist(), floats().tolist())

    def test_one_capsule_for_two(self):
        capsule = floats().__dlpack__()
        one = self.argument(capsule)
        self.refused("E_ARG_DLPACK", lambda: add(one, one), "has been used")


class Texts(Case):
    def test_texts_that_c_has_not(self):
        """With a NUL, or with half of a surrogate pair."""
        x = floats()
        for text in ("y\0", "\0", "\udcff"):
            for call in (lambda: add(x, **{text: x}), lambda: ts.runtime.select_backend(text), lambda: ts.runtime.set_mapper(text)):
                with self.subTest(text), self.assertRaises(ts.ArgumentError) as raised:
                    call()
                self.assertEqual(raised.exception.code, "E_ARG_TYPE")


@unittest.skipUnless(HAS_TORCH, "torch is not installed")
class Torch(Case):
    def test_attributes(self):
        import torch
        y = torch.zeros(20)
        add(torch.arange(20.0), y)
        self.assertEqual(y.tolist(), (floats() + 1).tolist())
        base = torch.arange(40.0)
        add(base[20:], y)  # an offset into its storage
        self.assertEqual(y.tolist(), [i + 21.0 for i in range(20)])
        for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8):
            got = doubled(torch.ones(3, 2, dtype=dtype))
            self.assertEqual((got.dtype, got.tolist()), (dtype, [[2, 2]] * 3))
        self.assertEqual(doubled(torch.tensor(2.5)).item(), 5)
        self.assertEqual(tuple(doubled(torch.ones(0, 3)).shape), (0, 3))

    def test_what_is_not_plain(self):
        import torch
        y = np.zeros(3, "f4")
        negative = torch.complex(torch.ones(3), torch.ones(3)).conj().imag
        self.refused("E_ARG_DLPACK", lambda: add(negative, y), "resolve_neg()")
        self.refused("E_ARG_DLPACK", lambda: add(torch._neg_view(torch.ones(3)), y), "resolve_neg()")
        self.refused("E_ARG_DLPACK", lambda: ts.from_dlpack(torch._neg_view(torch.ones(3))), "resolve_neg()")
        self.assertFalse(y.any())
        add(negative.resolve_neg(), y)
        self.assertEqual(y.tolist(), [0, 0, 0])
        for wrong in (torch.ones(3, requires_grad=True), torch.ones(3).to_sparse(), torch.ones(3).to_mkldnn(), torch.ones(3, device="meta"),
                      torch._efficientzerotensor(3), torch.ones(3, dtype=torch.complex64)):
            self.refused("E_ARG_DLPACK", lambda: add(wrong, y), "x: ")

        class Own(torch.Tensor):
            pass

        add(torch.ones(3).as_subclass(Own), y)
        self.assertEqual(y.tolist(), [2, 2, 2])

    def test_modes(self):
        """Code that watches every function of torch does not disturb the reading."""
        import torch
        from torch.overrides import TorchFunctionMode

        class Mode(TorchFunctionMode):
            def __torch_function__(self, function, types, args=(), kwargs=None):
                return function(*args, **(kwargs or {}))

        y = torch.zeros(3)
        with Mode():
            add(torch.ones(3), y)
        self.assertEqual(y.tolist(), [2, 2, 2])

    def test_memory_of_a_graph_stays(self):
        import torch
        x, y = torch.ones(100_000), torch.zeros(100_000)
        with ts.runtime.capture() as graph:
            add(x, y)
        x.set_(torch.zeros(1).storage())  # the graph keeps the memory that it was captured with
        graph.replay()
        self.assertEqual(float(y.sum()), 200_000)


if __name__ == "__main__":
    unittest.main()
