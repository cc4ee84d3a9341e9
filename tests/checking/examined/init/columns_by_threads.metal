// A transpose whose grid is that of the input, not of the output's rows.
// tune: BUG = 1, 0
// value: h = 8
// value: w = 12
// buffer: x float32 (h, w) normal
// buffer: y float32 (w, h) output
// dispatch: transpose threads_in_grid=(8, 8) threads=(8, 8)
#include <metal_stdlib>
using namespace metal;

kernel void transpose(device const float* x,
                      device float* y,  // bug: output-not-written
                      constant uint& h, constant uint& w, uint2 p [[thread_position_in_grid]]) {
  for (uint column = p.x; column < w; column += BUG ? w : 8) {
    y[column * h + p.y] = x[p.y * w + column];
  }
}
