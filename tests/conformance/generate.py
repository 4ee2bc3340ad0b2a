#!/usr/bin/env python3
"""generate.py FAMILY FOLDER: writes the family's cases for tessera-conformance."""
import importlib
import sys

import numpy as np

from cases import Writer


def main():
    family, folder = sys.argv[1:]
    writer = Writer(folder)
    with np.errstate(all="ignore"):  # special values are the point
        for program in importlib.import_module(family).programs():
            writer.add(program)
    writer.finish()
    print(f"{family}: {len(writer.programs)} programs, {sum(len(p['runs']) for p in writer.programs)} runs")


if __name__ == "__main__":
    main()
