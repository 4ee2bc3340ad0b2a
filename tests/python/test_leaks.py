"""Nothing is lost by a call of any kind: no reference, no object, no memory.

A debug build of CPython counts every reference, and this file runs in one, too (python-leaks-debug). NumPy and PyTorch are not
built for it and count theirs apart, so references of their arrays are counted one by one there.
"""
import array
import gc
import importlib.util
import logging
import os
import statistics
import sys
import unittest

import tessera as ts

HAS_TORCH = importlib.util.find_spec("torch") is not None
COUNTS = hasattr(sys, "gettotalrefcount")

TEXT = '''import tessera as ts

@ts.kernel
def k(x: ts.Tensor["n", ts.f32], y: ts.Tensor["n", ts.f32], a: ts.f32 = 1.0):
    for i in ts.tile.parallel(0, n, 16):
        y[i:i+16] = x[i:i+16] + a
'''
LONG = bool(os.environ.get("TESSERA_LEAKS_LONG"))  # 10^6 calls and 10^5 compilations, for ./dev soak


@ts.kernel
def add(x: ts.Tensor["n", ts.f32], y: ts.Tensor["n", ts.f32], a: ts.f32 = 1.0):
    for i in ts.tile.parallel(0, n, 16):
        y[i:i+16] = x[i:i+16] + a


@ts.jit
def doubled(x):
    return x + x


@ts.jit
def both(x, y):
    return x + y, x


@ts.jit(capture_graph=True)
def replayed(x, y):
    return x + y


def floats(n=16):
    return array.array("f", [1.0] * n)


class Exporter:
    """A producer whose class is not one of NumPy's or PyTorch's."""

    def __init__(self, n=16):
        self.array = ts.ones(n)

    def __dlpack__(self, *, max_version=None):
        return self.array.__dlpack__(max_version=max_version)


class Old(Exporter):
    def __dlpack__(self):
        return self.array.__dlpack__()


def fails(call):
    try:
        call()
    except (ts.Error, TypeError, ValueError, RuntimeError, BufferError):
        return
    raise AssertionError("it did not fail")


def cases():
    """name -> a function to call again and again."""
    b, c, a, d = floats(), floats(), ts.ones(16), ts.ones(16)
    e, old, strided = Exporter(), Old(), memoryview(floats(64))[::2]
    yield "buffers", lambda: add(b, c)
    yield "a scalar", lambda: add(b, c, 2.5)
    yield "keywords", lambda: add(y=c, x=b, a=2)
    yield "ts.Array", lambda: add(a, d)
    yield "a result", lambda: doubled(a)
    yield "a result of buffers", lambda: doubled(b)
    yield "two values", lambda: both(a, d)
    yield "DLPack 1", lambda: add(e, c)
    yield "DLPack 0", lambda: add(old, c)
    yield "a result by DLPack", lambda: doubled(e)
    yield "operations", lambda: (ts.exp(a), ts.softmax(a))
    yield "copies", lambda: (ts.asarray(b), ts.from_dlpack(e), ts.empty(3), a.__dlpack__(), memoryview(a).tolist())
    yield "attributes", lambda: (a.shape, a.dtype, a.device, repr(a), a.nbytes)
    yield "a replayed graph", lambda: replayed(a, d)
    for name, wrong in {"too few": lambda: add(b), "too many": lambda: add(b, c, 1.0, 2), "twice": lambda: add(b, x=b),
                        "unknown": lambda: add(b, c, q=3), "a dtype": lambda: add(array.array("d", [1.0]), c), "an extent": lambda: add(floats(3), c),
                        "no array": lambda: add("x", c), "a range": lambda: add(b, c, 1e300), "no number": lambda: add(b, c, "x"),
                        "strides": lambda: add(strided, c), "overlap": lambda: add(b, b), "read-only": lambda: add(b, b"1234" * 16),
                        "no capsule": lambda: ts.from_dlpack(3), "a device": lambda: a.__dlpack__(dl_device=(2, 0)),
                        "no backend": lambda: ts.runtime.select_backend("nowhere"), "a dim": lambda: add.jit(q=3), "a level": lambda: add.inspect_ir("x"),
                        "no bundle": lambda: ts.load("/nowhere.tsrb"), "text": lambda: ts.compile("def f(:")}.items():
        yield f"an error: {name}", lambda wrong=wrong: fails(wrong)

    stream, event = ts.Stream(), ts.Event()

    def streams():
        with stream:
            add(a, d)
            stream.record(event)
        ts.Stream.current().wait(event)
        event.query(), stream.query()
        stream.synchronize()
        event.synchronize()
        with ts.Stream() as other:
            add(a, d)
            other.record().synchronize()

    yield "streams", streams

    def capture():
        with ts.runtime.capture() as graph:
            add(a, d)
            add(e, c)
        graph.replay()
        graph.nodes

    yield "a capture", capture

    def no_capture():
        try:
            with ts.runtime.capture():
                add(a, d)
                raise KeyError
        except KeyError:
            pass

    yield "a capture that fails", no_capture
    yield "reading a text", lambda: ts.compile(TEXT, filename="leaks.py")
    yield "compiling for dims", lambda: add.jit(n=16)
    yield "information", lambda: (ts.runtime.capabilities(), ts.runtime.backends(), ts.runtime.memory_info(), ts.runtime.synchronize())
    yield "a log record", lambda: logging.getLogger("tessera").level


