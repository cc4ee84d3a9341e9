// A body's contacts end with a pair that stands for none, and it is added up, too, as reported of newton-physics/newton#1385.
// tune: BUG = 1, 0
// value: contacts = 12
// value: bodies = 6
// buffer: pair int32 (contacts, 2) integers 0 7
// buffer: force float32 (contacts) normal
// buffer: push float32 (bodies) uniform
// buffer: net float32 (contacts) output
// dispatch: net_force threads_in_grid=(contacts) threads=(12)
#include <metal_stdlib>
using namespace metal;

kernel void net_force(device const int2* pair, device const float* force, device const float* push,
                      device float* net, constant uint& bodies,
                      uint i [[thread_position_in_grid]]) {
  int2 p = pair[i];
  float sum = force[i];
  if (BUG || p.x < int(bodies)) sum += push[p.x];  // bug: out-of-bounds
  if (p.y < int(bodies)) sum -= push[p.y];
  net[i] = sum;
}
