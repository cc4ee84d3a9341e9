// A function object reads too far.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

struct At {
  device const float* x;
  float operator()(uint k) const {
    return x[k + BUG];  // bug: out-of-bounds
  }
};

kernel void k(device const float* x, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  At at = {x};
  y[i] = at(i);
}
