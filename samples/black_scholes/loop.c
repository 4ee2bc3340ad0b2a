#include <math.h>

static float cdf(float x) { return 0.5f + 0.5f * erff(x * 0.70710678f); }

void loop(const float *price, const float *strike, const float *years, float rate, float volatility,
          float *call, float *put, long n) {
  for (long i = 0; i < n; ++i) {
    const float deviation = volatility * sqrtf(years[i]);
    const float d1 =
        (logf(price[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) / deviation;
    const float d2 = d1 - deviation, discounted = strike[i] * expf(-rate * years[i]);
    call[i] = price[i] * cdf(d1) - discounted * cdf(d2);
    put[i] = discounted * cdf(-d2) - price[i] * cdf(-d1);
  }
}
