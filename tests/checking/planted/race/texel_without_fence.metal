// A thread reads the texel that it has just written.
// tune: BUG = 1, 0
// value: w = 8
// texture: t r32float (w, w) uniform inout
// dispatch: k threads_in_grid=(w, w) threads=(w, w)
#include <metal_stdlib>
using namespace metal;

kernel void k(texture2d<float, access::read_write> t, uint2 i [[thread_position_in_grid]]) {
  for (uint step = 0; step < 3; step++) {
    float4 doubled = 2 * t.read(i);  // bug: texture-fence
    t.write(doubled, i);
    if (!BUG) t.fence();
  }
}
