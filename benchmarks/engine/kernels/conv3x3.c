enum { n = 4096 };

// The edge apart, the inside without a test.
static float checked(const float* x, const float* weights, long row, long column) {
  float sum = 0.0f;
  for (long i = 0; i < 3; ++i) {
    for (long j = 0; j < 3; ++j) {
      const long r = row + i - 1, c = column + j - 1;
      if (r >= 0 && r < n && c >= 0 && c < n) sum += weights[i * 3 + j] * x[r * n + c];
    }
  }
  return sum;
}

void conv3x3(const float* restrict x, const float* restrict weights, float* restrict y, long begin,
             long end) {
  for (long row = begin; row < end; ++row) {
    float* to = y + row * n;
    if (row == 0 || row == n - 1) {
      for (long column = 0; column < n; ++column) to[column] = checked(x, weights, row, column);
      continue;
    }
    const float* from = x + row * n;
    to[0] = checked(x, weights, row, 0);
    to[n - 1] = checked(x, weights, row, n - 1);
    for (long c = 1; c < n - 1; ++c) {
      to[c] = weights[0] * from[c - n - 1] + weights[1] * from[c - n] + weights[2] * from[c - n + 1] +
              weights[3] * from[c - 1] + weights[4] * from[c] + weights[5] * from[c + 1] +
              weights[6] * from[c + n - 1] + weights[7] * from[c + n] + weights[8] * from[c + n + 1];
    }
  }
}
