import math

import numpy as np

SMALL = [dict(n=0), dict(n=1), dict(n=1003)]
LARGE = dict(n=1000003)
erf = np.vectorize(math.erf, otypes="d")


def inputs(random, n):
    return dict(price=random.uniform(5, 30, n).astype("f4"), strike=random.uniform(1, 100, n).astype("f4"),
                years=random.uniform(0.25, 10, n).astype("f4"), rate=0.02, volatility=0.3)


def values(cdf, price, strike, years, rate, volatility):
    deviation = volatility * np.sqrt(years)
    d1 = (np.log(price / strike) + (rate + 0.5 * volatility**2) * years) / deviation
    d2 = d1 - deviation
    discounted = strike * np.exp(-rate * years)
    return dict(call=price * cdf(d1) - discounted * cdf(d2), put=discounted * cdf(-d2) - price * cdf(-d1))


def compute(price, strike, years, rate, volatility):
    return values(lambda x: 0.5 + 0.5 * erf(x * math.sqrt(0.5)), price, strike, years, rate, volatility)


def numpy(price, strike, years, rate, volatility):
    """NumPy has no erf: the polynomial of Abramowitz and Stegun, 26.2.17, which is within 1e-7."""
    def cdf(x):
        k = 1 / (1 + np.float32(0.2316419) * abs(x))
        tail = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
        tail = tail * np.float32(1 / math.sqrt(2 * math.pi)) * np.exp(-0.5 * x * x)
        return np.where(x > 0, 1 - tail, tail)
    return values(cdf, price, strike, years, rate, volatility)


def bound(want, price, strike, years, rate, volatility):
    # The error of d1 is a few units of its terms; the values' terms cancel.
    error = 2.0**-20 * (price + strike).astype("f8")
    return dict(call=error, put=error)
