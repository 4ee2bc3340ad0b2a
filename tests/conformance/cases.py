"""What a conformance case is, and how a list of them is written for the runner.

A Program is one source text, compiled once; each of its Runs launches it with its own sizes and data and says what must
come out. Expected values are computed here, by NumPy in double precision or exactly in integers. The runner compares:

    |got - want| <= ulps * ulp(want in the output's dtype) + rtol * |want| + atol + bound[i]

NaN equals NaN, and infinities are equal when their signs are. Integers, and floats without any tolerance, are exact.
The list is cases.json, the numbers are in cases.bin.
"""
import dataclasses
import json
import pathlib

import numpy as np

from dtypes import DTYPES, quantize

HEADER = "import math\nimport tessera as ts\n\n"


@dataclasses.dataclass
class Want:
    """An expected output. `values` None: anything may come out, as long as nothing crashes."""
    dtype: str
    shape: tuple
    values: np.ndarray | None
    ulps: float = 0
    rtol: float = 0
    atol: float = 0
    bound: np.ndarray | None = None
    initial: np.ndarray | None = None  # in/out parameters; others start as a pattern that must be overwritten


@dataclasses.dataclass
class Run:
    dims: dict
    inputs: dict  # name -> (dtype, values)
    outputs: dict  # name -> Want
    scalars: dict


@dataclasses.dataclass
class Program:
    name: str
    source: str
    numerics: str = "standard"
    kernel: str = ""  # which one, where the source has several
    whole: bool = False  # compiled with all the others
    dims: dict = dataclasses.field(default_factory=dict)  # to specialise on
    tunables: dict = dataclasses.field(default_factory=dict)
    error: str = ""  # the code it must be refused with
    is_ir: bool = False  # the source is the text of an IR
    runs: list = dataclasses.field(default_factory=list)

    def run(self, dims, inputs, outputs, scalars=None):
        self.runs.append(Run(dims, inputs, outputs, scalars or {}))
        return self


def program(name, source, **options):
    """`source` without its imports."""
    return Program(name, HEADER + source, **options)


def want(dtype, values, shape=None, initial=None, **tolerance):
    """Rounds the exact `values` to the output's dtype where no tolerance is given."""
    values = None if values is None else np.asarray(values)
    if values is not None and not tolerance:
        values = quantize(values, dtype)
    return Want(dtype, tuple(values.shape if shape is None else shape), values, initial=initial, **tolerance)


class Writer:
    """Collects programs into cases.json and cases.bin."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.blob = bytearray()
        self.programs = []

    def array(self, values, kind):
        """Stores floats as f8 and integers as i8 and returns where."""
        data = np.ascontiguousarray(values, "<" + kind).tobytes()
        offset = len(self.blob)
        self.blob += data
        return {"kind": kind, "offset": offset, "count": len(data) // 8}

    def values(self, dtype, values):
        return self.array(values, "f8" if DTYPES[dtype].is_float else "i8")

    def add(self, p):
        runs = []
        for r in p.runs:
            outputs = {}
            for name, w in r.outputs.items():
                outputs[name] = entry = {"dtype": w.dtype, "shape": list(w.shape), "ulps": w.ulps, "rtol": w.rtol,
                                         "atol": w.atol}
                if w.values is not None:
                    entry["want"] = self.values(w.dtype, w.values)
                if w.bound is not None:
                    entry["bound"] = self.array(w.bound, "f8")
                if w.initial is not None:
                    entry["initial"] = self.values(w.dtype, w.initial)
            inputs = {name: {"dtype": dtype, "shape": list(np.shape(values)), "values": self.values(dtype, values)}
                      for name, (dtype, values) in r.inputs.items()}
            runs.append({"dims": r.dims, "scalars": r.scalars, "inputs": inputs, "outputs": outputs})
        self.programs.append({"name": p.name, "source": p.source, "numerics": p.numerics, "kernel": p.kernel, "whole": p.whole,
                              "dims": p.dims, "tunables": p.tunables, "error": p.error, "is_ir": p.is_ir, "runs": runs})

    def finish(self):
        (self.folder / "cases.bin").write_bytes(self.blob)
        (self.folder / "cases.json").write_text(json.dumps(self.programs))
