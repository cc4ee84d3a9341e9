enum { n = 1024, depth = 64 };

// Four rows of C at a time, `depth` rows of B while they are in the cache.
void matmul(const float* restrict a, const float* restrict b, float* restrict c, long begin,
            long end) {
  for (long i = begin * n; i < end * n; ++i) c[i] = 0.0f;
  for (long k0 = 0; k0 < n; k0 += depth) {
    for (long row = begin; row < end; row += 4) {
      float* to = c + row * n;
      for (long k = k0; k < k0 + depth; ++k) {
        const float *left = a + row * n + k, *right = b + k * n;
        for (long j = 0; j < n; ++j) {
          to[j] += left[0] * right[j];
          to[n + j] += left[n] * right[j];
          to[2 * n + j] += left[2 * n] * right[j];
          to[3 * n + j] += left[3 * n] * right[j];
        }
      }
    }
  }
}
