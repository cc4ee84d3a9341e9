// Row root-mean-square norm: one threadgroup per row, the row read once.
// Each thread keeps KEEP quads of its row in registers (the rest of a longer row is read again from
// the cache). One reduction: a SIMD-group sum, a barrier, and every thread adds the few partial
// sums itself, in the same order, which is cheaper than a second round.
// dispatch: rms_norm  threadgroups=(rows)  threads=(TG)
// tune: TG = 64, 32, 128, 256, 512
// tune: KEEP = 4, 1, 2, 8
#include <metal_stdlib>
using namespace metal;

// Four columns; zero beyond the row. Rows are aligned for vector loads only if cols is a multiple
// of four.
static float4 load(device const float* row, uint column, uint cols) {
  if (column + 4 <= cols) {
    if (cols % 4 == 0) {
      return *(device const float4*)(row + column);
    }
    return float4(row[column], row[column + 1], row[column + 2], row[column + 3]);
  }
  float4 v = 0.0f;
  for (uint i = 0; i < 3; ++i) {
    if (column + i < cols) {
      v[i] = row[column + i];
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

[[kernel]] void rms_norm(device const float* x, device float* y, constant uint& cols,
                         constant float& eps, uint row [[threadgroup_position_in_grid]],
                         uint thread_index [[thread_index_in_threadgroup]],
                         uint lane [[thread_index_in_simdgroup]],
                         uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float partial[TG / 32];
  device const float* from = x + ulong(row) * cols;
  device float* to = y + ulong(row) * cols;
  const uint beyond = 4 * (thread_index + KEEP * TG);

  float4 kept[KEEP];
  float4 squares = 0.0f;
  for (uint i = 0; i < KEEP; ++i) {
    kept[i] = load(from, 4 * (thread_index + i * TG), cols);
    squares += kept[i] * kept[i];
  }
  for (uint column = beyond; column < cols; column += 4 * TG) {
    const float4 v = load(from, column, cols);
    squares += v * v;
  }
  const float simd_total = simd_sum((squares.x + squares.y) + (squares.z + squares.w));
  if (lane == 0) {
    partial[simdgroup] = simd_total;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float sum = 0.0f;
  for (uint i = 0; i < TG / 32; ++i) {
    sum += partial[i];
  }

  const float scale = precise::rsqrt(sum / float(cols) + eps);
  for (uint i = 0; i < KEEP; ++i) {
    store(to, 4 * (thread_index + i * TG), cols, kept[i] * scale);
  }
  for (uint column = beyond; column < cols; column += 4 * TG) {
    store(to, column, cols, load(from, column, cols) * scale);
  }
}
