// A guard sends home the threads that the author has not thought of, before the barriers, as reported of waybarrios/vllm-mlx#721.
// tune: BUG = 1, 0
// value: heads = 3
// buffer: q float32 (heads, 128) normal
// buffer: score float32 (heads) output
// dispatch: attend threadgroups=(heads) threads=(256)
#include <metal_stdlib>
using namespace metal;

kernel void attend(device const float* q, device float* score,
                   uint head [[threadgroup_position_in_grid]],
                   uint tid [[thread_position_in_threadgroup]],
                   uint lane [[thread_index_in_simdgroup]],
                   uint simd [[simdgroup_index_in_threadgroup]]) {
  threadgroup float parts[4];
  if (BUG && tid >= 128) return;
  float v = tid < 128 ? q[head * 128 + tid] : 0;
  v = simd_sum(v * v);
  if (lane == 0 && simd < 4) parts[simd] = v;
  threadgroup_barrier(mem_flags::mem_threadgroup);  // bug: barrier
  if (tid == 0) score[head] = parts[0] + parts[1] + parts[2] + parts[3];
}
