"""What test_capture.py captures from another module."""
import tessera as ts

SCALE = 3.0
WIDTH = 16
DTYPE = ts.f32
CHOICES = [1, 2]


def triple(v):
    return SCALE * v


class Config:
    BIAS = 0.5
    CHOICES = (4, 8)

    DTYPE = ts.f64

    @staticmethod
    def halved(v):
        return 0.5 * v

    @classmethod
    def doubled(cls, v):
        return 2.0 * v


@ts.jit
def squared(a: ts.Tensor["M", "N", ts.f32]):
    return a * a
