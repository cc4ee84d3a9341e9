#include <math.h>

void sigmoid(const float* restrict x, float* restrict y, long begin, long end) {
  for (long i = begin; i < end; ++i) {
    const float v = x[i];
    y[i] = 1.0f / (1.0f + expf(-v));
  }
}
