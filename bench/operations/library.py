"""libtessera.so by ctypes: compiles functions and calls them on NumPy arrays, many times in one process."""
import ctypes
from ctypes import POINTER, Structure, byref, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

import numpy as np

DTYPES = {"f32": "f4", "f64": "f8", "f16": "f2", "bf16": "u2", "i8": "i1", "u8": "u1", "i16": "i2", "u32": "u4", "i32": "i4", "i64": "i8", "bool": "?"}
TENSOR, RESULT, SCALAR, DIM = range(4)  # tsr_arg_kind_t


class ArgInfo(Structure):  # tsr_arg_info_t
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("dtype", c_char_p), ("kind", c_int32), ("bytes", c_uint32),
                ("rank", c_uint32), ("is_read", c_int32), ("is_written", c_int32), ("has_default", c_int32), ("default_bits", c_uint64)]


class Launch(Structure):  # tsr_launch_t
    _fields_ = [(name, c_uint32) for name in ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "smem_bytes")]


class NamedInt(Structure):  # tsr_named_int_t
    _fields_ = [("name", c_char_p), ("value", c_int64)]


class SourceOptions(Structure):  # tsr_source_options_t as far as it is used
    _fields_ = [("struct_size", c_size_t), ("file_name", c_char_p), ("kernel", c_char_p), ("target", c_char_p), ("numerics", c_char_p),
                ("dims", POINTER(NamedInt)), ("dim_count", c_size_t), ("tunables", c_void_p), ("tunable_count", c_size_t),
                ("log", c_void_p), ("log_user", c_void_p)]


class Refused(Exception):
    """A call of the library that failed, with its text."""


class Library:
    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.tsrLastError.restype = c_char_p
        self.context = c_void_p()
        self.call("tsrCreateContext", byref(self.context))

    def call(self, name, *args):
        if getattr(self.lib, name)(*args):
            raise Refused(self.lib.tsrLastError().decode().strip().splitlines()[0])

    def compile(self, source, dims):
        """Returns the only function of a source, compiled for these dims as `tsr run` compiles it: they choose sizes of tiles."""
        text, module, kernel = source.encode(), c_void_p(), c_void_p()
        hints = (NamedInt * len(dims))(*((name.encode(), value) for name, value in dims.items()))
        options = SourceOptions(struct_size=ctypes.sizeof(SourceOptions), dims=hints, dim_count=len(dims))
        self.call("tsrLoadModuleFromSource", self.context, text, c_size_t(len(text)), byref(options), byref(module))
        self.call("tsrGetKernel", module, None, byref(kernel))
        return Function(self, module, kernel)


class Function:
    def __init__(self, library, module, kernel):
        self.library, self.module, self.kernel, self.parameters = library, module, kernel, []
        while True:
            info = ArgInfo(struct_size=ctypes.sizeof(ArgInfo))
            try:
                library.call("tsrKernelArgInfo", kernel, c_size_t(len(self.parameters)), byref(info))
            except Refused:
                break
            self.parameters.append((info.name.decode(), info.dtype.decode(), info.kind))

    def unload(self):
        self.library.call("tsrUnloadModule", self.module)

    def bind(self, inputs, dims, result_shapes):
        """Returns a function that calls it and waits, and the arrays of its results."""
        values, results, shapes = [], [], iter(result_shapes)
        for name, dtype, kind in self.parameters:
            if kind == RESULT:
                results.append(np.empty(next(shapes), DTYPES[dtype]))
                values.append(c_void_p(results[-1].ctypes.data))
            elif kind == DIM:
                values.append(c_int64(dims[name]))
            else:
                values.append(c_void_p(inputs[name].ctypes.data))
        args = (c_void_p * len(values))(*(ctypes.cast(ctypes.pointer(v), c_void_p) for v in values))
        launch, wait, context = self.library.lib.tsrLaunch, self.library.lib.tsrSynchronize, self.library.context
        grid, count, kernel = Launch(), c_size_t(len(values)), self.kernel

        def call(keep=(inputs, values)):
            if launch(kernel, None, grid, args, count) or wait(context):
                raise Refused(self.library.lib.tsrLastError().decode().strip().splitlines()[0])

        return call, results
