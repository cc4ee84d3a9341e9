// Cross entropy per row: logsumexp(row) - row[target], in one pass over the logits.
// One threadgroup per row. Every thread keeps a running maximum and the sum of exponentials
// relative to it, rescaled when the maximum rises; lanes and SIMD-groups are combined in the same
// way. Two SIMD-group functions and one barrier per row; nothing but the loss is written.
// dispatch: cross_entropy_loss  threadgroups=(rows)  threads=(TG)
// tune: TG = 128, 32, 64, 256, 512
#include <metal_stdlib>
using namespace metal;

// Four columns. Rows are aligned for vector loads only if cols is a multiple of four. What lies
// beyond the row takes no part in maximum and sum.
static float4 load(device const float* row, uint column, uint cols) {
  if (column + 4 <= cols) {
    if (cols % 4 == 0) {
      return *(device const float4*)(row + column);
    }
    return float4(row[column], row[column + 1], row[column + 2], row[column + 3]);
  }
  float4 v = -INFINITY;
  for (uint i = 0; i < 3; ++i) {
    if (column + i < cols) {
      v[i] = row[column + i];
    }
  }
  return v;
}

[[kernel]] void cross_entropy_loss(device const float* logits, device const uint* target,
                                   device float* loss, constant uint& cols,
                                   uint row [[threadgroup_position_in_grid]],
                                   uint thread_index [[thread_index_in_threadgroup]],
                                   uint lane [[thread_index_in_simdgroup]],
                                   uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float2 partial[TG / 32];
  device const float* from = logits + ulong(row) * cols;

  // A finite lowest value, so that exp(v - peak) of a masked (-inf) logit is 0 and never NaN.
  float peak = -FLT_MAX;
  float sum = 0.0f;
  for (uint column = 4 * thread_index; column < cols; column += 4 * TG) {
    const float4 v = load(from, column, cols);
    const float higher = max(peak, max(max(v.x, v.y), max(v.z, v.w)));
    const float4 e = exp(v - higher);
    sum = sum * exp(peak - higher) + ((e.x + e.y) + (e.z + e.w));
    peak = higher;
  }
  const float simd_peak = simd_max(peak);
  const float simd_total = simd_sum(sum * exp(peak - simd_peak));
  if (lane == 0) {
    partial[simdgroup] = float2(simd_peak, simd_total);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (thread_index == 0) {
    float row_peak = partial[0].x;
    for (uint i = 1; i < TG / 32; ++i) {
      row_peak = max(row_peak, partial[i].x);
    }
    float row_sum = 0.0f;
    for (uint i = 0; i < TG / 32; ++i) {
      row_sum += partial[i].y * exp(partial[i].x - row_peak);
    }
    loss[row] = precise::log(row_sum) + (row_peak - from[target[row]]);
  }
}
