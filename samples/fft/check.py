import numpy as np

SMALL = [dict(B=1, N=1), dict(B=3, N=2), dict(B=5, N=64), dict(B=2, N=1024)]
LARGE = dict(B=1000, N=1024)


def inputs(random, B, N):
    return dict(re=random.uniform(-1, 1, (B, N)).astype("f4"), im=random.uniform(-1, 1, (B, N)).astype("f4"))


def compute(re, im):
    F = np.fft.fft(re + 1j * im)
    return dict(out_re=F.real, out_im=F.imag)


def bound(want, re, im):
    size = np.sqrt((re.astype("f8")**2 + im.astype("f8")**2).sum(1, keepdims=True))
    return dict.fromkeys(want, 4 * (1 + np.log2(re.shape[1])) * 2.0**-24 * size)
