#include <math.h>

enum { cols = 1024 };

void softmax(const float* restrict x, float* restrict y, long begin, long end) {
  for (long row = begin; row < end; ++row) {
    const float* from = x + row * cols;
    float* to = y + row * cols;
    float peak = -INFINITY;
    for (long i = 0; i < cols; ++i) peak = from[i] > peak ? from[i] : peak;
    float sum = 0.0f;
    for (long i = 0; i < cols; ++i) sum += to[i] = expf(from[i] - peak);
    const float scale = 1.0f / sum;
    for (long i = 0; i < cols; ++i) to[i] *= scale;
  }
}
