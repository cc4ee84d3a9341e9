// A ray that hits a plane gets no normal.
// tune: BUG = 1, 0
// value: n = 64
// buffer: rays float32 (n, 2) normal
// buffer: y float32 (n) output
// dispatch: shade threads_in_grid=(n) threads=(64)
#include <metal_stdlib>
using namespace metal;

struct Hit {
  float distance;
  float3 normal;
};

Hit nearest(float2 ray) {
  Hit hit;
  hit.distance = INFINITY;
  if (ray.x > 0.2f) {
    hit.distance = 1 / ray.x;
    hit.normal = normalize(float3(ray, 1));
  } else {
    hit.distance = 2;
    if (!BUG) hit.normal = float3(0, 1, 0);
  }
  return hit;
}

kernel void shade(device const float* rays, device float* y, uint i [[thread_position_in_grid]]) {
  const Hit hit = nearest(float2(rays[2 * i], rays[2 * i + 1]));
  y[i] = hit.normal.y / hit.distance;  // bug: uninitialised
}
