// The difference of every slice of a volume to the next one, the last one included.
// tune: BUG = 1, 0
// value: w = 8
// value: d = 4
// texture: volume r16float (w, w, d) normal
// buffer: y float32 (d, w, w) output
// dispatch: difference threads_in_grid=(w, w, d) threads=(8, 8, 1)
#include <metal_stdlib>
using namespace metal;

kernel void difference(texture3d<float> volume, device float* y, constant uint& w,
                       uint3 at [[thread_position_in_grid]]) {
  float here = volume.read(at).x;
  float next = here;
  if (BUG || at.z + 1 < volume.get_depth()) {
    next = volume.read(uint3(at.xy, at.z + 1)).x;  // bug: texture-bounds
  }
  y[(at.z * w + at.y) * w + at.x] = next - here;
}
