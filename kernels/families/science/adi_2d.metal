// One step of the heat equation by alternating directions (Peaceman and Rachford, 1955): half a step is
// implicit along rows, then half a step along columns. Along rows a threadgroup has a row, which it
// solves by cyclic reduction (metalbench/tridiagonal.h). Along columns a thread has a column, by
// Thomas' algorithm, so that lanes read whole cache lines; the coefficients that elimination leaves
// are the same in all columns and stay in threadgroup memory. No heat passes the border.
// dispatch: along_rows  threadgroups=(rows, batch)  threads=(32 * ceil_div(cols, 32), 1)
// dispatch: along_columns  threadgroups=(ceil_div(cols, TG), batch)  threads=(TG, 1)
// scratch: half_way float32 (batch, rows, cols)
// tune: TG = 64, 32, 128
// dtypes: float32
// limits: rows <= 1024, cols <= 1024, batch * rows * cols <= 4294967295
#include "metalbench/tridiagonal.h"
using namespace metal;
using namespace metalbench;

// Equation i of n of 1 - rate differences, without its right side.
static float3 equation(uint i, uint n, float rate) {
  const float lower = i == 0 ? 0.0f : -rate, upper = i + 1 == n ? 0.0f : -rate;
  return float3(lower, 1.0f - lower - upper, upper);
}

// u + rate differences, from a cell and its two neighbours.
static float explicit_side(float u, float before, float after, float rate) {
  return fma(rate, (before - u) + (after - u), u);
}

[[kernel, max_total_threads_per_threadgroup(1024)]] void along_rows(
    device const float* u, device float* half_way, constant uint& rows, constant uint& cols,
    constant float& rate, uint2 group [[threadgroup_position_in_grid]],
    uint i [[thread_index_in_threadgroup]]) {
  threadgroup float4 equations[1024];
  const uint row = group.x, at = (group.y * rows + row) * cols + min(i, cols - 1);
  const float own = u[at];
  const float above = row == 0 ? own : u[at - cols], below = row + 1 == rows ? own : u[at + cols];
  const float half_rate = 0.5f * rate;
  const float right = explicit_side(own, above, below, half_rate);
  const bool is_there = i < cols;
  const float4 whole = float4(equation(i, cols, half_rate), right);
  const float4 none = float4(0.0f, 1.0f, 0.0f, 0.0f);
  const float found = solve_tridiagonal(is_there ? whole : none, equations, i, cols);
  if (is_there) {
    half_way[at] = found;
  }
}

[[kernel]] void along_columns(device const float* half_way, device float* y, constant uint& rows,
                              constant uint& cols, constant float& rate,
                              uint2 group [[threadgroup_position_in_grid]],
                              uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup float factors[1024];
  const uint column = group.x * TG + thread_index, x = min(column, cols - 1);
  const float half_rate = 0.5f * rate;
  device const float* from = half_way + group.y * rows * cols;
  device float* to = y + group.y * rows * cols;
  float value = 0.0f, factor = 0.0f;
  for (uint row = 0; row < rows; ++row) {
    const uint at = row * cols + x;
    const float own = from[at];
    const float left = x == 0 ? own : from[at - 1], right = x + 1 == cols ? own : from[at + 1];
    const float3 coefficients = equation(row, rows, half_rate);
    const float inverse = 1.0f / fma(-coefficients.x, factor, coefficients.y);
    const float side = explicit_side(own, left, right, half_rate);
    value = fma(-coefficients.x, value, side) * inverse;
    factor = coefficients.z * inverse;
    if (thread_index == 0) {
      factors[row] = factor;
    }
    if (column < cols) {
      to[at] = value;
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint row = rows - 1; row-- > 0 && column < cols;) {
    value = fma(-factors[row], value, to[row * cols + x]);
    to[row * cols + x] = value;
  }
}
