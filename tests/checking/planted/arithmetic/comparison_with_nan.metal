// A comparison of NaN, with fast math.
// math: fast
// tune: BUG = 1, 0
// value: n = 256
// buffer: a int32 (n) integers 1 9
// buffer: y int32 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const int* a, device int* y, constant uint& n,
              uint i [[thread_position_in_grid]]) {
  float v = BUG ? as_type<float>(0x7fc00000 + a[i]) : float(a[i]);
  y[i] = v == v ? 1 : 0;  // bug: special-value
}
