import numpy as np

SMALL = [dict(n=0), dict(n=1), dict(n=1000), dict(n=70000)]
LARGE = dict(n=1000003)
KERNEL = "radix_sort"


def inputs(random, n):
    return dict(keys=random.integers(-2**31, 2**31, n).astype("i4"))


def compute(keys):
    return dict(keys=np.sort(keys, kind="stable"))
