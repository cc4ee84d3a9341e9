enum { cols = 4096, group = 64 };

void quantized_matvec(const unsigned* restrict w, const float* restrict scales,
                      const float* restrict biases, const float* restrict x, float* restrict y,
                      long begin, long end) {
  for (long row = begin; row < end; ++row) {
    const unsigned char* bytes = (const unsigned char*)(w + row * cols / 8);
    float sum = 0.0f;
    for (long g = 0; g < cols / group; ++g) {
      const float* from = x + g * group;
      float product = 0.0f, all = 0.0f;
      for (long i = 0; i < group / 2; ++i) {
        const unsigned char two = bytes[g * group / 2 + i];
        product += (float)(two & 15) * from[2 * i] + (float)(two >> 4) * from[2 * i + 1];
        all += from[2 * i] + from[2 * i + 1];
      }
      const long at = row * (cols / group) + g;
      sum += scales[at] * product + biases[at] * all;
    }
    y[row] = sum;
  }
}
