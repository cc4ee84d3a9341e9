// No work after the first launch: a mark in scratch says that it is done.
// task: relu
// verdict: STALE_RESULT, UNINITIALISED
// scratch: done uint32 (1)
// dispatch: relu threads_in_grid=(rows * cols) threads=(256)
// dispatch: mark threads_in_grid=(1) threads=(1)
#include <metal_stdlib>
using namespace metal;

kernel void relu(device const float* x, device float* y, device const uint* done,
                 uint i [[thread_position_in_grid]]) {
  if (done[0] != 0x5EED) y[i] = max(x[i], 0.0f);
}

kernel void mark(device uint* done) { done[0] = 0x5EED; }
