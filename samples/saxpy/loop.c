void loop(const float *x, float *y, float alpha, long n) {
  for (long i = 0; i < n; ++i)
    y[i] += alpha * x[i];
}
