// A ring buffer's next place is taken modulo its length plus one.
// tune: BUG = 1, 0
// value: n = 64
// value: room = 16
// buffer: x float32 (n) normal
// buffer: ring float32 (room) zeros inout
// dispatch: keep threads_in_grid=(1) threads=(1)
#include <metal_stdlib>
using namespace metal;

kernel void keep(device const float* x, device float* ring, constant uint& n, constant uint& room) {
  uint head = 0;
  for (uint k = 0; k < n; ++k) {
    ring[head] = x[k];  // bug: out-of-bounds
    head = (head + 1) % (BUG ? room + 1 : room);
  }
}
