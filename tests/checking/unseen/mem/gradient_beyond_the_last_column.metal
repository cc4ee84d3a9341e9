// A gradient looks to the right and down, at the last column and row, too.
// tune: BUG = 1, 0
// value: w = 12
// texture: height r32float (w, w) uniform
// buffer: slope float32 (w, w) output
// dispatch: gradient threads_in_grid=(w, w) threads=(4, 4)
#include <metal_stdlib>
using namespace metal;

static float2 slope_at(texture2d<float, access::read> height, uint2 p) {
  float here = height.read(p).r;
  uint last = height.get_width() - 1;
  uint2 q = BUG ? p + 1 : min(p + 1, uint2(last));
  float right = height.read(uint2(q.x, p.y)).r;  // bug: texture-bounds
  return float2(right - here, right + here);
}

kernel void gradient(texture2d<float, access::read> height, device float* slope, constant uint& w,
                     uint2 p [[thread_position_in_grid]]) {
  slope[p.y * w + p.x] = slope_at(height, p).x;
}
