#include <math.h>

enum { rows = 1024, dims = 64 };

// Items are queries of all heads, one after the other.
void attention(const float* restrict q, const float* restrict k, const float* restrict v,
               float* restrict y, long begin, long end) {
  for (long item = begin; item < end; ++item) {
    const float* query = q + item * dims;
    const float* keys = k + item / rows * rows * dims;
    const float* values = v + item / rows * rows * dims;
    float weights[rows], sums[dims] = {0}, peak = -INFINITY, total = 0.0f;
    for (long j = 0; j < rows; ++j) {
      float score = 0.0f;
      for (long d = 0; d < dims; ++d) score += query[d] * keys[j * dims + d];
      weights[j] = score * 0.125f;
      peak = weights[j] > peak ? weights[j] : peak;
    }
    for (long j = 0; j < rows; ++j) total += weights[j] = expf(weights[j] - peak);
    for (long j = 0; j < rows; ++j) {
      for (long d = 0; d < dims; ++d) sums[d] += weights[j] * values[j * dims + d];
    }
    for (long d = 0; d < dims; ++d) y[item * dims + d] = sums[d] / total;
  }
}
