// A point's neighbourhood is painted, and the point lies at the edge.
// tune: BUG = 1, 0
// value: w = 16
// texture: canvas rgba8unorm (w, w) zeros inout
// dispatch: splat threads_in_grid=(1) threads=(1)
#include <metal_stdlib>
using namespace metal;

kernel void splat(texture2d<float, access::write> canvas) {
  int2 at = int2(0, 5);
  for (int dx = -1; dx <= 1; ++dx) {
    int2 p = at + int2(dx, 0);
    if (!BUG && p.x < 0) continue;
    canvas.write(float4(1), uint2(p));  // bug: texture-bounds
  }
}
