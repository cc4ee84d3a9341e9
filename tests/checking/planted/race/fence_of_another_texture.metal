// Two textures are written and read again, and one of them is fenced twice.
// tune: BUG = 1, 0
// value: w = 16
// texture: a r32float (w) uniform inout
// texture: b r32uint (w) zeros inout
// dispatch: k threads_in_grid=(w) threads=(w)
#include <metal_stdlib>
using namespace metal;

kernel void k(texture1d<float, access::read_write> a, texture1d<uint, access::read_write> b,
              uint i [[thread_position_in_grid]]) {
  a.write(float4(i), i);
  b.write(uint4(i), i);
  a.fence();
  if (BUG) a.fence();
  else b.fence();
  float sum = a.read(i).x;
  sum += b.read(i).x;  // bug: texture-fence
  a.write(float4(sum), i);
}
