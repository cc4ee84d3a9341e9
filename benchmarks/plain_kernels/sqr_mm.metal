// Product of two square matrices, one thread for each element of the result.
// dispatch: sqr_mm  threads_in_grid=(n, n)  threads=(16, 16)
// dtypes: float32, float16, bfloat16
#include <metal_stdlib>
using namespace metal;

[[kernel]] void sqr_mm(device const DTYPE* a, device const DTYPE* b, device DTYPE* c,
                       constant uint& n, uint2 p [[thread_position_in_grid]]) {
  float sum = 0.0f;
  for (uint k = 0; k < n; ++k) {
    sum += float(a[p.y * n + k]) * float(b[k * n + p.x]);
  }
  c[p.y * n + p.x] = DTYPE(sum);
}
