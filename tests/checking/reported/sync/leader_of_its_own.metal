// Every lane names the leader that it has found for itself.
// tune: BUG = 1, 0
// value: n = 64
// buffer: key uint32 (n) integers 0 32
// buffer: y uint32 (n) output
// dispatch: follow threadgroups=(2) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void follow(device const uint* key, device uint* y, uint i [[thread_position_in_grid]]) {
  ushort leader = ushort(key[i] % 32);
  if (BUG) y[i] = simd_broadcast(key[i], leader);  // bug: simdgroup
  else y[i] = simd_shuffle(key[i], leader);
}
