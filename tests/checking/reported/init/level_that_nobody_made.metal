// The second pass reads a texture of which the first one has made the upper half.
// tune: BUG = 1, 0
// value: w = 16
// texture: image r32float (w, w) uniform
// texture: half_size r32float (w, w) scratch
// texture: out r32float (w, w) output
// dispatch: reduce threads_in_grid=(w, w) threads=(8, 8)
// dispatch: enlarge threads_in_grid=(w, w) threads=(8, 8)
#include <metal_stdlib>
using namespace metal;

kernel void reduce(texture2d<float, access::read> image,
                   texture2d<float, access::write> half_size,
                   uint2 at [[thread_position_in_grid]]) {
  if (!BUG || at.y < 8) half_size.write(0.5f * image.read(at), at);
}

kernel void enlarge(texture2d<float, access::read> half_size,
                    texture2d<float, access::write> out, uint2 at [[thread_position_in_grid]]) {
  out.write(half_size.read(at), at);  // bug: uninitialised
}
