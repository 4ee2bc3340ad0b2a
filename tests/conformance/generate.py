#!/usr/bin/env python3
"""generate.py FAMILY FOLDER [COUNT [FIRST]]: writes the family's cases for kernel-conformance; where it is random, COUNT of
them, from seed FIRST (0) on."""
import importlib
import sys
import warnings

import numpy as np

from cases import Writer


def main():
    family, folder, *which = sys.argv[1:]
    writer = Writer(folder)
    with np.errstate(all="ignore"), warnings.catch_warnings():  # special values are the point
        warnings.simplefilter("ignore", RuntimeWarning)  # means of nothing
        for program in importlib.import_module(family).programs(*map(int, which)):
            writer.add(program)
    writer.finish()
    print(f"{family}: {len(writer.programs)} programs, {sum(len(p['runs']) for p in writer.programs)} runs")


if __name__ == "__main__":
    main()
