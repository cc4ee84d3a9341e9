// Residual addition and layer norm in one pass, y = layer_norm(x + residual): one threadgroup per
// row. The sum is never stored: each thread keeps KEEP quads of it in registers (what a longer row
// has beyond is added again from the cache), so the variance is taken in a second pass over
// registers, from deviations. The mean of those deviations, zero but for rounding, corrects mean
// and variance: rows far from zero lose nothing.
// dispatch: add_norm  threadgroups=(rows)  threads=(TG)
// tune: TG = 64, 32, 128, 256, 512
// tune: KEEP = 4, 1, 2, 8
#include <metal_stdlib>
using namespace metal;

// Four columns of the sum; zero beyond the row. Rows are aligned for vector loads only if cols is a
// multiple of four.
static float4 load(device const float* row, device const float* residual, uint column, uint cols) {
  if (column + 4 <= cols && cols % 4 == 0) {
    return *(device const float4*)(row + column) + *(device const float4*)(residual + column);
  }
  float4 v = 0.0f;
  for (uint i = 0; i < 4; ++i) {
    if (column + i < cols) {
      v[i] = row[column + i] + residual[column + i];
    }
  }
  return v;
}

static void store(device float* row, uint column, uint cols, float4 v) {
  if (cols % 4 == 0 && column < cols) {
    *(device float4*)(row + column) = v;
    return;
  }
  for (uint i = 0; i < 4; ++i) {
    if (column + i < cols) {
      row[column + i] = v[i];
    }
  }
}

// v - mean, but zero beyond the row.
static float4 deviation(float4 v, float mean, uint column, uint cols) {
  return select(float4(0.0f), v - mean, column + uint4(0, 1, 2, 3) < cols);
}

static float total(float4 v) { return (v.x + v.y) + (v.z + v.w); }

[[kernel]] void add_norm(device const float* x, device const float* residual, device float* y,
                         constant uint& cols, constant float& eps,
                         uint row [[threadgroup_position_in_grid]],
                         uint thread_index [[thread_index_in_threadgroup]],
                         uint lane [[thread_index_in_simdgroup]],
                         uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float sums[TG / 32];
  threadgroup float2 moments[TG / 32];
  device const float* from = x + ulong(row) * cols;
  device const float* added = residual + ulong(row) * cols;
  device float* to = y + ulong(row) * cols;
  const uint beyond = 4 * (thread_index + KEEP * TG);

  float4 kept[KEEP];
  float4 sum = 0.0f;
  for (uint i = 0; i < KEEP; ++i) {
    kept[i] = load(from, added, 4 * (thread_index + i * TG), cols);
    sum += kept[i];
  }
  for (uint column = beyond; column < cols; column += 4 * TG) {
    sum += load(from, added, column, cols);
  }
  const float simd_total = simd_sum(total(sum));
  if (lane == 0) {
    sums[simdgroup] = simd_total;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float mean = 0.0f;
  for (uint i = 0; i < TG / 32; ++i) {
    mean += sums[i];
  }
  mean /= float(cols);

  float4 first = 0.0f;
  float4 second = 0.0f;
  for (uint i = 0; i < KEEP; ++i) {
    kept[i] = deviation(kept[i], mean, 4 * (thread_index + i * TG), cols);
    first += kept[i];
    second += kept[i] * kept[i];
  }
  for (uint column = beyond; column < cols; column += 4 * TG) {
    const float4 d = deviation(load(from, added, column, cols), mean, column, cols);
    first += d;
    second += d * d;
  }
  const float simd_first = simd_sum(total(first));
  const float simd_second = simd_sum(total(second));
  if (lane == 0) {
    moments[simdgroup] = float2(simd_first, simd_second);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float2 moment = 0.0f;
  for (uint i = 0; i < TG / 32; ++i) {
    moment += moments[i];
  }
  moment /= float(cols);

  const float scale = precise::rsqrt(moment.y - moment.x * moment.x + eps);
  for (uint i = 0; i < KEEP; ++i) {
    store(to, 4 * (thread_index + i * TG), cols, (kept[i] - moment.x) * scale);
  }
  for (uint column = beyond; column < cols; column += 4 * TG) {
    store(to, column, cols, ((load(from, added, column, cols) - mean) - moment.x) * scale);
  }
}
