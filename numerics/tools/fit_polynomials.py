#!/usr/bin/env python3
"""Derives the polynomial coefficients of the elementary functions (needs python3-mpmath).

    numerics/tools/fit_polynomials.py > numerics/functions/Coefficients.h

Each fit is a weighted minimax approximation found by Remez' exchange algorithm in 60 digits, whose
coefficients are then rounded to the working precision.
"""
import struct
from mpmath import mp, mpf

mp.dps = 60


def round_to(value, bits):
    """The float of `bits` mantissa bits nearest to `value`."""
    if value == 0:
        return mpf(0)
    mantissa, exponent = mp.frexp(value)
    return mp.ldexp(mp.nint(mp.ldexp(mantissa, bits)), int(exponent) - bits)


def remez(function, weight, low, high, powers):
    """Coefficients c of sum(c[k] x^powers[k]) that minimise max |weight (function - sum)| on [low, high]."""
    low, high = mpf(low), mpf(high)
    count = len(powers) + 1
    nodes = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * k / (count - 1)) for k in range(count)]
    grid = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * k / 400) for k in range(401)]
    samples = [(x, function(x), weight(x)) for x in grid]
    coefficients = None
    for _ in range(12):
        matrix, right = mp.matrix(count, count), mp.matrix(count, 1)
        for row, x in enumerate(nodes):
            for column, power in enumerate(powers):
                matrix[row, column] = x**power
            matrix[row, count - 1] = (-1) ** row / weight(x)
            right[row] = function(x)
        solution = mp.lu_solve(matrix, right)
        coefficients, level = list(solution)[:-1], abs(solution[count - 1])

        def error(x, f, w):
            return w * (f - sum(c * x**p for c, p in zip(coefficients, powers)))

        errors = [error(*s) for s in samples]
        # One extremum per run of equal sign; the largest `count` neighbours become the new nodes.
        peaks = []
        for index, e in enumerate(errors):
            if peaks and (errors[peaks[-1]] > 0) == (e > 0):
                if abs(e) > abs(errors[peaks[-1]]):
                    peaks[-1] = index
            else:
                peaks.append(index)
        while len(peaks) > count:
            peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
        if len(peaks) < count:
            break  # the error has reached the grid's resolution
        nodes = [grid[k] for k in peaks]
        if max(abs(e) for e in errors) <= level * mpf("1.01"):
            break
    return coefficients


def fit(name, function, weight, low, high, powers, bits, comment, known=()):
    """Prints one coefficient array, rounded to `bits`, and the error that the rounded polynomial has.

    `known` are exact leading coefficients, printed before the fitted ones.
    """
    fitted = [round_to(c, bits) for c in remez(function, weight, low, high, powers)]
    samples = [mpf(low) + (mpf(high) - mpf(low)) * k / 1000 for k in range(1001)]

    def error(x):
        return abs(weight(x) * (function(x) - sum(c * x**p for c, p in zip(fitted, powers))))

    worst = max(error(x) for x in samples)
    print(f"// {comment}; largest error 2^{float(mp.log(worst, 2)):.1f}.")
    print(f"inline constexpr double {name}[] = {{")
    line = "   "
    for c in [mpf(c) for c in known] + fitted:
        text = " " + float(c).hex().replace("0000000p", "p") + ","
        if len(line) + len(text) > 110:
            print(line)
            line = "   "
        line += text
    print(line)
    print("};")


def constant(name, value, bits, parts, comment, last_bits=None):
    """Prints `value` as a sum of `parts` floats of falling size, of `bits` bits (the last: `last_bits`)."""
    print(f"// {comment}.")
    rest = value
    texts = []
    for part in range(parts):
        head = round_to(rest, last_bits if last_bits and part == parts - 1 else bits)
        texts.append(float(head).hex())
        rest -= head
    print(f"inline constexpr double {name}[] = {{" + ", ".join(texts) + "};")


def series(function):
    """`function` away from zero, its limit at zero."""
    return lambda x: function(x) if abs(x) > mpf(10) ** -25 else function(mpf(10) ** -20)


def power_weight(power, size):
    """|x|**power, bounded from below a little where it would vanish: a node at 0 must not weigh nothing."""
    return lambda x: max(abs(x), size / 50) ** power


def two_over_pi():
    """What the argument reductions of sin and cos multiply by."""
    # f32: x = M 2^E with M an integer below 2^44, so x 2/pi mod 4 = M ((2^E 2/pi) mod 4). The first part is
    # a multiple of 2^-51, which keeps M times it exact below one half; 2^-E is folded into both parts.
    print("// For |x| < 2^bound: (2^E 2/pi mod 4) 2^-E in two parts.")
    print("struct QuadrantBand { int bound; double high, low; };")
    print("inline constexpr QuadrantBand kQuadrantBandsF[] = {")
    for band in range(5):
        exponent = 21 * band
        value = mp.ldexp(2 / mp.pi, exponent) % 4
        value = value - 4 if value > 2 else value
        high = mp.ldexp(mp.nint(mp.ldexp(value, 51)), -51) if band else round_to(value, 53)
        low = round_to(value - high, 53)
        print(f"    {{{44 + exponent}, {float(mp.ldexp(high, -exponent)).hex()}, "
              f"{float(mp.ldexp(low, -exponent)).hex()}}},")
    print("};")
    # f64: the bits themselves, after one word of zeros.
    words = 20
    saved, mp.dps = mp.dps, 420
    bits = int(mp.floor(mp.ldexp(2 / mp.pi, 64 * (words - 1))))
    mp.dps = saved
    print("// 64 zero bits, then the fraction bits of 2/pi.")
    print("inline constexpr unsigned long long kTwoOverPiBits[] = {")
    for row in range(0, words, 5):
        entries = (bits >> 64 * (words - 1 - k) & (2**64 - 1) for k in range(row, row + 5))
        print("    " + " ".join(f"0x{entry:016x}," for entry in entries))
    print("};")


