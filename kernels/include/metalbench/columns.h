// Reductions over the middle of three axes, (batch, rows, cols), whose columns are far apart: a
// threadgroup has a strip of 4 Quads columns of one matrix, wide enough for whole cache lines, and
// Down threads down it; what they find is joined through threadgroup memory, always in the same
// order. Needs `threadgroups=(ceil_div(ceil_div(cols, 4), Quads), batch)  threads=(Quads, Down)`.
#pragma once
#include "metalbench/quads.h"

namespace metalbench {

// `op` has first(), join(a, b) and finish(v, count), as those of pool.h.
template <uint Quads, uint Down, typename Op, typename T>
inline void reduce_columns(Op op, device const T* x, device T* y, uint rows, uint cols, uint2 group,
                           uint2 thread_position, threadgroup float4 (&partial)[Down][Quads]) {
  const uint column = 4 * (group.x * Quads + thread_position.x);
  device const T* matrix = x + ulong(group.y) * rows * cols;
  float4 result = op.first();
  if (column < cols) {
    // Four rows at a time, which are on their way together.
    uint row = thread_position.y;
    for (; row + 3 * Down < rows; row += 4 * Down) {
      float4 four[4];
      for (uint u = 0; u < 4; ++u) {
        four[u] = load_quad(matrix + ulong(row + u * Down) * cols, column, cols);
      }
      for (uint u = 0; u < 4; ++u) {
        result = op.join(result, four[u]);
      }
    }
    for (; row < rows; row += Down) {
      result = op.join(result, load_quad(matrix + ulong(row) * cols, column, cols));
    }
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
// ascending order. Where all are -inf the first row wins.
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
      const bool4 wins = v > value;
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
      const bool4 wins = v > value || (v == value && at < index);
      value = select(value, v, wins);
      index = select(index, at, wins);
    }
    device uint* to = y + ulong(group.y) * cols;
    for (uint i = 0; i < min(4u, cols - column); ++i) {
      to[column + i] = index[i] == UINT_MAX ? 0 : index[i];
    }
  }
}

}  // namespace metalbench
