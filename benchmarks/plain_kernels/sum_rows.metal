// Sum of each row, one threadgroup for each row: a tree in threadgroup memory.
// dispatch: sum_rows  threadgroups=(rows)  threads=(256)
// dtypes: float32, float16, bfloat16
#include <metal_stdlib>
using namespace metal;

[[kernel]] void sum_rows(device const DTYPE* x, device DTYPE* y, constant uint& cols,
                         uint row [[threadgroup_position_in_grid]],
                         uint t [[thread_position_in_threadgroup]]) {
  threadgroup float shared[256];
  float sum = 0.0f;
  for (uint c = t; c < cols; c += 256) {
    sum += float(x[row * cols + c]);
  }
  shared[t] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint s = 128; s > 0; s /= 2) {
    if (t < s) {
      shared[t] += shared[t + s];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (t == 0) {
    y[row] = DTYPE(shared[0]);
  }
}
