// Layers are counted from one.
// tune: BUG = 1, 0
// value: w = 4
// value: layers = 3
// texture: stack r32uint (w, w, layers) integers 0 9
// buffer: y uint32 (layers) output
// dispatch: corner threads_in_grid=(layers) threads=(3)
#include <metal_stdlib>
using namespace metal;

kernel void corner(texture2d_array<uint, access::read> stack, device uint* y,
                   uint i [[thread_position_in_grid]]) {
  y[i] = stack.read(uint2(0, 0), BUG ? i + 1 : i).x;  // bug: texture-bounds
}