def main():
    ln2, half_ln2 = mp.log(2), mp.log(2) / 2 * mpf("1.0001")
    print("""// Coefficients of the elementary functions. Written by numerics/tools/fit_polynomials.py, which says how
// they are derived. Arrays ending in F are rounded to f32, those ending in D to f64; constant term first.
#pragma once

namespace tessera::functions {
""")
    sqrt2, ln2 = mp.sqrt(2), mp.log(2)
    for suffix, bits in (("F", 24), ("D", 53)):
        wide = suffix == "D"

        def emit(name, function, weight, low, high, terms, comment, known=()):
            fit(name + suffix, function, weight, low, high, range(terms), bits, comment, known)

        constant("kLn2" + suffix, ln2, bits, 2, "ln 2 in two parts")
        if wide:
            constant("kShortLn2D", ln2, 42, 2,
                     "ln 2 in two parts, the first of which any exponent multiplies exactly", 53)
        constant("kLog2e" + suffix, 1 / ln2, bits, 2, "1 / ln 2 in two parts")
        emit("kExp", series(lambda r: (mp.expm1(r) - r) / r**2), power_weight(2, ln2 / 2),
             -ln2 / 2 * mpf("1.0001"), ln2 / 2 * mpf("1.0001"), 11 if wide else 5,
             "exp(r) = 1 + r + r^2 P(r), |r| <= ln2/2", known=(1, 1))
        emit("kExp2", series(lambda r: (mp.expm1(r * ln2) - r * ln2) / r**2), power_weight(2, mpf(1) / 2),
             mpf("-0.50005"), mpf("0.50005"), 11 if wide else 5,
             "exp2(r) = 1 + r ln 2 + r^2 P(r), |r| <= 1/2", known=(1, round_to(ln2, bits)))
        # 1 + f lies in [sqrt(1/2), sqrt(2)]; s = f / (2 + f), z = s^2.
        f_low, f_high, z_high = mp.sqrt(mpf(1) / 2) - 1, sqrt2 - 1, ((sqrt2 - 1) / (sqrt2 + 1)) ** 2
        if wide:
            atanh = series(lambda z: (2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 2) / z)
            emit("kLog", atanh, lambda z: mpf(1), mpf(0), z_high, 8, "log(1 + f) = 2 s + s z P(z)")
            # pow needs more than double precision: the leading term 2/3 is taken out and kept in two parts.
            tail = series(lambda z: (atanh(z) - mpf(2) / 3) / z)
            emit("kLogTail", tail, lambda z: mpf(1), mpf(0), z_high, 9, "log(1 + f) = 2 s + s z (2/3 + z P(z))")
            constant("kTwoThirdsD", mpf(2) / 3, 53, 2, "2/3 in two parts")
        else:
            log1p = series(lambda f: (mp.log1p(f) - f) / f**2)
            emit("kLog", log1p, power_weight(1, mpf(1) / 2), f_low, f_high, 10, "log(1 + f) = f + f^2 P(f)")
            emit("kLog2", lambda f: log1p(f) / ln2, power_weight(1, mpf(1) / 2), f_low, f_high, 10,
                 "log2(1 + f) = f / ln 2 + f^2 P(f)")
        # Expanding about the middle of u halves the rounding errors of Horner's rule at u = 1.
        half = mpf(1) / 2
        tanh = series(lambda u: (mp.tanh(mp.sqrt(u)) / mp.sqrt(u) - 1) / u)
        if wide:
            emit("kTanh", lambda t: tanh(t + half), lambda t: max(t + half, mpf("0.02")), -half, half, 17,
                 "tanh(x) = x + x u P(u - 1/2), u = x^2, |x| <= 1")
        else:
            bound = mpf("0.55") ** 2
            emit("kTanh", tanh, power_weight(1, bound), mpf(0), bound, 5,
                 "tanh(x) = x + x u P(u), u = x^2, |x| <= 0.55")
        erf = series(lambda u: mp.erf(mp.sqrt(u)) / mp.sqrt(u) - 1)
        emit("kErf", lambda t: erf(t + half), lambda t: mpf(1), -half, half, 15 if wide else 9,
             "erf(x) = x + x P(u - 1/2), u = x^2, |x| <= 1")
        if wide:
            at_one = mp.erfc(1)
            constant("kErfcOneD", at_one, bits, 1, "1 - erf(1)")
            slope = -2 / mp.sqrt(mp.pi) / mp.e / at_one
            emit("kErfTail", lambda t: mp.log(mp.erfc(1 + t) / at_one) / t if t else slope,
                 lambda t: max(t, mpf("0.05")) * mp.erfc(1 + t), mpf(0), mpf(5), 23,
                 "1 - erf(1 + t) = erfc(1) exp(t P(t)), t in [0, 5]")
        else:
            slope = -2 / mp.sqrt(mp.pi) / ln2
            constant("kErfSlopeF", slope, bits, 1, "-2 / (sqrt(pi) ln 2)")

            def logarithm(x):  # the polynomial; its error counts in the result
                x = max(x, mpf("1e-15"))
                return (mp.log(mp.erfc(x)) / ln2 - slope * x) / x**2

            def in_result(x):
                x = max(x, mpf("0.02"))
                return x**2 * ln2 * mp.erfc(x) / mp.erf(x)

            emit("kErfLog", logarithm, in_result, mpf(0), mpf("3.92"), 8,
                 "log2(1 - erf(x)) = kErfSlopeF x + x^2 P(x), x in [0, 3.92]")
            emit("kExp2MinusOne", series(lambda r: mp.expm1(r * ln2) / r), lambda r: 1 / ln2, mpf("-0.50005"),
                 mpf("0.50005"), 6, "exp2(r) - 1 = r P(r), |r| <= 1/2")
        # The inverse functions: a series in u = x^2 up to a bound, formulas with roots or logarithms beyond it.
        constant("kHalfPiOf" + suffix, mp.pi / 2, bits, 2, "pi/2 in two parts")
        # Above 1 an angle is pi/2 less that of 1/x.
        atan = series(lambda u: (mp.atan(mp.sqrt(u)) / mp.sqrt(u) - 1) / u)
        emit("kAtan", lambda t: atan(t + half), lambda t: max(t + half, mpf("0.02")), -half, half, 20 if wide else 11,
             "atan(x) = x + x u P(u - 1/2), u = x^2, |x| <= 1")
        quarter = mpf(1) / 4
        for name, inverse, terms in (("Asin", mp.asin, (7, 13)), ("Asinh", mp.asinh, (6, 12)),
                                     ("Atanh", mp.atanh, (8, 14))):
            emit("k" + name, series(lambda u: (inverse(mp.sqrt(u)) / mp.sqrt(u) - 1) / u), power_weight(1, quarter),
                 mpf(0), quarter, terms[wide], f"{name.lower()}(x) = x + x u P(u), u = x^2, |x| <= 1/2")
        emit("kSinh", series(lambda u: (mp.sinh(mp.sqrt(u)) / mp.sqrt(u) - 1) / u), power_weight(1, mpf(1)), mpf(0),
             mpf(1), 8 if wide else 5, "sinh(x) = x + x u P(u), u = x^2, |x| <= 1")
        # A step of Halley's method triples the bits of these.
        emit("kCbrt", lambda f: mp.cbrt(1 + f), lambda f: mpf(1), f_low, f_high, 6 if wide else 3,
             "cbrt(1 + f), the start of a step of Halley's method")
        # (1 + 2 x) e^(x^2) erfc(x) is smooth up to infinity in t (Shepherd and Laframboise, Math. Comp. 36, 1981).
        last = mpf(28) if wide else mpf(11)

        def scaled_erfc(t):
            x = 2 * (1 + t) / (1 - t)
            return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)

        emit("kErfc", scaled_erfc, lambda t: mpf(1), mpf(-1), (last - 2) / (last + 2), 26 if wide else 11,
             "erfc(x) = e^(-x^2) P(t) / (1 + 2 x), t = (x - 2) / (x + 2)")
    constant("kLog10Of2D", mp.log10(2), 53, 2, "log10(2) in two parts")
    # sin and cos of f32 and of f64 both work on f64; u = x^2, |x| <= pi/4.
    quarter = mpf("0.7854") ** 2
    sine = series(lambda u: (mp.sin(mp.sqrt(u)) / mp.sqrt(u) - 1) / u)
    cosine = series(lambda u: (mp.cos(mp.sqrt(u)) - 1) / u)
    linear = power_weight(1, quarter)
    fit("kSinF", sine, linear, mpf(0), quarter, range(4), 53, "sin(x) = x + x u P(u), for f32 results")
    fit("kCosF", cosine, linear, mpf(0), quarter, range(4), 53, "cos(x) = 1 + u P(u), for f32 results")
    fit("kSinD", sine, linear, mpf(0), quarter, range(7), 53, "sin(x) = x + x u P(u), for f64 results")
    fit("kCosD", series(lambda u: (mp.cos(mp.sqrt(u)) - 1 + u / 2) / u**2), power_weight(2, quarter), mpf(0),
        quarter, range(6), 53, "cos(x) = 1 - u/2 + u^2 P(u), for f64 results")
    constant("kHalfPiD", mp.pi / 2, 53, 3, "pi/2 in three parts")
    two_over_pi()
    print("} // namespace tessera::functions")


if __name__ == "__main__":
    main()
