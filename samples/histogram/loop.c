void loop(const float *x, int *counts, float lo, float hi, long n, long bins) {
  for (long i = 0; i < n; ++i) {
    const float part = (x[i] - lo) / (hi - lo) * (float)bins;
    if (part >= 0 && part < (float)bins) ++counts[(int)part];
  }
}
