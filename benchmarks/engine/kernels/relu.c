void relu(const float* restrict x, float* restrict y, long begin, long end) {
  for (long i = begin; i < end; ++i) {
    const float v = x[i];
    y[i] = v > 0.0f ? v : 0.0f;
  }
}
