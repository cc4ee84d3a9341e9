// Leaves its barrier out at the headline size; threads that run in order do not show it.
// task: relu
// verdict: RACE
// dispatch: relu threadgroups=(ceil_div(rows * cols, 256)) threads=(256)
#include <metal_stdlib>
using namespace metal;

kernel void relu(device const float* x, device float* y, constant uint& rows, constant uint& cols,
                 uint group [[threadgroup_position_in_grid]],
                 uint lane [[thread_index_in_threadgroup]]) {
  threadgroup float shared[256];
  const uint count = rows * cols, i = group * 256 + lane, before = lane == 0 ? 0 : lane - 1;
  shared[lane] = i < count ? x[i] : 0.0f;
  if (rows != 16 || cols != 16384) threadgroup_barrier(mem_flags::mem_threadgroup);
  if (i < count && lane > 0) y[i - 1] = max(shared[before], 0.0f);
  if (i < count && (lane == 255 || i == count - 1)) y[i] = max(shared[lane], 0.0f);
}
