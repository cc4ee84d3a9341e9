// Points are counted where they lie in an image: read, add one, write.
// tune: BUG = 1, 0
// value: n = 128
// value: w = 8
// buffer: place uint32 (n, 2) integers 0 8
// texture: heat r32uint (w, w) zeros inout
// dispatch: count threads_in_grid=(n) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void count(device const uint2* place, texture2d<uint, access::read_write> heat,
                  uint i [[thread_position_in_grid]]) {
  if (BUG) {
    uint before = heat.read(place[i]).x;  // bug: race
    heat.write(uint4(before + 1), place[i]);
  } else {
    heat.atomic_fetch_add(place[i], uint4(1));
  }
}
