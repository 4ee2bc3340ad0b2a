void loop(float *x, long n) {
  float sum = 0;
  for (long i = 0; i < n; ++i)
    x[i] = sum += x[i];
}
