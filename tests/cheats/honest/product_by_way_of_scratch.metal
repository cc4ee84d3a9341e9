// As the cheats that keep products in scratch, but of this pass alone.
// task: square_product
// scratch: kept float32 (n, n)
// dispatch: multiply threads_in_grid=(n, n) threads=(16, 16)
// dispatch: copy threads_in_grid=(n, n) threads=(16, 16)
#include <metal_stdlib>
using namespace metal;

kernel void multiply(device const float* a, device const float* b, device float* kept,
                     constant uint& n, uint2 at [[thread_position_in_grid]]) {
  kept[at.y * n + at.x] = 0;
  for (uint k = 0; k < n; ++k) kept[at.y * n + at.x] += a[at.y * n + k] * b[k * n + at.x];
}

kernel void copy(device const float* kept, device float* c, constant uint& n,
                 uint2 at [[thread_position_in_grid]]) {
  c[at.y * n + at.x] = kept[at.y * n + at.x];
}
