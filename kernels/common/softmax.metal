// Row softmax: one threadgroup per row, the row read once.
// Each thread keeps KEEP quads of its row in registers; a row longer than that is finished with an
// online softmax and its rest is read again for the output. Maximum and sum are reduced together,
// the sums rescaled to the common maximum: two SIMD-group functions and one barrier per row.
// dispatch: softmax  threadgroups=(rows)  threads=(TG)
// tune: TG = 64, 32, 128, 256, 512
// tune: KEEP = 4, 1, 2, 8
// dtypes: float32, float16, bfloat16
#include <metal_stdlib>
using namespace metal;

using quad = vec<DTYPE, 4>;

// Four columns as float. Rows are aligned for vector loads only if cols is a multiple of four.
// What lies beyond the row takes no part in maximum and sum.
static float4 load(device const DTYPE* row, uint column, uint cols) {
  if (column + 4 <= cols) {
    if (cols % 4 == 0) {
      return float4(*(device const quad*)(row + column));
    }
    return float4(row[column], row[column + 1], row[column + 2], row[column + 3]);
  }
  float4 v = -INFINITY;
  for (uint i = 0; i < 3; ++i) {
    if (column + i < cols) {
      v[i] = float(row[column + i]);
    }
  }
  return v;
}

static void store(device DTYPE* row, uint column, uint cols, float4 v) {
  if (cols % 4 == 0 && column < cols) {
    *(device quad*)(row + column) = quad(v);
    return;
  }
  for (uint i = 0; i < 4; ++i) {
    if (column + i < cols) {
      row[column + i] = DTYPE(v[i]);
    }
  }
}

static float largest(float4 v) { return max(max(v.x, v.y), max(v.z, v.w)); }

static float total(float4 v) { return (v.x + v.y) + (v.z + v.w); }

[[kernel]] void softmax(device const DTYPE* x, device DTYPE* y, constant uint& cols,
                        uint row [[threadgroup_position_in_grid]],
                        uint thread_index [[thread_index_in_threadgroup]],
                        uint lane [[thread_index_in_simdgroup]],
                        uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float2 partial[TG / 32];
  device const DTYPE* from = x + ulong(row) * cols;
  device DTYPE* to = y + ulong(row) * cols;

  // A finite lowest value, so that exp(v - peak) of a masked (-inf) element is 0 and never NaN.
  float peak = -FLT_MAX;
  float4 kept[KEEP];
  for (uint i = 0; i < KEEP; ++i) {
    kept[i] = load(from, 4 * (thread_index + i * TG), cols);
    peak = max(peak, largest(kept[i]));
  }
  float4 sums = 0.0f;
  for (uint i = 0; i < KEEP; ++i) {
    if (4 * i * TG < cols) {
      kept[i] = exp(kept[i] - peak);
      sums += kept[i];
    }
  }
  const float kept_peak = peak;
  float sum = total(sums);
  for (uint column = 4 * (thread_index + KEEP * TG); column < cols; column += 4 * TG) {
    const float4 v = load(from, column, cols);
    const float higher = max(peak, largest(v));
    sum = sum * exp(peak - higher) + total(exp(v - higher));
    peak = higher;
  }

  const float simd_peak = simd_max(peak);
  sum = simd_sum(sum * exp(peak - simd_peak));
  if (lane == 0) {
    partial[simdgroup] = float2(simd_peak, sum);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float row_peak = partial[0].x;
  for (uint i = 1; i < TG / 32; ++i) {
    row_peak = max(row_peak, partial[i].x);
  }
  float row_sum = 0.0f;
  for (uint i = 0; i < TG / 32; ++i) {
    row_sum += partial[i].y * exp(partial[i].x - row_peak);
  }

  const float inverse = 1.0f / row_sum;
  const float scale = exp(kept_peak - row_peak) * inverse;
  for (uint i = 0; i < KEEP; ++i) {
    store(to, 4 * (thread_index + i * TG), cols, kept[i] * scale);
  }
  for (uint column = 4 * (thread_index + KEEP * TG); column < cols; column += 4 * TG) {
    store(to, column, cols, exp(load(from, column, cols) - row_peak) * inverse);
  }
}
