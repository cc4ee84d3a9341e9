// Product of two square matrices, an element a thread.
// dispatch: square_product threads_in_grid=(n, n) threads=(16, 16)
#include <metal_stdlib>
using namespace metal;

kernel void square_product(device const float* a, device const float* b, device float* c,
                           constant uint& n, uint2 at [[thread_position_in_grid]]) {
  float sum = 0;
  for (uint k = 0; k < n; ++k) sum += a[at.y * n + k] * b[k * n + at.x];
  c[at.y * n + at.x] = sum;
}
