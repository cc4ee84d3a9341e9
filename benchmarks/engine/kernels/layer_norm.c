#include <math.h>

enum { cols = 1024 };

void layer_norm(const float* restrict x, float* restrict y, long begin, long end) {
  for (long row = begin; row < end; ++row) {
    const float* from = x + row * cols;
    float* to = y + row * cols;
    float sum = 0.0f, square = 0.0f;
    for (long i = 0; i < cols; ++i) sum += from[i];
    const float mean = sum / cols;
    for (long i = 0; i < cols; ++i) square += (from[i] - mean) * (from[i] - mean);
    const float scale = 1.0f / sqrtf(square / cols + 1e-5f);
    for (long i = 0; i < cols; ++i) to[i] = (from[i] - mean) * scale;
  }
}
