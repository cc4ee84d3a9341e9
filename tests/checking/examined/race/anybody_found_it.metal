// Every thread that finds a negative number says so.
// tune: BUG = 1, 0
// value: n = 64
// buffer: x float32 (n) normal
// buffer: found uint32 (1) zeros inout
// dispatch: look threads_in_grid=(n) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void look(device const float* x, device uint* found, uint i [[thread_position_in_grid]]) {
  if (x[i] < 0) {
    if (BUG)
      found[0] = 1;  // bug: same-value-race
    else
      atomic_fetch_or_explicit((device atomic_uint*)found, 1u, memory_order_relaxed);
  }
}
