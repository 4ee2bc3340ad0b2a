// Coefficients of the elementary functions. Written by numerics/tools/fit_polynomials.py, which says how they are
// derived. Arrays ending in F are rounded to f32, those ending in D to f64; constant term first.
#pragma once

namespace tessera::tile {

// ln 2 in two parts.
inline constexpr double kLn2F[] = {0x1.62e4300000000p-1, -0x1.05c6100000000p-29};
// 1 / ln 2 in two parts.
inline constexpr double kLog2eF[] = {0x1.7154760000000p+0, 0x1.4ae0c00000000p-26};
// exp(r) = 1 + r + r^2 P(r), |r| <= ln2/2; largest error 2^-27.7.
inline constexpr double kExpF[] = {
    0x1.000000p-1, 0x1.55548ep-3, 0x1.55545ep-5, 0x1.123b54p-7, 0x1.6db440p-10,
};
// exp2(r) = 1 + r P(r), |r| <= 1/2; largest error 2^-26.0.
inline constexpr double kExp2F[] = {
    0x1.62e430p-1, 0x1.ebfbe0p-3, 0x1.c6aed0p-5, 0x1.3b29aap-7, 0x1.5f47c4p-10, 0x1.449056p-13,
};
// log(1 + f) = f + f^2 P(f), 1 + f in [sqrt(1/2), sqrt(2)]; largest error 2^-30.3.
inline constexpr double kLogF[] = {
    -0x1.000000p-1, 0x1.555546p-2, -0x1.ffffeep-3, 0x1.99a546p-3, -0x1.5562e2p-3, 0x1.2332bap-3,
    -0x1.fb434cp-4, 0x1.e65104p-4, -0x1.e2e916p-4, 0x1.1b413cp-4,
};
// log2(1 + f) = f / ln 2 + f^2 P(f), same interval; largest error 2^-27.6.
inline constexpr double kLog2F[] = {
    -0x1.715476p-1, 0x1.ec7088p-2, -0x1.71546ap-2, 0x1.277f30p-2, -0x1.ec842ap-3, 0x1.a41c32p-3,
    -0x1.6de9aep-3, 0x1.5ecd9cp-3, -0x1.5c58a6p-3, 0x1.98a67cp-4,
};
// tanh(x) = x + x u P(u), u = x^2, |x| <= 1; largest error 2^-28.1.
inline constexpr double kTanhF[] = {
    -0x1.555554p-2, 0x1.111098p-3, -0x1.ba02bep-5, 0x1.651f94p-6, -0x1.1a79e4p-7, 0x1.9753e8p-9,
    -0x1.c22378p-11, 0x1.07afe8p-13,
};
// erf(x) = x + x P(u), u = x^2, |x| <= 1; largest error 2^-27.1.
inline constexpr double kErfF[] = {
    0x1.06eba8p-3, -0x1.812746p-2, 0x1.ce2f0ap-4, -0x1.b829d8p-6, 0x1.562b1ap-8, -0x1.bcd7e2p-11,
    0x1.d8b898p-14, -0x1.44cfbep-17,
};
// 1 - erf(a) = exp(P(a - 1)), a in [1, 4.0]; largest error 2^-26.9.
inline constexpr double kErfTailF[] = {
    -0x1.d97fc0p+0, -0x1.51c9b0p+1, -0x1.afabbcp-1, -0x1.547accp-5, 0x1.49033cp-7, -0x1.05c1b8p-9,
    0x1.1a7558p-12, -0x1.d85e3cp-18, -0x1.69d66ep-18, 0x1.a52966p-21,
};
// ln 2 in two parts.
inline constexpr double kLn2D[] = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
// 1 / ln 2 in two parts.
inline constexpr double kLog2eD[] = {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56};
// exp(r) = 1 + r + r^2 P(r), |r| <= ln2/2; largest error 2^-60.5.
inline constexpr double kExpD[] = {
    0x1.000000p-1, 0x1.555555555555cp-3, 0x1.555555555555ep-5, 0x1.111111110ebb6p-7, 0x1.6c16c16c13360p-10,
    0x1.a01a01b3ba461p-13, 0x1.a01a01b4e6126p-16, 0x1.71ddef9559531p-19, 0x1.27e4be23a194ep-22,
    0x1.af6ccaedce70fp-26, 0x1.1f9f5fcb5cfd1p-29,
};
// exp2(r) = 1 + r P(r), |r| <= 1/2; largest error 2^-56.1.
inline constexpr double kExp2D[] = {
    0x1.62e42fefa39efp-1, 0x1.ebfbdff82c58fp-3, 0x1.c6b08d704a0d1p-5, 0x1.3b2ab6fba4e81p-7,
    0x1.5d87fe78a22c0p-10, 0x1.430912f868dc9p-13, 0x1.ffcbfc75e9027p-17, 0x1.62c0224d8aee8p-20,
    0x1.b524db4893ce9p-24, 0x1.e4cee88f3309dp-28, 0x1.ea04314e03e01p-32, 0x1.c4da42770bae1p-36,
};
// log(1 + f) = 2 s + s z P(z), s = f / (2 + f), z = s^2, 1 + f in [sqrt(1/2), sqrt(2)]; largest error 2^-54.6.
inline constexpr double kLogD[] = {
    0x1.5555555555555p-1, 0x1.9999999999a39p-2, 0x1.249249247696ap-2, 0x1.c71c7201b0052p-3,
    0x1.745cf8e36e934p-3, 0x1.3b1c3bd24cd37p-3, 0x1.0fbdf5aad1508p-3, 0x1.0c09b1ba7d35dp-3,
};
// tanh(x) = x + x u P(u), u = x^2, |x| <= 1; largest error 2^-55.9.
inline constexpr double kTanhD[] = {
    -0x1.5555555555555p-2, 0x1.11111111110d5p-3, -0x1.ba1ba1ba17c7dp-5, 0x1.664f4881e58dfp-6,
    -0x1.226e3542f2b91p-7, 0x1.d6d3cc8122555p-9, -0x1.7da32752859d5p-10, 0x1.3555c3a63e442p-11,
    -0x1.f55a6b2d4f134p-13, 0x1.95bb8a7652dbep-14, -0x1.4645062b83062p-15, 0x1.0092a234d0309p-16,
    -0x1.7c127428c8230p-18, 0x1.efd193b701898p-20, -0x1.016a97fe10335p-21, 0x1.6ceb672ca4246p-24,
    -0x1.017ff6e33eb69p-27,
};
// erf(x) = x + x P(u), u = x^2, |x| <= 1; largest error 2^-56.2.
inline constexpr double kErfD[] = {
    0x1.06eba8214db69p-3, -0x1.812746b0379e7p-2, 0x1.ce2f21a042bdep-4, -0x1.b82ce312889c2p-6,
    0x1.565bcd0e65188p-8, -0x1.c02db3feeff87p-11, 0x1.f9a326c2d506ap-14, -0x1.f4d25629bc2acp-17,
    0x1.b9e65188f3d59p-20, -0x1.5f6d9c8ab0d5ep-23, 0x1.fc43ed6bb4f07p-27, -0x1.4e634df562d97p-30,
    0x1.7f16d9505f03ap-34, -0x1.29e0a5ec8ab81p-38,
};
// 1 - erf(a) = exp(P(a - 1)), a in [1, 6.0]; largest error 2^-59.0.
inline constexpr double kErfTailD[] = {
    -0x1.d97fbf27aa2a1p+0, -0x1.51c9b0006c23dp+1, -0x1.afabc11a28f36p-1, -0x1.5477f09ca99eap-5,
    0x1.48c9d40c1f6f8p-7, -0x1.033f69982972cp-9, 0x1.f1b4bd1924233p-13, 0x1.b8be1ea992583p-16,
    -0x1.c75926fc66b1fp-16, 0x1.415759284564bp-17, -0x1.0ec947d11fe97p-19, 0x1.b2c3330f2887bp-24,
    0x1.13b66c3d5137dp-23, -0x1.2874ac6cdf498p-24, 0x1.742b61178e721p-26, -0x1.3f1d60a91e212p-28,
    0x1.3fc5cec297c8ep-31, 0x1.3893363b3ea69p-36, -0x1.00af8ef719b3ap-35, 0x1.1233cd31fd74cp-37,
    -0x1.5a3da4ff4a362p-40, 0x1.1754c741c33a5p-43, -0x1.0c454e8ae5accp-47, 0x1.d600bc809c6a4p-53,
};
// sin(x) = x + x u P(u), u = x^2, |x| <= pi/4, for f32 results; largest error 2^-37.6.
inline constexpr double kSinF[] = {
    -0x1.5555554cbaf7dp-3, 0x1.11110896d3782p-7, -0x1.a00f9e0769cccp-13, 0x1.6cd86efe30fcfp-19,
};
// cos(x) = 1 + u P(u), same interval, for f32 results; largest error 2^-34.1.
inline constexpr double kCosF[] = {
    -0x1.ffffffd0c6f50p-2, 0x1.55553e100559ap-5, -0x1.6c087e4d3fb9ap-10, 0x1.9934207f10129p-16,
};
// sin(x) = x + x u P(u), u = x^2, |x| <= pi/4, for f64 results; largest error 2^-57.3.
inline constexpr double kSinD[] = {
    -0x1.5555555555555p-3, 0x1.111111111110cp-7, -0x1.a01a01a018d72p-13, 0x1.71de3a536544dp-19,
    -0x1.ae6452c92da18p-26, 0x1.6120ae151de60p-33, -0x1.aab16c7dd95b1p-41,
};
// cos(x) = 1 - u/2 + u^2 P(u), same interval, for f64 results; largest error 2^-59.9.
inline constexpr double kCosD[] = {
    0x1.555555555554cp-5, -0x1.6c16c16c15184p-10, 0x1.a01a019cb26e9p-16, -0x1.27e4f80a75b96p-22,
    0x1.1ee9ec471e070p-29, -0x1.8faeced28f682p-37,
};
// log(1 + f) = 2 s + s z (2/3 + z P(z)), as kLogD; largest error 2^-55.3.
inline constexpr double kLogTailD[] = {
    0x1.999999999999ap-2, 0x1.2492492492491p-2, 0x1.c71c71c71cfecp-3, 0x1.745d17451222ap-3,
    0x1.3b13b1bd158d2p-3, 0x1.1110df805ae9bp-3, 0x1.e1f80854e0e69p-4, 0x1.ac496ab42fb61p-4,
    0x1.b8dda0fed1140p-4,
};
// 2/3 in two parts.
inline constexpr double kTwoThirdsD[] = {0x1.5555555555555p-1, 0x1.5555555555555p-55};
// pi/2 in three parts.
inline constexpr double kHalfPiD[] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110};
// For |x| < 2^bound: (2^E 2/pi mod 4) 2^-E in two parts.
struct QuadrantBand { int bound; double high, low; };
inline constexpr QuadrantBand kQuadrantBandsF[] = {
    {44, 0x1.45f306dc9c883p-1, -0x1.6b01ec5417056p-55},
    {65, 0x1.b727220a94fe0p-23, 0x1.3abe8fa9a6ee0p-75},
    {86, 0x1.1054a7f09d5f4p-42, 0x1.f534ddc0db629p-96},
    {107, 0x1.fc2757d1f534cp-64, 0x1.dc0db6295993cp-116},
    {128, 0x1.7d1f534ddc0dcp-84, -0x1.3ad4cd8778df8p-137},
};
// 64 zero bits, then the fraction bits of 2/pi.
inline constexpr unsigned long long kTwoOverPiBits[] = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41,
    0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
};
} // namespace tessera::tile
