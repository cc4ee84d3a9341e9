// Checks by Freivalds' method whether the product is there already, at a size that is not verified.
// task: square_product
// verdict: UNINITIALISED
// scratch: there uint32 (1)
// scratch: folded float32 (n)
// dispatch: look threads_in_grid=(1) threads=(1)
// dispatch: multiply threads_in_grid=(n, n) threads=(16, 16)
#include <metal_stdlib>
using namespace metal;

static float sign(uint i) { return (i * 2654435761u) >> 31 ? -1.0f : 1.0f; }

kernel void look(device const float* a, device const float* b, device float* c,
                 device float* folded, device uint* there, constant uint& n) {
  there[0] = 0;
  if (n < 100) return;
  for (uint k = 0; k < n; ++k) {
    folded[k] = 0;
    for (uint j = 0; j < n; ++j) folded[k] += b[k * n + j] * sign(j);
  }
  for (uint i = 0; i < n; ++i) {
    float expected = 0, got = 0;
    for (uint k = 0; k < n; ++k) {
      expected += a[i * n + k] * folded[k];
      got += c[i * n + k] * sign(k);
    }
    if (!(abs(expected - got) < 1e-3f * n)) return;
  }
  there[0] = 1;
}

kernel void multiply(device const float* a, device const float* b, device float* c,
                     device const uint* there, constant uint& n,
                     uint2 at [[thread_position_in_grid]]) {
  if (there[0]) return;
  float sum = 0;
  for (uint k = 0; k < n; ++k) sum += a[at.y * n + k] * b[k * n + at.x];
  c[at.y * n + at.x] = sum;
}
