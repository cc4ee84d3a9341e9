// The column pass of a blur reads rows that other threads of the group have only just written.
// tune: BUG = 1, 0
// value: w = 16
// texture: image r32float (w, w) uniform
// texture: rows r32float (w, w) zeros inout
// texture: out r32float (w, w) output
// dispatch: blur threadgroups=(1) threads=(w, w)
#include <metal_stdlib>
using namespace metal;

kernel void blur(texture2d<float, access::read> image, texture2d<float, access::read_write> rows,
                 texture2d<float, access::write> out, uint2 at [[thread_position_in_threadgroup]]) {
  uint2 right = uint2(min(at.x + 1, 15u), at.y), down = uint2(at.x, min(at.y + 1, 15u));
  rows.write(0.5f * (image.read(at) + image.read(right)), at);
  threadgroup_barrier(BUG ? mem_flags::mem_threadgroup : mem_flags::mem_texture);
  if (!BUG) rows.fence();
  out.write(0.5f * (rows.read(at) + rows.read(down)), at);  // bug: race
}
