// A particle's position is advanced by a loop over four components, and it has three.
// tune: BUG = 1, 0
// value: n = 16
// buffer: particles float32 (n, 6) normal inout
// dispatch: advance threads_in_grid=(n) threads=(16)
#include <metal_stdlib>
using namespace metal;

struct Particle {
  float position[3];
  float velocity[3];
};

kernel void advance(device Particle* particles, uint i [[thread_position_in_grid]]) {
  device float* p = particles[i].position;
  device const float* v = particles[i].velocity;
  uint dims = BUG ? 4 : 3;
  for (uint k = 0; k < dims; ++k) {
    float step = k < 3 ? v[k] : 0.0f;
    p[k] += 0.1f * step;  // bug: out-of-bounds
  }
}
