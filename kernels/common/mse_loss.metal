// Mean squared error of two arrays, a single number, in two dispatches without atomics.
// The first adds squared differences in a fixed pattern: GROUPS threadgroups stride over the arrays
// in quads, then reduce by SIMD-group and by threadgroup. The second adds the GROUPS partial sums
// in the same way. Every sum is a tree of fixed shape, so the result is accurate and always the
// same.
// dispatch: sum_squares  threadgroups=(GROUPS)  threads=(TG)
// dispatch: finish  threadgroups=(1)  threads=(GROUPS)
// scratch: partial float32 (GROUPS)
// tune: GROUPS = 64, 128, 256
// tune: TG = 256, 128, 512
#include <metal_stdlib>
using namespace metal;

// The sum over all threads, for the first SIMD-group. `sums` holds one value for each SIMD-group.
static float group_sum(float value, threadgroup float* sums, uint lane, uint simdgroup,
                       uint simdgroups) {
  value = simd_sum(value);
  if (lane == 0) {
    sums[simdgroup] = value;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return simdgroup == 0 ? simd_sum(lane < simdgroups ? sums[lane] : 0.0f) : 0.0f;
}

[[kernel]] void sum_squares(device const float* prediction, device const float* target,
                            device float* partial, constant uint& rows, constant uint& cols,
                            uint group [[threadgroup_position_in_grid]],
                            uint thread_index [[thread_index_in_threadgroup]],
                            uint lane [[thread_index_in_simdgroup]],
                            uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float sums[TG / 32];
  const uint count = rows * cols;
  const uint quads = count / 4;
  const uint first = group * TG + thread_index;
  float4 squares = 0.0f;
  for (uint i = first; i < quads; i += GROUPS * TG) {
    const float4 d = ((device const float4*)prediction)[i] - ((device const float4*)target)[i];
    squares = fma(d, d, squares);
  }
  if (first < count % 4) {
    const float d = prediction[4 * quads + first] - target[4 * quads + first];
    squares.x = fma(d, d, squares.x);
  }
  const float sum = group_sum((squares.x + squares.y) + (squares.z + squares.w), sums, lane,
                              simdgroup, TG / 32);
  if (thread_index == 0) {
    partial[group] = sum;
  }
}

[[kernel]] void finish(device const float* partial, device float* loss, constant uint& rows,
                       constant uint& cols, uint thread_index [[thread_index_in_threadgroup]],
                       uint lane [[thread_index_in_simdgroup]],
                       uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float sums[GROUPS / 32];
  const float sum = group_sum(partial[thread_index], sums, lane, simdgroup, GROUPS / 32);
  if (thread_index == 0) {
    loss[0] = sum / (float(rows) * float(cols));
  }
}
