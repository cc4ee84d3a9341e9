// Puzzle 6, fewer threads than elements: y[i] = x[i] / (1 + |x[i]|).
// value: n = 500
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: grid_stride  threadgroups=(3)  threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void grid_stride(device const float* x, device float* y, constant uint& n,
                        uint first [[thread_position_in_grid]],
                        uint threads [[threads_per_grid]]) {
  for (uint i = first; i < n; i += threads) {
    float v = x[i];
    y[i] = v / (1 + abs(v));
  }
}
