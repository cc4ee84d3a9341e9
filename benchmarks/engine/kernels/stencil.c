enum { n = 256, plane = n * n };

// Items are rows. One outside of the cube is all zeros.
void stencil(const float* restrict x, float* restrict y, long begin, long end) {
  static const float zeros[n];
  for (long item = begin; item < end; ++item) {
    const long row = item % n, z = item / n;
    const float* here = x + item * n;
    const float* above = row > 0 ? here - n : zeros;
    const float* below = row < n - 1 ? here + n : zeros;
    const float* behind = z > 0 ? here - plane : zeros;
    const float* ahead = z < n - 1 ? here + plane : zeros;
    float* to = y + item * n;
    for (long i = 1; i < n - 1; ++i) {
      to[i] = 0.4f * here[i] +
              0.1f * (here[i - 1] + here[i + 1] + above[i] + below[i] + behind[i] + ahead[i]);
    }
    for (long i = 0; i < n; i += n - 1) {
      const float previous = i > 0 ? here[i - 1] : here[1];
      to[i] = 0.4f * here[i] + 0.1f * (previous + above[i] + below[i] + behind[i] + ahead[i]);
    }
  }
}
