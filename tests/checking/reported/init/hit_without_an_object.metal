// Where a ray hits nothing the distance is set, and the object is not.
// tune: BUG = 1, 0
// value: n = 64
// buffer: x float32 (n) normal
// buffer: where float32 (n) output
// buffer: what uint32 (n) output
// dispatch: trace threads_in_grid=(n) threads=(64)
#include <metal_stdlib>
using namespace metal;

struct Hit {
  float distance;
  uint object;
};

static Hit nearest(float x) {
  Hit hit;
  hit.distance = INFINITY;
  if (!BUG) hit.object = ~0u;
  if (x > 0) {
    hit.distance = x;
    hit.object = uint(x * 10);
  }
  return hit;
}

kernel void trace(device const float* x, device float* where, device uint* what,
                  uint i [[thread_position_in_grid]]) {
  Hit hit = nearest(x[i]);
  where[i] = hit.distance;
  what[i] = hit.object;  // bug: uninitialised
}
