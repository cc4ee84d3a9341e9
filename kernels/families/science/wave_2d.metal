// Eight steps of the wave equation by the leapfrog scheme, in two dispatches of four: a tile makes
// four steps in registers and threadgroup memory (metalbench/stencil.h). A step needs the two fields
// before it, and the square of the speed in each cell, which stays in registers.
// dispatch: first_steps  threadgroups=(ceil_div(cols, SIDE - 8), ceil_div(rows, SIDE - 8))  threads=(SIDE * SIDE / RUN)
// dispatch: last_steps  threadgroups=(ceil_div(cols, SIDE - 8), ceil_div(rows, SIDE - 8))  threads=(SIDE * SIDE / RUN)
// scratch: half_before float32 (rows, cols)
// scratch: half_way float32 (rows, cols)
// tune: SIDE = 64, 32
// tune: RUN = 8, 4
// dtypes: float32
// limits: steps == 8, rows * cols <= 4294967295
#include "metalbench/stencil.h"
using namespace metal;
using namespace metalbench;

constant constexpr uint STEPS = 4;  // of a dispatch
using Tile = StencilTile<SIDE, RUN, STEPS>;

INLINED static void advance(device const float* before, device const float* now,
                            device const float* speed, device float* to_before, device float* to_now,
                            float rate, Tile tile) {
  float last[RUN], u[RUN], factors[RUN], sums[RUN];
  tile.load(before, last);
  tile.load(now, u);
  tile.load(speed, factors);
  UNROLLED
  for (uint i = 0; i < RUN; ++i) {
    factors[i] = rate * factors[i] * factors[i];
  }
  for (uint step = 0; step < STEPS; ++step) {
    tile.differences(u, sums);
    UNROLLED
    for (uint i = 0; i < RUN; ++i) {
      // check: allow registers a core still runs a threadgroup of 512 threads
      const float next = fma(factors[i], sums[i], u[i] + (u[i] - last[i]));
      last[i] = u[i];
      u[i] = next;
    }
  }
  tile.store(to_before, last);
  tile.store(to_now, u);
}

[[kernel, max_total_threads_per_threadgroup(SIDE* SIDE / RUN)]] void first_steps(
    device const float* before, device const float* now, device const float* speed,
    device float* half_before, device float* half_way, constant uint& rows, constant uint& cols,
    constant float& rate, uint2 group [[threadgroup_position_in_grid]],
    uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup float plane[SIDE * SIDE];
  const Tile tile(plane, rows, cols, group, thread_index);
  advance(before, now, speed, half_before, half_way, rate, tile);
}

[[kernel, max_total_threads_per_threadgroup(SIDE* SIDE / RUN)]] void last_steps(
    device const float* half_before, device const float* half_way, device const float* speed,
    device float* y_before, device float* y, constant uint& rows, constant uint& cols,
    constant float& rate, uint2 group [[threadgroup_position_in_grid]],
    uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup float plane[SIDE * SIDE];
  const Tile tile(plane, rows, cols, group, thread_index);
  advance(half_before, half_way, speed, y_before, y, rate, tile);
}
