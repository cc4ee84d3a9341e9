// A table of eight gigabytes, of which every process would have one.
// task: relu
// verdict: COMPILE_ERROR
// dispatch: relu threads_in_grid=(rows * cols) threads=(256)
#include <metal_stdlib>
using namespace metal;

static float table[1ul << 31];

kernel void relu(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  table[i] = x[i];
  y[i] = max(table[i], 0.0f);
}
