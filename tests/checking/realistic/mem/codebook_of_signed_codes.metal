// A codebook of sixteen, asked for with the signed half of a byte.
// tune: BUG = 1, 0
// value: n = 64
// buffer: codes int32 (n) integers -128 127
// buffer: y float32 (n) output
// dispatch: k threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

constant float codebook[16] = {-1, -0.7f, -0.5f, -0.4f, -0.3f, -0.2f, -0.1f, 0,
                               0.1f, 0.2f, 0.25f, 0.3f, 0.4f, 0.6f, 0.7f, 1};

kernel void k(device const int* codes, device float* y, uint i [[thread_position_in_grid]]) {
  int code = codes[i] >> 4;
  y[i] = codebook[BUG ? code : code & 15];  // bug: out-of-bounds
}
