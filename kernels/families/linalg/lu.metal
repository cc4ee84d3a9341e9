// LU factors with partial pivoting of a batch of matrices, a threadgroup each, both in one matrix: U,
// and L below it without its diagonal of ones; PANEL columns at a time. In a panel a thread has a row,
// in registers: threads find the largest element of a column, the first of equals, and exchange rows
// through threadgroup memory. Then a thread has one of the other columns: it exchanges the same rows
// there, solves the panel's triangle, and subtracts the products with the panel from the rows below,
// which it reads and writes once for PANEL columns.
// dispatch: lu  threadgroups=(batch)  threads=(max(64, 32 * ceil_div(n, 32)))
// tune: PANEL = 8, 4
// defaults: cpu PANEL = 4
// dtypes: float32
// limits: n <= 448
#include "metalbench/inlined.h"
#include <metal_stdlib>
using namespace metal;

constant constexpr uint MOST = 448;  // rows, and threads

struct Memory {
  float magnitudes[MOST / 32];  // the largest of each SIMD-group
  uint rows[MOST / 32];         // where it is
  float pivot_row[PANEL];
  float target_row[PANEL];  // what the pivot's row takes the place of
  uint pivots[PANEL];
  float panel[MOST][PANEL];
};

// The row with the largest magnitude, the first of equals, in all threads.
INLINED static uint find_largest(float magnitude, uint row, threadgroup Memory& memory, uint lane,
                                 uint simdgroup, uint simdgroups) {
  const float largest = simd_max(magnitude);
  const uint first = simd_min(magnitude == largest ? row : UINT_MAX);
  if (lane == 0) {
    memory.magnitudes[simdgroup] = largest;
    memory.rows[simdgroup] = first;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const uint own = min(lane, simdgroups - 1);
  const float found = memory.magnitudes[own];
  const uint at = memory.rows[own];
  return simd_min(found == simd_max(found) ? at : UINT_MAX);
}

// Eliminates column Column of the panel from row `row`, which is at or below `target`, that of the
// diagonal. Threads with `row` UINT_MAX have none.
template <uint Column>
INLINED static void eliminate(thread float (&values)[PANEL], threadgroup Memory& memory, uint row,
                              uint target, uint lane, uint simdgroup, uint simdgroups) {
  const bool is_below = row != UINT_MAX && row >= target;
  const float magnitude = is_below ? fabs(values[Column]) : -1.0f;
  const uint pivot = find_largest(magnitude, row, memory, lane, simdgroup, simdgroups);
  UNROLLED
  for (uint i = 0; i < PANEL; ++i) {
    if (row == pivot) {
      // check: allow instruction-footprint each column of a panel has separate instructions
      memory.pivot_row[i] = values[i];
    }
    if (row == target) {
      memory.target_row[i] = values[i];
    }
  }
  if (row == target) {
    memory.pivots[Column] = pivot;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  UNROLLED
  for (uint i = 0; i < PANEL; ++i) {
    const float from_pivot = memory.pivot_row[i], from_target = memory.target_row[i];
    values[i] = row == target ? from_pivot : (row == pivot ? from_target : values[i]);
  }
  const float divisor = memory.pivot_row[Column];
  if (is_below && row > target && divisor != 0.0f) {
    values[Column] /= divisor;
    UNROLLED
    for (uint i = Column + 1; i < PANEL; ++i) {
      values[i] = fma(-values[Column], memory.pivot_row[i], values[i]);
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
}

template <uint Column>
struct Columns {
  INLINED static void eliminate_all(thread float (&values)[PANEL], threadgroup Memory& memory,
                                    uint row, uint start, uint width, uint lane, uint simdgroup,
                                    uint simdgroups) {
    if (Column < width) {
      eliminate<Column>(values, memory, row, start + Column, lane, simdgroup, simdgroups);
    }
    Columns<Column + 1>::eliminate_all(values, memory, row, start, width, lane, simdgroup,
                                       simdgroups);
  }
};
template <>
struct Columns<PANEL> {
  INLINED static void eliminate_all(thread float (&)[PANEL], threadgroup Memory&, uint, uint, uint,
                                    uint, uint, uint) {}
};

// Exchanges the panel's rows in another column, and right of the panel subtracts the products.
INLINED static void update(device float* column, uint n, uint start, uint width, bool is_right,
                           threadgroup const Memory& memory) {
  for (uint c = 0; c < width; ++c) {
    const uint target = (start + c) * n, pivot = memory.pivots[c] * n;
    const float value = column[target];
    column[target] = column[pivot];
    column[pivot] = value;
  }
  if (!is_right) {
    return;
  }
  float upper[PANEL];
  UNROLLED
  for (uint s = 0; s < PANEL; ++s) {
    upper[s] = column[(start + s) * n];
    UNROLLED
    for (uint r = 0; r < s; ++r) {
      upper[s] = fma(-memory.panel[start + s][r], upper[r], upper[s]);
    }
    column[(start + s) * n] = upper[s];
  }
  for (uint row = start + PANEL; row < n; ++row) {
    float value = column[row * n];
    UNROLLED
    for (uint s = 0; s < PANEL; ++s) {
      value = fma(-memory.panel[row][s], upper[s], value);
    }
    column[row * n] = value;
  }
}

[[kernel, max_total_threads_per_threadgroup(448)]] void lu(
    device const float* a, device float* y, device uint* pivots, constant uint& n,
    uint group [[threadgroup_position_in_grid]], uint threads [[threads_per_threadgroup]],
    uint thread_index [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup Memory memory;
  a += ulong(group) * n * n;
  y += ulong(group) * n * n;
  for (uint i = thread_index; i < n * n; i += threads) {
    y[i] = a[i];
  }
  for (uint start = 0; start < n; start += PANEL) {
    const uint width = min(uint(PANEL), n - start), count = (n - start) * PANEL;
    threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    for (uint i = thread_index; i < count; i += threads) {
      const uint row = start + i / PANEL, c = i % PANEL;
      memory.panel[row][c] = c < width ? y[row * n + start + c] : 0.0f;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const uint row = thread_index >= start && thread_index < n ? thread_index : UINT_MAX;
    float values[PANEL];
    UNROLLED
    for (uint i = 0; i < PANEL; ++i) {
      values[i] = memory.panel[min(row, n - 1)][i];
    }
    Columns<0>::eliminate_all(values, memory, row, start, width, lane, simdgroup, threads / 32);
    if (row != UINT_MAX) {
      UNROLLED
      for (uint i = 0; i < PANEL; ++i) {
        memory.panel[row][i] = values[i];
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = thread_index; i < count; i += threads) {
      const uint to = start + i / PANEL, c = i % PANEL;
      if (c < width) {
        y[to * n + start + c] = memory.panel[to][c];
      }
    }
    if (thread_index < width) {
      pivots[group * n + start + thread_index] = memory.pivots[thread_index];
    }
    if (thread_index < n && (thread_index < start || thread_index >= start + width)) {
      update(y + thread_index, n, start, width, thread_index >= start, memory);
    }
  }
}