def compile_and_call():
    ts.compile(TEXT, filename="leaks.py").k(*arguments)


arguments = floats(), floats()


class Mapper(ts.Mapper):
    def choose_variant(self, op, arch):
        return None


class Raises(ts.Mapper):
    def choose_variant(self, op, arch):
        raise ValueError("no")


def with_mapper(kind):
    def run():
        ts.runtime.set_mapper(kind())
        try:
            ts.compile(PRODUCT, filename="product.py").f(*matrices)
        except ts.Error:
            pass
        finally:
            ts.runtime.set_mapper(None)

    return run


PRODUCT = '''import tessera as ts

@ts.jit
def f(x: ts.Tensor["M", "K", ts.f32], w: ts.Tensor["K", "N", ts.f32]):
    return ts.gemm(x, w)
'''
matrices = ts.ones((4, 4)), ts.ones((4, 4))


def resident():
    """Bytes of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Leaks(unittest.TestCase):
    def setUp(self):
        if HAS_TORCH and not COUNTS:
            import torch  # noqa: F401 (before the freeze)
        gc.collect()
        gc.freeze()  # what is there already need not be looked at by each gc.collect()
        self.addCleanup(gc.unfreeze)

    def lost(self, call, times=30):
        """The blocks of memory, and in a debug build the references, that a call loses: what 2N calls take more than N calls before
        them, so that what is taken once is no loss. CPython's free lists and tables grow in leaps, hence the median of some tries."""
        counts = [sys.getallocatedblocks] + ([sys.gettotalrefcount] if COUNTS else [])

        def growth(calls):
            before = [count() for count in counts]
            for _ in range(calls):
                call()
            gc.collect()
            return [count() - start for count, start in zip(counts, before)]

        growth(times)  # fills what is kept
        tries = []
        while len(tries) < 7:
            once, twice = growth(times), growth(2 * times)
            tries.append([(more - less) / times for less, more in zip(once, twice)])
            medians = [statistics.median(column) for column in zip(*tries)]
            if len(tries) % 2 and len(tries) > 1 and max(medians) < 0.5:
                break
        return medians

    def keeps_nothing(self, name, call, times=30, most_blocks=0.5):
        blocks, *references = self.lost(call, times)
        with self.subTest(name):
            self.assertLess(blocks, most_blocks)
            for count in references:
                self.assertLess(count, 0.5)

    def test_every_kind_of_call(self):
        for name, call in cases():
            self.keeps_nothing(name, call)

    def test_the_counts_see_what_is_lost(self):
        lost, kept = [], []
        blocks, *references = self.lost(lambda: lost.append([floats(2)]))
        self.assertGreater(blocks, 1.5)
        for count in references:
            self.assertGreater(count, 1.5)
        for once in (5, 31, 65):  # in the first or the second half of a try: no loss
            calls = iter(range(10_000))
            self.keeps_nothing("what is taken once", lambda: kept.extend([[]] * 10_000) if next(calls) == once else None)

    def test_compilations(self):
        """Free lists of CPython fill for some hundred calls. A kernel that is lost has 50 blocks."""
        bad = ts.compile(TEXT.replace("+ a", "+ apha"), filename="bad.py").k
        self.keeps_nothing("an error", lambda: fails(lambda: bad(*arguments)), 5, 5)
        self.keeps_nothing("a kernel", compile_and_call, 5, 5)
        self.keeps_nothing("a mapper", with_mapper(Mapper), 5, 5)
        self.keeps_nothing("a hook that raises", with_mapper(Raises), 5, 5)

    @unittest.skipIf(COUNTS, "NumPy is not built for this Python")
    def test_arrays_of_numpy_and_torch(self):
        import numpy as np
        x, y = np.ones(16, "f4"), np.ones(16, "f4")
        for name, call in (("a call", lambda: add(x, y)), ("a result", lambda: doubled(x)), ("strides", lambda: fails(lambda: add(x[::2], y))),
                           ("overlap", lambda: fails(lambda: add(x, x))), ("asarray", lambda: ts.asarray(x)), ("numpy", lambda: ts.ones(3).numpy())):
            with self.subTest(name):
                self.assertLess(self.lost(call, 300)[0], 0.5)
        before = [sys.getrefcount(o) for o in (x, y, x.dtype, np.ndarray, None, True)]
        for _ in range(300):
            add(x, y)
            fails(lambda: add(x, x))
        after = [sys.getrefcount(o) for o in (x, y, x.dtype, np.ndarray, None, True)]
        for one, other in zip(before, after):
            self.assertLess(other - one, 100)
        if not HAS_TORCH:
            return
        import torch
        t, u = torch.ones(16), torch.ones(16)
        grad = torch.ones(16, requires_grad=True)
        for name, call in (("torch", lambda: add(t, u)), ("a result", lambda: doubled(t)), ("a gradient", lambda: fails(lambda: add(grad, u))),
                           ("from_dlpack", lambda: ts.from_dlpack(t))):
            with self.subTest(name):
                self.assertLess(self.lost(call, 300)[0], 0.5)
        before = [sys.getrefcount(o) for o in (t, u, torch.float32, torch.Tensor, False)]
        for _ in range(1000):
            add(t, u)
        after = [sys.getrefcount(o) for o in (t, u, torch.float32, torch.Tensor, False)]
        for one, other in zip(before, after):
            self.assertLess(other - one, 100)


