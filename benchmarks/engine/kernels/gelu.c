#include <math.h>

void gelu(const float* restrict x, float* restrict y, long begin, long end) {
  for (long i = begin; i < end; ++i) {
    const float v = x[i];
    y[i] = 0.5f * v * (1.0f + tanhf(0.797884561f * (v + 0.044715f * v * v * v)));
  }
}
