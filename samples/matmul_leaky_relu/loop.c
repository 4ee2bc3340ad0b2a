void loop(const float *A, const float *B, float slope, float *C, long M, long K, long N) {
  for (long m = 0; m < M; ++m) {
    float *row = C + m * N;
    for (long n = 0; n < N; ++n)
      row[n] = 0;
    for (long k = 0; k < K; ++k)
      for (long n = 0; n < N; ++n)
        row[n] += A[m * K + k] * B[k * N + n];
    for (long n = 0; n < N; ++n)
      row[n] = row[n] >= 0 ? row[n] : slope * row[n];
  }
}
