// One step of n bodies that attract each other: velocities take in the accelerations, then positions
// the new velocities (symplectic Euler). A thread has a body. All bodies pass through threadgroup
// memory, TG at a time, from which all lanes read the same one, so that device memory is read once
// for TG bodies. A body does not attract itself: its distance is zero.
// dispatch: n_body  threadgroups=(ceil_div(n, TG))  threads=(TG)
// tune: TG = 128, 64, 256
// dtypes: float32
// math: fast
#include <metal_stdlib>
using namespace metal;

[[kernel]] void n_body(device const packed_float3* position, device const packed_float3* velocity,
                       device const float* mass, device packed_float3* y_position,
                       device packed_float3* y_velocity, constant uint& n, constant float& step,
                       constant float& softening, uint body [[thread_position_in_grid]],
                       uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup float4 tile[TG];  // positions and masses
  const float3 own = position[min(body, n - 1)];
  const float least = softening * softening;
  float3 acceleration = 0.0f;
  for (uint start = 0; start < n; start += TG) {
    const uint other = start + thread_index;
    const float4 loaded = float4(float3(position[min(other, n - 1)]), mass[min(other, n - 1)]);
    // Bodies past the end have no mass.
    tile[thread_index] = other < n ? loaded : float4(loaded.xyz, 0.0f);
    threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma clang loop unroll_count(8)
    for (uint i = 0; i < TG; ++i) {
      const float3 away = tile[i].xyz - own;
      const float inverse = rsqrt(dot(away, away) + least);
      acceleration += tile[i].w * inverse * inverse * inverse * away;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (body < n) {
    const float3 changed = float3(velocity[body]) + step * acceleration;
    y_velocity[body] = changed;
    y_position[body] = own + step * changed;
  }
}
