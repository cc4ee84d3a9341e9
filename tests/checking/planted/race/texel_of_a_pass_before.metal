// Passes over a texture by threads that keep to their own texels, with barriers for their other memory alone.
// tune: BUG = 1, 0
// value: w = 32
// texture: t rgba8unorm (w, w) uniform inout
// dispatch: smooth threadgroups=(w) threads=(w)
#include <metal_stdlib>
using namespace metal;

kernel void smooth(texture2d<half, access::read_write> t, uint row [[threadgroup_position_in_grid]],
                   uint i [[thread_position_in_threadgroup]]) {
  threadgroup half kept[32];
  for (uint pass = 0; pass < 2; pass++) {
    kept[i] = t.read(uint2(i, row)).x;  // bug: texture-fence
    threadgroup_barrier(mem_flags::mem_threadgroup);
    t.write((kept[i] + kept[31 - i]) / 2, uint2(i, row));
    threadgroup_barrier(BUG ? mem_flags::mem_threadgroup
                            : mem_flags::mem_threadgroup | mem_flags::mem_texture);
  }
}
