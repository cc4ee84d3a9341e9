// An image is written by rows of two, and has an odd one.
// tune: BUG = 1, 0
// value: w = 16
// value: h = 9
// texture: image rgba8unorm (w, h) uniform
// texture: out rgba8unorm (w, h) output
// dispatch: copy threads_in_grid=(w, 4 + 1 - BUG) threads=(8, 1)
#include <metal_stdlib>
using namespace metal;

kernel void copy(texture2d<float, access::read> image,
                 texture2d<float, access::write> out,  // bug: output-not-written
                 uint2 at [[thread_position_in_grid]]) {
  for (uint k = 0; k < 2; ++k) {
    uint2 p = uint2(at.x, 2 * at.y + k);
    if (p.y < out.get_height()) out.write(image.read(p), p);
  }
}
