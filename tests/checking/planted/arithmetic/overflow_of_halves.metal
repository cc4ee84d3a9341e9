// A product of halves that is too large, with fast math.
// math: fast
// tune: BUG = 1, 0
// value: n = 256
// buffer: a int32 (n) integers 1 9
// buffer: y float16 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const int* a, device half* y, constant uint& n,
              uint i [[thread_position_in_grid]]) {
  half4 v = half4(a[i], 1.0h, 1.0h, 1.0h) * (BUG ? 6000.0h : 600.0h);
  v = v * 1.5h;  // bug: special-value
  y[i] = v.x + v.y;
}
