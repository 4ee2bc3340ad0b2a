import numpy as np

SMALL = [dict(n=0), dict(n=1), dict(n=4097)]
LARGE = dict(n=(1 << 22) + 7)


def inputs(random, n):
    x, y = random.uniform(-1, 1, (2, n)).astype("f4")
    return dict(x=x, y=y, alpha=2.5)


def compute(x, y, alpha):
    return dict(y=alpha * x + y)


def numpy(x, y, alpha):
    y += alpha * x


def bound(want, x, y, alpha):
    return dict(y=2.0**-23 * (abs(alpha * x) + abs(y)))
