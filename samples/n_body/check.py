import numpy as np

SMALL = [dict(n=0), dict(n=1), dict(n=333)]
LARGE = dict(n=2003)


def inputs(random, n):
    x, y, z = random.uniform(-1, 1, (3, n)).astype("f4")
    return dict(x=x, y=y, z=z, mass=random.uniform(0.1, 1, n).astype("f4"))


def compute(x, y, z, mass):
    dx, dy, dz = (v[None, :] - v[:, None] for v in (x, y, z))
    pull = mass * (dx * dx + dy * dy + dz * dz + x.dtype.type(1e-4)) ** x.dtype.type(-1.5)
    return dict(ax=(pull * dx).sum(1), ay=(pull * dy).sum(1), az=(pull * dz).sum(1))


def bound(want, x, y, z, mass):
    """Each term is within a few units; the sum of n terms adds their rounding."""
    dx, dy, dz = (v.astype("f8")[None, :] - v[:, None] for v in (x, y, z))
    pull = mass * (dx * dx + dy * dy + dz * dz + 1e-4) ** -1.5
    return {name: (len(x) + 20) * 2.0**-24 * (pull * abs(d)).sum(1) for name, d in (("ax", dx), ("ay", dy), ("az", dz))}
