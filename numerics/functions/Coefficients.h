// Coefficients of the elementary functions. Written by numerics/tools/fit_polynomials.py, which says how
// they are derived. Arrays ending in F are rounded to f32, those ending in D to f64; constant term first.
#pragma once

namespace tessera::functions {

// ln 2 in two parts.
inline constexpr double kLn2F[] = {0x1.62e4300000000p-1, -0x1.05c6100000000p-29};
// 1 / ln 2 in two parts.
inline constexpr double kLog2eF[] = {0x1.7154760000000p+0, 0x1.4ae0c00000000p-26};
// exp(r) = 1 + r + r^2 P(r), |r| <= ln2/2; largest error 2^-27.7.
inline constexpr double kExpF[] = {
    0x1.000000p+0, 0x1.000000p+0, 0x1.000000p-1, 0x1.55548ep-3, 0x1.55545ep-5, 0x1.123b54p-7, 0x1.6db440p-10,
};
// exp2(r) = 1 + r ln 2 + r^2 P(r), |r| <= 1/2; largest error 2^-27.9.
inline constexpr double kExp2F[] = {
    0x1.000000p+0, 0x1.62e430p-1, 0x1.ebfbe0p-3, 0x1.c6af86p-5, 0x1.3b29d2p-7, 0x1.5f05c8p-10, 0x1.4477f2p-13,
};
// log(1 + f) = f + f^2 P(f); largest error 2^-30.3.
inline constexpr double kLogF[] = {
    -0x1.000000p-1, 0x1.555546p-2,  -0x1.ffffeep-3, 0x1.99a546p-3,  -0x1.5562e2p-3,
    0x1.2332bap-3,  -0x1.fb434cp-4, 0x1.e65104p-4,  -0x1.e2e916p-4, 0x1.1b413cp-4,
};
// log2(1 + f) = f / ln 2 + f^2 P(f); largest error 2^-27.6.
inline constexpr double kLog2F[] = {
    -0x1.715476p-1, 0x1.ec7088p-2,  -0x1.71546ap-2, 0x1.277f30p-2,  -0x1.ec842ap-3,
    0x1.a41c32p-3,  -0x1.6de9aep-3, 0x1.5ecd9cp-3,  -0x1.5c58a6p-3, 0x1.98a67cp-4,
};
// tanh(x) = x + x u P(u), u = x^2, |x| <= 0.55; largest error 2^-27.7.
inline constexpr double kTanhF[] = {
    -0x1.55554cp-2, 0x1.110d3cp-3, -0x1.b92bbcp-5, 0x1.59568cp-6, -0x1.9bba48p-8,
};
// erf(x) = x + x P(u - 1/2), u = x^2, |x| <= 1; largest error 2^-27.7.
inline constexpr double kErfF[] = {
    -0x1.1ae14ep-5,  -0x1.1fd162p-2, 0x1.454368p-4,   -0x1.2b902cp-6, 0x1.c82aa4p-9,
    -0x1.263816p-11, 0x1.486486p-14, -0x1.44978ap-17, 0x1.1c92b2p-20,
};
// -2 / (sqrt(pi) ln 2).
inline constexpr double kErfSlopeF[] = {-0x1.a0be840000000p+0};
// log2(1 - erf(x)) = kErfSlopeF x + x^2 P(x), x in [0, 3.92]; largest error 2^-27.4.
inline constexpr double kErfLogF[] = {
    -0x1.d63eccp-1, -0x1.2faaf8p-3, 0x1.c4a014p-6,   0x1.fb0220p-13,
    -0x1.3c845ep-9, 0x1.e15caep-11, -0x1.66d450p-13, 0x1.c516b0p-17,
};
// exp2(r) - 1 = r P(r), |r| <= 1/2; largest error 2^-25.4.
inline constexpr double kExp2MinusOneF[] = {
    0x1.62e430p-1, 0x1.ebfbe0p-3, 0x1.c6af6cp-5, 0x1.3b29e4p-7, 0x1.5f08b2p-10, 0x1.446c90p-13,
};
// pi/2 in two parts.
inline constexpr double kHalfPiOfF[] = {0x1.921fb60000000p+0, -0x1.777a5c0000000p-25};
// atan(x) = x + x u P(u - 1/2), u = x^2, |x| <= 1; largest error 2^-27.0.
inline constexpr double kAtanF[] = {
    -0x1.09615ep-2, 0x1.c5e5c4p-4, -0x1.c10afep-5, 0x1.dd5bcep-6,  -0x1.08fedcp-6,  0x1.2f1292p-7,
    -0x1.60c1aep-8, 0x1.9aa2eep-9, -0x1.014df6p-9, 0x1.80e07ep-10, -0x1.89b05ap-11,
};
// asin(x) = x + x u P(u), u = x^2, |x| <= 1/2; largest error 2^-31.4.
inline constexpr double kAsinF[] = {
    0x1.555556p-3, 0x1.3332c2p-4, 0x1.6dd6bep-5, 0x1.edb008p-6, 0x1.915f8ep-6, 0x1.ff291ap-8, 0x1.1941e8p-5,
};
// asinh(x) = x + x u P(u), u = x^2, |x| <= 1/2; largest error 2^-31.2.
inline constexpr double kAsinhF[] = {
    -0x1.555554p-3, 0x1.333228p-4, -0x1.6d7c80p-5, 0x1.ebf1e0p-6, -0x1.481310p-6, 0x1.2e4390p-7,
};
// atanh(x) = x + x u P(u), u = x^2, |x| <= 1/2; largest error 2^-28.3.
inline constexpr double kAtanhF[] = {
    0x1.555556p-2, 0x1.9999b6p-3, 0x1.248cf8p-3,  0x1.c8075ep-4,
    0x1.6985acp-4, 0x1.836e86p-4, 0x1.50e754p-10, 0x1.691be6p-3,
};
// sinh(x) = x + x u P(u), u = x^2, |x| <= 1; largest error 2^-27.7.
inline constexpr double kSinhF[] = {
    0x1.555556p-3, 0x1.111110p-7, 0x1.a01a26p-13, 0x1.71cc2cp-19, 0x1.b69956p-26,
};
// cbrt(1 + f), the start of a step of Halley's method; largest error 2^-10.6.
inline constexpr double kCbrtF[] = {
    0x1.ffe868p-1,
    0x1.5ab578p-2,
    -0x1.b36364p-4,
};
// erfc(x) = e^(-x^2) P(t) / (1 + 2 x), t = (x - 2) / (x + 2); largest error 2^-24.6.
inline constexpr double kErfcF[] = {
    0x1.46e80ep+0, -0x1.7bf5fap-4, -0x1.540856p-3,  0x1.4ffac0p-3,   -0x1.bc08aep-5, -0x1.0767cep-7,
    0x1.1ae5fcp-7, 0x1.487326p-10, -0x1.48ddd6p-10, -0x1.668ba6p-12, 0x1.4523d2p-15,
};
// ln 2 in two parts.
inline constexpr double kLn2D[] = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
// ln 2 in two parts, the first of which any exponent multiplies exactly.
inline constexpr double kShortLn2D[] = {0x1.62e42fefa3800p-1, 0x1.ef35793c76730p-45};
// 1 / ln 2 in two parts.
inline constexpr double kLog2eD[] = {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56};
// exp(r) = 1 + r + r^2 P(r), |r| <= ln2/2; largest error 2^-60.5.
inline constexpr double kExpD[] = {
    0x1.000000p+0,         0x1.000000p+0,         0x1.000000p-1,         0x1.555555555555cp-3,
    0x1.555555555555ep-5,  0x1.111111110ebb6p-7,  0x1.6c16c16c13360p-10, 0x1.a01a01b3ba461p-13,
    0x1.a01a01b4e6126p-16, 0x1.71ddef9559531p-19, 0x1.27e4be23a194ep-22, 0x1.af6ccaedce70fp-26,
    0x1.1f9f5fcb5cfd1p-29,
};
// exp2(r) = 1 + r ln 2 + r^2 P(r), |r| <= 1/2; largest error 2^-58.4.
inline constexpr double kExp2D[] = {
    0x1.000000p+0,         0x1.62e42fefa39efp-1,  0x1.ebfbdff82c58fp-3,  0x1.c6b08d704a0c8p-5,
    0x1.3b2ab6fba4e7fp-7,  0x1.5d87fe78a3760p-10, 0x1.430912f869536p-13, 0x1.ffcbfc70aecc9p-17,
    0x1.62c0224c1794ap-20, 0x1.b524e4e086a59p-24, 0x1.e4ceecdd2048bp-28, 0x1.e9f71df4268a4p-32,
    0x1.c4d559128e8e0p-36,
};
// log(1 + f) = 2 s + s z P(z); largest error 2^-54.6.
inline constexpr double kLogD[] = {
    0x1.5555555555555p-1, 0x1.9999999999a39p-2, 0x1.249249247696ap-2, 0x1.c71c7201b0052p-3,
    0x1.745cf8e36e934p-3, 0x1.3b1c3bd24cd37p-3, 0x1.0fbdf5aad1508p-3, 0x1.0c09b1ba7d35dp-3,
};
// log(1 + f) = 2 s + s z (2/3 + z P(z)); largest error 2^-55.3.
inline constexpr double kLogTailD[] = {
    0x1.999999999999ap-2, 0x1.2492492492491p-2, 0x1.c71c71c71cfecp-3,
    0x1.745d17451222ap-3, 0x1.3b13b1bd158d2p-3, 0x1.1110df805ae9bp-3,
    0x1.e1f80854e0e69p-4, 0x1.ac496ab42fb61p-4, 0x1.b8dda0fed1140p-4,
};
// 2/3 in two parts.
inline constexpr double kTwoThirdsD[] = {0x1.5555555555555p-1, 0x1.5555555555555p-55};
// tanh(x) = x + x u P(u - 1/2), u = x^2, |x| <= 1; largest error 2^-56.4.
inline constexpr double kTanhD[] = {
    -0x1.1c8e0ec09a303p-2,  0x1.79ce0c25b5db4p-4,  -0x1.fc6215f7c72a3p-6,  0x1.5691ebb112861p-7,
    -0x1.cdc3c46a2c108p-9,  0x1.37394ed7bc785p-10, -0x1.a3860bad67ae3p-12, 0x1.1ac140cf0b2a6p-13,
    -0x1.7d25ec83a10ffp-15, 0x1.00e3ccf242cfdp-16, -0x1.5a49673d2b0f5p-18, 0x1.d2d6b4ef9e7f6p-20,
    -0x1.3a79011ba330ap-21, 0x1.a5e5cff5feacep-23, -0x1.200f17f5ddb6bp-24, 0x1.adadc12595b72p-26,
    -0x1.017ff6e33eb69p-27,
};
// erf(x) = x + x P(u - 1/2), u = x^2, |x| <= 1; largest error 2^-56.1.
inline constexpr double kErfD[] = {
    -0x1.1ae14dc34815ap-5, -0x1.1fd16292151fdp-2,  0x1.454368017b042p-4,  -0x1.2b902b7b2f224p-6,
    0x1.c82aa249df494p-9,  -0x1.263991b81d666p-11, 0x1.486638bc95a37p-14, -0x1.429e938ba826ep-17,
    0x1.1ad5ee030773cp-20, -0x1.bf8e5af793c85p-24, 0x1.428e898caa3f5p-27, -0x1.aad6b23fa047dp-31,
    0x1.05f710800704fp-34, -0x1.29e0a0d580acdp-38, 0x1.04c3a769c173ap-45,
};
// 1 - erf(1).
inline constexpr double kErfcOneD[] = {0x1.4226162fbddd5p-3};
// 1 - erf(1 + t) = erfc(1) exp(t P(t)), t in [0, 5]; largest error 2^-61.2.
inline constexpr double kErfTailD[] = {
    -0x1.51c9b0006c23dp+1,  -0x1.afabc11a28f37p-1,  -0x1.5477f09ca96cdp-5,  0x1.48c9d40c13cfcp-7,
    -0x1.033f699683a79p-9,  0x1.f1b4bc7a7f458p-13,  0x1.b8be339ee74afp-16,  -0x1.c75967bb54551p-16,
    0x1.415885d814861p-17,  -0x1.0ed1a68773868p-19, 0x1.b436c0cb30d8bp-24,  0x1.12eba6dfbe26bp-23,
    -0x1.2716168a200dap-24, 0x1.70681cc9a81a6p-26,  -0x1.36e6d0ab756d0p-28, 0x1.236657fbb343cp-31,
    0x1.3622f5a36a187p-35,  -0x1.2908ff61eef94p-35, 0x1.323c96e93f733p-37,  -0x1.7f63b6b3a1ac0p-40,
    0x1.34f75559e86cbp-43,  -0x1.294e45178654fp-47, 0x1.054e6059bd340p-52,
};
// pi/2 in two parts.
inline constexpr double kHalfPiOfD[] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};
// atan(x) = x + x u P(u - 1/2), u = x^2, |x| <= 1; largest error 2^-56.9.
inline constexpr double kAtanD[] = {
    -0x1.09615e90afcd2p-2,  0x1.c5e5c41d92f49p-4,  -0x1.c10b0d776d24ep-5,  0x1.dd5caa4ce5ed6p-6,
    -0x1.08fa5f91fe796p-6,  0x1.2ee0b60457bfcp-7,  -0x1.618d9a1746db2p-8,  0x1.a3527eec6443dp-9,
    -0x1.f7902063f1803p-10, 0x1.316a990c1b0bfp-10, -0x1.758fbcde779a6p-11, 0x1.cc02bf92fd32ap-12,
    -0x1.1cb567d1df7a5p-12, 0x1.6353ee7c95312p-13, -0x1.c23d06bbdf50ap-14, 0x1.142f1ee2a5883p-14,
    -0x1.30834c6cdba6dp-15, 0x1.b8052cbed2495p-16, -0x1.c834b8268bf92p-16, 0x1.e0ab17d595f5bp-17,
};
// asin(x) = x + x u P(u), u = x^2, |x| <= 1/2; largest error 2^-58.1.
inline constexpr double kAsinD[] = {
    0x1.555555555555dp-3, 0x1.3333333330a47p-4, 0x1.6db6db7083abdp-5, 0x1.f1c71b144857cp-6,
    0x1.6e8bd294a30a1p-6, 0x1.1c4ab62359085p-6, 0x1.ca0eb6ac225d4p-7, 0x1.7604427df0d91p-7,
    0x1.5ea925e33764ap-7, 0x1.052ee66629a67p-8, 0x1.592fb0c6f1b52p-6, -0x1.4a0696189390ap-6,
    0x1.071fc5fba0fd1p-5,
};
// asinh(x) = x + x u P(u), u = x^2, |x| <= 1/2; largest error 2^-59.7.
inline constexpr double kAsinhD[] = {
    -0x1.5555555555550p-3, 0x1.3333333331c54p-4, -0x1.6db6db6c57cfbp-5, 0x1.f1c71bdab2528p-6,
    -0x1.6e8b90b2913b1p-6, 0x1.1c4d6688a1919p-6, -0x1.c976c807e54c9p-7, 0x1.79595141a4ac1p-7,
    -0x1.38c85e79e26f9p-7, 0x1.eb26fdfb3fcabp-8, -0x1.39ec6232bf776p-8, 0x1.c9a1ab644227ap-10,
};
// atanh(x) = x + x u P(u), u = x^2, |x| <= 1/2; largest error 2^-57.2.
inline constexpr double kAtanhD[] = {
    0x1.5555555555553p-2,  0x1.999999999a5e5p-3, 0x1.2492492413f9fp-3,  0x1.c71c720ee4037p-4,
    0x1.745d0bd63fc78p-4,  0x1.3b14d61c75b47p-4, 0x1.10fd7802a63e9p-4,  0x1.e3b380edc96ebp-5,
    0x1.9fe659a4bebb8p-5,  0x1.e0c530da8042fp-5, -0x1.4a77db7c19abbp-9, 0x1.5a218f761bc30p-3,
    -0x1.8284061a15c1fp-3, 0x1.e56188e7a78edp-3,
};
// sinh(x) = x + x u P(u), u = x^2, |x| <= 1; largest error 2^-56.5.
inline constexpr double kSinhD[] = {
    0x1.5555555555555p-3,  0x1.1111111111111p-7,  0x1.a01a01a019fcep-13, 0x1.71de3a55733c4p-19,
    0x1.ae645674d00d8p-26, 0x1.61246a98598e7p-33, 0x1.ae75a680583a2p-41, 0x1.9a6c25bbef50dp-49,
};
// cbrt(1 + f), the start of a step of Halley's method; largest error 2^-19.6.
inline constexpr double kCbrtD[] = {
    0x1.ffffe22103470p-1, 0x1.55518a2fb6339p-2,  -0x1.c68ccd10837edp-4,
    0x1.feae822d95989p-5, -0x1.6de4cc81def44p-5, 0x1.b2d997de10768p-6,
};
// erfc(x) = e^(-x^2) P(t) / (1 + 2 x), t = (x - 2) / (x + 2); largest error 2^-53.1.
inline constexpr double kErfcD[] = {
    0x1.46e80e2277953p+0,   -0x1.7bf5ec1700630p-4,  -0x1.5407bebf3248ep-3,  0x1.4ffa1e14e2717p-3,
    -0x1.bc2b95619387ep-5,  -0x1.074234046a114p-7,  0x1.1dd2ec8e6f50cp-7,   0x1.4d461d1e5a5edp-10,
    -0x1.7de51ffc437d5p-10, -0x1.dc692ff917b97p-12, 0x1.b0c843330cebfp-13,  0x1.3cc0857a822c7p-13,
    -0x1.947890e4c5fb6p-20, -0x1.3189c7ea98daep-15, -0x1.c52287859fcf6p-17, 0x1.f1c2ee33a49a7p-19,
    0x1.6088c49f9b99ep-18,  0x1.95c7ddb206337p-20,  -0x1.8fdaf6701176bp-21, -0x1.c99a67109c24ep-21,
    -0x1.c12d4c3fc70bep-23, 0x1.5da9c965b3284p-23,  0x1.119f53f5764dep-23,  0x1.ade03351bd754p-28,
    -0x1.7069712c86a88p-26, -0x1.a2f0a7954a6bdp-28,
};
// log10(2) in two parts.
inline constexpr double kLog10Of2D[] = {0x1.34413509f79ffp-2, -0x1.9dc1da994fd21p-59};
// sin(x) = x + x u P(u), for f32 results; largest error 2^-37.6.
inline constexpr double kSinF[] = {
    -0x1.5555554cbaf7dp-3,
    0x1.11110896d3782p-7,
    -0x1.a00f9e0769cccp-13,
    0x1.6cd86efe30fcfp-19,
};
// cos(x) = 1 + u P(u), for f32 results; largest error 2^-34.1.
inline constexpr double kCosF[] = {
    -0x1.ffffffd0c6f50p-2,
    0x1.55553e100559ap-5,
    -0x1.6c087e4d3fb9ap-10,
    0x1.9934207f10129p-16,
};
// sin(x) = x + x u P(u), for f64 results; largest error 2^-57.3.
inline constexpr double kSinD[] = {
    -0x1.5555555555555p-3,  0x1.111111111110cp-7,  -0x1.a01a01a018d72p-13, 0x1.71de3a536544dp-19,
    -0x1.ae6452c92da18p-26, 0x1.6120ae151de60p-33, -0x1.aab16c7dd95b1p-41,
};
// cos(x) = 1 - u/2 + u^2 P(u), for f64 results; largest error 2^-59.9.
inline constexpr double kCosD[] = {
    0x1.555555555554cp-5,   -0x1.6c16c16c15184p-10, 0x1.a01a019cb26e9p-16,
    -0x1.27e4f80a75b96p-22, 0x1.1ee9ec471e070p-29,  -0x1.8faeced28f682p-37,
};
// pi/2 in three parts.
inline constexpr double kHalfPiD[] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110};
// For |x| < 2^bound: (2^E 2/pi mod 4) 2^-E in two parts.
struct QuadrantBand {
  int bound;
  double high, low;
};
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
} // namespace tessera::functions
