// Solutions of many systems of up to 32 equations, by elimination with partial pivoting: a SIMD-group
// has a system, a lane an equation, whose coefficients are in registers. Rows are not exchanged: a lane
// that was chosen for an unknown is out of the search, and its equation passes to the others by
// shuffles. Each step moves the coefficients that are left by one register, so that all steps have the
// same code and none needs an index. Chosen equations are left in threadgroup memory in their order,
// where substitution goes back through them.
// dispatch: small_solve  threadgroups=(ceil_div(batch, TG / 32))  threads=(TG)
// tune: TG = 64, 32, 96
// defaults: cpu TG = 32
// dtypes: float32
// limits: n <= 32
#include "metalbench/inlined.h"
#include <metal_stdlib>
using namespace metal;

constant constexpr ushort MOST = 32;  // equations
constant constexpr ushort BLOCK = 8;  // coefficients that are left out together

struct Matrix {
  float values[MOST][MOST + 1];
  float right[MOST];
};

// Eliminates the first of `left` unknowns from the equations of lanes that were not chosen before. The
// chosen equation goes to row `step` of the matrix.
INLINED static void eliminate(thread float (&row)[MOST], thread float& right, thread bool& is_chosen,
                              threadgroup Matrix& matrix, ushort step, ushort left, ushort lane) {
  const float magnitude = is_chosen ? -1.0f : fabs(row[0]);
  const bool is_largest = magnitude == simd_max(magnitude);
  const ushort pivot = simd_min(is_largest ? lane : ushort(MOST - 1));
  const float divisor = simd_shuffle(row[0], pivot);
  is_chosen = is_chosen || lane == pivot;
  const float factor = is_chosen ? 0.0f : row[0] / divisor;
  float coefficient = 0.0f;  // of this lane in the chosen equation
  UNROLLED
  for (ushort first = 0; first < MOST; first += BLOCK) {
    if (first < left) {
      UNROLLED
      for (ushort j = first; j < first + BLOCK; ++j) {
        const float chosen = simd_shuffle(row[j], pivot);
        coefficient = lane == j ? chosen : coefficient;
        if (j > 0) {
          // check: allow registers a lane has a row of 32 coefficients
          row[j - 1] = fma(-factor, chosen, row[j]);
        }
      }
    }
  }
  const float side = simd_shuffle(right, pivot);
  right = fma(-factor, side, right);
  if (lane < left) {
    matrix.values[step][step + lane] = coefficient;
  }
  if (lane == 0) {
    matrix.right[step] = side;
  }
}

[[kernel]] void small_solve(device const float* a, device const float* b, device float* y,
                            constant uint& batch, constant uint& n,
                            uint group [[threadgroup_position_in_grid]],
                            ushort lane [[thread_index_in_simdgroup]],
                            ushort simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup Matrix matrices[TG / 32];
  threadgroup Matrix& matrix = matrices[simdgroup];
  const uint system = group * (TG / 32) + simdgroup;
  if (system >= batch) {
    return;
  }
  const bool has_equation = lane < n;
  device const float* from = a + ulong(system) * n * n;
  for (uint i = 0; i < n && has_equation; ++i) {
    matrix.values[i][lane] = from[i * n + lane];
  }
  float right = has_equation ? b[system * n + lane] : 0.0f;
  simdgroup_barrier(mem_flags::mem_threadgroup);
  float row[MOST];
  UNROLLED
  for (ushort j = 0; j < MOST; ++j) {
    row[j] = j < n && has_equation ? matrix.values[lane][j] : 0.0f;
  }
  simdgroup_barrier(mem_flags::mem_threadgroup);
  bool is_chosen = !has_equation;
  for (ushort step = 0; step < n; ++step) {
    eliminate(row, right, is_chosen, matrix, step, ushort(n - step), lane);
  }
  simdgroup_barrier(mem_flags::mem_threadgroup);
  float side = has_equation ? matrix.right[lane] : 0.0f, found = 0.0f;
  for (ushort k = ushort(n); k-- > 0;) {
    const float value = simd_broadcast(side, k) / matrix.values[k][k];
    found = lane == k ? value : found;
    side = fma(-(lane < k ? matrix.values[lane][k] : 0.0f), value, side);
  }
  if (has_equation) {
    y[system * n + lane] = found;
  }
}
