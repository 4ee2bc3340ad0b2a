import math

import tessera as ts


def normal_cdf(x):
    return 0.5 + 0.5 * ts.erf(x * math.sqrt(0.5))


@ts.kernel
def black_scholes(price: ts.Tensor["n", ts.f32],
                  strike: ts.Tensor["n", ts.f32],
                  years: ts.Tensor["n", ts.f32],
                  call: ts.Tensor["n", ts.f32],
                  put: ts.Tensor["n", ts.f32],
                  rate: ts.f32 = 0.02,
                  volatility: ts.f32 = 0.3):
    """The values of European options on a share by the formula of Black and Scholes, one lane per option."""
    i = ts.tile.linear_id()
    if i < n:
        deviation = volatility * ts.sqrt(years[i])
        d1 = (ts.log(price[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]) / deviation
        d2 = d1 - deviation
        discounted = strike[i] * ts.exp(-rate * years[i])
        call[i] = price[i] * normal_cdf(d1) - discounted * normal_cdf(d2)
        put[i] = discounted * normal_cdf(-d2) - price[i] * normal_cdf(-d1)