class Memory(unittest.TestCase):
    def grows(self, call, times, first):
        for _ in range(first):
            call()
        gc.collect()
        before = resident()
        for _ in range(times):
            call()
        gc.collect()
        self.assertLess(resident() - before, 1 << 20)

    def test_calls(self):
        b, c, a, d = floats(), floats(), ts.ones(16), ts.ones(16)
        times = 1_000_000 if LONG else 30_000
        self.grows(lambda: add(b, c), times, 1000)
        self.grows(lambda: add(a, d), times, 1000)
        self.grows(lambda: doubled(a), times, 1000)

    @unittest.skipIf(COUNTS, "one Python is enough")
    def test_compilations(self):
        self.grows(compile_and_call, 100_000 if LONG else 200, 100)

    @unittest.skipIf(COUNTS, "one Python is enough")
    def test_mappers(self):
        """Each new mapper has kernels compile again; what was compiled for those before it is dropped."""
        def call():
            ts.runtime.set_mapper(Mapper())
            add(*arguments)

        try:
            self.grows(call, 10_000 if LONG else 70, 50)
        finally:
            ts.runtime.set_mapper(None)

    @unittest.skipIf(COUNTS, "one Python is enough")
    def test_idle_streams(self):
        def call():
            for stream in [ts.Stream() for _ in range(20)]:
                with stream:
                    doubled(matrices[0])
            ts.runtime.synchronize()

        self.grows(call, 2000 if LONG else 40, 40)


if __name__ == "__main__":
    unittest.main()
