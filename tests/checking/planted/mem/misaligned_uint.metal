// A uint at an odd byte.
// tune: BUG = 1, 0
// value: n = 256
// buffer: b uint8 (n, 4) integers 0 255
// buffer: y uint32 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const uchar* b, device uint* y, constant uint& n,
              uint i [[thread_position_in_grid]]) {
  device const uint* v = (device const uint*)(b + 4 * i + BUG * (i < n - 1));
  y[i] = *v;  // bug: misaligned
}
