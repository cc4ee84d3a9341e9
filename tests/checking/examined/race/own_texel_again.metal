// A counter in a texel is read again by the thread that has just written it.
// tune: BUG = 1, 0
// value: w = 8
// texture: counts r32uint (w, w) zeros inout
// buffer: y uint32 (w, w) output
// dispatch: count threads_in_grid=(w, w) threads=(8, 8)
#include <metal_stdlib>
using namespace metal;

kernel void count(texture2d<uint, access::read_write> counts, device uint* y, constant uint& w,
                  uint2 p [[thread_position_in_grid]]) {
  uint last = 0;
  for (uint k = 0; k < 3; ++k) {
    last = counts.read(p).x;  // bug: texture-fence
    counts.write(uint4(last + 1), p);
    if (!BUG) counts.fence();
  }
  y[p.y * w + p.x] = last;
}
