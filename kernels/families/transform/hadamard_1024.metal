// Hadamard transform of a row of 1024, one threadgroup a row: of the ten steps two are within a
// thread's four elements, five are shuffles among the lanes, and the last three, between
// SIMD-groups, are one exchange through threadgroup memory: each thread adds up, with their signs,
// the eight quads that meet in its own. One barrier, and the row is read and written once.
// dispatch: hadamard  threadgroups=(rows)  threads=(256)
// dtypes: float32, float16, bfloat16
// limits: cols == 1024
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

constant constexpr uint COLS = 1024;
constant constexpr uint SIMDGROUPS = COLS / 128;

[[kernel]] void hadamard(device const DTYPE* x, device DTYPE* y,
                         uint row [[threadgroup_position_in_grid]],
                         uint thread_index [[thread_index_in_threadgroup]],
                         uint lane [[thread_index_in_simdgroup]],
                         uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float4 parts[COLS / 4];
  float4 v = quad_at(x + ulong(row) * COLS, thread_index);
  v = float4(v.x + v.y, v.x - v.y, v.z + v.w, v.z - v.w);
  v = float4(v.xy + v.zw, v.xy - v.zw);
  for (uint step = 1; step < 32; step *= 2) {
    const float4 other = simd_shuffle_xor(v, ushort(step));
    v = other + select(v, -v, bool4((lane & step) != 0));
  }
  parts[thread_index] = v;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float4 sum = 0.0f;
  for (uint i = 0; i < SIMDGROUPS; ++i) {
    const float4 part = parts[i * 32 + lane];
    sum += popcount(i & simdgroup) % 2 ? -part : part;
  }
  put_quad(y + ulong(row) * COLS, thread_index, sum * rsqrt(float(COLS)));
}
