// The gradient of overlapping windows, added up without atomics.
// tune: BUG = 1, 0
// value: n = 64
// buffer: dy float32 (n) normal
// buffer: dx float32 (2 * n + 2) zeros inout
// dispatch: k threadgroups=(2) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* dy, device float* dx, uint i [[thread_position_in_grid]]) {
  device atomic_float* to = (device atomic_float*)dx;
  for (uint j = 0; j < 3; ++j) {
    if (BUG) dx[2 * i + j] += dy[i];  // bug: race
    else atomic_fetch_add_explicit(&to[2 * i + j], dy[i], memory_order_relaxed);
  }
}
