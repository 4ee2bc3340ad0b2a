"""dtype x layout x producer: each cell is accepted with the right bits, or refused by the code that the table has."""
import importlib.util
import os
import tempfile
import unittest

import numpy as np

import tessera as ts

DTYPES = ("f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?")
OK = "ok"


@ts.kernel
def copy(x, y):
    for i in ts.tile.parallel(0, x.shape[0], 16):
        y[i:i+16] = x[i:i+16]


def values(dtype, count):
    return np.random.default_rng(3).integers(0, 2 if dtype == "?" else 100, count).astype(dtype)


def unaligned(dtype):
    base = values(dtype, 30)
    raw = np.zeros(base.nbytes + 1, "u1")
    view = raw[1:].view(base.dtype)
    view[:] = base
    return view


def frozen(dtype):
    x = values(dtype, 30)
    x.flags.writeable = False
    return x


def mapped(dtype):
    with tempfile.NamedTemporaryFile(delete=False) as file:
        file.write(values(dtype, 30).tobytes())
    try:
        return np.memmap(file.name, dtype, "r")
    finally:
        os.unlink(file.name)


LAYOUTS = {
    "contiguous": lambda d: values(d, 30),
    "one": lambda d: values(d, 1),
    "empty": lambda d: values(d, 0),
    "strided": lambda d: values(d, 90)[::3],
    "column": lambda d: values(d, 90).reshape(30, 3)[:, 1],
    "repeated": lambda d: np.broadcast_to(values(d, 1), (30,)),
    "negative": lambda d: values(d, 30)[::-1],
    "read-only": frozen,
    "memory-mapped": mapped,
    "subclass": lambda d: values(d, 30).view(type("Own", (np.ndarray,), {})),
    "swapped": lambda d: values(d, 30).astype(np.dtype(d).newbyteorder(">")),
    "unaligned": unaligned,
    "masked": lambda d: np.ma.masked_array(values(d, 30), values(d, 30) > 1),
}


class Old:
    """A producer of DLPack 0.x."""

    def __init__(self, x):
        self.x = x

    def __dlpack__(self, stream=None):
        return self.x.__dlpack__()

    def __dlpack_device__(self):
        return 1, 0


class New(Old):
    """One of 1.x, over this package's exporter."""

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return ts.asarray(self.x).__dlpack__(max_version=max_version)


def torch_tensor(x):
    import torch
    return torch.from_numpy(x)


PRODUCERS = {"NumPy": lambda x: x, "buffer": memoryview, "Array": ts.asarray, "DLPack 0.x": Old, "DLPack 1.x": New}
if importlib.util.find_spec("torch"):
    PRODUCERS["torch"] = torch_tensor


def expected(layout, dtype, producer):
    """What may become of a cell."""
    wide = np.dtype(dtype).itemsize > 1
    copies = producer in ("Array", "DLPack 1.x")  # ts.asarray
    if layout == "masked":
        return {"NumPy": {"E_ARG_TYPE"}, "Array": {"E_ARG_TYPE"}, "DLPack 1.x": {"E_ARG_DLPACK"}}.get(producer, {OK, "E_ARG_DLPACK"})
    if layout == "swapped" and wide:
        return {"E_ARG_DLPACK"} if producer.startswith("DLPack") else {"E_ARG_DTYPE"}
    if layout == "unaligned" and wide:
        return {"E_ARG_DLPACK"} if producer == "DLPack 1.x" else {"E_ARG_ALIGNMENT", "E_ARG_DLPACK"}
    if producer == "DLPack 0.x" and (layout in ("read-only", "memory-mapped", "repeated") or dtype == "?"):
        return {OK, "E_ARG_DLPACK"}  # what NumPy exports depends on its version
    if producer == "torch" and dtype == "?":
        return {OK, "E_ARG_DLPACK"}
    if layout == "negative" and not copies:
        return {"E_ARG_STRIDES"}
    return {OK}


class Matrix(unittest.TestCase):
    def test_every_cell(self):
        seen = 0
        for dtype in DTYPES:
            for layout, make in LAYOUTS.items():
                x = make(dtype)
                for producer, wrap in PRODUCERS.items():
                    try:
                        argument = wrap(x)
                    except ts.ArgumentError as e:
                        found = e.code
                    except (TypeError, ValueError):
                        continue  # the producer itself takes no such array
                    else:
                        y = np.zeros(len(x), dtype)
                        try:
                            copy(argument, y)
                            found = OK if np.array_equal(np.asarray(x).astype(dtype), y) else "wrong bits"
                        except ts.ArgumentError as e:
                            found = e.code
                            self.assertFalse(y.any())
                    seen += 1
                    with self.subTest(dtype=dtype, layout=layout, producer=producer):
                        self.assertIn(found, expected(layout, dtype, producer))
        self.assertGreater(seen, 600)

    def test_results_keep_their_place(self):
        """A written array of each layout: written in place, or refused."""
        for dtype in DTYPES:
            x = values(dtype, 30)
            for layout, make in LAYOUTS.items():
                y = make(dtype)
                if len(y) != 30:
                    continue
                with self.subTest(dtype=dtype, layout=layout):
                    before = np.asarray(y).copy()
                    try:
                        copy(x, y)
                    except ts.ArgumentError as e:
                        wide = np.dtype(dtype).itemsize > 1
                        codes = {"repeated": "E_ARG_READONLY", "negative": "E_ARG_STRIDES", "read-only": "E_ARG_READONLY",
                                 "memory-mapped": "E_ARG_READONLY", "masked": "E_ARG_TYPE"}
                        if wide:
                            codes.update(swapped="E_ARG_DTYPE", unaligned="E_ARG_ALIGNMENT")
                        self.assertEqual(e.code, codes.get(layout))
                        np.testing.assert_array_equal(np.asarray(y), before)
                    else:
                        np.testing.assert_array_equal(np.asarray(y), x)


if __name__ == "__main__":
    unittest.main()
