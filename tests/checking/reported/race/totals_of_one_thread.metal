// One thread adds up the counts and everybody reads the total at once, as reported of ORNL/HeCBench#254.
// tune: BUG = 1, 0
// value: cells = 512
// buffer: triangles uint32 (cells) integers 0 6
// buffer: first uint32 (cells) output
// dispatch: place_triangles threadgroups=(ceil_div(cells, 128)) threads=(128)
#include <metal_stdlib>
using namespace metal;

kernel void place_triangles(device const uint* triangles, device uint* first,
                            uint i [[thread_position_in_grid]],
                            uint t [[thread_position_in_threadgroup]],
                            uint lane [[thread_index_in_simdgroup]],
                            uint simd [[simdgroup_index_in_threadgroup]]) {
  threadgroup uint sums[32];
  uint mine = triangles[i];
  uint before = simd_prefix_exclusive_sum(mine);
  if (lane == 31) sums[simd] = before + mine;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t == 127) {
    uint all = 0;
    for (uint s = 0; s < 4; ++s) {
      uint here = sums[s];
      sums[s] = all;
      all += here;
    }
    sums[31] = all;  // bug: race
  }
  if (!BUG) threadgroup_barrier(mem_flags::mem_threadgroup);
  first[i] = sums[31] * 1000 + sums[simd] + before;
}
