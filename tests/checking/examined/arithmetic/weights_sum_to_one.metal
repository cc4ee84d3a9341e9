// Weights that are asserted to sum to one, and do not.
// tune: BUG = 1, 0
// value: rows = 8
// buffer: x float32 (rows, 4) uniform 0.1 1.0
// buffer: y float32 (rows) output
// dispatch: weigh threads_in_grid=(rows) threads=(8)
#include <metal_stdlib>
using namespace metal;

#include <metal_assert>

kernel void weigh(device const float* x, device float* y, uint row [[thread_position_in_grid]]) {
  float weights[4], sum = 0;
  for (int k = 0; k < 4; ++k) sum += weights[k] = x[4 * row + k];
  float total = 0;
  for (int k = 0; k < 4; ++k) total += BUG ? weights[k] : weights[k] / sum;
  assert(fabs(total - 1) < 1e-3f);  // bug: assertion
  y[row] = total;
}
