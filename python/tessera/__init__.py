"""Tessera: kernels in the tile language, called on arrays of NumPy, of Tessera and of any library with DLPack.

    import tessera as ts

    @ts.kernel
    def saxpy(x: ts.Tensor["n", ts.f32], y: ts.Tensor["n", ts.f32], alpha: ts.f32) -> ts.Tensor["n", ts.f32]:
        i = ts.tile.linear_id()
        if i < n:
            y[i] = alpha * x[i] + y[i]
        return y

The compiler reads the text of the function; Python does not run it. docs/python.md is the guide.
"""
from __future__ import annotations as _annotations  # bool is a dtype here

import atexit as _atexit
import sys as _sys

from tessera import _capture, _core, _missing, _names
from tessera import _log as _log  # the first message may come while another thread forks
from tessera import dist, numerics, op, runtime, tile
from tessera import group as group
from tessera._core import Array, Event, Stream
from tessera._dtypes import _ALL, DType, Tensor, accum, loss_scale, round
from tessera._dtypes import Strides as strides
from tessera._errors import (ArgumentError, BackendError, CompileError, DeviceError, Diagnostic, Error, OutOfMemoryError, TimeoutError,
                             UnsupportedError)
from tessera._interop import (arange, asarray, empty, empty_like, from_dlpack, full, full_like, ones, ones_like, zeros, zeros_like)
from tessera._kernel import Kernel, compile, jit, kernel, load
from tessera._mapper import Mapper

__version__ = _core.version()

globals().update(_ALL)  # dtypes and their aliases
# ts.NAME finds the functions of ts.tile and ts.op; what exists here already keeps its meaning.
globals().update({name: function for name, function in {**_names.TILE, **_names.OP}.items() if name not in globals()})
# what is not built yet
globals().update(_missing.functions("tessera"))
_capture.LANGUAGE.update({id(globals()[name]): name for name in ("kernel", "jit", "autodiff", "grad", "Tensor", "strides")})
_capture.LANGUAGE.update(_missing.MADE)
rne = "rne"


@_atexit.register
def _finish() -> None:
    """Queued work ends before the interpreter does, unless Ctrl-C ends the process. At a prompt it ended one command."""
    _core.finish(getattr(_sys, "last_type", None) is not KeyboardInterrupt or hasattr(_sys, "ps1"))


def __getattr__(name: str) -> object:
    if name in ("autotune", "profiler", "testing"):  # imported by the programs that use them
        import importlib
        return importlib.import_module(f"tessera.{name}")
    return _missing.attribute(f"tessera.{name}")


def cdiv(a: int, b: int) -> int:
    """a / b, rounded up."""
    return -(-a // b)
