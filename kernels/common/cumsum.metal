// Cumulative sum along each row: one threadgroup per row, in blocks of four columns a thread.
// A block is scanned in three levels: four columns in a thread, 32 lanes with a SIMD-group prefix
// sum, and the few SIMD-group totals, which every thread adds itself. The carry into the next block
// needs no communication, and two sets of totals in turn make one barrier per block enough.
// dispatch: cumsum  threadgroups=(rows)  threads=(TG)
// tune: TG = 128, 64, 256, 512
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

[[kernel]] void cumsum(device const float* x, device float* y, constant uint& cols,
                       uint row [[threadgroup_position_in_grid]],
                       uint thread_index [[thread_index_in_threadgroup]],
                       uint lane [[thread_index_in_simdgroup]],
                       uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float totals[2][TG / 32];
  device const float* from = x + ulong(row) * cols;
  device float* to = y + ulong(row) * cols;

  float carry = 0.0f;
  uint set = 0;
  for (uint block = 0; block < cols; block += 4 * TG) {
    const uint column = block + 4 * thread_index;
    float4 v = load(from, column, cols);
    v.y += v.x;
    v.w += v.z;
    v.z += v.y;
    v.w += v.y;
    const float before = simd_prefix_exclusive_sum(v.w);
    if (lane == 31) {
      totals[set][simdgroup] = before + v.w;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float offset = 0.0f;
    float block_total = 0.0f;
    for (uint i = 0; i < TG / 32; ++i) {
      offset = i == simdgroup ? block_total : offset;
      block_total += totals[set][i];
    }
    store(to, column, cols, v + ((carry + offset) + before));
    carry += block_total;
    set ^= 1;
  }
}
