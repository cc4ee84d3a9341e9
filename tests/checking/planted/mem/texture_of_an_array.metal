// The second of two textures is read one row further down.
// tune: BUG = 1, 0
// value: w = 8
// texture: frames r8unorm (w, w, 2) uniform
// texture: changes r32float (w, w) output
// dispatch: differ threads_in_grid=(w, w) threads=(w, w)
#include <metal_stdlib>
using namespace metal;

kernel void differ(array<texture2d<float, access::read>, 2> frames,
                   texture2d<float, access::write> changes,
                   uint2 at [[thread_position_in_grid]]) {
  uint2 later = BUG ? uint2(at.x, at.y + 1) : at;
  float before = frames[0].read(at).x;
  float after = frames[1].read(later).x;  // bug: texture-bounds
  changes.write(float4(after - before), at);
}
