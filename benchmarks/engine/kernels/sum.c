void sum(const float* restrict x, float* restrict partial, long begin, long end) {
  for (long part = begin; part < end; ++part) {
    float sum = 0.0f;
    for (long i = 0; i < 65536; ++i) sum += x[part * 65536 + i];
    partial[part] = sum;
  }
}

void total(const float* restrict partial, float* restrict y, long begin, long end) {
  for (long row = begin; row < end; ++row) {
    float sum = 0.0f;
    for (long i = 0; i < 1024; ++i) sum += partial[i];
    y[row] = sum;
  }
}
