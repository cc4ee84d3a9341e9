// Reductions over the middle of three axes, (batch, rows, cols), whose columns are far apart: a
// threadgroup has a strip of 4 Quads columns of one matrix, wide enough for whole cache lines, and
// Down threads down it; what they find is joined through threadgroup memory, always in the same
// order. Needs `threadgroups=(ceil_div(ceil_div(cols, 4), Quads), batch)  threads=(Quads, Down)`.
#pragma once
#include "metalbench/quads.h"

namespace metalbench {

// Four columns, the first of which there is; where rows are `Whole` quads the others are, too.
template <bool Whole, typename T>
inline float4 quad_of(device const T* row, uint column, uint cols) {
  return Whole ? quad_at(row + column, 0) : load_quad(row, column, cols);
}

// Every Step-th row of four columns, from the first on: `op` has first(), join(a, b) and
// finish(v, count), as those of pool.h. Four rows at a time are on their way together.
template <uint Step, bool Whole, typename Op, typename T>
inline float4 joined_rows(Op op, device const T* matrix, uint first, uint rows, uint column,
                          uint cols) {
  float4 result = op.first();
  uint row = first;
  for (; row + 3 * Step < rows; row += 4 * Step) {
    float4 four[4];
    UNROLLED
    for (uint u = 0; u < 4; ++u) {
      four[u] = quad_of<Whole>(matrix + ulong(row + u * Step) * cols, column, cols);
    }
    UNROLLED
    for (uint u = 0; u < 4; ++u) {
      result = op.join(result, four[u]);
    }
  }
  for (; row < rows; row += Step) {
    result = op.join(result, quad_of<Whole>(matrix + ulong(row) * cols, column, cols));
  }
  return result;
}

// Of a matrix of any width.
template <uint Step, typename Op, typename T>
inline float4 joined_rows(Op op, device const T* matrix, uint first, uint rows, uint column,
                          uint cols) {
  return cols % 4 == 0 ? joined_rows<Step, true>(op, matrix, first, rows, column, cols)
                       : joined_rows<Step, false>(op, matrix, first, rows, column, cols);
}

template <uint Quads, uint Down, typename Op, typename T>
inline void reduce_columns(Op op, device const T* x, device T* y, uint rows, uint cols, uint2 group,
                           uint2 thread_position, threadgroup float4 (&partial)[Down][Quads]) {
  const uint column = 4 * (group.x * Quads + thread_position.x);
  device const T* matrix = x + ulong(group.y) * rows * cols;
  float4 result = op.first();
  if (column < cols) {
    result = joined_rows<Down>(op, matrix, thread_position.y, rows, column, cols);
  }
  partial[thread_position.y][thread_position.x] = result;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (thread_position.y == 0 && column < cols) {
    for (uint i = 1; i < Down; ++i) {
      result = op.join(result, partial[i][thread_position.x]);
    }
    store_quad(y + ulong(group.y) * cols, column, cols, op.finish(result, rows));
  }
}

template <uint Quads, uint Down>
struct LargestOfColumns {
  float4 value[Down][Quads];
  uint4 row[Down][Quads];
};

// Where sign times the element is largest, of equal ones the first. Every thread meets its rows in
// ascending order. Where all are -inf the first row wins; the first NaN is better than all numbers.
template <uint Quads, uint Down, typename T>
inline void arg_of_columns(float sign, device const T* x, device uint* y, uint rows, uint cols,
                           uint2 group, uint2 thread_position,
                           threadgroup LargestOfColumns<Quads, Down>& partial) {
  const uint column = 4 * (group.x * Quads + thread_position.x);
  device const T* matrix = x + ulong(group.y) * rows * cols;
  float4 value = -INFINITY;
  uint4 index = UINT_MAX;
  if (column < cols) {
    for (uint row = thread_position.y; row < rows; row += Down) {
      const float4 v = sign * load_quad(matrix + ulong(row) * cols, column, cols);
      // Not at or below: NaN wins, and nothing wins against NaN.
      const bool4 wins = !(v <= value) && value == value;
      value = select(value, v, wins);
      index = select(index, uint4(row), wins);
    }
  }
  partial.value[thread_position.y][thread_position.x] = value;
  partial.row[thread_position.y][thread_position.x] = index;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (thread_position.y == 0 && column < cols) {
    for (uint i = 1; i < Down; ++i) {
      const float4 v = partial.value[i][thread_position.x];
      const uint4 at = partial.row[i][thread_position.x];
      const bool4 is_nan = value != value;
      const bool4 is_better = !(v <= value) && !is_nan;
      const bool4 is_equal = v == value || (v != v && is_nan);
      const bool4 wins = is_better || (is_equal && at < index);
      value = select(value, v, wins);
      index = select(index, at, wins);
    }
    device uint* to = y + ulong(group.y) * cols;
    UNROLLED
    for (uint i = 0; i < 4; ++i) {
      if (column + i < cols) {
        to[column + i] = index[i] == UINT_MAX ? 0 : index[i];
      }
    }
  }
}

}  // namespace metalbench
