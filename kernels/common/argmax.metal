// Index of the largest element of each row, the first of equals: one threadgroup per row.
// A thread meets its columns in ascending order and keeps the first maximum. Lanes are combined
// with two SIMD-group functions, the maximum and then the smallest index that attains it, and the
// SIMD-groups in the same way by the first thread: the order of execution cannot show.
// dispatch: argmax  threadgroups=(rows)  threads=(TG)
// tune: TG = 32, 64, 128, 256
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

struct Candidate {
  float value;
  uint index;
};

static Candidate better(Candidate a, float value, uint index) {
  const bool wins = value > a.value;
  return Candidate{wins ? value : a.value, wins ? index : a.index};
}

[[kernel]] void argmax(device const DTYPE* x, device uint* y, constant uint& cols,
                       uint row [[threadgroup_position_in_grid]],
                       uint thread_index [[thread_index_in_threadgroup]],
                       uint lane [[thread_index_in_simdgroup]],
                       uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float values[TG / 32];
  threadgroup uint indices[TG / 32];
  device const DTYPE* from = x + ulong(row) * cols;

  // No column yet. Lanes without one, or with nothing above -inf, lose every comparison of indices.
  Candidate best = {-INFINITY, UINT_MAX};
  if (cols % 4 == 0) {
    for (uint column = 4 * thread_index; column < cols; column += 4 * TG) {
      const float4 v = load_quad(from, column, cols);
      best = better(best, v.x, column);
      best = better(best, v.y, column + 1);
      best = better(best, v.z, column + 2);
      best = better(best, v.w, column + 3);
    }
  } else {
    for (uint column = thread_index; column < cols; column += TG) {
      best = better(best, float(from[column]), column);
    }
  }

  const float value = simd_max(best.value);
  const uint index = simd_min(best.value == value ? best.index : UINT_MAX);
  if (lane == 0) {
    values[simdgroup] = value;
    indices[simdgroup] = index;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (thread_index == 0) {
    Candidate winner = {values[0], indices[0]};
    for (uint i = 1; i < TG / 32; ++i) {
      const bool wins =
          values[i] > winner.value || (values[i] == winner.value && indices[i] < winner.index);
      winner = wins ? Candidate{values[i], indices[i]} : winner;
    }
    // A row of nothing but -inf: all are equal, the first wins.
    y[row] = winner.index == UINT_MAX ? 0 : winner.index;
  }
}
