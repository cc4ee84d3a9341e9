enum { n = 4096, tile = 32 };

// Items are rows of tiles.
void transpose(const float* restrict x, float* restrict y, long begin, long end) {
  for (long i0 = begin * tile; i0 < end * tile; i0 += tile) {
    for (long j0 = 0; j0 < n; j0 += tile) {
      for (long i = i0; i < i0 + tile; ++i) {
        for (long j = j0; j < j0 + tile; ++j) y[i * n + j] = x[j * n + i];
      }
    }
  }
}
